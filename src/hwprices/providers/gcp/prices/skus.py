"""Read SKUs from landed pages: one row for each SKU that sells a component of a machine.

The pages hold ``services.skus.list`` of the Cloud Billing Catalog:
https://cloud.google.com/billing/docs/reference/rest/v1/services.skus/list.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

import msgspec
import polars as pl

from hwprices.errors import HwpricesError
from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.providers.gcp import kinds
from hwprices.providers.gcp.listings import decode
from hwprices.providers.gcp.prices.classify import OutOfScope, classify
from hwprices.providers.gcp.prices.grammar import NotAMachinePrice, PricedComponent
from hwprices.units import Money, Timestamp, WideMoney

UNKNOWN_LIMIT = 0.05
"""Share of machine SKUs that may be not understood.

Above it the provider fails, because the catalog has changed its words.
"""

UNKNOWN_FLOOR = 20
"""So few unknown SKUs never fail a provider, however small the catalog; they are quarantined."""

GB_PER_GIB = Decimal(2**30) / Decimal(10**9)
"""Decimal gigabytes in one GiB, 1.073741824."""


@dataclass(frozen=True)
class UsageUnit:
    """What a price is for: hour or month, and how many of the SKU's units one of ours is.

    Ours are vCPU, GiB, GPU and so on. Memory sold by the decimal gigabyte has 1.073741824 units for
    each GiB.
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
"""usageUnit → what the price is for. Other units are not those of a component."""

LARGEST_PRICE = 10_000
"""Dollars for an hour or a month of one vCPU, GiB or GPU above which an amount is no price.
Products with the parts of a machine (32,768 GiB) stay within Money."""

NANOS = 10**9
"""Nanos in one unit of the currency (Money in the reference above)."""

COLUMNS: Final[dict[str, Any]] = {
    "sku_id": pl.String,
    "description": pl.String,
    "family": pl.String,
    "group": pl.String,
    "usage": pl.String,
    "regions": pl.List(pl.String),
    "currency": pl.String,
    "per": pl.String,
    "sku_units": Money,
    "units": pl.Int64,
    "nanos": pl.Int64,
    "effective_from": pl.String,
    "series": pl.String,
    "component_id": pl.String,
    "purchase_option": pl.String,
    "term_months": pl.Int32,
    "place": pl.String,
    "version": pl.Int32,
    "min_vcpus": pl.Int32,
    "max_vcpus": pl.Int32,
    "refused": pl.String,
    "observed_at": Timestamp,
    "source_url": pl.String,
    "raw_sha256": pl.String,
}
"""Columns of a SKU's row before its price is one number.

``refused`` is a quarantine reason or null.
"""


class _Category(msgspec.Struct, rename="camel"):
    resource_family: str = ""
    resource_group: str = ""
    usage_type: str = ""


class _GeoTaxonomy(msgspec.Struct):
    regions: list[str] = []


def _integer(value: object) -> int | None:
    """Read a number that Google may send in quotes; None where it is no whole number."""
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


_INTEGER = re.compile(r"-?[0-9]{1,19}")
"""What a 64-bit integer in quotes looks like."""


class _Money(msgspec.Struct, rename="camel"):
    """An amount; members that are zero are left out, and None once read where they are no number.

    They may be anything in the page: one strange amount must not cost the whole catalog.
    """

    currency_code: str | None = None
    units: Any = 0
    nanos: Any = 0

    def __post_init__(self) -> None:
        self.units, self.nanos = _integer(self.units), _integer(self.nanos)

    @property
    def is_in_range(self) -> bool:
        """Whether it can be a price: not negative, and not above LARGEST_PRICE."""
        if self.units is None or self.nanos is None:
            return False
        return bool(0 <= self.units <= LARGEST_PRICE and 0 <= self.nanos < NANOS)

    @property
    def is_zero(self) -> bool:
        """Whether it is an amount, and that is zero."""
        return bool(self.units == 0 and self.nanos == 0)


