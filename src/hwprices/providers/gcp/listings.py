"""Decode landed pages of Google APIs into typed structs: lists of machines, and the SKU catalog.

https://cloud.google.com/billing/docs/reference/rest/v1/services.skus/list
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Generic, TypeVar

import msgspec
import polars as pl
from msgspec import UNSET, UnsetType

from hwprices.landing import bodies
from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.rows import prices
from hwprices.rows.frames import origin

T = TypeVar("T")


@dataclass(frozen=True)
class BrokenRow:
    """A row of a list that does not fit its struct: the JSON, and the error."""

    row: Any
    message: str

    @property
    def new_member(self) -> str | None:
        """The name of an unknown member, None if the error is another one."""
        match = re.search(r"unknown field `(.+?)`", self.message)
        return match and match[1]

    def text(self, member: str) -> str | None:
        """Return a member that is text."""
        value = self.row.get(member) if isinstance(self.row, dict) else None
        return value if isinstance(value, str) else None


@dataclass(frozen=True)
class Listing(Generic[T]):
    """A page without its broken rows, the broken rows, and the names of unknown members."""

    page: T
    broken: list[BrokenRow]
    new_members: list[str]


def decode(pages: Pages, page: Page, model: type[T], *, what: str, setting: str) -> T:
    """Decode a landed page.

    Numbers in quotes are read as numbers, as Google sends 64-bit integers. Members that ``model``
    does not declare are ignored.

    ``what``: what the page should be, for the error ("a list of SKUs"). ``setting``: the variable
    with the endpoint, for the error.

    Raises:
        UnreadablePageError: the page does not fit ``model``, or repeats a name in an object; names
            page and field.
    """
    with pages.parsing(page):
        content = pages.read(page)
        decoded = _decode(content, model, what, setting)
        bodies.refuse_repeated_names(content)
        return decoded


def decode_rows(
    pages: Pages,
    page: Page,
    model: type[T],
    *,
    what: str,
    setting: str,
    rows: Callable[[Any], Iterable[list[Any]]],
    row_type: type,
) -> Listing[T]:
    """Decode a landed page, and leave out rows that do not fit their struct.

    ``model`` declares every member that Google documents, and omits absent ones when encoded, so
    that repeated names are found quickly (``bodies.refuse_repeated_names``). ``rows`` finds the
    lists of rows in the JSON; ``row_type`` is the struct of a row. The others are as in ``decode``.

    Raises:
        UnreadablePageError: as ``decode``; or most rows are broken: the format has changed.
    """
    with pages.parsing(page):
        content = pages.read(page)
        broken: list[BrokenRow] = []
        try:
            decoded = _decode(content, model, what, setting)
        except ValueError as error:
            try:
                document = msgspec.json.decode(content)
                lists = list(rows(document))
                broken = [fault for listed in lists for fault in _take_out_broken(listed, row_type)]
                decoded = msgspec.convert(document, model, strict=False)
            except (msgspec.DecodeError, AttributeError, KeyError, TypeError):
                raise error from None
            if len(broken) > sum(len(listed) for listed in lists):
                raise
        has_all = bodies.refuse_repeated_names(content, decoded)
        return Listing(decoded, broken, [] if has_all or broken else _new_members(content, decoded))


def refused_members(names: list[str], page: Page, table: str) -> pl.DataFrame:
    """Make a quarantine row of each new member, which may be relevant to a price."""
    frame = pl.LazyFrame({"provider": ["gcp"] * len(names), "member": names})
    return prices.refused(
        frame.with_columns(*origin(page)),
        table=table,
        reason="unknown_column",
        message=prices.message("the member {} is not known, and is ignored", "member"),
        word=pl.col("member"),
    ).collect()


def _decode(content: bytes, model: type[T], what: str, setting: str) -> T:
    try:
        return msgspec.json.decode(content, type=model, strict=False)
    except msgspec.DecodeError as error:
        raise ValueError(f"it is not {what} ({error}); check {setting}") from None


def _new_members(content: bytes, decoded: object) -> list[str]:
    """Return the names that decoding dropped. Declared names are only dropped if they are 0."""
    dropped = _count_names(content) - _count_names(msgspec.json.encode(decoded))
    structs = msgspec.json.schema(type(decoded))["$defs"].values()
    declared = {name for struct in structs for name in struct["properties"]}
    return sorted(dropped.keys() - declared)


def _count_names(content: bytes) -> Counter[str]:
    names: Counter[str] = Counter()
    json.loads(content, object_pairs_hook=lambda members: names.update(n for n, _ in members))
    return names


def _take_out_broken(rows: list[Any], row_type: type) -> list[BrokenRow]:
    """Remove the rows that do not fit the type from a list, and return them."""
    good: list[Any] = []
    broken: list[BrokenRow] = []
    for row in rows:
        try:
            msgspec.convert(row, row_type, strict=False)
        except msgspec.ValidationError as error:
            broken.append(BrokenRow(row, str(error)))
        else:
            good.append(row)
    rows[:] = good
    return broken


LARGEST_PRICE = 10_000
"""More dollars than one vCPU, GiB or GPU costs in an hour or a month. Multiplied by the largest
quantity in a machine (32,768 GiB), it still fits Money."""

NANOS = 10**9  # Nanos in one unit of the currency (Money in the reference above)

SKU_COLUMNS: Final[dict[str, Any]] = {
    "sku_id": pl.String,
    "description": pl.String,
    "family": pl.String,
    "group": pl.String,
    "usage": pl.String,
    "regions": pl.List(pl.String),
}
"""Columns of every row of a SKU; family, group and usage are those of ``Category``."""


class Category(msgspec.Struct, gc=False, omit_defaults=True, rename="camel"):
    """What a SKU is a price for, in three words."""

    resource_family: str = ""
    resource_group: str = ""
    usage_type: str = ""
    service_display_name: Any = UNSET


class GeoTaxonomy(msgspec.Struct, gc=False, omit_defaults=True):
    """Where a SKU is sold."""

    regions: list[str] = []
    type: Any = UNSET


def _integer(value: object) -> int | None:
    """Read a number that Google may send in quotes; None if it is not a whole number."""
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


_INTEGER = re.compile(r"-?[0-9]{1,19}")  # A 64-bit integer in quotes


class Amount(
    msgspec.Struct, gc=False, omit_defaults=True, rename="camel", forbid_unknown_fields=True
):
    """An amount; members that are zero are absent.

    Members may have any type, so that one invalid amount does not make the catalog unreadable.
    Unknown members are refused, because nanos under another name would be read as 0.
    """

    currency_code: str | None = None
    units: Any = UNSET
    nanos: Any = UNSET

    @property
    def figures(self) -> tuple[int | None, int | None]:
        """Units and nanos, each None if it is not a whole number."""
        units = 0 if self.units is UNSET else _integer(self.units)
        return units, 0 if self.nanos is UNSET else _integer(self.nanos)


class TieredRate(msgspec.Struct, gc=False, omit_defaults=True, rename="camel"):
    """A price that applies from an amount of use on, in usage units."""

    start_usage_amount: float = 0
    unit_price: Amount | None = None

    @property
    def is_paid(self) -> bool:
        """Whether it is more than a free allowance."""
        return self.unit_price is not None and self.unit_price.figures != (0, 0)


class Expression(msgspec.Struct, gc=False, omit_defaults=True, rename="camel"):
    """A price by tiers; ``usage_unit`` is in UCUM, https://ucum.org."""

    usage_unit: str = ""
    tiered_rates: list[TieredRate] = []
    usage_unit_description: Any = UNSET
    display_quantity: Any = UNSET
    base_unit: Any = UNSET
    base_unit_description: Any = UNSET
    base_unit_conversion_factor: Any = UNSET


