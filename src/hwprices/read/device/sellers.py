"""List who sells a device: each cloud's cheapest on-demand and spot price, and when it was seen.

A cloud's community hosts have a row of their own. When each price was seen is in prices:
offers.observed_at is the oldest of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

import polars as pl

from hwprices import formulas
from hwprices.read.currency import HOURLY
from hwprices.read.find.search import Search, of_prices
from hwprices.release.release import Tables, is_private_host
from hwprices.release.wording import is_stale
from hwprices.units import Money

OFFER_KEY = ["provider", "region", "instance_type"]  # Key of a row of offers

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


SPOT = "spot_usd_per_hour"

WHERE_SOLD = pl.Struct(
    {
        "provider": pl.String,
        "private_host": pl.Boolean,
        "currency": pl.String,
        "on_demand_per_hour": Money,
        "on_demand_usd_per_hour": Money,
        "on_demand_offer": pl.String,
        "spot_per_hour": Money,
        "spot_usd_per_hour": Money,
        "spot_offer": pl.String,
        "reason": pl.String,
        "seen": pl.Date,
        "stale": pl.Boolean,
    }
)
"""One cloud. Prices are of one device: in the vendor's currency, and in USD where it is USD or a
rate was given. ``reason`` says why the price is missing; ``seen`` is the older of both."""

PRICES = {"on_demand": ("on_demand_hourly", HOURLY), "spot": (SPOT, SPOT)}
"""Purchase option: the columns of offers with its price in the row's currency and in USD. Spot has
a price in USD only: no cloud with another currency has a spot market."""


def where_sold(
    offers: pl.DataFrame, providers: list[str], judged_at: Mapping[str, datetime]
) -> list[dict[str, Any]]:
    """List the clouds, the cheapest on-demand price first, those without one last.

    Community hosts come after those of data centers.

    Args:
        offers: the rows of offers with the device, with the columns that PriceDates adds; those of
            other currencies converted, as far as the reader gave a rate.
        providers: the clouds that have it, some perhaps without an offer.
        judged_at: by provider, the time against which its prices may be stale; ``stale`` is null
            for one that is not named.
    """
    offers = offers.with_columns(private_host=is_private_host())
    rows = []
    for name in providers:
        of_cloud = offers.filter(provider=name)
        hosts = of_cloud["private_host"].unique().sort().to_list() or [False]
        rows += [
            _cloud(name, of_cloud.filter(private_host=host), host, judged_at.get(name))
            for host in hosts
        ]
    return sorted(rows, key=_order)


def _cloud(
    provider: str, offers: pl.DataFrame, private_host: bool, judged_at: datetime | None
) -> dict[str, Any]:
    row: dict[str, Any] = {"provider": provider, "private_host": private_host, "currency": None}
    seen = []
    for option, (native, usd) in PRICES.items():
        cheapest = _cheapest(offers, native, usd, option)
        row[f"{option}_per_hour"] = cheapest.get("native")
        row[f"{option}_usd_per_hour"] = cheapest.get("usd")
        row[f"{option}_offer"] = cheapest.get("offer")
        row["currency"] = row["currency"] or cheapest.get("currency")
        seen += [cheapest["seen"]] if cheapest.get("seen") else []
    row["reason"] = None if row["on_demand_per_hour"] is not None else _reason(offers)
    row["seen"] = min(seen).date() if seen else None
    row["stale"] = is_stale(min(seen), judged_at) if seen and judged_at else None
    return row


def _cheapest(offers: pl.DataFrame, native: str, usd: str, option: str) -> dict[str, Any]:
    """Find the lowest price of one device, in USD where one is known; empty without a price."""
    count = pl.col("accelerator_count")
    priced = offers.select(
        "currency",
        seen=f"{option}_observed_at",
        offer=pl.concat_str("region", "instance_type", separator="/"),
        native=formulas.divide(pl.col(native), count).cast(Money),
        usd=formulas.divide(pl.col(usd), count).cast(Money),
    ).drop_nulls("native")
    first = priced.sort("usd", "currency", "native", "offer", nulls_last=True).head(1)
    return first.row(0, named=True) if first.height else {}


def _reason(offers: pl.DataFrame) -> str:
    reasons = offers["on_demand_reason"].drop_nulls().unique().sort()
    return ", ".join(reasons.to_list()) or "not_listed"


def _order(row: Mapping[str, Any]) -> tuple[bool, bool, Any, str]:
    price = row["on_demand_usd_per_hour"]
    return row["private_host"], price is None, price or 0, row["provider"]
