"""Trace a price back to the vendor: its computation, its SKUs, and their landed pages."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from shlex import quote
from typing import Any

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.read.find import covers, request
from hwprices.read.find.names import ReleaseWords, find_one
from hwprices.read.find.options import Names
from hwprices.release import landed, wording
from hwprices.release.landed import Source, Trace
from hwprices.release.release import Release, names_of, scan_types
from hwprices.release.wording import plain, why_unknown
from hwprices.units import HOURS_PER_MONTH

PRICE_ID = re.compile(r"^[0-9a-f]{24}$")

FILTERS = ["provider", "region", "os", "purchase_option"]
"""Options of ``explain`` that choose a price."""

PRICE_ORDER = [*FILTERS, "term_months", "payment_option", "price_id"]

MAX_REGIONS = 8  # in an error message


@dataclass(frozen=True)
class Explanation:
    """One price: its row of prices, its rows of price_components, and a trace for each SKU.

    ``stale`` as in ``find``; None if the release does not state when its age was judged.
    """

    price: dict[str, Any]
    components: pl.DataFrame
    traces: tuple[Trace, ...]
    stale: bool | None = None

    @property
    def arithmetic(self) -> str:
        """The computation of effective_hourly, in one line."""
        price, components = self.price, self.components
        if price["effective_hourly"] is None:
            return f"not known: {why_unknown(price['price_reason'])}"
        total = f"{plain(price['effective_hourly'])} {price['currency']}/h"
        if components.height:
            terms = [
                f"{plain(quantity)} {unit} × {plain(unit_price)}"
                for quantity, unit, unit_price in components.select(
                    "quantity", "unit", "unit_price"
                ).iter_rows()
            ]
            is_share = price["basis"] == "derived"
            rule = ", shares of the SKUs' prices by the vendor's rule" if is_share else ""
            return f"{' + '.join(terms)} = {total}{rule}"
        if price["upfront"] is not None:
            hours = price["term_months"] * HOURS_PER_MONTH
            hourly, upfront = plain(price["hourly"] or 0), plain(price["upfront"])
            return f"{hourly} + {upfront} / {hours} h = {total}"
        if price["basis"] == "listed":
            return f"{total}, as the vendor states it"
        return f"{total}, by the vendor's rule from another price"

    def to_dict(self) -> dict[str, Any]:
        """Return price, stale, arithmetic, components and traces, for ``--json``."""
        return {
            "price": self.price,
            "stale": self.stale,
            "arithmetic": self.arithmetic,
            "components": self.components.to_dicts(),
            "traces": [{**asdict(trace), "fields": dict(trace.fields)} for trace in self.traces],
        }


def find_prices(
    dataset: Release, name: str, provider: Names = None, **filters: str | None
) -> pl.DataFrame:
    """Find the rows of prices with that price_id or instance type.

    ``provider`` names clouds as in ``find``. ``filters`` are columns (region, os …) and their
    values; None does not filter.

    Raises:
        HwpricesError: there is no such price (the message states where the type has prices), or no
            such provider.
    """
    names = ReleaseWords.of(dataset)
    clouds = request.providers(names, provider)
    same_name = _prices_of(dataset, names, name, clouds)
    active = {key: value for key, value in filters.items() if value is not None}
    conditions = [pl.col(key) == value for key, value in active.items()]
    if clouds:
        conditions.append(pl.col("provider").is_in(sorted(clouds)))
    prices = same_name.filter(*conditions).collect()
    if prices.is_empty():
        regions = same_name.select(pl.col("region").unique().sort()).collect()["region"].to_list()
        hint = (
            f"It has prices in {', '.join(regions[:MAX_REGIONS])}."
            if regions
            else f"hwprices price {quote(name)} says where it is offered."
        )
        chosen = {"provider": "/".join(sorted(clouds)), **active}
        wanted = ", ".join(f"{key} {value}" for key, value in chosen.items() if value)
        raise HwpricesError(f"no price of {name}" + (f" with {wanted}" if wanted else ""), hint)
    return prices.sort(PRICE_ORDER)


def _prices_of(
    dataset: Release, names: ReleaseWords, name: str, providers: frozenset[str]
) -> pl.LazyFrame:
    """Return the price with an id, or the prices of a machine type.

    A machine that is sold only as a dedicated host has the host's prices.
    """
    if PRICE_ID.match(name):
        return dataset.scan("prices").filter(price_id=name)
    if not names_of(dataset).filter("priced", instance_type=name).is_empty():
        return scan_types(dataset, "prices", [name])
    machine = find_one(names.machines, name, providers)
    types = [machine.instance_type, *covers.hosts_of(dataset, machine)]
    return scan_types(dataset, "prices", types).filter(provider=machine.provider)


def find_price(
    dataset: Release, name: str, provider: Names = None, **filters: str | None
) -> dict[str, Any]:
    """Find the only row of ``find_prices``.

    Raises:
        HwpricesError: there is no such price, or there are several.
    """
    prices = find_prices(dataset, name, provider, **filters)
    if prices.height > 1:
        narrowing = [column for column in FILTERS if prices[column].n_unique() > 1]
        options = f"Name {', '.join(narrowing)}, or give" if narrowing else "Give"
        raise HwpricesError(
            f"{prices.height:,} prices of {name} fit",
            f"{options} a price_id: find and price have them.",
        )
    return prices.row(0, named=True)


def explain(dataset: Release, price: Mapping[str, Any]) -> Explanation:
    """Explain one row of prices: its components, and for each SKU the landed page."""
    components = components_of(dataset, price)
    traces = landed.traces(dataset.store, price["provider"], sources_of(price, components))
    judged_at = wording.judged_at(dataset).get(price["provider"])
    stale = wording.is_stale(price["observed_at"], judged_at) if judged_at else None
    return Explanation(dict(price), components, tuple(traces), stale)


def components_of(dataset: Release, *prices: Mapping[str, Any]) -> pl.DataFrame:
    """Return the price_components of rows of prices."""
    rows = scan_types(dataset, "price_components", sorted({p["instance_type"] for p in prices}))
    return rows.filter(pl.col("price_id").is_in([p["price_id"] for p in prices])).collect()


def sources_of(price: Mapping[str, Any], components: pl.DataFrame) -> list[Source]:
    """List the SKUs that a price is read from, each with the SHA-256 of its landed page."""
    if components.is_empty():
        sources = [(price["sku_price_id"] or price["sku_id"], price["raw_sha256"])]
    else:
        pairs = zip(components["sku_id"], components["raw_sha256"], strict=True)
        sources = list(dict.fromkeys(pairs))
    return [(sku, sha256) for sku, sha256 in sources if sku]
