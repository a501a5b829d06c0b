"""Read landed Retail Prices pages into one frame of items, exact to the last digit.

Amounts stay text until ``read_money`` makes Decimals of them. No float comes between, and what is
refused is shown as it came.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import msgspec
import polars as pl

from hwprices.landing import strict_json
from hwprices.landing.pages import Page, UnitResult
from hwprices.providers import Pages
from hwprices.providers.azure import kinds
from hwprices.rows.origin import origins
from hwprices.rows.prices import read_money
from hwprices.units import Money


class SavingsPlan(msgspec.Struct, gc=False, omit_defaults=True, rename="camel"):
    """One savings plan inside an on-demand item. unitPrice is only counted."""

    term: str | None = None
    retail_price: Any = None
    unit_price: Any = None


class Item(msgspec.Struct, gc=False, omit_defaults=True, rename="camel"):
    """One item, with the members that are read.

    ``Any`` members are money: the decoder gives their text.
    """

    currency_code: str | None = None
    tier_minimum_units: Any = None
    reservation_term: str | None = None
    retail_price: Any = None
    arm_region_name: str | None = None
    location: str | None = None
    effective_start_date: str | None = None
    effective_end_date: str | None = None
    meter_id: str | None = None
    meter_name: str | None = None
    sku_id: str | None = None
    product_name: str | None = None
    sku_name: str | None = None
    service_name: str | None = None
    unit_of_measure: str | None = None
    type: str | None = None
    is_primary_meter_region: bool | None = None
    arm_sku_name: str | None = None
    savings_plan: list[SavingsPlan] | None = None


class _WholeItem(Item, gc=False, omit_defaults=True, rename="camel"):
    """An item with the members that say nothing more about a list price.

    They are declared to be counted (``strict_json.refuse_repeated_names``).
    """

    unit_price: Any = None
    product_id: Any = None
    service_id: Any = None
    service_family: Any = None


class RetailPage(msgspec.Struct, omit_defaults=True):
    """One page as Retail Prices answers it; all but items and their number is only counted."""

    Items: list[_WholeItem]
    Count: int
    BillingCurrency: Any = msgspec.UNSET
    CustomerEntityId: Any = msgspec.UNSET
    CustomerEntityType: Any = msgspec.UNSET
    NextPageLink: Any = msgspec.UNSET


MEMBERS = tuple(name for name in Item.__struct_encode_fields__ if name != "savingsPlan")
"""The members of an item that are one value."""

AMOUNTS = ("retailPrice", "tierMinimumUnits")  # Those that are money

PLANS = {"plan_terms": "term", "plan_prices": "retailPrice"}
"""The columns of an item's savings plans, and the member of a plan that each lists."""

COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    **dict.fromkeys(MEMBERS, pl.String),
    **dict.fromkeys(AMOUNTS, Money),
    "isPrimaryMeterRegion": pl.Boolean,
    "plan_terms": pl.List(pl.String),
    "plan_prices": pl.List(Money),
    **{f"{name}_text": pl.String for name in AMOUNTS},
    "plan_prices_text": pl.List(pl.String),
    "new_members_text": pl.String,
}
"""Columns of a frame of items: the members of ``Item``, amounts null where they are none. The
savings plans are lists of equal length, their terms and their prices; all are null where the item
has none. The columns that end in _text have amounts as the vendor wrote them. new_members_text
names the members that an item has and that are not known."""

NESTED_MONEY = (b'etailPrice":[', b'etailPrice":{', b'tierMinimumUnits":[', b'tierMinimumUnits":{')
"""What the JSON of items has where money is a list or an object: inside a text, quotes are
escaped."""

_ENCODED: dict[str, pl.DataType | type[pl.DataType]] = {
    **dict.fromkeys(MEMBERS, pl.String),
    "isPrimaryMeterRegion": pl.Boolean,
    "savingsPlan": pl.List(pl.Struct({"term": pl.String, "retailPrice": pl.String})),
}
"""The members of ``Item`` as they are encoded: amounts as text."""

_DECODER = msgspec.json.Decoder(RetailPage, float_hook=str)


@dataclass(frozen=True)
class Items:
    """Items of price pages, region by region.

    ``rows`` has ``COLUMNS`` and page. ``pages`` has page, the origin columns of that page, and
    page_region: the region whose prices were requested, in lower case.
    """

    rows: pl.DataFrame
    pages: pl.DataFrame


