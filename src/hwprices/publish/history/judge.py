"""Tell the vendor's changes from our own corrections.

A price is made of a vendor's pages and of our reading of them (program, rule sheets, corrections),
and of nothing else. So a difference between two releases is told apart by going in two steps, from
the older pages with the older reading to the older pages with the newer reading (``middle``), and
from there to the newer pages with the newer reading. The first step is ours, the second the
vendor's:

- the reading is the same: middle is the old value, all is the vendor's;
- the pages are the same: middle is the new value, all is ours;
- both differ: the older pages are read again with the newer reading. That gives middle itself;
- both differ and the older pages are not there any more: unclear.
"""

from collections.abc import Sequence

import polars as pl

STEPS = ("old", "middle", "new")


def evidence(*, can_re_read: bool) -> pl.Expr:
    """Say how a difference is known, from columns that tell what is the same.

    The columns are same_reading, same_pages, same_page (the page that states the value) and
    seen_before (it was in the release before, whose pages can be read again).

    Differences in spite of the same pages and the same reading should not be: they are unclear.
    """
    return (
        pl.when(pl.col("same_reading") & pl.col("same_pages"))
        .then(pl.lit("none"))
        .when("same_reading")
        .then(pl.lit("same_reading"))
        .when("same_pages")
        .then(pl.lit("same_pages"))
        .when("same_page")
        .then(pl.lit("same_page"))
        .when(pl.lit(can_re_read) & pl.col("seen_before"))
        .then(pl.lit("re_read"))
        .otherwise(pl.lit("none"))
        .alias("evidence")
    )


def with_middle(
    rows: pl.DataFrame, values: Sequence[str], re_read: pl.DataFrame | None, on: Sequence[str]
) -> pl.DataFrame:
    """Add the middle values, and whether each of the two steps makes a difference.

    Args:
        rows: with evidence, and for each value old_<value> and new_<value>; old_exists and
            new_exists say whether there is a row at all.
        values: the columns that make a difference.
        re_read: what the newer reading makes of the older pages: the key and the values.
        on: the key.

    Adds middle_exists and middle_<value>, ``unclear``, ``ours`` and ``vendors``.
    """
    read = _re_read(rows, values, re_read, on)
    from_old = pl.col("evidence").is_in(["same_reading", "collection"])
    from_new = pl.col("evidence").is_in(["same_pages", "same_page", "own_sheet"])
    middle = [
        pl.when(from_old)
        .then(f"old_{name}")
        .when(from_new)
        .then(f"new_{name}")
        .otherwise(f"read_{name}")
        .alias(f"middle_{name}")
        for name in ("exists", *values)
    ]
    unclear = pl.col("evidence") == "none"
    return (
        read.with_columns(middle)
        .with_columns(
            unclear.alias("unclear"),
            (~unclear & differs("old", "middle", values)).alias("ours"),
            (~unclear & differs("middle", "new", values)).alias("vendors"),
        )
        .drop(f"read_{name}" for name in ("exists", *values))
    )


def _re_read(
    rows: pl.DataFrame, values: Sequence[str], re_read: pl.DataFrame | None, on: Sequence[str]
) -> pl.DataFrame:
    if re_read is None:
        re_read = rows.clear().select(*on, *(pl.col(f"new_{name}").alias(name) for name in values))
    read = re_read.select(*on, *(pl.col(name).alias(f"read_{name}") for name in values))
    read = read.with_columns(read_exists=pl.lit(True))
    joined = rows.join(read, on=on, how="left", maintain_order="left")
    return joined.with_columns(pl.col("read_exists").fill_null(False))


def differs(one: str, other: str, values: Sequence[str]) -> pl.Expr:
    """Tell whether two of STEPS differ: one is there and the other not, or a value differs."""
    return values_differ(one, other, ["exists", *values])


def values_differ(one: str, other: str, values: Sequence[str]) -> pl.Expr:
    """Tell whether columns that begin with ``one`` and ``other`` differ in any of the values."""
    return pl.any_horizontal(
        pl.col(f"{one}_{name}").ne_missing(pl.col(f"{other}_{name}")) for name in values
    )
