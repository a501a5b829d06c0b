"""What hosts ask on a marketplace: quantiles of a day, which are not list prices."""

from typing import Any

import polars as pl

from hwprices.schemas import columns
from hwprices.schemas.columns import Table, column
from hwprices.units import Money, Timestamp


def _usd(description: str) -> Any:
    return column(description, unit="USD/(GPU·h)", nullable=True, gt=0)


_QUANTILE = "Null with fewer than eight offers, and where is_complete is false."


class MarketQuantiles(Table):
    """Daily quantiles of what hosts of a marketplace ask for a GPU-hour without storage or traffic.

    An offer is one host's machine and is gone once rented, so this table is not used for prices,
    offers, searches or recommendations. Rows are kept from release to release.
    """

    provider: pl.String = columns.provider()
    day: pl.Date = column("The day (UTC) on which the offers were fetched.", unit="date")
    accelerator_id: pl.String = columns.accelerator_id()
    gpus: pl.Int32 = column("GPUs that are offered together.", ge=1)
    verification: pl.String = column(
        "The marketplace's word for hosts that it has tested or not: verified, unverified."
    )
    offers: pl.Int32 = column("Number of offers.", ge=1)
    is_complete: pl.Boolean = column(
        "False where the answer was full, so that the most expensive offers are missing."
    )
    min_usd: Money = _usd("The cheapest offer.")
    p10_usd: Money = _usd(f"10 % of the offers cost this or less. {_QUANTILE}")
    p25_usd: Money = _usd(f"25 % of the offers cost this or less. {_QUANTILE}")
    median_usd: Money = _usd(f"Half of the offers cost this or less. {_QUANTILE}")
    p75_usd: Money = _usd(f"75 % of the offers cost this or less. {_QUANTILE}")
    p90_usd: Money = _usd(f"90 % of the offers cost this or less. {_QUANTILE}")
    observed_at: Timestamp = columns.observed_at()
    raw_sha256: pl.String = columns.raw_sha256()

    class Config:
        name = "market_quantiles"
        metadata = {"key": ["provider", "day", "accelerator_id", "gpus", "verification"]}