class _TieredRate(msgspec.Struct, rename="camel"):
    start_usage_amount: float = 0
    unit_price: _Money | None = None

    @property
    def is_paid(self) -> bool:
        return self.unit_price is not None and not self.unit_price.is_zero


class _Expression(msgspec.Struct, rename="camel"):
    usage_unit: str = ""
    tiered_rates: list[_TieredRate] = []


class _PricingInfo(msgspec.Struct, rename="camel"):
    effective_time: str | None = None
    pricing_expression: _Expression = msgspec.field(default_factory=_Expression)


class _Sku(msgspec.Struct, rename="camel"):
    sku_id: str | None = None
    description: str = ""
    category: _Category = msgspec.field(default_factory=_Category)
    service_regions: list[str] = []
    geo_taxonomy: _GeoTaxonomy = msgspec.field(default_factory=_GeoTaxonomy)
    pricing_info: list[_PricingInfo] = []

    @property
    def regions(self) -> list[str]:
        """Where it is sold. A few SKUs leave serviceRegions out and say it in geoTaxonomy."""
        return self.service_regions or self.geo_taxonomy.regions or ["global"]


class _SkuList(msgspec.Struct):
    skus: list[_Sku] = []


@dataclass(frozen=True)
class SkuCatalog:
    """The SKUs of the run.

    ``components`` are those that sell a component, ``refused`` those that are not understood or
    have no usable price. Both have the columns of ``COLUMNS`` with ``price`` (Decimal, for the time
    in ``per``: hour or month, ``sku_units`` of the SKU being one of our units) instead of units and
    nanos, and effective_from as a time. ``counts`` says how many others there were, by reason.
    """

    components: pl.DataFrame
    refused: pl.DataFrame
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class _Price:
    """The current price of a SKU; ``fault`` is the quarantine reason where it is not usable."""

    fault: str | None
    currency: str | None = None
    usage_unit: UsageUnit | None = None
    units: int | None = None
    nanos: int | None = None
    effective_from: str | None = None


def read_skus(pages: Pages) -> SkuCatalog:
    """Read every SKU page of the run.

    Raises:
        UnreadablePageError: a page is not a SKU list. Without one of them parts of machines have no
            price, so the provider fails.
        HwpricesError: too many descriptions are not understood.
    """
    rows: list[dict[str, Any]] = []
    counts: Counter[str] = Counter()
    for kind in kinds.SKU_KINDS:
        for page in pages.of(kind):
            rows += _read_page(pages, page, counts)
    frame = _frame(rows)
    refused = frame.filter(pl.col("refused").is_not_null())
    not_prices = sum(
        count for reason, count in counts.items() if reason.startswith(_NOT_A_MACHINE_PRICE)
    )
    _check_unknown_share(refused, frame.height + not_prices)
    components = frame.filter(pl.col("refused").is_null()).drop("refused")
    return SkuCatalog(components, refused, dict(counts))


_NOT_A_MACHINE_PRICE = "not_a_machine_price:"


def _read_page(pages: Pages, page: Page, counts: Counter[str]) -> list[dict[str, Any]]:
    """Return one row for each SKU that sells a component or is not understood; count the others."""
    listing = decode(
        pages, page, _SkuList, what="a list of SKUs", setting="HWPRICES_GCP_BILLING_URL"
    )
    rows = []
    for sku in listing.skus:
        meaning = classify(
            sku.description,
            family=sku.category.resource_family,
            group=sku.category.resource_group,
            usage=sku.category.usage_type,
        )
        if isinstance(meaning, OutOfScope):
            counts[f"out_of_scope:resource_family={meaning.resource_family}"] += 1
        elif isinstance(meaning, NotAMachinePrice):
            counts[f"{_NOT_A_MACHINE_PRICE}{meaning.reason}"] += 1
        else:
            rows.append(_row(sku, meaning, page))
    return rows


