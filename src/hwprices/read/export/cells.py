"""Make tables flat and harmless for spreadsheets."""

import polars as pl

from hwprices.hidden_characters import escaped
from hwprices.read.export.plain_json import to_json

HIDDEN_CHARACTERS = r"[^\P{C}\t\n]|[\p{Zl}\p{Zp}]"
"""Those that ``escaped`` writes out: Unicode's control, format, surrogate, private and unassigned
characters but tabs and line breaks, and separators of lines and paragraphs."""

FORMULA_START = r"^[=+\-@\t\r]"
"""A cell that begins with one of these may be run as a formula by a spreadsheet:
https://owasp.org/www-community/attacks/CSV_Injection"""


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
    """Prefix texts that a spreadsheet would run as a formula with an apostrophe.

    Hidden characters, which would steer a terminal, are written out.
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
    """Write rows as CSV: decimals exact, times in ISO 8601, texts harmless.

    Times with a zone are written in UTC with Z at their end, times without one without it.
    """
    return harmless(flat(rows)).with_columns(_times(rows)).write_csv(include_header=header)


def _times(rows: pl.DataFrame) -> list[pl.Expr]:
    times = []
    for name, dtype in rows.schema.items():
        if isinstance(dtype, pl.Datetime):
            time = pl.col(name)
            zoned = dtype.time_zone is not None
            utc = time.dt.convert_time_zone("UTC") if zoned else time
            times.append(utc.dt.strftime("%Y-%m-%dT%H:%M:%S%.f" + "Z" * zoned))
    return times
