"""Make tables flat and safe for spreadsheets, and write values as JSON (RFC 8259)."""

import json
import math
from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import polars as pl
import polars.selectors as cs

from hwprices.errors import HwpricesError, escaped
from hwprices.units import Money

HIDDEN_CHARACTERS = r"[^\P{C}\t\n]|[\p{Zl}\p{Zp}]"
"""Characters that ``escaped`` replaces: Unicode's control, format, surrogate, private, unassigned
characters except tabs and line breaks, and separators of lines and paragraphs."""

FORMULA_START = r"^[=+\-@\t\r]"
"""A cell that begins with one of these may be run as a formula by a spreadsheet:
https://owasp.org/www-community/attacks/CSV_Injection"""


DIGITS = 15
"""Digits of a float as text, all that a double keeps: 0.8152 rather than 0.8151999999999999."""

LEAST = 1e-8  # of a float that is rounded
TIME = "%Y-%m-%dT%H:%M:%S%.f"  # ISO 8601


def flat(rows: pl.DataFrame) -> pl.DataFrame:
    """Write lists as texts with ``; `` between the elements, and structures as JSON."""
    return rows.with_columns(
        _flat(rows[name])
        for name, dtype in rows.schema.items()
        if isinstance(dtype, pl.List | pl.Struct)
    )


def _flat(column: pl.Series) -> pl.Series:
    dtype = column.dtype
    inner = dtype.inner if isinstance(dtype, pl.List) else dtype
    if isinstance(dtype, pl.List) and not isinstance(inner, pl.List | pl.Struct):
        return column.cast(pl.List(pl.String)).list.join("; ")
    values = [None if value is None else to_json(value) for value in column.to_list()]
    return pl.Series(column.name, values, dtype=pl.String)


def harmless(rows: pl.DataFrame) -> pl.DataFrame:
    """Prefix text that a spreadsheet would run as a formula with an apostrophe.

    Hidden characters, which could control a terminal, are escaped.
    """
    texts = pl.col(pl.String)
    if pl.String not in rows.dtypes:
        return rows
    formula = texts.str.contains(FORMULA_START)
    quoted = rows.with_columns(pl.when(formula).then("'" + texts).otherwise(texts).name.keep())
    hidden = quoted.select(texts.str.contains(HIDDEN_CHARACTERS).any()).row(0, named=True)
    return quoted.with_columns(
        pl.col(name).map_elements(escaped, pl.String) for name, found in hidden.items() if found
    )


def to_csv(rows: pl.DataFrame, *, header: bool = True) -> str:
    """Write rows as CSV: decimals exact, floats to DIGITS, times in ISO 8601, texts harmless.

    Amounts of money end without zeros. Times with a zone are in UTC and end in Z.
    """
    money = [
        n for n, t in rows.schema.items() if isinstance(t, pl.Decimal) and t.scale == Money.scale
    ]
    decimals = pl.col(money).cast(pl.String).str.replace(r"(\.\d*?)0+$", "$1")
    floats = cs.float()  # rounding those that are nearly 0 would add digits
    shorter = pl.when(floats.abs() >= LEAST).then(floats.round_sig_figs(DIGITS)).otherwise(floats)
    return (
        harmless(flat(rows))
        .with_columns(
            cs.datetime(time_zone="*").dt.convert_time_zone("UTC").dt.strftime(f"{TIME}Z"),
            cs.datetime(time_zone=None).dt.strftime(TIME),
        )
        .with_columns(decimals.str.strip_suffix("."), shorter.name.keep())
        .write_csv(include_header=header)
    )


UTC_TIME = pl.Datetime("us", "UTC")

CSV_TYPES: dict[type, pl.DataType | type[pl.DataType]] = {
    bool: pl.Boolean,
    int: pl.Int64,
    float: pl.Float64,
    Decimal: pl.Decimal,
    date: pl.Date,
    str: pl.String,
}
"""Types of values that a CSV column keeps. A column of another type or of several types is text."""


def check_names(columns: Sequence[str]) -> None:
    """Refuse columns with the same name: JSON would drop all but one.

    Raises:
        HwpricesError: two columns have the same name.
    """
    for name in columns:
        if columns.count(name) > 1:
            raise HwpricesError(
                f"the query gives {columns.count(name)} columns named {name}",
                "Give them different names with `as`.",
            )


def to_frame(columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> pl.DataFrame:
    """Make a frame of numbers, times and texts, for CSV.

    Numbers that are not finite are null. Times with a zone are in UTC, bytes are hexadecimal, lists
    are joined with ``; ``, structures and nested lists are JSON.
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
    if kind not in CSV_TYPES:
        return pl.Series(name, [_text(value) for value in values], dtype=pl.String)
    if kind is float:
        values = [plain(value) for value in values]
    return pl.Series(name, values, dtype=CSV_TYPES[kind])


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


def to_json(value: Any, *, indent: int | None = None, ascii_only: bool = False) -> str:
    """Write a value as JSON.

    Numbers that are not finite become null. Bytes become hexadecimal text; decimals, times and
    other types become text.
    """
    options: Any = {"indent": indent, "ensure_ascii": ascii_only, "allow_nan": False}
    try:
        return json.dumps(value, default=plain, **options)
    except (TypeError, ValueError):  # a number that is not finite, or a key that is not a text
        return json.dumps(plain(value), **options)


def plain(value: Any) -> Any:
    """Convert a value to the types of JSON: None, booleans, numbers, texts, lists, dictionaries."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case bytes() | bytearray() | memoryview():
            return value.hex()
        case dict():
            return {_key(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case _:  # decimals as 0.0000001, not 1E-7
            return f"{value:f}" if isinstance(value, Decimal) else str(value)


def _key(key: Any) -> str:
    simple = plain(key)
    return simple if isinstance(simple, str) else json.dumps(simple)
