"""Refuse rows: make quarantine rows of them, and merge equal ones."""

import polars as pl

from hwprices.rows import frames, hashing
from hwprices.schemas.quarantine import Quarantine


def refused(
    frame: pl.LazyFrame, *, table: str, reason: str | pl.Expr, message: str | pl.Expr
) -> pl.LazyFrame:
    """Rows on their way to quarantine.

    ``frame`` must have provider, observed_at, source_url and raw_sha256; region where it is known. Everything else becomes
    the JSON of the row. ``reason`` is a code, ``message`` the words, each a string or an expression over the frame.
    """
    have = frame.collect_schema().names()
    meta = ["provider", "region", "observed_at", "source_url", "raw_sha256"]
    body = [
        name
        for name in have
        if name not in ("provider", "observed_at", "source_url", "raw_sha256", "reason", "message")
    ]
    region = (
        pl.col("region").cast(pl.String)
        if "region" in have
        else pl.lit(None, dtype=pl.String).alias("region")
    )
    code = pl.lit(reason) if isinstance(reason, str) else reason
    words = pl.lit(message) if isinstance(message, str) else message
    rows = frame.select(
        *(region if name == "region" else pl.col(name) for name in meta),
        pl.lit(table).alias("table"),
        code.cast(pl.String).alias("reason"),
        words.cast(pl.String).alias("message"),
        pl.struct(_jsonable(frame, name) for name in body).struct.json_encode().alias("row"),
    ).with_columns(
        hashing.digest(pl.col("table"), pl.col("reason"), pl.col("row")).alias("row_hash"),
        pl.lit(1, dtype=pl.Int32).alias("occurrences"),
    )
    return frames.conform(rows, Quarantine)


def _jsonable(frame: pl.LazyFrame, name: str) -> pl.Expr:
    """polars' json_encode writes neither decimals nor times; they go as strings."""
    dtype = frame.collect_schema()[name]
    return (
        pl.col(name).cast(pl.String) if dtype.is_decimal() or dtype.is_temporal() else pl.col(name)
    )


def merge_refused(refused_rows: list[pl.DataFrame]) -> pl.DataFrame:
    """One quarantine frame: equal rows become one with a count, sorted by key."""
    if not refused_rows:
        return frames.empty(Quarantine)
    order = list(frames.dtypes(Quarantine))
    keys = ["provider", "table", "row_hash"]
    rest = [pl.col(c).first() for c in order if c not in (*keys, "occurrences")]
    return (
        pl.concat(refused_rows)
        .group_by(keys)
        .agg(*rest, pl.col("occurrences").sum().cast(pl.Int32))
        .select(order)
        .sort(keys)
    )
