"""Rows that keep the table's promises, and those that do not, with the reason."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandera.polars as pa
import polars as pl

from hwprices.errors import HwpricesError
from hwprices.rows import quarantine
from hwprices.schemas.columns import Table, key, table_name
from hwprices.units import Timestamp

MAX_REFUSED_SHARE = 0.02
"""More refused rows than this and the provider fails: the known wrong rows of a whole cloud stay below 1 % (Azure's
placeholders and name clashes), while a change of wire format refuses nearly everything."""

MIN_ROWS_FOR_SHARE = (
    100  # below this one odd row is more than the share, and no sign of a changed format
)


@dataclass(frozen=True)
class Split:
    """Both frames are whole: every input row is in exactly one. ``refused`` has the quarantine table's columns."""

    good: pl.DataFrame
    refused: pl.DataFrame


def split(frame: pl.DataFrame, model: type[Table], sources: Mapping[str, str]) -> Split:
    """Check rows against the model and its key; ``good`` comes back sorted by key.

    ``sources`` maps raw_sha256 to the URL of that page, for tables that do not carry it.

    Raises:
        HwpricesError: the frame is not of the table at all (columns, dtypes): a mistake in a normaliser, not in a row.
    """
    reasons = pl.concat([_failed_checks(frame, model), _double_keys(frame, model)])
    by_row = reasons.group_by("index").agg(
        pl.col("reason").sort().first(), pl.col("message").sort().str.join("; ")
    )
    marked = frame.with_row_index("index").join(
        by_row, on="index", how="left", maintain_order="left"
    )
    good = marked.filter(pl.col("reason").is_null()).drop("index", "reason", "message")
    return Split(
        sort_by_key(good, model),
        _as_refused(marked.filter(pl.col("reason").is_not_null()), model, sources),
    )


def sort_by_key(frame: pl.DataFrame, model: type[Table]) -> pl.DataFrame:
    """Sorted by the table's key, so that two builds of the same rows are byte-identical."""
    return frame.sort(key(model), nulls_last=False, maintain_order=True)


def check(frame: pl.DataFrame, model: type[Table]) -> pl.DataFrame:
    """A frame of our own making (offers, spec sheets): any failure is an error. Returns it sorted by key.

    Raises:
        HwpricesError: names table, check and the first values that fail.
    """
    outcome = split(frame, model, {})
    if outcome.refused.height:
        first = outcome.refused.row(0, named=True)
        raise HwpricesError(
            f"{table_name(model)}: {outcome.refused.height} rows fail, the first by {first['reason']}: {first['message']}",
            f"The row is {first['row'][:300]}",
        )
    return outcome.good


def refused_share(good: int, refused: int) -> float:
    """Share of refused rows, 0 where there are too few rows to speak of one."""
    total = good + refused
    return refused / total if total >= MIN_ROWS_FOR_SHARE else 0.0


def _failed_checks(frame: pl.DataFrame, model: type[Table]) -> pl.DataFrame:
    """index, reason, message of each failed check of each row."""
    try:
        model.validate(frame, lazy=True)
    except pa.errors.SchemaErrors as error:
        cases: pl.DataFrame = error.failure_cases
        if (broken := cases.filter(pl.col("index").is_null())).height:
            first = broken.row(0, named=True)
            message = f"a frame does not fit the table {table_name(model)}: {first['column']}: {first['check']} ({first['failure_case']})"
            raise HwpricesError(
                message, "This is a mistake in the program: please report it."
            ) from None
        name = pl.col("check").str.extract(r"^([a-z_]+)")
        subject = pl.when(pl.col("schema_context") == "Column").then(pl.col("column"))
        return cases.select(
            pl.col("index").cast(pl.UInt32),
            pl.concat_str([pl.lit("check"), subject, name], separator=":", ignore_nulls=True).alias(
                "reason"
            ),
            pl.concat_str(
                [
                    subject,
                    pl.lit(" "),
                    name,
                    pl.lit(": "),
                    pl.col("failure_case").str.slice(0, 120),
                ],
                ignore_nulls=True,
            ).alias("message"),
        )
    return pl.DataFrame(schema={"index": pl.UInt32, "reason": pl.String, "message": pl.String})


def _double_keys(frame: pl.DataFrame, model: type[Table]) -> pl.DataFrame:
    """Rows whose key another row has too: none of them is published, whichever came last."""
    columns = key(model)
    double = (
        frame.with_row_index("index").select("index", *columns).filter(pl.len().over(columns) > 1)
    )
    shown = pl.concat_str(
        [pl.col(c).cast(pl.String).fill_null("-") for c in columns], separator=" "
    )
    return double.select(
        "index",
        pl.lit("duplicate_key").alias("reason"),
        pl.format("more than one row for {}", shown).alias("message"),
    )


def _as_refused(rows: pl.DataFrame, model: type[Table], sources: Mapping[str, str]) -> pl.DataFrame:
    """Failed rows as quarantine rows. Tables of our own making have no vendor page: theirs stay empty."""
    lineage = {
        "provider": pl.lit("hwprices"),
        "observed_at": pl.lit(None, dtype=Timestamp),
        "raw_sha256": pl.lit(""),
        "source_url": pl.col("raw_sha256").replace_strict(
            dict(sources), default="", return_dtype=pl.String
        ),
    }
    lazy = rows.lazy().drop("index")
    for name, value in lineage.items():  # in this order: source_url is looked up by raw_sha256
        lazy = lazy if name in rows.columns else lazy.with_columns(value.alias(name))
    return quarantine.refused(
        lazy, table=table_name(model), reason=pl.col("reason"), message=pl.col("message")
    ).collect()
