"""Find the prices in which two releases of a provider differ; no check looks at any other row."""

import polars as pl

from hwprices.publish.batches import in_parallel
from hwprices.publish.gate.candidate import PRICES, Candidate, batches
from hwprices.rows import frames
from hwprices.schemas.keys import PRICE_KEY
from hwprices.schemas.tables import TABLES

MOVING_OPTIONS = ("spot", "low_priority", "capacity_block", "dws_flex_start")
"""Purchase options whose prices change by the hour: rows come and go, and prices jump."""

COMPARED = ("effective_hourly", "hourly", "upfront", "billing_unit", "basis", "currency")
"""Columns of a price that are not in its key (but currency, in case the key is wrong)."""

IDS = ("sku_id", "sku_price_id")
"""Columns that a price has or has not; their values may change."""

VALUES = (*COMPARED, "effective_from", *IDS)

_ROW = tuple(dict.fromkeys(("price_id", *PRICE_KEY[1:], *VALUES, "flags", "observed_at")))


def machines(candidate: Candidate) -> pl.LazyFrame:
    """List instance_type, family ("" if unknown) and the figures that prices are compared by."""
    first = pl.col("accelerators").list.first().struct.field("accelerator_id")
    is_one_kind = pl.col("accelerators").list.len() == 1
    return candidate.table("instance_types").select(
        "instance_type",
        *("vcpus", "memory_gib", "accelerator_memory_gib", "burstable", "bare_metal"),
        "local_disk_gib",
        family=pl.col("family").fill_null(""),
        devices=pl.col("accelerator_count"),
        accelerator=pl.when(is_one_kind).then(first),
    )


def differences(new: Candidate, old: Candidate) -> pl.DataFrame:
    """Return the prices that came, went or changed, one row each.

    The columns are those of _ROW, as they are now or were before; ``old_`` and the names of VALUES;
    is_new and is_old (the release has the row); price and old_price (floats; null if unknown).
    A start date that is later than before makes no difference.
    """
    parts = [*in_parallel(lambda pair: _differences(*pair), batches(new, old))]
    rows = pl.concat(parts)
    return rows.with_columns(
        price=pl.col("effective_hourly").cast(pl.Float64),
        old_price=pl.col("old_effective_hourly").cast(pl.Float64),
        moving=pl.col("purchase_option").is_in(MOVING_OPTIONS),
    )


def _differences(new: Candidate, old: Candidate) -> pl.DataFrame:
    before, after = (_values(side).collect(engine="streaming") for side in (old, new))
    now = after.rename({name: f"new_{name}" for name in after.columns})
    if before["price_id"].equals(after["price_id"]):
        ids = before.hstack(now.drop("new_price_id")).filter(_differs())["price_id"]
    else:
        both = before.join(
            now, left_on="price_id", right_on="new_price_id", how="full", coalesce=False
        )
        absent = pl.col("price_id").is_null() | pl.col("new_price_id").is_null()
        rows = both.filter(absent | _differs())
        ids = rows.select(pl.coalesce("price_id", "new_price_id"))["price_id"]
    wanted = ids.to_frame().lazy()
    then, now = (
        _rows(side).join(wanted, on="price_id", how="semi") if ids.len() else _rows(side).clear()
        for side in (old, new)
    )
    return _side_by_side(then, now)


def _values(candidate: Candidate) -> pl.LazyFrame:
    has = (pl.col(name).is_not_null() for name in IDS)
    return candidate.table(PRICES).select("price_id", *COMPARED, "effective_from", *has)


def _differs() -> pl.Expr:
    earlier = (pl.col("new_effective_from") < pl.col("effective_from")).fill_null(False)
    return pl.any_horizontal(
        earlier,
        *(pl.col(name).ne_missing(pl.col(f"new_{name}")) for name in COMPARED),
        *(pl.col(name) & ~pl.col(f"new_{name}") for name in IDS),
    )


def _rows(candidate: Candidate) -> pl.LazyFrame:
    known = candidate.table(PRICES).collect_schema()
    dtypes = frames.dtypes(TABLES[PRICES])
    return candidate.table(PRICES).select(
        pl.col(name) if name in known else pl.lit(None, dtypes[name]).alias(name) for name in _ROW
    )


def _side_by_side(old: pl.LazyFrame, new: pl.LazyFrame) -> pl.DataFrame:
    """Join the rows of two releases; what identifies a price is the newer's, else the older's."""
    then, now = old.collect(engine="streaming"), new.collect(engine="streaming")
    then = then.rename({name: f"old_{name}" for name in _ROW if name != "price_id"})
    both = now.with_columns(is_new=pl.lit(True)).join(
        then.with_columns(is_old=pl.lit(True)), on="price_id", how="full", coalesce=True
    )
    named = [name for name in _ROW if name not in ("price_id", *VALUES)]
    return both.with_columns(
        *(pl.coalesce(name, f"old_{name}").alias(name) for name in named),
        pl.col("is_new", "is_old").fill_null(False),
        old_currency=pl.coalesce("old_currency", "currency"),
        currency=pl.coalesce("currency", "old_currency"),
    ).drop(f"old_{name}" for name in named)
