"""Read landed Retail Prices pages into one frame of items, exact to the last digit.

Members that are money stay as the vendor wrote them, as text, until ``money`` makes Decimals of
them: no float comes between, and what is refused is shown as it came.
"""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
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
"""Pages that are read ahead. One of 1,000 items takes about 1 MB."""


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


def read_items(pages: Pages) -> Items:
    """Read every item of every price page. None is left out.

    Raises:
        HwpricesError: a landed page is altered.
    """
    results = [r for r in pages.run.results if kinds.is_retail(r.unit.kind)]
    units = [result.pages for result in sorted(results, key=lambda result: result.unit.kind)]
    price_pages = [page for unit_pages in units for page in unit_pages]
    frames = [pl.DataFrame(schema={**COLUMNS, "page": pl.Int32})]
    reading = _read_ahead(pages, price_pages)
    for unit_pages in units:
        frames += _read_unit(pages, unit_pages, list(islice(reading, len(unit_pages))))
    return Items(pl.concat(frames).rechunk(), origins(price_pages))


def _read_unit(
    pages: Pages, unit_pages: Sequence[Page], reading: Sequence[Future[pl.DataFrame]]
) -> list[pl.DataFrame]:
    """Give the items of one unit's pages; none if one of them cannot be read.

    Half of a region's prices would look like prices that Azure has withdrawn.
    """
    if not unit_pages:
        return []
    with pages.leave_out(*unit_pages):
        frames: list[pl.DataFrame] = []
        for page, items in zip(unit_pages, reading, strict=True):
            with pages.parsing(page):
                frames.append(items.result())
        return frames
    return []


def _read_ahead(pages: Pages, price_pages: Sequence[Page]) -> Iterator[Future[pl.DataFrame]]:
    """Read pages in order, several at once.

    Only one thread at a time decodes with msgspec. Unpacking and polars run beside it.
    """

    def read(number: int, page: Page) -> pl.DataFrame:
        items = read_page(pages.read(page))
        return items.with_columns(pl.lit(number, dtype=pl.Int32).alias("page"))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        waiting: deque[Future[pl.DataFrame]] = deque()
        for number, page in enumerate(price_pages):
            waiting.append(pool.submit(read, number, page))
            if len(waiting) == PAGES_AT_ONCE:
                yield waiting.popleft()
        yield from waiting


def read_page(body: bytes) -> pl.DataFrame:
    """Read the items of one page's body into a frame with ``COLUMNS``.

    msgspec checks the page and writes its items anew, amounts in quotes; polars makes columns of
    that. It is quicker than making them of millions of Python's strings, and runs beside the next
    page's decoding.

    Raises:
        ValueError: it is not JSON with a list of Items as long as its Count, or has a name twice in
            one object; the line names the member that does not fit.
        RecursionError: it is nested too deep.
    """
    answer = _decode(_AS_WRITTEN, body)
    items = msgspec.json.encode(answer.Items)
    _refuse_repeated_names(body, answer, items)
    if len(answer.Items) != answer.Count:
        raise ValueError(f"it says Count {answer.Count} and holds {len(answer.Items)} items")
    frame = _columns(items)
    if _has_exponent(frame):
        frame = _columns(msgspec.json.encode(_decode(_WITHOUT_EXPONENTS, body).Items))
    return frame


def _decode(decoder: msgspec.json.Decoder[Answer], body: bytes) -> Answer:
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, ArithmeticError) as error:
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


def _columns(items: bytes) -> pl.DataFrame:
    """Make columns of items that msgspec has written."""
    rows = pl.read_json(items, schema=ITEM)
    member = pl.element().struct.field
    return rows.select(
        pl.exclude("savingsPlan"),
        *(pl.col("savingsPlan").list.eval(member(m)).alias(name) for name, m in PLANS.items()),
    )


def _has_exponent(items: pl.DataFrame) -> bool:
    """Tell whether an amount has an e in it, as a number with an exponent has."""
    amounts = [items["tierMinimumUnits"], items["retailPrice"], items["plan_prices"].explode()]
    return any(column.str.contains("[eE]").any() for column in amounts)


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