class PricingInfo(msgspec.Struct, gc=False, omit_defaults=True, rename="camel"):
    """A price and the time from which it holds."""

    effective_time: str | None = None
    pricing_expression: Expression | UnsetType = UNSET
    summary: Any = UNSET
    currency_conversion_rate: Any = UNSET
    aggregation_info: Any = UNSET

    @property
    def tier_interval(self) -> str | None:
        """DAILY or MONTHLY: the time over which use is summed for the tiers; None if unstated."""
        info = self.aggregation_info
        return info.get("aggregationInterval") if isinstance(info, dict) else None


class Sku(msgspec.Struct, gc=False, omit_defaults=True, rename="camel"):
    """A SKU. Members that are not read are declared to count names.

    See ``bodies.refuse_repeated_names``.
    """

    sku_id: str | None = None
    description: str = ""
    category: Category | UnsetType = UNSET
    service_regions: list[str] = []
    geo_taxonomy: GeoTaxonomy | UnsetType = UNSET
    pricing_info: list[PricingInfo] = []
    name: Any = UNSET
    service_provider_name: Any = UNSET

    @property
    def regions(self) -> list[str]:
        """Where it is sold. A few SKUs have geoTaxonomy instead of serviceRegions."""
        return self.service_regions or (self.geo_taxonomy.regions if self.geo_taxonomy else [])


