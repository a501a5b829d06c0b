"""Read landed Retail Prices pages into one frame of items, exact to the last digit.

Members that are money stay as the vendor wrote them, as text, until ``money`` makes Decimals of
them: no float comes between, and what is refused is shown as it came.
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC
from decimal import Decimal
from typing import Any

import msgspec
import polars as pl

from hwprices.landing import strict_json
from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.providers.azure import kinds
from hwprices.rows.prices import read_money
from hwprices.units import Timestamp

PAGES_AT_ONCE = 16
"""Pages held in memory while they are parsed. A page of 1,000 items is about 1 MB."""


class SavingsPlan(msgspec.Struct, gc=False, rename="camel"):
    """One savings plan inside an on-demand item."""

    term: str | None = None
    retail_price: Any = None


class Item(msgspec.Struct, gc=False, rename="camel"):
    """One item, with the members that are read.

    Others (unitPrice, productId, serviceFamily …) say nothing more about a list price. ``Any``
    members are money: the decoder gives their text.
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


class Answer(msgspec.Struct):
    """One page as Retail Prices answers it."""

    Items: list[Item]
    Count: int


STRINGS = pl.List(pl.String)

COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    **{name: pl.String for name in Item.__struct_encode_fields__ if name != "savingsPlan"},
    "isPrimaryMeterRegion": pl.Boolean,
    "plan_terms": STRINGS,
    "plan_prices": STRINGS,
}
"""Columns of a frame of items: the members of ``Item``, money as text. The savings plans are two
lists of equal length, their terms and their prices; both are null where the item has none."""


def _plain_number(text: str) -> str:
    """Write 3.4E-05 as 0.000034: polars makes no Decimal of an exponent."""
    return f"{Decimal(text):f}" if "e" in text or "E" in text else text


_DECODER = msgspec.json.Decoder(Answer, float_hook=_plain_number)


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
    bodies = _bodies(pages, price_pages)
    parsed: list[pl.DataFrame] = []
    first = 0
    for unit_pages in units:
        numbers = range(first, first + len(unit_pages))
        first = numbers.stop
        parsed += _read_unit(pages, unit_pages, [(number, next(bodies)) for number in numbers])
    empty = pl.DataFrame(schema={**COLUMNS, "page": pl.Int32})
    return Items(pl.concat([empty, *parsed]).rechunk(), _page_table(price_pages))


def _read_unit(
    pages: Pages, unit_pages: Sequence[Page], bodies: Sequence[tuple[int, bytes]]
) -> list[pl.DataFrame]:
    """Read the pages of one unit, given as number and content; none if one cannot be read.

    Half of a region's prices would look like prices that Azure has withdrawn.
    """
    parsed: list[pl.DataFrame] = []
    if not unit_pages:
        return parsed
    with pages.leave_out(*unit_pages):
        for page, (number, body) in zip(unit_pages, bodies, strict=True):
            with pages.parsing(page):
                column = pl.lit(number, dtype=pl.Int32).alias("page")
                parsed.append(parse(body).with_columns(column))
        return parsed
    return []


def _bodies(pages: Pages, price_pages: Sequence[Page]) -> Iterator[bytes]:
    """Read pages in order, some at once: decompression runs outside Python's lock."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for start in range(0, len(price_pages), PAGES_AT_ONCE):
            yield from pool.map(pages.read, price_pages[start : start + PAGES_AT_ONCE])


def parse(body: bytes) -> pl.DataFrame:
    """Read the items of one page's body into ``COLUMNS``.

    Raises:
        ValueError: it is not JSON with a list of Items as long as its Count, or has a name twice in
            one object; the line names the member that does not fit.
        RecursionError: it is nested too deep.
    """
    try:
        answer = _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, ArithmeticError) as error:
        message = f"it is not a Retail Prices answer ({str(error)[:160]})"
        raise ValueError(message) from None
    strict_json.refuse_repeated_names(body)
    if len(answer.Items) != answer.Count:
        raise ValueError(f"it says Count {answer.Count} and holds {len(answer.Items)} items")
    members = Item.__struct_encode_fields__
    values = zip(*map(msgspec.structs.astuple, answer.Items), strict=True)
    columns = dict(zip(members, values, strict=True)) if answer.Items else {}
    plans = columns.pop("savingsPlan", ())
    for member in ("tierMinimumUnits", "retailPrice"):
        columns[member] = tuple(_text(value) for value in columns.get(member, ()))
    columns["plan_terms"] = tuple(p and [plan.term for plan in p] for p in plans)
    columns["plan_prices"] = tuple(p and [_text(plan.retail_price) for plan in p] for p in plans)
    return pl.DataFrame(
        {name: pl.Series(columns.get(name, ()), dtype=dtype) for name, dtype in COLUMNS.items()}
    )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


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
