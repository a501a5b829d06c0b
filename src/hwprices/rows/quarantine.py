"""Make quarantine rows of refused rows, and merge equal ones."""

import polars as pl

from hwprices.rows import frames
from hwprices.schemas.columns import HIDDEN_CHARACTERS, MAX_NAME_LENGTH, PLACE_PATTERN
from hwprices.schemas.quarantine import Quarantine

MAX_MESSAGE = 500  # Characters of a message

LINEAGE = ("provider", "region", "observed_at", "source_url", "raw_sha256")
"""Columns that a quarantine row takes over from the refused row. All others become its JSON."""


def refused(
    frame: pl.LazyFrame,
    *,
    table: str | pl.Expr,
    reason: str | pl.Expr | None = None,
    message: str | pl.Expr | None = None,
    word: pl.Expr | None = None,
    dependants: pl.Expr | None = None,
    row: pl.Expr | None = None,
) -> pl.LazyFrame:
    """Make a quarantine row of every row of a frame.

    reason, message, word and dependants are by default the frame's columns of these names.

    Args:
        frame: the refused rows, with provider, observed_at, source_url and raw_sha256, and region
            where there is one. Every column but these four (and reason and message) goes into the
            JSON of the row.
        table: the table that they were meant for.
        reason: a code, or an expression over the frame that gives one.
        message: a sentence, or an expression that gives one.
        word: the vendor's word that is not known yet, null where the row is of a known kind and
            broken. Rows with a word are counted as new, and never stop a provider.
        dependants: how many further rows are not published because of this one; 0 where there is
            no such column.
        row: the JSON of the row; by default it is made of the frame's columns.
    """
    schema = frame.collect_schema()
    given = {"reason": reason, "message": message, "word": word, "dependants": dependants}
    is_left_out = {name: name in ("word", "dependants") and name not in schema for name in given}
    own = {name: pl.lit(None) if absent else pl.col(name) for name, absent in is_left_out.items()}
    stated = {n: own[n] if value is None else _expression(value) for n, value in given.items()}
    left_out = {*LINEAGE, "reason", "message", "word", "dependants"} - {"region"}
    body = [_json_value(name, dtype) for name, dtype in schema.items() if name not in left_out]
    region = (pl.col("region") if "region" in schema else pl.lit(None)).cast(pl.String)
    is_place = region.str.contains(PLACE_PATTERN) & (region.str.len_chars() <= MAX_NAME_LENGTH)
    rows = frame.select(
        *(pl.col(name) for name in LINEAGE if name != "region"),
        pl.when(is_place).then(region).alias("region"),
        _expression(table).alias("table"),
        stated["reason"].cast(pl.String).alias("reason"),
        _readable(stated["message"]).alias("message"),
        (pl.struct(body).struct.json_encode() if row is None else row).alias("row"),
        _readable(stated["word"]).alias("word"),
        stated["dependants"].cast(pl.Int32).fill_null(0).alias("dependants"),
    ).with_columns(
        frames.digest(pl.col("table"), pl.col("reason"), pl.col("row")).alias("row_hash"),
        pl.lit(1, dtype=pl.Int32).alias("occurrences"),
    )
    return frames.conform(rows, Quarantine)


def message(template: str, *values: str | pl.Expr) -> pl.Expr:
    """Write a message for ``refused``: ``?`` replaces a missing value.

    ``template`` has ``{}`` for each of ``values``, which are columns or expressions. ``pl.format``
    alone gives no message where one of them is null, and a quarantine row must have one.
    """
    columns = [pl.col(value) if isinstance(value, str) else value for value in values]
    texts = [column.cast(pl.String).fill_null("?") for column in columns]
    return pl.format(template, *texts) if texts else pl.lit(template)


def merge_refused(refused_rows: list[pl.DataFrame]) -> pl.DataFrame:
    """Combine quarantine rows: equal rows become one with a count, sorted by key."""
    if not refused_rows:
        return frames.empty(Quarantine)
    columns = list(frames.dtypes(Quarantine))
    keys = ["provider", "table", "row_hash"]
    counts = ("occurrences", "dependants")
    row_columns = [name for name in columns if name not in (*keys, *counts)]
    return (
        pl.concat(refused_rows)
        .group_by(keys)
        .agg(pl.col(row_columns).first(), pl.col(counts).sum().cast(pl.Int32))
        .select(columns)
        .sort(keys)
    )


def _readable(message: pl.Expr) -> pl.Expr:
    """Show hidden characters as a box, and keep a message short; the row has the values whole."""
    return (
        message.cast(pl.String)
        .str.slice(0, MAX_MESSAGE)
        .str.replace_all(HIDDEN_CHARACTERS, "\N{REPLACEMENT CHARACTER}")
    )


def _expression(value: str | pl.Expr) -> pl.Expr:
    return pl.lit(value) if isinstance(value, str) else value


def _json_value(name: str, dtype: pl.DataType) -> pl.Expr:
    """Convert a column for json_encode, which writes neither decimals nor times."""
    as_text = dtype.is_decimal() or dtype.is_temporal()
    return pl.col(name).cast(pl.String) if as_text else pl.col(name)
