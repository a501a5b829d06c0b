"""Make intervals from the vendor's past price lists, and fit them in before the observed ones.

A backfilled interval has a ``collection_unit`` that begins with PAST. Its ``first_release`` and
``last_release`` are the times of the vendor's lists, written as versions; ``observed_first`` and
``observed_last`` are the same times. The price may have changed at any time between the last list
with one value and the first list with the next; a list that was not read is not a removal.
"""

import hashlib
from collections.abc import Iterable
from typing import Any

import polars as pl

from hwprices.formulas import first_of
from hwprices.publish.history.snapshot import VALUE
from hwprices.rows import frames
from hwprices.schemas import PAST, PRICE_KEY
from hwprices.schemas.tables import PriceHistory
from hwprices.stage import validate
from hwprices.storage import layout
from hwprices.storage.store import Store, scan_options
from hwprices.units import Timestamp

IS_BACKFILLED = pl.col("collection_unit").str.starts_with(PAST).fill_null(False)
RANGE = ("hourly_low", "hourly_high")
_COLUMNS = ("price_id", *PRICE_KEY, *VALUE, *RANGE, "basis", "raw_sha256", "reading")

ROW_SCHEMA: dict[str, Any] = {name: PriceHistory.dtypes[name] for name in _COLUMNS} | {
    "unit": pl.String,
    "begin": Timestamp,
    "published": Timestamp,
    "complete": pl.Boolean,
}
"""The columns kept of each price in a past list. ``unit`` is the kind/region that fetched it. All
rows of a list have the same ``begin``, ``published`` and ``complete``: a price that a complete list
lacks was not sold."""


LAST_SEEN = ("observed_last", "last_release", "raw_sha256", "reading")
"""Columns of an interval that say where its value was last seen."""


