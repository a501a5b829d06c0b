"""Find what an accelerator cost at least, over time."""

from datetime import datetime

import polars as pl

BY = ["provider", "purchase_option", "term_months", "currency"]

WHERE = ["instance_type", "region"]


def cheapest(rows: pl.DataFrame) -> pl.DataFrame:
    """List the cheapest price of one accelerator for an hour, over time.

    ``rows`` is what ``intervals.answer`` returns; placeholders are left out. There is a row for
    each provider, purchase option, term and currency, and each span of time with one cheapest
    price: BY, WHERE, per_accelerator_hour, valid_from, valid_to.
    """
    priced = rows.filter(pl.col("per_accelerator_hour").is_not_null(), ~pl.col("placeholder"))
    parts = [_of_one(one) for _, one in sorted(priced.group_by(BY), key=lambda item: str(item[0]))]
    columns = [*BY, *WHERE, "per_accelerator_hour", "valid_from", "valid_to"]
    return pl.concat(parts).select(columns) if parts else priced.select(columns)


def _of_one(rows: pl.DataFrame) -> pl.DataFrame:
    ordered = rows.sort("per_accelerator_hour", *WHERE, "price_id")
    times = pl.concat([rows["valid_from"], rows["valid_to"].drop_nulls()]).unique().sort()
    cheapest = [_cheapest_at(ordered, at) for at in times]
    ends = [*times[1:], None]
    spans = pl.concat(
        [
            row.with_columns(
                valid_from=pl.lit(at, rows.schema["valid_from"]),
                valid_to=pl.lit(end, rows.schema["valid_to"]),
            )
            for row, at, end in zip(cheapest, times, ends, strict=True)
        ]
    )
    same = pl.struct("per_accelerator_hour", *WHERE).rle_id()
    adjacent = (pl.col("valid_from") != pl.col("valid_to").shift(1)).fill_null(False).cum_sum()
    return (
        spans.group_by(same.alias("run"), adjacent.alias("gap"), maintain_order=True)
        .agg(
            pl.exclude("valid_from", "valid_to").first(),
            pl.col("valid_from").first(),
            pl.col("valid_to").last(),
        )
        .drop("run", "gap")
    )


def _cheapest_at(ordered: pl.DataFrame, at: datetime) -> pl.DataFrame:
    ended = (pl.col("valid_to") <= at).fill_null(False)
    return ordered.filter(pl.col("valid_from") <= at, ~ended).head(1)
