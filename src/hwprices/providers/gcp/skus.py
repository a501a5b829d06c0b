"""Read SKUs from landed pages: components of machines, disks and addresses.

Disks, snapshots, images, provisioned IOPS and throughput are SKUs of the family Storage; static and
external addresses are the group IpAddress. Each tier of their prices is a row.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

import msgspec
import polars as pl
from msgspec import UNSET

from hwprices.landing.pages import Page
from hwprices.providers import Pages, gcp
from hwprices.providers.gcp.classify import OutOfScope, classify, classify_vertex
from hwprices.providers.gcp.grammar import Descriptions, NotAMachinePrice, PricedComponent, Unknown
from hwprices.providers.gcp.listings import (
    NANOS,
    SKU_COLUMNS,
    Amount,
    BrokenRow,
    Category,
    Expression,
    PricingInfo,
    Sku,
    TieredRate,
    at_day,
    decode_skus,
    is_in_range,
    newest_price,
    price_day,
    read_time,
    refused_members,
)
from hwprices.providers.gcp.machine_type import ANY_SERIES, OWN_LOCAL_SSD_SKU
from hwprices.rows import frames, prices
from hwprices.rows.frames import origin
from hwprices.schemas.tables import ComponentPrices
from hwprices.units import HOURS_PER_MONTH, Money, WideMoney

DISK_UNITS: Final = {
    "GiBy": ("gib", "use"),
    "GiBy.h": ("gib", "hour"),
    "GiBy.mo": ("gib", "month"),
    "GBy": ("gb", "use"),
    "GBy.h": ("gb", "hour"),
    "GBy.mo": ("gb", "month"),
    "count": ("sku_unit", "use"),
    "h": ("sku_unit", "hour"),
    "mo": ("sku_unit", "month"),
}
"""usageUnit → unit and billing period. IOPS, MiB/s and addresses are sku_unit."""

OPTIONS: Final = {"OnDemand": "on_demand", "Preemptible": "spot"}
"""category.usageType → purchase option."""

DISK_COLUMNS: Final[dict[str, Any]] = {
    **SKU_COLUMNS,
    "refused": pl.String,
    "word": pl.String,
    "currency": pl.String,
    "usage_unit": pl.String,
    "effective_from": pl.String,
    "tier_from": pl.Float64,
    "tier_to": pl.Float64,
    "units": pl.Int64,
    "nanos": pl.Int64,
}
"""Columns of a tier as in the page. From ``currency`` on, they are null if the SKU is refused."""


def is_disk(category: Category) -> bool:
    """Check whether a SKU is for a disk or an address."""
    family, group = category.resource_family, category.resource_group
    return family == "Storage" or (family, group) == ("Network", "IpAddress")


def _tiers(sku: Sku) -> Iterator[tuple[Any, ...]]:
    """Yield a row of DISK_COLUMNS per tier.

    ``refused`` is the quarantine reason of a SKU that is not understood, ``word`` its new word.
    """
    category = Category() if sku.category is UNSET else sku.category
    words = (category.resource_family, category.resource_group, category.usage_type)
    named = (sku.sku_id, sku.description, *words, sku.regions)
    price = newest_price(sku.pricing_info) or PricingInfo()
    expression = price.pricing_expression
    expression = Expression() if expression is UNSET else expression
    rates = sorted(expression.tiered_rates, key=lambda rate: rate.start_usage_amount)
    amounts = [rate.unit_price for rate in rates if rate.unit_price is not None]
    starts = [rate.start_usage_amount for rate in rates]
    fault = _fault(sku, price, expression.usage_unit, starts, amounts)
    if fault:
        yield (*named, *fault, *[None] * 7)
        return
    for start, end, amount in zip(starts, [*starts[1:], None], amounts, strict=True):
        stated = (amount.currency_code, expression.usage_unit, price.effective_time)
        yield (*named, None, None, *stated, start, end, *amount.figures)


def _fault(
    sku: Sku, price: PricingInfo, unit: str, starts: list[float], amounts: list[Amount]
) -> tuple[str, str | None] | None:
    """Return the quarantine reason and the new word; None if the SKU is understood."""
    usage = "" if sku.category is UNSET else sku.category.usage_type
    foreign = [amount.currency_code for amount in amounts if amount.currency_code != "USD"]
    faults: list[tuple[bool, str, str | None]] = [
        (not sku.sku_id or not sku.description.strip(), "sku_without_name", None),
        (not sku.regions, "no_region", None),
        (not starts or len(amounts) < len(starts) or not unit, "no_price", None),
        (usage not in OPTIONS, "unknown_option", usage),
        (unit not in DISK_UNITS, "unknown_unit", unit),
        (None in foreign, "no_currency", None),
        (bool(foreign), "unknown_currency", foreign[0] if foreign else None),
        (not all(is_in_range(*amount.figures) for amount in amounts), "unreadable_price", None),
        (len(set(starts)) < len(starts) or min(starts, default=0) < 0, "tier_not_a_number", None),
        (len(starts) > 1 and price.tier_interval == "DAILY", "tiered_price", None),
    ]
    return next(((reason, word) for is_fault, reason, word in faults if is_fault), None)


def disk_price_rows(disks: pl.DataFrame) -> pl.DataFrame:
    """Return ``SkuCatalog.disks`` in the columns of component_prices.

    A month has 730 hours; ``hourly`` is rounded to ten decimals and ``price`` is Google's figure. A
    component has the name of the SKU without its place, and also the SKU's id if several SKUs of a
    region have the same name.
    """
    unit = pl.col("usage_unit")
    component = pl.format("sku:{}", pl.col("description").str.split(" in ").list.first())
    key = ["region", "component", "purchase_option"]
    nanos = pl.col("nanos").cast(WideMoney) / pl.lit(NANOS).cast(WideMoney)
    monthly = (pl.col("price") / pl.lit(HOURS_PER_MONTH).cast(Money)).cast(Money)
    rows = (
        disks.filter(pl.col("refused").is_null())
        .explode("regions")
        .rename({"regions": "region"})
        .with_columns(
            provider=pl.lit("gcp"),
            series=pl.lit("any"),
            component=component.str.replace_all(r"[^!-~]", "_"),
            purchase_option=pl.col("usage").replace_strict(OPTIONS, return_dtype=pl.String),
            term_months=pl.lit(0),
            unit=unit.replace_strict({word: name for word, (name, _) in DISK_UNITS.items()}),
            per=unit.replace_strict({word: per for word, (_, per) in DISK_UNITS.items()}),
            price=(pl.col("units").cast(WideMoney) + nanos).cast(Money),
            effective_from=read_time(pl.col("effective_from")),
        )
        .with_columns(
            component=pl.when(pl.col("sku_id").n_unique().over(key) > 1)
            .then(pl.format("{}/{}", "component", "sku_id"))
            .otherwise("component"),
            hourly=pl.when(per="hour").then("price").when(per="month").then(monthly),
        )
    )
    columns = [name for name in ComponentPrices.dtypes if name in rows.columns]
    return frames.conform(rows.lazy().select(columns), ComponentPrices).collect()


GB_PER_GIB = Decimal(2**30) / Decimal(10**9)  # Decimal gigabytes in one GiB, 1.073741824


@dataclass(frozen=True)
class UsageUnit:
    """The unit of a price: hour or month, and the number of SKU units per unit of ours.

    Our units are vCPU, GiB, GPU and so on. Memory sold by the decimal gigabyte has 1.073741824 SKU
    units per GiB.
    """

    per: str
    per_unit: Decimal = Decimal(1)


USAGE_UNITS: Final = {
    "h": UsageUnit("hour"),
    "mo": UsageUnit("month"),
    "GiBy.h": UsageUnit("hour"),
    "GiBy.mo": UsageUnit("month"),
    "GBy.h": UsageUnit("hour", GB_PER_GIB),
    "GBy.mo": UsageUnit("month", GB_PER_GIB),
}
"""usageUnit → the unit of the price. Components have no other units."""

COLUMNS: Final[dict[str, Any]] = {
    **SKU_COLUMNS,
    "currency": pl.String,
    "usage_unit": pl.String,
    "units": pl.Int64,
    "nanos": pl.Int64,
    "effective_from": pl.String,
    "component_id": pl.String,
    "series": pl.String,
    "purchase_option": pl.String,
    "term_months": pl.Int32,
    "place": pl.String,
    "version": pl.Int32,
    "min_vcpus": pl.Int32,
    "max_vcpus": pl.Int32,
    "refused": pl.String,
    "word": pl.String,
}
"""Columns of a SKU's row as in the page, without the origin columns.

