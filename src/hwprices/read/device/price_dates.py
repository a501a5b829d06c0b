"""State when each price of an offer was seen: offers.observed_at is the oldest of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

import polars as pl

from hwprices.read.find.search import Search, of_prices
from hwprices.release.release import Tables

OFFER_KEY = ["provider", "region", "instance_type"]
"""Key of a row of offers."""

DATED = ("on_demand", "spot")
"""Purchase options whose row of prices is named in offers: <option>_price_id."""


@dataclass(frozen=True)
class PriceDates:
    """When the Linux prices of some machine types were seen.

    ``prices`` has OFFER_KEY, price_id, currency, effective_hourly and observed_at.
    """

    prices: pl.DataFrame

    @classmethod
    def of(cls, dataset: Tables, offers: pl.DataFrame) -> "PriceDates":
        """Read those of the machine types of some offers."""
        types = offers["instance_type"].unique().to_list()
        rows = dataset.scan("prices").filter(
            pl.col("instance_type").is_in(types), *of_prices(Search())
        )
        columns = [*OFFER_KEY, "price_id", "currency", "effective_hourly", "observed_at"]
        return cls(rows.select(columns).collect())

    def add_to(self, offers: pl.DataFrame) -> pl.DataFrame:
        """Add on_demand_observed_at and spot_observed_at to rows of offers."""
        for option in DATED:
            own = self.prices.select(
                pl.col("price_id").alias(f"{option}_price_id"),
                pl.col("observed_at").alias(f"{option}_observed_at"),
            )
            offers = offers.join(own, on=f"{option}_price_id", how="left", maintain_order="left")
        return offers

    def seen(self, offer: Mapping[str, str], usd_per_hour: Decimal) -> datetime | None:
        """Return when a price in USD of a machine was seen; the oldest of several that are equal.

        ``offer`` has the values of OFFER_KEY.
        """
        rows = self.prices.filter(
            pl.col("effective_hourly") == usd_per_hour, currency="USD", **offer
        )
        oldest = rows["observed_at"].min()
        return oldest if isinstance(oldest, datetime) else None
