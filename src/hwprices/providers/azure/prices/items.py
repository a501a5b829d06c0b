"""Read landed Retail Prices pages into one frame of items, exact to the last digit.

Members that are money stay as the vendor wrote them, as text, until ``money`` makes Decimals of
them: no float comes between, and what is refused is shown as it came.
"""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec
import polars as pl

from hwprices.landing import strict_json
from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.providers.azure import kinds
from hwprices.rows.origin import origins
from hwprices.rows.prices import read_money

PAGES_AT_ONCE = 16
"""Pages held in memory before they are decoded. A page of 1,000 items is about 1 MB."""

ITEMS_AT_ONCE = 10_000
"""Items from which columns are made at once. Fewer cost more by the item, because a column of its
own has a price; more need more memory."""


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


class Answer(msgspec.Struct, omit_defaults=True):
    """One page as Retail Prices answers it; all but items and their number is only counted."""

    Items: list[_WholeItem]
    Count: int
    BillingCurrency: Any = msgspec.UNSET
    CustomerEntityId: Any = msgspec.UNSET
    CustomerEntityType: Any = msgspec.UNSET
    NextPageLink: Any = msgspec.UNSET


ITEM: dict[str, pl.DataType | type[pl.DataType]] = {
    **dict.fromkeys(Item.__struct_encode_fields__, pl.String),
    "isPrimaryMeterRegion": pl.Boolean,
    "savingsPlan": pl.List(pl.Struct({"term": pl.String, "retailPrice": pl.String})),
}
"""The members of ``Item``, money as text."""

PLANS = {"plan_terms": "term", "plan_prices": "retailPrice"}
"""The columns of an item's savings plans, and the member of a plan that each lists."""

COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    **{name: dtype for name, dtype in ITEM.items() if name != "savingsPlan"},
    **dict.fromkeys(PLANS, pl.List(pl.String)),
}
"""Columns of a frame of items: the members of ``Item``, money as text. The savings plans are two
lists of equal length, their terms and their prices; both are null where the item has none."""

NESTED_MONEY = (b'etailPrice":[', b'etailPrice":{', b'tierMinimumUnits":[', b'tierMinimumUnits":{')
"""What the JSON of items has where money is a list or an object: inside a text, quotes are
escaped."""

_DECODER = msgspec.json.Decoder(Answer, float_hook=str)


@dataclass(frozen=True)
class Items:
    """Items of all price pages.

    ``rows`` has ``COLUMNS`` and ``page``. ``pages`` has page and the origin columns of that page.
    """

    rows: pl.DataFrame
    pages: pl.DataFrame


@dataclass(frozen=True)
class PageItems:
    """The checked items of one page; ``number`` is its place among the price pages.

    ``json`` is the list of items as msgspec writes it, amounts in quotes. polars makes columns of
    that in less time than of millions of Python's strings, and beside the decoding of other pages.
    """

    number: int
    count: int
    json: bytes


def read_items(pages: Pages) -> Items:
    """Read every item of every price page. None is left out.

    Raises:
        HwpricesError: a landed page is altered.
    """
    results = [r for r in pages.run.results if kinds.is_retail(r.unit.kind)]
    units = [result.pages for result in sorted(results, key=lambda result: result.unit.kind)]
    price_pages = [page for unit_pages in units for page in unit_pages]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        bodies = enumerate(_bodies(pages, price_pages, pool))
        frames: list[Future[pl.DataFrame]] = []
        waiting: list[PageItems] = []
        for unit_pages in units:
            waiting += _read_unit(pages, unit_pages, list(islice(bodies, len(unit_pages))))
            if sum(page.count for page in waiting) >= ITEMS_AT_ONCE:
                frames.append(pool.submit(frame_of_items, waiting))
                waiting = []
        frames.append(pool.submit(frame_of_items, waiting))
        rows = pl.concat([frame.result() for frame in frames]).rechunk()
    return Items(rows, origins(price_pages))


def _read_unit(
    pages: Pages, unit_pages: Sequence[Page], bodies: Sequence[tuple[int, bytes]]
) -> list[PageItems]:
    """Read the pages of one unit, given as number and content; none if one cannot be read.

    Half of a region's prices would look like prices that Azure has withdrawn.
    """
    if not unit_pages:
        return []
    with pages.leave_out(*unit_pages):
        listed: list[PageItems] = []
        for page, (number, body) in zip(unit_pages, bodies, strict=True):
            with pages.parsing(page):
                listed.append(read_page(body, number))
        return listed
    return []


def _bodies(pages: Pages, price_pages: Sequence[Page], pool: ThreadPoolExecutor) -> Iterator[bytes]:
    """Read pages in order and ahead: decompression runs beside what the caller does."""
    waiting: deque[Future[bytes]] = deque()
    for page in price_pages:
        waiting.append(pool.submit(pages.read, page))
        if len(waiting) == PAGES_AT_ONCE:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def read_page(body: bytes, number: int = 0) -> PageItems:
    """Check one page's body, and write its items anew.

    Raises:
        ValueError: it is not JSON with a list of Items as long as its Count, or has a name twice in
            one object; the line names the member that does not fit.
        RecursionError: it is nested too deep.
    """
    answer = _decode(body)
    items = msgspec.json.encode(answer.Items)
    _refuse_repeated_names(body, answer, items)
    if any(text in items for text in NESTED_MONEY):
        items = msgspec.json.encode([_with_money_as_text(item) for item in answer.Items])
    if len(answer.Items) != answer.Count:
        raise ValueError(f"it says Count {answer.Count} and holds {len(answer.Items)} items")
    return PageItems(number, answer.Count, items)


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


def _decode(body: bytes) -> Answer:
    try:
        return _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        message = f"it is not a Retail Prices answer ({str(error)[:160]})"
        raise ValueError(message) from None


def _refuse_repeated_names(body: bytes, answer: Answer, items: bytes) -> None:
    """Refuse a page with a name twice in one object. ``items`` are those of the answer, encoded.

    Raises:
        ValueError: there is such a name.
        RecursionError: it is nested too deep.
    """
    envelope = msgspec.json.encode(msgspec.structs.replace(answer, Items=[]))
    names = strict_json.count_names(body)
    if names is None or names != strict_json.count_names(envelope + items):
        strict_json.refuse_repeated_names(body)


def frame_of_items(listed: Sequence[PageItems]) -> pl.DataFrame:
    """Make columns of the items of some pages: ``COLUMNS`` and page."""
    rows = pl.read_json(
        b"[" + b",".join(page.json[1:-1] for page in listed if page.count) + b"]", schema=ITEM
    )
    numbers = pl.Series([page.number for page in listed], dtype=pl.Int32)
    counts = pl.Series([page.count for page in listed], dtype=pl.UInt32)
    member = pl.element().struct.field
    return rows.select(
        pl.exclude("savingsPlan"),
        *(pl.col("savingsPlan").list.eval(member(m)).alias(name) for name, m in PLANS.items()),
        numbers.repeat_by(counts).explode(empty_as_null=False).alias("page"),
    )


def money(text: pl.Expr) -> pl.Expr:
    """Convert a number as the vendor wrote it, exact to the tenth decimal.

    Null where it is not a number or does not fit.
    """
    return read_money(text)


def time(text: pl.Expr) -> pl.Expr:
    """Read a time such as 2018-06-01T00:00:00Z; null where it is not written so."""
    return text.str.to_datetime(
        "%Y-%m-%dT%H:%M:%S%.fZ", time_unit="us", strict=False
    ).dt.replace_time_zone("UTC")
