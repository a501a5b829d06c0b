"""Turn the rows of a SQL query into JSON values and CSV columns, whatever their types are."""

from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.read.export.plain_json import plain, to_json

UTC_TIME = pl.Datetime("us", "UTC")

KEPT: dict[type, pl.DataType | type[pl.DataType]] = {
    bool: pl.Boolean,
    int: pl.Int64,
    float: pl.Float64,
    Decimal: pl.Decimal,
    date: pl.Date,
    str: pl.String,
}
"""Types of values that a CSV column keeps. A column of another type, or of several, is text."""


def check_names(columns: Sequence[str]) -> None:
    """Refuse columns with the same name: JSON would drop all but one.

    Raises:
        HwpricesError: two columns have the same name.
    """
    for name in columns:
        if columns.count(name) > 1:
            raise HwpricesError(
                f"the query gives {columns.count(name)} columns named {name}",
                "Give them names of their own with `as`.",
            )


def to_frame(columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> pl.DataFrame:
    """Make a frame of numbers, times and texts, for CSV.

    Numbers that are not finite are null. Times with a zone are in UTC, bytes are hexadecimal, lists
    have ``; `` between their elements, structures and nested lists are JSON.
    """
    return pl.DataFrame(
        [_column(name, [row[index] for row in rows]) for index, name in enumerate(columns)]
    )


def _column(name: str, values: list[Any]) -> pl.Series:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {datetime}:
        zoned = any(value.tzinfo for value in values if value is not None)
        return pl.Series(name, values, dtype=UTC_TIME if zoned else pl.Datetime("us"))
    kind = next(iter(kinds)) if len(kinds) == 1 else None
    if kind is int and not all(value is None or -(2**63) <= value < 2**63 for value in values):
        kind = None
    if kind not in KEPT:
        return pl.Series(name, [_text(value) for value in values], dtype=pl.String)
    if kind is float:
        values = [plain(value) for value in values]
    return pl.Series(name, values, dtype=KEPT[kind])


def _text(value: Any) -> str | None:
    match value:
        case None:
            return None
        case time():
            return value.isoformat()
        case dict():
            return to_json(value)
        case list() | tuple() if any(isinstance(item, list | tuple | dict) for item in value):
            return to_json(value)
        case list() | tuple():
            texts = [_text(item) for item in value]
            return "; ".join(text for text in texts if text is not None)
    simple = plain(value)
    return simple if isinstance(simple, str) or simple is None else to_json(simple)
