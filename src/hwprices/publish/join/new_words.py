"""Make the table new_words of the refused rows: one row for each word that is not known yet."""

import polars as pl

from hwprices.rows import frames
from hwprices.schemas.columns import key
from hwprices.schemas.quarantine import NewWords
from hwprices.stage import validate

KEY = key(NewWords)

OF_REFUSED_SKU = pl.col("reason") == "refused_sku"
"""Marks the rows that stand for prices of a refused SKU, under the word of that SKU."""


def new_words(quarantine: pl.LazyFrame, known: pl.LazyFrame) -> pl.DataFrame:
    """Group the refused rows that have a word.

    A row of a refused SKU is no line of its own where the SKU is in quarantine too: it only adds
    its dependants to the word of the SKU.

    Args:
        quarantine: the table of the same release.
        known: the table new_words of the release before, whose first_seen is kept.
    """
    sku_reason = pl.col("reason").filter(~OF_REFUSED_SKU).min().over("provider", "word")
    has_sku = OF_REFUSED_SKU & sku_reason.is_not_null()
    words = (
        quarantine.filter(pl.col("word").is_not_null())
        .drop("row", "region")
        .with_columns(
            reason=pl.when(has_sku).then(sku_reason).otherwise("reason"),
            lines=pl.when(has_sku).then(0).otherwise("occurrences"),
        )
        .sort(pl.col("lines") == 0, "row_hash")  # the example is a line that has the word
        .group_by(KEY)
        .agg(
            pl.col("lines", "dependants").cast(pl.Int64).sum().cast(pl.Int32),
            pl.col("message").first().alias("example"),
            pl.col("source_url", "raw_sha256").first(),
            pl.col("observed_at").min().alias("first_seen"),
            pl.col("observed_at").max().alias("last_seen"),
        )
    )
    since = known.select(*KEY, since="first_seen")
    carried = words.join(since, on=KEY, how="left").with_columns(
        first_seen=pl.coalesce("since", "first_seen")
    )
    table = frames.conform(carried.drop("since"), NewWords).collect()
    return validate.sort_by_key(table, NewWords)


def unknown_before(words: pl.DataFrame, known: pl.LazyFrame | None) -> tuple[tuple[str, str], ...]:
    """List provider and word of the rows that the release before did not have."""
    if known is not None:
        words = words.join(known.select(KEY).collect(), on=KEY, how="anti", maintain_order="left")
    return tuple(words.select("provider", "word").iter_rows())
