"""Read the plans of machines from the order catalog.

A plan (``addons`` of the catalog) is one way to buy one flavor: by the hour
(``b3-8.consumption``), by the month (``b3-8.monthly.postpaid``), in another kind of zone
(``b3-8.consumption.3AZ``, ``b3-8.consumption.LZ.EU``), with Windows (``win-b3-8.consumption``).
What a plan is, its code says: the unit of its price is "none" in the catalog of the US.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import polars as pl

from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.providers.ovh import kinds
from hwprices.rows import quarantine
from hwprices.rows.members import RefusedItemError, text
from hwprices.rows.origin import origin

PRODUCT = "publiccloud-instance"
"""The product that machines are. Managed AI services have GPUs too, and prices by the minute."""

HOURLY = ".consumption"

WINDOWS_PREFIX = "win-"

STANDARD = "standard"
"""The region of plans without a kind of zone in their code: regions with one zone."""

UNITS_PER_CURRENCY = 10**8
"""Prices are whole numbers of 1e-8 of the currency."""

MACHINE = ("cpu", "memory", "gpu", "storage", "bandwidth")
"""Members of a plan's description that the plans of one flavor must agree on: a row of
instance_types is made of them."""

LARGEST_PRICE = 10**5 * UNITS_PER_CURRENCY
"""Above this a figure is no price of an hour."""


@dataclass(frozen=True)
class Plan:
    """One hourly plan: a flavor in a kind of zone with an operating system.

    ``hourly`` is None where the catalog says 0. ``technical`` describes the machine and ``tags``
    say whether it is active, legacy or coming soon.
    """

    code: str
    flavor: str
    region: str
    os: str
    hourly: Decimal | None
    currency: str
    technical: Mapping[str, Any]
    tags: tuple[str, ...]
    page: Page


@dataclass(frozen=True)
class Catalog:
    """The hourly plans, plans that are not understood, and how many others there are."""

    plans: list[Plan]
    refused: pl.DataFrame
    counts: Mapping[str, int]


def read_catalog(pages: Pages) -> Catalog:
    """Read every plan of the run's catalogs.

    Raises:
        UnreadablePageError: a page is not an order catalog. Without it there are no prices.
    """
    plans: list[Plan] = []
    refused: list[pl.DataFrame] = []
    counts: Counter[str] = Counter()
    for page in pages.of(kinds.CATALOG):
        with pages.parsing(page):
            content = pages.read_json(page)
            currency = text(content["locale"], "currencyCode")
            for addon in content["addons"]:
                if reason := _out_of_scope(addon):
                    counts[reason] += 1
                    continue
                try:
                    plans.append(_plan(addon, currency, page))
                except RefusedItemError as refusal:
                    refused.append(_refused(addon, refusal, page))
    plans, disagreeing = _split_disagreeing(plans)
    refused += disagreeing
    return Catalog(plans, quarantine.merge_refused(refused), dict(sorted(counts.items())))


def _split_disagreeing(plans: Sequence[Plan]) -> tuple[list[Plan], list[pl.DataFrame]]:
    """Refuse all plans of a flavor that do not describe the same machine."""
    machines: defaultdict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for plan in plans:
        machine = tuple(plan.technical.get(name) for name in MACHINE)
        if machine not in machines[plan.flavor]:
            machines[plan.flavor].append(machine)
    refusal = RefusedItemError("duplicate_key", "the flavor's plans describe different machines")
    agreeing = [plan for plan in plans if len(machines[plan.flavor]) == 1]
    refused = [
        _refused({"planCode": plan.code}, refusal, plan.page)
        for plan in plans
        if len(machines[plan.flavor]) > 1
    ]
    return agreeing, refused


def _out_of_scope(addon: dict[str, Any]) -> str | None:
    """Say why a plan is left out: it is no machine, or not by the hour."""
    if addon.get("product") != PRODUCT:
        return "out_of_scope:product=not an instance"
    if HOURLY not in text(addon, "planCode"):
        return "out_of_scope:planCode=not hourly"
    return None


def _plan(addon: dict[str, Any], currency: str, page: Page) -> Plan:
    """Read one hourly plan.

    Raises:
        RefusedItemError: it describes no machine, or has not one price.
    """
    code = text(addon, "planCode")
    flavor, _, zone_kind = code.partition(HOURLY)
    blobs = addon.get("blobs") or {}
    technical = blobs.get("technical") or {}
    if not technical.get("cpu") or not technical.get("memory"):
        raise RefusedItemError("unknown_product", "the plan describes no machine")
    is_windows = flavor.startswith(WINDOWS_PREFIX)
    return Plan(
        code=code,
        flavor=flavor.removeprefix(WINDOWS_PREFIX),
        region=zone_kind.strip(".").lower().replace(".", "-") or STANDARD,
        os="windows" if is_windows else "linux",
        hourly=_hourly(addon["pricings"]),
        currency=currency,
        technical=technical,
        tags=tuple(blobs.get("tags") or ()),
        page=page,
    )


def _hourly(pricings: list[dict[str, Any]]) -> Decimal | None:
    """Return the price of an hour, net of tax; None for 0, which is no price.

    Raises:
        RefusedItemError: there is none, or there are several.
        ValueError: it is not a whole number, or no price.
    """
    prices = {pricing["price"] for pricing in pricings}
    if not prices:
        raise RefusedItemError("no_price", "the plan has no price")
    if len(prices) > 1:
        raise RefusedItemError("tiered_price", f"the plan has {len(prices)} prices")
    (price,) = prices
    if isinstance(price, bool) or not isinstance(price, int) or not 0 <= price <= LARGEST_PRICE:
        raise ValueError(f"{str(price)[:40]} is no price in units of 1e-8")
    return Decimal(price) / UNITS_PER_CURRENCY or None


def _refused(addon: dict[str, Any], refusal: RefusedItemError, page: Page) -> pl.DataFrame:
    code = text(addon, "planCode")
    frame = pl.LazyFrame([{"provider": "ovh", "region": STANDARD, "planCode": code}])
    return quarantine.refused(
        frame.with_columns(*origin(page)),
        table="prices",
        reason=refusal.reason,
        message=f"{code}: {refusal.message}",
    ).collect()
