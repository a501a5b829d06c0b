"""Make the table stock: the intervals of the release before, continued with the newest pages."""

import polars as pl

from hwprices.rows import frames
from hwprices.schemas.inventory import Stock
from hwprices.stage import validate

MACHINE = ["provider", "region", "instance_type"]


def intervals(stated: pl.LazyFrame, known: pl.LazyFrame) -> pl.DataFrame:
    """Continue the intervals of each machine; those of one machine never overlap.

    ``stated`` is what the newest pages state, a row for each machine; ``known`` is the table stock
    of the release before. The interval of a machine that is no longer listed ends with the newest
    page of its vendor. A word from a page that is not newer is a correction: it replaces the other.
    """
    # a release from before there were intervals says only when its word was last seen
    before = known.with_columns(first_seen=pl.coalesce("first_seen", "observed_at")).collect()
    is_open = pl.col("ended_at").is_null()
    began = before.filter(is_open).select(*MACHINE, known_state="state", began="first_seen")
    ended = before.group_by(MACHINE).agg(ended=pl.col("ended_at").max())
    now = stated.drop("ended_at").collect().join(began, on=MACHINE, how="left")
    continues = pl.col("state") == pl.col("known_state")
    corrects = pl.col("observed_at") <= pl.col("began")
    current = now.join(ended, on=MACHINE, how="left").with_columns(
        first_seen=pl.when(continues | corrects)
        .then("began")
        .otherwise(pl.max_horizontal("observed_at", "ended"))
    )
    newest = current.group_by("provider").agg(newest=pl.col("observed_at").max())
    changed = current.select(*MACHINE, changed="first_seen")
    past = (
        before.join(current, on=[*MACHINE, "first_seen"], how="anti")
        .join(newest, on="provider", how="left")
        .join(changed, on=MACHINE, how="left")
        .with_columns(ended_at=pl.coalesce("ended_at", "changed", "newest"))
        .filter((pl.col("ended_at") > pl.col("first_seen")).fill_null(True))
    )
    rows = pl.concat(
        frames.conform(part.select(set(frames.dtypes(Stock)) & set(part.columns)).lazy(), Stock)
        for part in (past, current)
    )
    return validate.check(rows.collect(), Stock)