def price_units(
    pages: Pages, is_kind: Callable[[str], bool] = kinds.is_retail
) -> dict[str, list[UnitResult]]:
    """List the units of a kind that have pages by region in lower case, sorted by kind.

    A region whose name comes in two cases is one: Azure writes some names in several.
    """
    units: dict[str, list[UnitResult]] = {}
    for result in sorted(pages.run.results, key=lambda result: result.unit.kind):
        if is_kind(result.unit.kind) and result.pages:
            units.setdefault(result.unit.region.lower(), []).append(result)
    return units


def read_items(
    pages: Pages, regions: Collection[str], is_kind: Callable[[str], bool] = kinds.is_retail
) -> Items:
    """Read every item of every page of these regions (in lower case). None is left out.

    Raises:
        HwpricesError: a landed page is altered.
    """
    results = [
        (region, result)
        for region, of_region in sorted(price_units(pages, is_kind).items())
        if region in regions
        for result in of_region
    ]
    frames = [pl.DataFrame(schema={**COLUMNS, "page": pl.Int32})]
    read = 0
    for _, result in results:
        # Half of a region's prices would look like prices that Azure has withdrawn.
        with pages.leave_out(*result.pages):
            frames += [
                _read_page(pages, page, number) for number, page in enumerate(result.pages, read)
            ]
        read += len(result.pages)
    listed = [(region, page) for region, result in results for page in result.pages]
    origin = origins([page for _, page in listed])
    page_regions = pl.Series("page_region", [region for region, _ in listed], dtype=pl.String)
    return Items(pl.concat(frames, rechunk=True), origin.with_columns(page_regions))


def _read_page(pages: Pages, page: Page, number: int) -> pl.DataFrame:
    with pages.parsing(page):
        return decode_items(pages.read(page)).with_columns(page=pl.lit(number, dtype=pl.Int32))


def decode_items(body: bytes) -> pl.DataFrame:
    """Decode a page, and make ``COLUMNS`` of its items.

    Raises:
        ValueError: it is not JSON with a list of Items as long as its Count, or has a name twice in
            one object; the line names the member that does not fit.
        RecursionError: it is nested too deep.
    """
    answer = _decode(body)
    has_all_members = strict_json.refuse_repeated_names(body, answer)
    items = msgspec.json.encode(answer.Items)
    if any(text in items for text in NESTED_MONEY):
        items = msgspec.json.encode([_with_money_as_text(item) for item in answer.Items])
    if len(answer.Items) != answer.Count:
        raise ValueError(f"it says Count {answer.Count} and holds {len(answer.Items)} items")
    new = [None] * answer.Count if has_all_members else _new_members(body)
    plan = pl.element().struct.field
    rows = pl.read_json(items, schema=_ENCODED) if answer.Items else pl.DataFrame(schema=_ENCODED)
    return rows.with_columns(
        *(pl.col(name).alias(f"{name}_text") for name in AMOUNTS),
        *(read_money(pl.col(name)).alias(name) for name in AMOUNTS),
        pl.col("savingsPlan").list.eval(plan("term")).alias("plan_terms"),
        pl.col("savingsPlan").list.eval(read_money(plan("retailPrice"))).alias("plan_prices"),
        pl.col("savingsPlan").list.eval(plan("retailPrice")).alias("plan_prices_text"),
        pl.Series("new_members_text", new, dtype=pl.String),
    ).select(*COLUMNS)


def _new_members(body: bytes) -> list[str | None]:
    known = set(_WholeItem.__struct_encode_fields__)
    items = msgspec.json.decode(body)["Items"]
    return [", ".join(sorted(set(item) - known)) or None for item in items]


def _with_money_as_text(item: Item) -> Item:
    """Write lists and objects where money should be as their JSON, which no amount has."""
    plans = item.savings_plan and [
        msgspec.structs.replace(plan, retail_price=_as_text(plan.retail_price))
        for plan in item.savings_plan
    ]
    return msgspec.structs.replace(
        item,
        retail_price=_as_text(item.retail_price),
        tier_minimum_units=_as_text(item.tier_minimum_units),
        savings_plan=plans,
    )


def _as_text(value: Any) -> Any:
    return msgspec.json.encode(value).decode() if isinstance(value, (list, dict)) else value


def _decode(body: bytes) -> RetailPage:
    try:
        return _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        message = f"it is not a Retail Prices answer ({str(error)[:160]})"
        raise ValueError(message) from None


def time(text: pl.Expr) -> pl.Expr:
    """Read a time such as 2018-06-01T00:00:00Z; null where it is not written so."""
    return text.str.to_datetime(
        "%Y-%m-%dT%H:%M:%S%.fZ", time_unit="us", strict=False
    ).dt.replace_time_zone("UTC")