``refused`` is a quarantine reason or null, ``word`` the vendor's new word.
"""

_MEANING_COLUMNS = (
    *("series", "purchase_option", "term_months", "place"),
    *("version", "min_vcpus", "max_vcpus"),
)
"""Columns that are attributes of a PricedComponent."""


@dataclass(frozen=True)
class SkuCatalog:
    """The SKUs of the run.

    ``components`` sell a component; ``refused`` are not understood or have no usable price. Both
    have the columns of ``COLUMNS`` and ``frames.origin``, but effective_from as a time, and instead
    of units and nanos: ``price`` (Decimal), ``per`` (hour or month) and ``sku_units`` (number of
    SKU units per unit of ours). ``disks`` has the tiers of SKUs billed beside machines
    (DISK_COLUMNS), with origin. ``new_members`` has quarantine rows of unknown members. ``counts``
    counts the other SKUs by reason.
    """

    components: pl.DataFrame
    refused: pl.DataFrame
    disks: pl.DataFrame
    new_members: pl.DataFrame
    counts: Mapping[str, int] = field(default_factory=dict)


_NO_CATEGORY = Category()


class _Price(msgspec.Struct, frozen=True, gc=False):
    """The current price of a SKU.

    ``fault`` is the quarantine reason if it is not usable, ``word`` its new word.
    """

    fault: str | None
    word: str | None = None
    currency: str | None = None
    usage_unit: str | None = None
    units: int | None = None
    nanos: int | None = None
    effective_from: str | None = None


_REGION = re.compile(r"[a-z]+(?:-[a-z]+)+[0-9]+|global")
"""Ids of regions. A rate for the area "us" applies to no machine."""


class _Line(msgspec.Struct, frozen=True, gc=False):
    """A SKU that sells ``meaning``, or that is not understood, with its price."""

    sku: Sku
    category: Category
    meaning: PricedComponent | Unknown
    price: _Price

    @property
    def component(self) -> PricedComponent | None:
        """What it sells, None if that is not understood."""
        return None if isinstance(self.meaning, Unknown) else self.meaning

    @property
    def fault(self) -> tuple[str | None, str | None]:
        """The quarantine reason and the new word; both None if the SKU is usable."""
        if isinstance(self.meaning, Unknown):
            return self.meaning.reason, self.meaning.word
        if not self.sku.sku_id:
            return "sku_without_name", None
        if self.price.fault or self.meaning.component.kind == "license":
            return self.price.fault, self.price.word
        regions = self.sku.regions
        if not any(_REGION.fullmatch(region) for region in regions):
            return ("unknown_location", regions[0]) if regions else ("no_region", None)
        return None, None


def read_skus(pages: Pages, day: datetime | None = None) -> SkuCatalog:
    """Read every SKU page of the run, with the prices of a day; None for the newest.

    SKUs that had no price yet on that day are left out, and pages of Vertex AI that are not a SKU
    list.

    Raises:
        UnreadablePageError: another page is not a SKU list, so parts of machines have no price.
    """
    frames: list[pl.DataFrame] = []
    counts: Counter[str] = Counter()
    descriptions = Descriptions()
    members: list[pl.DataFrame] = []
    disks: list[pl.DataFrame] = []

    def read(page: Page, kind: str) -> None:
        listing = decode_skus(pages, page)
        skus = listing.page.skus if day is None else at_day(listing.page.skus, day)
        lines, beside = _lines(skus, kind, descriptions, counts)
        tiers = [tier for sku in beside for tier in _tiers(sku)]
        rows = pl.DataFrame(tiers, schema=DISK_COLUMNS, orient="row")
        disks.append(rows.with_columns(origin(page)))
        frames.append(_broken_frame(listing.broken).with_columns(origin(page)))
        members.append(refused_members(listing.new_members, page, "prices"))
        frames.append(_frame(lines).with_columns(origin(page)))

    for kind in gcp.SKU_KINDS:
        for page in pages.of(kind):
            read(page, kind)
    for page in pages.of(gcp.VERTEX_SKUS):
        with pages.leave_out(page):  # machines keep their other prices
            read(page, gcp.VERTEX_SKUS)
    frame = _with_price(pl.concat(frames))
    refused = frame.filter(pl.col("refused").is_not_null())
    components = frame.filter(pl.col("refused").is_null()).drop("refused")
    return SkuCatalog(
        components, refused, pl.concat(disks), prices.merge_refused(members), dict(counts)
    )


def price_days(pages: Pages, begin: datetime) -> list[datetime]:
    """List the days on which the price of a SKU changed, from pages with past prices.

    Earlier changes count as changes at ``begin``.

    Raises:
        UnreadablePageError: a page is not a SKU list, or a SKU has a price without a time.
    """
    days = {begin}
    for kind in gcp.SKU_KINDS:
        for page in pages.of(kind):
            with pages.parsing(page):
                for sku in decode_skus(pages, page).page.skus:
                    before = None
                    for price in sorted(sku.pricing_info, key=price_day):
                        if price.pricing_expression != before:
                            days.add(max(begin, price_day(price)))
                        before = price.pricing_expression
    return sorted(days)


_NOT_A_MACHINE_PRICE = "not_a_machine_price:"


def _lines(
    skus: Sequence[Sku], kind: str, descriptions: Descriptions, counts: Counter[str]
) -> tuple[list[_Line], list[Sku]]:
    """Return the SKUs that sell a component or are not understood, and disks; count the others."""
    lines, disks = [], []
    for sku in skus:
        category = _NO_CATEGORY if sku.category is UNSET else sku.category
        words = {"family": category.resource_family, "usage": category.usage_type}
        if kind == gcp.VERTEX_SKUS:
            meaning = classify_vertex(sku.description, **words, descriptions=descriptions)
        else:
            group = category.resource_group
            meaning = classify(sku.description, **words, group=group, descriptions=descriptions)
        if isinstance(meaning, OutOfScope) and kind == gcp.SKUS and is_disk(category):
            disks.append(sku)
        elif isinstance(meaning, OutOfScope):
            counts[f"out_of_scope:resource_family={meaning.resource_family}"] += 1
        elif isinstance(meaning, NotAMachinePrice):
            counts[f"{_NOT_A_MACHINE_PRICE}{meaning.reason}"] += 1
        else:
            line = _Line(sku, category, meaning, _current_price(sku))
            if _is_included(line):
                counts[f"{_NOT_A_MACHINE_PRICE}included_local_ssd"] += 1
            else:
                lines.append(line)
    return lines, disks


def _is_included(line: _Line) -> bool:
    """Check for local SSD at price 0, of a series whose machines include it."""
    part = line.component
    if part is None or part.component.kind != "local_ssd" or part.series == ANY_SERIES:
        return False
    return part.series not in OWN_LOCAL_SSD_SKU and line.fault[0] == "zero_price"


def _current_price(sku: Sku) -> _Price:
    """Return the newest price of a SKU, of the tier that one machine pays."""
    newest = newest_price(sku.pricing_info)
    expression = UNSET if newest is None else newest.pricing_expression
    rate = None if expression is UNSET else _first_paid_tier(expression.tiered_rates)
    if newest is None or expression is UNSET or rate is None or rate.unit_price is None:
        return _Price("no_price")
    money = rate.unit_price
    usage_unit = expression.usage_unit
    units, nanos = money.figures
    fault = _price_fault(money.currency_code, usage_unit, units, nanos)
    word = {"unknown_unit": usage_unit, "unknown_currency": money.currency_code}.get(fault or "")
    if not is_in_range(units, nanos):
        units = nanos = None
    return _Price(fault, word, money.currency_code, usage_unit, units, nanos, newest.effective_time)


def _price_fault(
    currency: str | None, usage_unit: str, units: int | None, nanos: int | None
) -> str | None:
    """Return why an amount is not a price. Dollars were requested, and no component is free."""
    if not currency:
        return "no_currency"
    if currency != "USD":
        return "unknown_currency"
    if usage_unit not in USAGE_UNITS:
        return "unknown_unit" if usage_unit else "no_price"
    if units == 0 and nanos == 0:
        return "zero_price"
    return None if is_in_range(units, nanos) else "unreadable_price"


def _first_paid_tier(rates: list[TieredRate]) -> TieredRate | None:
    """Return the tier that one machine pays: the first that is not a free allowance.

    None if two tiers start at the same amount.
    """
    if len(rates) == 1:
        return rates[0]
    if len({rate.start_usage_amount for rate in rates}) < len(rates):
        return None
    ordered = sorted(rates, key=lambda rate: rate.start_usage_amount)
    return next((rate for rate in ordered if rate.is_paid), ordered[0] if ordered else None)


def _frame(lines: Sequence[_Line]) -> pl.DataFrame:
    """Make a frame of SKUs with ``COLUMNS``."""
    prices = [line.price for line in lines]
    meanings = [line.component for line in lines]
    columns: dict[str, Sequence[Any]] = {
        "sku_id": [line.sku.sku_id for line in lines],
        "description": [line.sku.description for line in lines],
        "family": [line.category.resource_family for line in lines],
        "group": [line.category.resource_group for line in lines],
        "usage": [line.category.usage_type for line in lines],
        "regions": [line.sku.regions for line in lines],
        "currency": [price.currency for price in prices],
        "usage_unit": [price.usage_unit for price in prices],
        "units": [price.units for price in prices],
        "nanos": [price.nanos for price in prices],
        "effective_from": [price.effective_from for price in prices],
        "component_id": [part and str(part.component) for part in meanings],
        **{name: [part and getattr(part, name) for part in meanings] for name in _MEANING_COLUMNS},
        "refused": [line.fault[0] for line in lines],
        "word": [line.fault[1] for line in lines],
    }
    return pl.DataFrame(columns, schema=COLUMNS)


def _broken_frame(broken: Sequence[BrokenRow]) -> pl.DataFrame:
    """Make a frame of unreadable SKUs with ``COLUMNS``, most of which are null."""
    rows = [
        {
            "sku_id": fault.text("skuId"),
            "description": fault.text("description"),
            "refused": "unknown_column" if fault.new_member else "unreadable_line",
            "word": fault.new_member,
        }
        for fault in broken
    ]
    return pl.DataFrame(rows, schema=COLUMNS)


def _with_price(frame: pl.DataFrame) -> pl.DataFrame:
    """Convert price and effective_from, and add per and sku_units."""
    nanos = pl.col("nanos").cast(WideMoney) / pl.lit(NANOS).cast(WideMoney)
    effective_from = read_time(pl.col("effective_from"))
    units = pl.DataFrame(
        {
            "usage_unit": list(USAGE_UNITS),
            "per": [unit.per for unit in USAGE_UNITS.values()],
            "sku_units": pl.Series([u.per_unit for u in USAGE_UNITS.values()], dtype=Money),
        }
    )
    priced = frame.with_columns(
        price=(pl.col("units").cast(WideMoney) + nanos).cast(Money), effective_from=effective_from
    )
    joined = priced.join(units, on="usage_unit", how="left", maintain_order="left")
    return joined.drop("units", "nanos")
