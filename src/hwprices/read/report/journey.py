"""Lead the prices of a machine type back to the vendor, for its page."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import polars as pl

from hwprices.read.explain import Explanation
from hwprices.read.find.search import USUAL, of_prices
from hwprices.release.landed import Source, Trace, traces
from hwprices.release.real_prices import REAL
from hwprices.release.release import Release
from hwprices.release.wording import purchase

PRICE_IDS = ("on_demand_price_id", "spot_price_id")  # Columns of offers with the id of a price
KEY = ["provider", "instance_type"]

OPTION = ["purchase_option", "term_months"]
"""What makes a purchase option, of which the cheapest price is led back to the vendor's line."""

LARGEST_PAGE = 32 << 20
"""Bytes of a landed page, unpacked. A report searches every page that names one of its prices: such
a page takes up to a second and, if it is JSON, 0.3 GB. Price lists of AWS's large regions are
longer; ``hwprices explain`` searches them."""

MOST_FIELDS, LONGEST_FIELD = 60, 300
"""Of a vendor's line on a page: a SKU of Google has 30 fields, the longest about 100 characters."""

LONGEST_LINE = 1000  # characters of a line that has no fields

SHOWN = ("bought", "region", "zone", "arithmetic", "flags", "source_url", "raw_sha256", "price_id")
"""Columns of a price on a page."""


@dataclass(frozen=True)
class Journeys:
    """The prices of a machine type, and the vendor's words about the SKUs of some of them.

    A price has the columns of prices, ``arithmetic``, ``bought`` (how, in words) and ``sources``,
    which are SKUs and pages.
    """

    cheapest: list[dict[str, Any]]
    """The cheapest price of each purchase option, for Linux on a shared machine."""
    others: list[dict[str, Any]]  # The on-demand and spot prices of other regions
    lines: list[Trace]  # One for each source of ``cheapest``

    @property
    def facts(self) -> dict[str, Any]:
        """Return them as JSON values, as much of the vendor's lines as a page has room for."""
        return {
            "cheapest": [_fact(price) for price in self.cheapest],
            "others": [_fact(price) for price in self.others],
            "lines": [
                {
                    "sku": trace.sku,
                    "state": trace.state,
                    "line": (trace.line or "")[:LONGEST_LINE],
                    "fields": fields(trace),
                }
                for trace in self.lines
            ],
        }


class Explained:
    """The journeys of all machine types with offers."""

    def __init__(self, dataset: Release, offers: pl.DataFrame) -> None:
        listed = pl.concat([offers[column].drop_nulls() for column in PRICE_IDS]).unique()
        prices = _prices(dataset, offers, listed)
        self._prices = prices.partition_by(KEY, as_dict=True, maintain_order=True)
        self._components = _components(dataset, prices)
        self._skus = _skus(self._components.values())
        self._traces = self._read(dataset, prices.filter("is_cheapest"))

    def _read(self, dataset: Release, prices: pl.DataFrame) -> dict[Source, Trace]:
        read: dict[Source, Trace] = {}
        for (provider,), own in prices.partition_by("provider", as_dict=True).items():
            sources = {
                source: None for row in own.iter_rows(named=True) for source in self._sources(row)
            }
            for trace in traces(dataset.store, str(provider), sources, LARGEST_PAGE):
                read[trace.sku, trace.raw_sha256] = trace
        return read

    def of(self, provider: str, instance_type: str) -> Journeys:
        """Return the journeys of a machine type; empty without a price."""
        rows = self._prices.get((provider, instance_type), pl.DataFrame())
        prices = [self._journey(row) for row in rows.iter_rows(named=True)]
        cheapest = [price for price in prices if price["is_cheapest"]]
        sources = {source: None for price in cheapest for source in price["sources"]}
        return Journeys(
            cheapest=cheapest,
            others=[price for price in prices if not price["is_cheapest"]],
            lines=[self._traces[source] for source in sources],
        )

    def _journey(self, price: dict[str, Any]) -> dict[str, Any]:
        explanation = Explanation(price, self._components_of(price), ())
        return {
            **price,
            "arithmetic": explanation.arithmetic,
            "bought": purchase(price),
            "sources": self._sources(price),
        }

    def _components_of(self, price: dict[str, Any]) -> pl.DataFrame:
        return self._components.get((price["price_id"],), pl.DataFrame())

    def _sources(self, price: dict[str, Any]) -> list[Source]:
        """List the SKUs of a price and the page that each is on; empty for a price without SKU."""
        if price["price_id"] in self._skus:
            return self._skus[price["price_id"]]
        sku = price["sku_price_id"] or price["sku_id"]
        return [(sku, price["raw_sha256"])] if sku else []


def _fact(price: dict[str, Any]) -> dict[str, Any]:
    skus = [sku for sku, _ in price["sources"]]
    return {name: price[name] for name in SHOWN} | {
        "skus": skus,
        "observed_at": price["observed_at"],
    }


def fields(trace: Trace) -> list[tuple[str, str]]:
    """Return what a vendor's line says, as much of it as a page has room for."""
    return [(name, value[:LONGEST_FIELD]) for name, value in trace.fields[:MOST_FIELDS]]


def _prices(dataset: Release, offers: pl.DataFrame, listed: pl.Series) -> pl.DataFrame:
    """Read the prices of ``listed`` ids, and the cheapest of each purchase option with is_cheapest.

    All prices of these machine types may be millions of rows, so that they are first read without
    the columns that only the result needs.
    """
    col = pl.col
    prices = dataset.scan("prices").join(offers.lazy().select(KEY).unique(), on=KEY, how="semi")
    on_demand = col.purchase_option == "on_demand"
    order = ["effective_hourly", "region", "price_id"]
    cheapest = (
        prices.filter(*of_prices(USUAL), *REAL)
        .select(*KEY, *OPTION, *order)
        .collect(engine="streaming")
        .sort(order)
        .unique([*KEY, *OPTION], keep="first", maintain_order=True)["price_id"]
    )
    wanted = pl.concat([listed, cheapest]).unique()
    return (
        prices.filter(col.price_id.is_in(wanted.implode()))
        .with_columns(is_cheapest=col.price_id.is_in(cheapest.implode()))
        .collect(engine="streaming")
        .sort(~on_demand, col.purchase_option != "spot", *OPTION, *order)
    )


def _components(dataset: Release, prices: pl.DataFrame) -> dict[tuple[object, ...], pl.DataFrame]:
    if "price_components" not in dataset.tables:
        return {}
    rows = dataset.scan("price_components").join(
        prices.lazy().select("price_id"), on="price_id", how="semi"
    )
    return rows.collect().partition_by("price_id", as_dict=True, maintain_order=True)


def _skus(components: Iterable[pl.DataFrame]) -> dict[str, list[Source]]:
    """List the SKUs of each price that has components, without those that have no SKU."""
    skus: dict[str, dict[Source, None]] = {}
    for price_id, sku, page in chain.from_iterable(
        rows.select("price_id", "sku_id", "raw_sha256").iter_rows() for rows in components
    ):
        found = skus.setdefault(price_id, {})
        if sku is not None:
            found[sku, page] = None
    return {price_id: list(found) for price_id, found in skus.items()}