class SkuList(msgspec.Struct, gc=False, omit_defaults=True, rename="camel"):
    """One page of the catalog."""

    skus: list[Sku] = []
    next_page_token: Any = UNSET


def decode_skus(pages: Pages, page: Page) -> Listing[SkuList]:
    """Decode one page, without the rows that do not fit a SKU.

    Raises:
        UnreadablePageError: the page is not a list of SKUs.
    """
    return decode_rows(
        pages,
        page,
        SkuList,
        what="a list of SKUs",
        setting="HWPRICES_GCP_BILLING_URL",
        rows=lambda document: [_without_extras(document["skus"])],
        row_type=Sku,
    )


def at_day(skus: Sequence[Sku], day: datetime) -> list[Sku]:
    """Return the SKUs with the price that held on a day, without SKUs that had none yet."""
    priced = []
    for sku in skus:
        price = newest_price([price for price in sku.pricing_info if price_day(price) <= day])
        if price is not None:
            priced.append(msgspec.structs.replace(sku, pricing_info=[price]))
    return priced


def price_day(price: PricingInfo) -> datetime:
    """Return the day (UTC) from which a price holds."""
    begin = datetime.fromisoformat(price.effective_time or "").astimezone(UTC)
    return begin.replace(hour=0, minute=0, second=0, microsecond=0)


def newest_price(prices: list[PricingInfo]) -> PricingInfo | None:
    """Return the price that began last; None without prices."""
    if len(prices) == 1:
        return prices[0]
    return max(prices, key=lambda info: info.effective_time or "", default=None)


def read_time(times: pl.Expr) -> pl.Expr:
    """Read effectiveTime; null if it is not a time."""
    return times.str.to_datetime("%+", time_zone="UTC", time_unit="us", strict=False)


def is_in_range(units: int | None, nanos: int | None) -> bool:
    """Check that an amount can be a price: not negative, and not above LARGEST_PRICE."""
    if units is None or nanos is None:
        return False
    return 0 <= units <= LARGEST_PRICE and 0 <= nanos < NANOS


_MONEY = {"currencyCode", "units", "nanos"}


def _without_extras(skus: list[Any]) -> list[Any]:
    """Drop extra members of amounts that have all required members.

    If a required one is missing, an extra member may be its new name.
    """
    for sku in skus:
        for amount in _amounts(sku):
            if amount.keys() > _MONEY:
                for name in amount.keys() - _MONEY:
                    del amount[name]
    return skus


def _amounts(sku: Any) -> Iterator[dict[str, Any]]:
    """Yield every unitPrice in the JSON of a SKU."""
    if isinstance(sku, list):
        for element in sku:
            yield from _amounts(element)
    elif isinstance(sku, dict):
        for name, value in sku.items():
            if name == "unitPrice" and isinstance(value, dict):
                yield value
            else:
                yield from _amounts(value)
