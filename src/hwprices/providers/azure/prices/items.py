"""Read landed Retail Prices pages into one frame of items, exact to the last digit.

Pages of the usual form are read straight into columns (``rows.json_columns``). Any other, such as
one with an amount that is negative or no number, is decoded item by item: there amounts stay text
until ``read_money`` makes Decimals of them. No float comes between, and what is refused is shown as
it came.
"""

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, cast

import msgspec
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from hwprices.landing import strict_json
from hwprices.landing.pages import Page, UnitResult
from hwprices.providers import PARSER_FAILURES, Pages
from hwprices.providers.azure import kinds
from hwprices.rows import json_columns
from hwprices.rows.json_columns import AMOUNT, FLAG, NUMBER, TEXT
from hwprices.rows.origin import origins
from hwprices.rows.prices import read_money
from hwprices.units import Money

PAGES_AT_ONCE = 4
"""Pages read together. A page of 1,000 items is about 0.5 MB; one at a time takes a third longer,
and more need memory for nothing."""


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
has none. The columns that end in _text have amounts as the vendor wrote them. They are null where
there is one way to write it (``amount_text``). new_members_text names the members that an item has
and that are not known."""

_PLAN_FORM = {"term": TEXT, "retailPrice": AMOUNT, "unitPrice": NUMBER}

_ITEM_FORM = {
    **dict.fromkeys(_WholeItem.__struct_encode_fields__, TEXT),
    **dict.fromkeys(AMOUNTS, AMOUNT),
    "unitPrice": NUMBER,
    "isPrimaryMeterRegion": FLAG,
    "savingsPlan": json_columns.list_of(json_columns.object_of(_PLAN_FORM)),
}

PAGE_FORM = json_columns.object_of(
    {
        "Items": json_columns.list_of(json_columns.object_of(_ITEM_FORM)),
        "Count": NUMBER,
        "BillingCurrency": TEXT,
        "CustomerEntityId": TEXT,
        "CustomerEntityType": TEXT,
        "NextPageLink": TEXT,
    }
)
"""The usual form of a page, with all that ``RetailPage`` declares."""

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
    units = [result.pages for _, result in results]
    numbered = list(enumerate(page for unit_pages in units for page in unit_pages))
    chunks = [numbered[i : i + PAGES_AT_ONCE] for i in range(0, len(numbered), PAGES_AT_ONCE)]
    with ThreadPoolExecutor(pl.thread_pool_size()) as pool:
        read = list(pool.map(functools.partial(_read_pages, pages), chunks))
    empty = pl.DataFrame(schema={**COLUMNS, "page": pl.Int32})
    rows = pl.concat([empty, *(f for frames, _ in read for f in frames)], how="diagonal").rechunk()
    failures = {number: error for _, errors in read for number, error in errors.items()}
    if failures:
        unusable = _leave_out(pages, units, failures)
        rows = rows.filter(~pl.col("page").is_in(unusable))
    page_regions = [region for region, result in results for _ in result.pages]
    origin = origins([page for _, page in numbered])
    return Items(rows, origin.with_columns(pl.Series("page_region", page_regions, dtype=pl.String)))


def _read_pages(
    pages: Pages, numbered: Sequence[tuple[int, Page]]
) -> tuple[list[pl.DataFrame], dict[int, Exception]]:
    """Read some pages into frames of ``COLUMNS`` and page; those in _text may lack.

    Returns also what was raised, by page.
    """
    bodies = [pages.read(page) for _, page in numbered]
    numbers = [number for number, _ in numbered]
    frame = read_columns(bodies, numbers)
    if frame is not None:
        return [frame], {}
    frames: list[pl.DataFrame] = []
    errors: dict[int, Exception] = {}
    for number, body in zip(numbers, bodies, strict=True):
        try:
            frames.append(read_page(body, number))
        except PARSER_FAILURES as error:
            errors[number] = error
    return frames, errors


def _leave_out(
    pages: Pages, units: Sequence[Sequence[Page]], failures: Mapping[int, Exception]
) -> list[int]:
    """Leave out the pages of every unit of which a page could not be read; return their numbers.

    Half of a region's prices would look like prices that Azure has withdrawn.
    """
    unusable: list[int] = []
    first = 0
    for unit_pages in units:
        numbers = range(first, first + len(unit_pages))
        first += len(unit_pages)
        failed = [number for number in numbers if number in failures]
        if failed:
            with pages.leave_out(*unit_pages), pages.parsing(unit_pages[failed[0] - numbers[0]]):
                raise failures[failed[0]]
            unusable += numbers
    return unusable


def read_page(body: bytes, number: int = 0) -> pl.DataFrame:
    """Read one page's items: ``COLUMNS`` and page, which is ``number``. Those in _text may lack.

    Raises:
        ValueError: it is not JSON with a list of Items as long as its Count, or has a name twice in
            one object; the line names the member that does not fit.
        RecursionError: it is nested too deep.
    """
    frame = read_columns([body], [number])
    if frame is None:
        frame = decode_items(body).with_columns(pl.lit(number, dtype=pl.Int32).alias("page"))
    return frame


def read_columns(bodies: Sequence[bytes], numbers: Sequence[int]) -> pl.DataFrame | None:
    """Read pages of the usual form into ``COLUMNS``, without _text, and page.

    None if one has another form.
    """
    answers = json_columns.read_objects(bodies, PAGE_FORM, null_member="NextPageLink")
    if answers is None:
        return None
    lists = answers.field("Items")
    if lists.null_count or lists.value_lengths().cast(pa.float64()) != answers.field("Count"):
        return None
    items = lists.flatten()
    plans = items.field("savingsPlan")
    values = plans.flatten()
    columns = {
        name: _list_column(plans, values.field(PLANS[name])) if name in PLANS else items.field(name)
        for name in COLUMNS
        if not name.endswith("_text")
    }
    columns["page"] = pa.array(numbers, pa.int32()).take(pc.list_parent_indices(lists))
    rows = pa.StructArray.from_arrays(list(columns.values()), list(columns))
    return cast(pl.Series, pl.from_arrow(rows)).struct.unnest()


def _list_column(lists: pa.ListArray, values: pa.Array) -> pa.ListArray:
    """Make lists of other values, as long and as null as ``lists``."""
    return pa.ListArray.from_arrays(lists.offsets, values, mask=lists.is_null())


def decode_items(body: bytes) -> pl.DataFrame:
    """Decode a page of any form, and make ``COLUMNS`` of its items.

    Raises:
        ValueError: as ``read_page``.
        RecursionError: it is nested too deep.
    """
    answer = _decode(body)
    items = msgspec.json.encode(answer.Items)
    _refuse_repeated_names(body, answer, items)
    if any(text in items for text in NESTED_MONEY):
        items = msgspec.json.encode([_with_money_as_text(item) for item in answer.Items])
    if len(answer.Items) != answer.Count:
        raise ValueError(f"it says Count {answer.Count} and holds {len(answer.Items)} items")
    known = set(_WholeItem.__struct_encode_fields__)
    new = [", ".join(sorted(set(item) - known)) for item in msgspec.json.decode(body)["Items"]]
    plan = pl.element().struct.field
    rows = pl.read_json(items, schema=_ENCODED) if answer.Items else pl.DataFrame(schema=_ENCODED)
    return rows.with_columns(
        *(pl.col(name).alias(f"{name}_text") for name in AMOUNTS),
        *(read_money(pl.col(name)).alias(name) for name in AMOUNTS),
        pl.col("savingsPlan").list.eval(plan("term")).alias("plan_terms"),
        pl.col("savingsPlan").list.eval(read_money(plan("retailPrice"))).alias("plan_prices"),
        pl.col("savingsPlan").list.eval(plan("retailPrice")).alias("plan_prices_text"),
        pl.Series("new_members_text", [names or None for names in new], dtype=pl.String),
    ).select(*COLUMNS)


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


def _refuse_repeated_names(body: bytes, answer: RetailPage, items: bytes) -> None:
    """Refuse a page with a name twice in one object. ``items`` are those of the answer, encoded."""
    envelope = msgspec.json.encode(msgspec.structs.replace(answer, Items=[]))
    names = strict_json.count_names(body)
    if names is None or names != strict_json.count_names(envelope + items):
        strict_json.refuse_repeated_names(body)


def amount_text(name: str) -> pl.Expr:
    """Write the amount of a column as the vendor did: ``name``_text, or in the one way there is."""
    return pl.coalesce(f"{name}_text", decimal_text(pl.col(name)))


def decimal_text(amount: pl.Expr) -> pl.Expr:
    """Write an amount as JSON has it: 0.0131, 20363.0."""
    digits = amount.cast(pl.String).str.strip_chars_end("0")
    return pl.when(digits.str.ends_with(".")).then(digits + "0").otherwise(digits)


def time(text: pl.Expr) -> pl.Expr:
    """Read a time such as 2018-06-01T00:00:00Z; null where it is not written so."""
    return text.str.to_datetime(
        "%Y-%m-%dT%H:%M:%S%.fZ", time_unit="us", strict=False
    ).dt.replace_time_zone("UTC")
