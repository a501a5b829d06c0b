"""What a provider publishes about its spot market besides prices."""

import polars as pl

from hwprices.schemas import columns
from hwprices.schemas.columns import Table, column
from hwprices.units import Timestamp


class SpotAdvice(Table):
    """How often spot machines were taken back and what they save, as the vendor states it.

    No price is computed from it.
    """

    provider: pl.String = columns.provider()
    region: pl.String = columns.region()
    instance_type: pl.String = columns.instance_type()
    os: pl.String = column("Operating system.", isin=["linux", "windows"])
    interruption_band: pl.String = column(
        "Share of spot machines taken back over the vendor's last period, as the vendor labels it:"
        " <5%, 5-10% …"
    )
    interruption_percent_from: pl.Int32 = column(
        "Lower end of the band.", unit="%", in_range={"min_value": 0, "max_value": 100}
    )
    interruption_percent_to: pl.Int32 = column(
        "Upper end of the band.", unit="%", in_range={"min_value": 0, "max_value": 100}
    )
    saving_percent: pl.Int32 = column(
        "Saving against on-demand over the vendor's last period.",
        unit="%",
        in_range={"min_value": -100, "max_value": 100},
    )
    observed_at: Timestamp = columns.observed_at()
    raw_sha256: pl.String = columns.raw_sha256()

    class Config:
        name = "spot_advice"
        metadata = {"key": ["provider", "region", "instance_type", "os"]}