def _row(sku: _Sku, meaning: PricedComponent | None, page: Page) -> dict[str, Any]:
    """Return one row with the columns of ``COLUMNS``."""
    price = _current_price(sku)
    row = {
        "sku_id": sku.sku_id,
        "description": sku.description,
        "family": sku.category.resource_family,
        "group": sku.category.resource_group,
        "usage": sku.category.usage_type,
        "regions": sku.regions,
        "currency": price.currency,
        "per": price.usage_unit.per if price.usage_unit else None,
        "sku_units": price.usage_unit.per_unit if price.usage_unit else None,
        "units": price.units,
        "nanos": price.nanos,
        "effective_from": price.effective_from,
        "refused": "unknown_grammar" if meaning is None else price.fault,
        "observed_at": page.retrieved_at,
        "source_url": page.url,
        "raw_sha256": page.sha256,
    }
    return row if meaning is None else row | _meaning_columns(meaning)


def _meaning_columns(meaning: PricedComponent) -> dict[str, Any]:
    return {
        "series": meaning.series,
        "component_id": str(meaning.component),
        "purchase_option": meaning.purchase_option,
        "term_months": meaning.term_months,
        "place": meaning.place,
        "version": meaning.version,
        "min_vcpus": meaning.min_vcpus,
        "max_vcpus": meaning.max_vcpus,
    }


def _current_price(sku: _Sku) -> _Price:
    """Return the newest price of a SKU, of the tier that one machine pays."""
    newest = max(
        sku.pricing_info, key=lambda info: info.effective_time or "", default=_PricingInfo()
    )
    rate = _first_paid_tier(newest.pricing_expression.tiered_rates)
    money = rate.unit_price if rate else None
    if rate is None or money is None:
        return _Price("no_price")
    usage_unit = USAGE_UNITS.get(newest.pricing_expression.usage_unit)
    return _Price(
        _price_fault(money, usage_unit),
        money.currency_code,
        usage_unit,
        money.units if money.is_in_range else None,
        money.nanos if money.is_in_range else None,
        newest.effective_time,
    )


def _price_fault(money: _Money, usage_unit: UsageUnit | None) -> str | None:
    """Return why an amount is no price: dollars are asked for, and no component is free."""
    if money.currency_code != "USD":
        return "not_usd"
    if usage_unit is None:
        return "unknown_unit"
    if money.is_zero:
        return "zero_price"
    return None if money.is_in_range else "unreadable_price"


def _first_paid_tier(rates: list[_TieredRate]) -> _TieredRate | None:
    """Return the tier that one machine pays: the first that is not a free allowance."""
    ordered = sorted(rates, key=lambda rate: rate.start_usage_amount)
    return next((rate for rate in ordered if rate.is_paid), ordered[0] if ordered else None)


def _frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Make the frame, with one number for the price and a time for effective_from."""
    nanos = pl.col("nanos").cast(WideMoney) / pl.lit(NANOS).cast(WideMoney)
    effective_from = pl.col("effective_from").str.to_datetime(
        "%+", time_zone="UTC", time_unit="us", strict=False
    )
    columns = {name: [row.get(name) for row in rows] for name in COLUMNS}
    frame = pl.DataFrame(columns, schema=COLUMNS)
    return frame.with_columns(
        price=(pl.col("units").cast(WideMoney) + nanos).cast(Money), effective_from=effective_from
    ).drop("units", "nanos")


def _check_unknown_share(refused: pl.DataFrame, total: int) -> None:
    unknown = refused.filter(pl.col("refused") == "unknown_grammar")
    if unknown.height > max(UNKNOWN_FLOOR, UNKNOWN_LIMIT * total):
        examples = "; ".join(unknown["description"].head(3))
        raise HwpricesError(
            f"gcp: {unknown.height} of {total} machine SKUs are not understood"
            f" (over {UNKNOWN_LIMIT:.0%}): {examples}",
            "Google has changed its SKU descriptions: extend vocabulary.py or grammar.py in "
            "providers/gcp/prices.",
        )
