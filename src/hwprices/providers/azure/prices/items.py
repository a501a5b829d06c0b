"""Read landed Retail Prices pages into one frame of items, exact to the last digit.

Members that are money stay as the vendor wrote them, as text, until ``money`` makes Decimals of
them: no float comes between, and what is refused is shown as it came.
"""

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC
from decimal import Decimal
from itertools import islice
from operator import attrgetter
from typing import Any

import msgspec
import polars as pl

from hwprices.landing import strict_json
from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.providers.azure import kinds
from hwprices.rows.lists import list_column
from hwprices.rows.prices import read_money
from hwprices.units import Timestamp

PAGES_AT_ONCE = 16
"""Pages held in memory before they are parsed. A page of 1,000 items is about 1 MB."""

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


STRINGS = pl.List(pl.String)

COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    **{name: pl.String for name in Item.__struct_encode_fields__ if name != "savingsPlan"},
    "isPrimaryMeterRegion": pl.Boolean,
    "plan_terms": STRINGS,
    "plan_prices": STRINGS,
}
"""Columns of a frame of items: the members of ``Item``, money as text. The savings plans are two
lists of equal length, their terms and their prices; both are null where the item has none."""

MONEY_MEMBERS = ("tierMinimumUnits", "retailPrice")

_READERS = {
    name: attrgetter(attribute)
    for name, attribute in zip(Item.__struct_encode_fields__, Item.__struct_fields__, strict=True)
    if name != "savingsPlan"
}
"""Column → function that reads the member of an item."""


def _plain_number(text: str) -> str:
    """Write 3.4E-05 as 0.000034: polars makes no Decimal of an exponent."""
    return f"{Decimal(text):f}" if "e" in text or "E" in text else text


_AS_WRITTEN = msgspec.json.Decoder(Answer, float_hook=str)
_WITHOUT_EXPONENTS = msgspec.json.Decoder(Answer, float_hook=_plain_number)
"""Takes a third longer, because it calls Python for each number."""


@dataclass(frozen=True)
class Items:
    """Items of all price pages.

    ``rows`` has ``COLUMNS`` and ``page``. ``pages`` has page and the origin columns of that page.
    """

    rows: pl.DataFrame
    pages: pl.DataFrame


@dataclass(frozen=True)
class _PageItems:
    """The items of one page; ``number`` is its place among the price pages."""

    number: int
    items: Sequence[Item]


def read_items(pages: Pages) -> Items:
    """Read every item of every price page. None is left out.

    Raises:
        HwpricesError: a landed page is altered.
    """
    results = [r for r in pages.run.results if kinds.is_retail(r.unit.kind)]
    units = [result.pages for result in sorted(results, key=lambda result: result.unit.kind)]
    price_pages = [page for unit_pages in units for page in unit_pages]
    frames = [pl.DataFrame(schema={**COLUMNS, "page": pl.Int32})]
    waiting: list[_PageItems] = []
    bodies = enumerate(_bodies(pages, price_pages))
    for unit_pages in units:
        waiting += _read_unit(pages, unit_pages, list(islice(bodies, len(unit_pages))))
        if sum(len(page.items) for page in waiting) >= ITEMS_AT_ONCE:
            frames.append(_frame_of_pages(waiting))
            waiting = []
    frames.append(_frame_of_pages(waiting))
    return Items(pl.concat(frames).rechunk(), _page_table(price_pages))


def _read_unit(
    pages: Pages, unit_pages: Sequence[Page], bodies: Sequence[tuple[int, bytes]]
) -> list[_PageItems]:
    """Read the pages of one unit, given as number and content; none if one cannot be read.

    Half of a region's prices would look like prices that Azure has withdrawn.
    """
    if not unit_pages:
        return []
    with pages.leave_out(*unit_pages):
        listed: list[_PageItems] = []
        for page, (number, body) in zip(unit_pages, bodies, strict=True):
            with pages.parsing(page):
                listed.append(_PageItems(number, read_page(body)))
        return listed
    return []