def fold(lists: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Make the intervals of one region from its past lists.

    Memory is bounded by one list and the intervals, for any number of lists.

    Args:
        lists: frames of ROW_SCHEMA, oldest first, none empty.

    Returns:
        The columns of price_history, sorted by key. The last interval of a price is open if the
        last list has it.
    """
    open_rows = frames.empty(PriceHistory)
    ended = [open_rows]
    known = open_rows.select("price_id", "collection_unit")
    for rows in lists:
        over, open_rows = _next(open_rows, known, rows)
        ended.append(over)
        known = pl.concat([known, open_rows.select(known.columns)]).unique()
    every = pl.concat([*ended, open_rows], rechunk=True)
    del ended, open_rows, known
    return validate.sort_by_key(every, PriceHistory)


def _next(
    open_rows: pl.DataFrame, known: pl.DataFrame, rows: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Carry open intervals to the next list; return those that ended and those that are open.

    ``known`` are the price_ids and units of all earlier lists.
    """
    listed = _as_intervals(rows)
    current = listed.select("price_id", *VALUE, *RANGE, *LAST_SEEN, is_listed=pl.lit(True))
    joined = open_rows.join(current, on="price_id", how="left", suffix=":now")
    is_listed = pl.col("is_listed").fill_null(False)
    differs = [pl.col(name).ne_missing(pl.col(f"{name}:now")) for name in (*VALUE, *RANGE)]
    # a price that a complete list with its unit lacks is gone
    is_complete = rows["complete"].all()
    units = listed["collection_unit"].unique().to_list() if is_complete else []
    is_open = ~is_listed & ~pl.col("collection_unit").is_in(units)
    is_same = joined.select(is_open | is_listed & ~pl.any_horizontal(differs)).to_series()
    over = joined.filter(~is_same).with_columns(
        valid_to=pl.lit(rows["begin"][0], dtype=Timestamp),
        state=pl.lit("ended"),
        end_reason=pl.when(is_listed).then(pl.lit("price_changed")).otherwise(pl.lit("removed")),
    )
    kept = joined.filter(is_same).with_columns(
        pl.coalesce(f"{name}:now", name).alias(name) for name in LAST_SEEN
    )
    begun = listed.join(kept.select("price_id"), on="price_id", how="anti")
    if known.height:
        began = _start_reason(open_rows["price_id"], known, is_complete=is_complete)
        begun = begun.with_columns(start_reason=began)
    # otherwise a few rows would keep the texts of their complete list in memory
    begun = frames.independent(begun)
    over = frames.independent(over.select(begun.columns))
    return over, pl.concat([kept.select(begun.columns), begun])


def _start_reason(open_ids: pl.Series, known: pl.DataFrame, *, is_complete: bool) -> pl.Expr:
    """Return why an interval begins with a list that is not the first.

    The reason is ``backfilled`` for the first list of its unit, and if an earlier list may have
    lacked the price.
    """
    units = known["collection_unit"].unique().to_list() if is_complete else []
    return first_of(
        {
            "price_changed": pl.col("price_id").is_in(open_ids.implode()),
            "returned": pl.col("price_id").is_in(known["price_id"].implode()),
            "added": pl.col("collection_unit").is_in(units),
        },
        "backfilled",
    )


def _as_intervals(rows: pl.DataFrame) -> pl.DataFrame:
    """Make an interval from each row of a list, which begins it."""
    version = pl.col("published").dt.strftime("%Y%m%dT%H%M%SZ")
    made = rows.lazy().with_columns(
        valid_from="begin",
        state=pl.lit("current"),
        start_reason=pl.lit("backfilled"),
        first_release=version,
        last_release=version,
        observed_first="published",
        observed_last="published",
        collection_unit=pl.lit(PAST) + pl.col("unit"),
    )
    return frames.conform(
        made.drop("unit", "begin", "published", "complete"), PriceHistory
    ).collect()


def fit_in(
    backfilled: pl.DataFrame, observed: pl.DataFrame, units: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Cut backfilled intervals off where the observed ones begin.

    A price that releases observed is backfilled until its first observed interval. Any other price
    ends as removed when its unit was first observed without it. If the unit was never observed, its
    last interval stays open as not_collected.

    Args:
        backfilled: intervals of some types, from ``fold`` or an earlier ``fit_in``.
        observed: the intervals of these types that releases observed.
        units: ``first_observed`` of all types; None if these are all types.
    """
    if backfilled.is_empty():
        return backfilled
    firsts = observed.group_by("price_id").agg(_first=pl.col("valid_from").min())
    units = first_observed(observed.lazy()) if units is None else units
    joined = (
        backfilled.with_columns(_of=pl.col("collection_unit").str.strip_prefix(PAST))
        .join(firsts, on="price_id", how="left")
        .join(units.drop_nulls(), left_on="_of", right_on="collection_unit", how="left")
        .with_columns(_limit=pl.coalesce("_first", "_unit"))
        .filter((pl.col("valid_from") < pl.col("_limit")).fill_null(True))
    )
    was_open = pl.col("valid_to").is_null()
    is_cut = pl.col("_limit").is_not_null() & (
        was_open | (pl.col("valid_to") > pl.col("_limit")).fill_null(False)
    )
    waits = was_open & ~is_cut
    reason = pl.when(pl.col("_first").is_not_null()).then(pl.lit("observed"))
    fitted = joined.with_columns(
        valid_to=pl.when(is_cut).then("_limit").otherwise("valid_to"),
        end_reason=pl.when(is_cut)
        .then(reason.otherwise(pl.lit("removed")))
        .otherwise("end_reason"),
        state=pl.when(waits).then(pl.lit("not_collected")).otherwise(pl.lit("ended")),
        waits_for=pl.when(waits).then("_of"),
    )
    return fitted.select(backfilled.columns)


def first_observed(observed: pl.LazyFrame) -> pl.DataFrame:
    """Return when each ``collection_unit`` was first observed, in the column _unit."""
    return observed.group_by("collection_unit").agg(_unit=pl.col("valid_from").min()).collect()


def providers_of(store: Store) -> list[str]:
    """List the providers that have backfilled intervals."""
    names = {
        layout.backfilled_intervals.parse(key, "provider") for key in store.keys(layout.BACKFILLED)
    }
    return sorted(name for name in names if name)


def intervals_of(store: Store, provider: str, published: pl.LazyFrame) -> pl.LazyFrame:
    """Scan the backfilled intervals of a provider.

    ``published`` are its intervals in the previous release, which are used for units without a
    file.
    """
    prefix = layout.backfilled_intervals(provider, "x").rpartition("/")[0]
    files = [store.uri(key) for key in sorted(store.keys(prefix))]
    kept = published.filter(IS_BACKFILLED)
    if not files:
        return kept
    scanned = pl.scan_parquet(files, hive_partitioning=False, **scan_options(store.root))
    units = scanned.select("collection_unit").unique().collect().to_series().to_list()
    return pl.concat([kept.filter(~pl.col("collection_unit").is_in(units)), scanned])


def digests(store: Store) -> dict[str, str]:
    """Return the SHA-256 of each file with backfilled intervals, by key."""
    keys = [
        key
        for key in store.keys(layout.BACKFILLED)
        if layout.backfilled_intervals.parse(key, "region")
    ]
    return {key: hashlib.sha256(store.get(key) or b"").hexdigest() for key in sorted(keys)}
