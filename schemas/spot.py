"""What a provider says of its spot market besides prices."""

# mypy: disable-error-code="valid-type"
import polars as pl

from hwprices.units import Timestamp

from .columns import PROVIDER_PATTERN, Table, column


class SpotAdvice(Table):
    """How often spot machines were taken back, and the saving against on-demand, as the vendor states them; no price is made of it."""

    provider: pl.String = column(
        "Cloud provider.", focus="ServiceProviderName", str_matches=PROVIDER_PATTERN
    )
    region: pl.String = column("Region.", focus="RegionId")
    instance_type: pl.String = column("Machine type.")
    os: pl.String = column("Operating system.", isin=["linux", "windows"])
    interruption_band: pl.String = column(
        "Share of spot machines taken back over the vendor's last period, as the vendor labels it: <5%, 5-10% …"
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
    observed_at: Timestamp = column("When the vendor's page was fetched.", unit="UTC")
    raw_sha256: pl.String = column("SHA-256 of the landed page the row was read from.")

    class Config:
        name = "spot_advice"
        metadata = {"key": ["provider", "region", "instance_type", "os"]}