def _frame_of_pages(listed: Sequence[_PageItems]) -> pl.DataFrame:
    items = frame_of_items([item for page in listed for item in page.items])
    numbers = [page.number for page in listed for _ in page.items]
    return items.with_columns(pl.Series("page", numbers, dtype=pl.Int32))


def _bodies(pages: Pages, price_pages: Sequence[Page]) -> Iterator[bytes]:
    """Read pages in order and ahead: decompression runs beside what the caller does."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        waiting: deque[Future[bytes]] = deque()
        for page in price_pages:
            waiting.append(pool.submit(pages.read, page))
            if len(waiting) == PAGES_AT_ONCE:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def read_page(body: bytes) -> list[Item]:
    """Read the items of one page's body.

    Raises:
        ValueError: it is not JSON with a list of Items as long as its Count, or has a name twice in
            one object; the line names the member that does not fit.
        RecursionError: it is nested too deep.
    """
    answer = _decode(_AS_WRITTEN, body)
    strict_json.refuse_repeated_names(body, answer)
    if len(answer.Items) != answer.Count:
        raise ValueError(f"it says Count {answer.Count} and holds {len(answer.Items)} items")
    if _may_have_exponent(answer.Items):
        answer = _decode(_WITHOUT_EXPONENTS, body)
    return list[Item](answer.Items)


def _may_have_exponent(items: Sequence[Item]) -> bool:
    """Tell whether an amount has an e in it, as a number with an exponent has."""
    amounts = [
        *(item.retail_price for item in items),
        *(item.tier_minimum_units for item in items),
        *(plan.retail_price for item in items if item.savings_plan for plan in item.savings_plan),
    ]
    return b"e" in msgspec.json.encode(amounts).lower()


def _decode(decoder: msgspec.json.Decoder[Answer], body: bytes) -> Answer:
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, ArithmeticError) as error:
        message = f"it is not a Retail Prices answer ({str(error)[:160]})"
        raise ValueError(message) from None


def frame_of_items(items: Sequence[Item]) -> pl.DataFrame:
    """Make a frame with ``COLUMNS``, one row for each item."""
    return pl.DataFrame(
        [
            *(_column(name, map(read, items)) for name, read in _READERS.items()),
            *_plan_columns([item.savings_plan for item in items]),
        ]
    )


def _column(name: str, values: Iterable[Any]) -> pl.Series:
    """Make a column of the members of items; money of any type becomes text."""
    listed = list(values)
    if name in MONEY_MEMBERS:
        return _texts(name, listed)
    return pl.Series(name, listed, dtype=COLUMNS[name])


def _texts(name: str, values: Sequence[Any]) -> pl.Series:
    """Make a column of amounts; one that is not written with a fraction is no text yet."""
    if not set(map(type, values)) <= {str, type(None)}:
        values = [None if value is None else str(value) for value in values]
    return pl.Series(name, values, dtype=pl.String)


def _plan_columns(plans: Sequence[list[SavingsPlan] | None]) -> Iterator[pl.Series]:
    """Make plan_terms and plan_prices: all plans below one another, cut into the items' lists."""
    each = [plan for of_item in plans if of_item for plan in of_item]
    columns = {
        "plan_terms": pl.Series([plan.term for plan in each], dtype=pl.String),
        "plan_prices": _texts("", [plan.retail_price for plan in each]),
    }
    for name, values in columns.items():
        yield list_column(name, values, plans)


def _page_table(pages: Sequence[Page]) -> pl.DataFrame:
    """Return page (the page's place in ``pages``) and the origin columns of its rows."""
    return pl.DataFrame(
        {
            "page": range(len(pages)),
            "observed_at": [page.retrieved_at.astimezone(UTC) for page in pages],
            "source_url": [page.url for page in pages],
            "raw_sha256": [page.sha256 for page in pages],
        },
        schema={
            "page": pl.Int32,
            "observed_at": Timestamp,
            "source_url": pl.String,
            "raw_sha256": pl.String,
        },
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
