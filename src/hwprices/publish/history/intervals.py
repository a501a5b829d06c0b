"""Carry the validity intervals of one provider's prices from one release to the next."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from hwprices.formulas import first_of
from hwprices.publish.history import snapshot
from hwprices.publish.history.snapshot import VALUE, Moment, Snapshot
from hwprices.rows import frames
from hwprices.schemas import PRICE_KEY
from hwprices.schemas.tables import PriceHistory
from hwprices.units import Timestamp

ORDER = tuple(dict.fromkeys(["instance_type", *PriceHistory.key]))
"""Columns by which intervals are sorted: the machine type, then the key."""

ORIGIN = ("basis", "observed_last", "raw_sha256", "collection_unit", "reading")
"""Columns of an interval that say where its value was last seen."""


@dataclass(frozen=True)
class Step:
    """The effect of a release on the intervals of one provider.

    Attributes:
        before: the intervals before the release.
        history: the new intervals, with the columns of price_history, in ORDER.
        moves: a row for each price that changed, appeared or disappeared: the key, old_, middle_
            and new_ values, evidence, start_reason and end_reason. Empty if the provider is in a
            release for the first time.
        waiting: open intervals of prices that the release lacks; ``was_state`` is their earlier
            state.
        back: intervals of prices that were missing before and are present again; ``was_state`` as
            above.
    """

    before: pl.DataFrame
    history: pl.DataFrame
    moves: pl.DataFrame
    waiting: pl.DataFrame
    back: pl.DataFrame

    @property
    def affected(self) -> pl.DataFrame:
        """All intervals of the prices in ``moves``, ``waiting`` and ``back``.

        In those of other prices only changed where and when the value was last seen.
        """
        if self.before.is_empty():  # all are new
            return self.history
        parts = (rows.select("price_id") for rows in (self.moves, self.waiting, self.back))
        rows = self.history.join(pl.concat(parts), on="price_id", how="semi")
        return frames.independent(rows)


@dataclass(frozen=True)
class Past:
    """Facts about all of a provider's intervals that are needed to carry some of them.

    ``is_empty``: there are none. ``reading``: the reading of its last release; None if unknown.
    """

    is_empty: bool
    reading: str | None


def past_of(history: pl.LazyFrame) -> Past:
    """Collect the facts about all intervals of a provider."""
    last_seen = pl.col("last_release").max()
    readings = history.group_by("reading").agg(last_seen).collect(engine="streaming")
    newest = readings.filter(last_seen == pl.col("last_release"))["reading"].to_list()
    return Past(readings.is_empty(), newest[0] if len(newest) == 1 else None)


def step(
    history: pl.DataFrame,
    before: Snapshot | None,
    after: Snapshot | None,
    moment: Moment,
    re_read: pl.DataFrame | None = None,
    past: Past | None = None,
) -> Step:
    """Carry one provider's intervals, or those of some machine types, to the next release.

    Args:
        history: its intervals so far, in ORDER.
        before: its tables in the previous release; None if the release lacks it.
        after: its tables in this release; None if the release lacks it.
        moment: this release.
        re_read: the pages of ``before``, read with the newer reading; see ``snapshot.evidence``.
        past: facts about all of the provider's intervals; None if ``history`` has all of them.
    """
    past = past or past_of(history.lazy())
    if past.is_empty and after is not None:
        return _first_step(history, after, moment)
    is_open = history["valid_to"].is_null()
    ended, open_rows = history.clear(), history
    if not is_open.all():
        ended, open_rows = history.filter(~is_open), history.filter(is_open)
    if after is None:
        waiting = _without_provider(open_rows)
        kept = waiting.drop("was_state")
        none_back = _back(open_rows, open_rows, pl.repeat(False, open_rows.height, eager=True))
        none_begun = pl.Series(dtype=pl.UInt32)
        carried = _in_order([ended, kept, kept.clear()], is_open, none_begun)
        return Step(history, carried, _no_moves(), waiting, none_back)
    prices = after.prices_with_origin().rename({"observed_at": "observed_last"}).collect()
    origins, is_same, new = _compare_values(open_rows, prices)
    others = _numbered(open_rows, ~is_same)
    moves = _full_join(others, new)
    missing = _missing(moves.filter(~pl.col("new_exists")), before, after)
    gone = missing.filter("collected").drop("collected")
    waiting = _waiting(others, missing.filter(~pl.col("collected")))
    moves = pl.concat([moves.filter("new_exists"), gone.select(moves.columns)])
    moves = _judged(moves, past, ended["price_id"].unique(), before, after, re_read)
    seen = _mark_seen(open_rows, origins, moment)
    back = _back(seen, open_rows, is_same)
    kept = _with_others(seen, [waiting.drop("was_state"), _ended(others, moves, moment)])
    parts = [ended, kept, _begin(moves, moment)]
    carried = _in_order(parts, is_open, moves.filter("new_exists")[ROW])
    return Step(history, with_accelerators(carried, after), moves, waiting.drop(ROW), back)


ROW = "row"  # Number of an interval among the open ones


def _first_step(no_history: pl.DataFrame, after: Snapshot, moment: Moment) -> Step:
    """Begin an interval for each price of a provider that is new in a release.

    ``moves`` is empty: these prices are not listed one by one.
    """
    prices = after.prices_with_origin().rename({"observed_at": "observed_last"})
    values = prices.select("price_id", *PRICE_KEY, *VALUE, *ORIGIN)
    begun = _new_intervals(values.with_columns(start_reason=pl.lit("first_release")), moment)
    frames.sort_in_place(begun, ORDER)
    none_back = _back(no_history, no_history, pl.Series(dtype=pl.Boolean))
    waiting = _without_provider(no_history)
    return Step(no_history, with_accelerators(begun, after), _no_moves(), waiting, none_back)


def _in_order(parts: Sequence[pl.DataFrame], is_open: pl.Series, rows: pl.Series) -> pl.DataFrame:
    """Combine intervals, in ORDER.

    Args:
        parts: intervals that had ended before, that were open before, and that begin now.
        is_open: whether each earlier interval, in ORDER, was open.
        rows: for each interval that begins, the row of its price among the open intervals; null for
            a new price.
    """
    ended, kept, begun = parts
    if begun.is_empty() and ended.is_empty():
        return kept
    if rows.has_nulls():
        combined = pl.concat(parts)
        frames.sort_in_place(combined, ORDER)
        return combined
    # an interval that begins follows the last one of its price
    places = pl.int_range(0, 2 * is_open.len(), 2, eager=True)
    at_open = places.filter(is_open)
    order = pl.concat([places.filter(~is_open), at_open, at_open.gather(rows) + 1]).arg_sort()
    # column by column, to keep only one column in memory twice
    return pl.DataFrame(
        [
            pl.concat([part[name] for part in parts], rechunk=True).gather(order)
            for name in kept.columns
        ]
    )


def _no_moves() -> pl.DataFrame:
    empty = frames.empty(PriceHistory)
    both = _full_join(
        empty.with_row_index(ROW), empty.select("price_id", *PRICE_KEY, *VALUE, *ORIGIN)
    )
    return _with_reasons(
        snapshot.with_middle(
            both.with_columns(
                evidence=pl.lit("none"), newly_collected=pl.lit(False), ended_before=pl.lit(False)
            ),
            VALUE,
            None,
            ["price_id"],
        )
    )


def _compare_values(
    open_rows: pl.DataFrame, prices: pl.DataFrame
) -> tuple[pl.DataFrame, pl.Series, pl.DataFrame]:
    """Separate the intervals whose price is unchanged from those whose price moved.

    Returns for each open interval the columns now_<name> of ORIGIN, and whether its price is
    unchanged; and the prices that differ from all intervals. Nearly all are unchanged, so complete
    rows are neither joined nor sorted: that took 29 s more of processor time for 20.7 million
    prices, 6 % of a refresh (3.6 million measured, four runs of each in turn; the files are
    identical).
    """
    beside = prices.select(
        *(pl.col(name).alias(f"now_{name}") for name in (*VALUE, *ORIGIN)), now_exists=pl.lit(True)
    )
    positions = _positions(open_rows["price_id"], prices["price_id"])
    if positions is not None:
        beside = beside[positions]
    before = open_rows.select(pl.col(name).alias(f"old_{name}") for name in VALUE)
    is_present = pl.col("now_exists").fill_null(False)
    is_same = before.hstack(beside).select(
        is_present & ~snapshot.values_differ("old", "now", VALUE)
    )
    chosen = is_same.to_series()
    origins = beside.select(f"now_{name}" for name in ORIGIN)
    if positions is None:
        return origins, chosen, prices[(~chosen).arg_true()]
    return origins, chosen, _without(prices, positions.filter(chosen))


def _numbered(open_rows: pl.DataFrame, chosen: pl.Series) -> pl.DataFrame:
    """Select a few rows with their numbers, faster than a filter, which reads all columns."""
    rows = chosen.arg_true()
    return open_rows[rows].insert_column(0, rows.alias(ROW))


def _positions(open_ids: pl.Series, current_ids: pl.Series) -> pl.Series | None:
    """Find for each open interval the row of its current price; null if the price is missing.

    None if all rows are the same. Both are in ORDER, so that is usual.
    """
    if open_ids.equals(current_ids):
        return None
    rows = current_ids.to_frame().with_row_index("row")
    return open_ids.to_frame().join(rows, on="price_id", how="left", maintain_order="left")["row"]


def _without(rows: pl.DataFrame, left_out: pl.Series) -> pl.DataFrame:
    is_left = pl.repeat(True, rows.height, eager=True).scatter(left_out, False)
    return rows[is_left.arg_true()]


def _full_join(open_rows: pl.DataFrame, prices: pl.DataFrame) -> pl.DataFrame:
    columns = (*VALUE, *ORIGIN)
    old = open_rows.select(
        ROW,
        "price_id",
        *PRICE_KEY,
        *(pl.col(name).alias(f"old_{name}") for name in columns),
        "last_release",
        "waits_for",
        old_exists=pl.lit(True),
    )
    new = prices.select(
        "price_id",
        *PRICE_KEY,
        *(pl.col(name).alias(f"new_{name}") for name in columns),
        new_exists=pl.lit(True),
    )
    joined = old.join(new, on="price_id", how="full", coalesce=True, maintain_order="left_right")
    return joined.with_columns(
        *(pl.coalesce(name, f"{name}_right").alias(name) for name in PRICE_KEY),
        pl.col("old_exists", "new_exists").fill_null(False),
    ).drop(f"{name}_right" for name in PRICE_KEY)


def _missing(moves: pl.DataFrame, before: Snapshot | None, after: Snapshot) -> pl.DataFrame:
    places = {"old_collection_unit": "collection_unit", "old_basis": "basis"}
    decided = snapshot.missing(moves.rename(places), before, after)
    decided = decided.rename({new: old for old, new in places.items()})
    is_refused = pl.col("price_id").is_in(list(after.refused))
    return decided.with_columns(
        collected=pl.col("collected") & ~is_refused,
        state=pl.when(is_refused).then(pl.lit("refused")).otherwise(pl.lit("not_collected")),
    )


def _without_provider(open_rows: pl.DataFrame) -> pl.DataFrame:
    return open_rows.with_columns(was_state="state", state=pl.lit("not_collected"))


def _waiting(open_rows: pl.DataFrame, missing: pl.DataFrame) -> pl.DataFrame:
    now = missing.select("price_id", now_state="state", now_for="waits_for")
    return (
        open_rows.join(now, on="price_id", maintain_order="left")
        .with_columns(was_state="state", state="now_state", waits_for="now_for")
        .drop("now_state", "now_for")
    )


def _mark_seen(open_rows: pl.DataFrame, origins: pl.DataFrame, moment: Moment) -> pl.DataFrame:
    """Mark all open intervals as seen in this release. ``_with_others`` corrects the moved ones."""
    times = [open_rows["observed_first"], open_rows["observed_last"], origins["now_observed_last"]]
    known = pl.DataFrame([time.rechunk() for time in times]).select(
        observed_first=pl.min_horizontal("observed_first", "now_observed_last"),
        observed_last=pl.max_horizontal("observed_last", "now_observed_last"),
    )
    names = [name for name in ORIGIN if name != "observed_last"]
    constants = {"last_release": moment.version, "state": "current", "waits_for": None}
    return frames.replace(
        open_rows,
        *(origins[f"now_{name}"].alias(name) for name in names),
        *known,
        *(
            pl.repeat(value, open_rows.height, dtype=pl.String, eager=True).alias(name)
            for name, value in constants.items()
        ),
    )


SEEN = (*ORIGIN, "observed_first", "last_release", "state", "waits_for")
"""Columns that ``_mark_seen`` writes."""


def _with_others(seen: pl.DataFrame, others: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Correct the few rows of intervals that ended or wait."""
    names = (*SEEN, "valid_to", "end_reason")
    moved = pl.concat([rows.select(ROW, *names) for rows in others])
    if moved.is_empty():
        return seen
    return frames.replace(seen, *(seen[name].scatter(moved[ROW], moved[name]) for name in names))


def _back(seen: pl.DataFrame, open_rows: pl.DataFrame, is_same: pl.Series) -> pl.DataFrame:
    rows = (is_same & (open_rows["state"] != "current")).arg_true()
    were = open_rows[rows].select(was_state="state", was_for="waits_for")
    return seen[rows].hstack(were)


def _judged(
    moves: pl.DataFrame,
    past: Past,
    ended_before: pl.Series,
    before: Snapshot | None,
    after: Snapshot,
    re_read: pl.DataFrame | None,
) -> pl.DataFrame:
    place = {"new_collection_unit": "collection_unit"}
    marked = snapshot.newly_collected(moves.rename(place), before)
    marked = marked.rename({"collection_unit": "new_collection_unit"})
    same_pages = bool(before and before.inputs.pages == after.inputs.pages)
    last = before.version if before else ""
    old_reading = pl.coalesce("old_reading", pl.lit(past.reading, dtype=pl.String))
    seen_before = ~pl.col("old_exists") | (pl.col("last_release") == last).fill_null(False)
    marked = marked.with_columns(
        same_reading=(
            pl.when("old_exists").then("old_reading").otherwise(old_reading)
            == pl.lit(after.reading, dtype=pl.String)
        ).fill_null(False),
        seen_before=seen_before if before else pl.lit(False),
        same_page=(
            pl.col("old_exists")
            & pl.col("new_exists")
            & (pl.col("new_basis") == "listed")
            & (pl.col("old_raw_sha256") == pl.col("new_raw_sha256"))
        ).fill_null(False),
        newly_collected=pl.col("newly_collected") & ~pl.col("old_exists"),
        ended_before=pl.col("price_id").is_in(ended_before.implode()),
    ).with_columns(same_pages=pl.lit(same_pages) & pl.col("seen_before"))
    known = marked.with_columns(snapshot.evidence(can_re_read=re_read is not None))
    known = known.with_columns(
        evidence=pl.when("newly_collected").then(pl.lit("collection")).otherwise("evidence")
    )
    return _with_reasons(snapshot.with_middle(known, VALUE, re_read, ["price_id"]))


def _with_reasons(moves: pl.DataFrame) -> pl.DataFrame:
    """Add start_reason and end_reason; null where no interval began or ended."""
    both = pl.col("old_exists") & pl.col("new_exists")
    added = ~pl.col("old_exists") & pl.col("new_exists")
    new_to_vendor = added & ~pl.col("middle_exists")
    change = first_of(
        {
            "unclear": pl.col("unclear"),
            "restated": pl.col("ours") & ~pl.col("vendors"),
            "price_changed": both & ~pl.col("ours"),
            "changed_and_restated": both | pl.col("ours"),
        }
    )
    is_new = ~pl.col("unclear") & new_to_vendor
    begun = {
        "first_collected": pl.col("newly_collected"),
        "returned": is_new & pl.col("ended_before"),
        "added": is_new,
    }
    start = pl.coalesce(first_of(begun), change)
    is_removed = (
        pl.col("old_exists") & ~pl.col("new_exists") & ~pl.col("unclear") & pl.col("vendors")
    )
    end = pl.when(is_removed).then(pl.lit("removed")).otherwise(change)
    return moves.with_columns(
        start_reason=pl.when("new_exists").then(start), end_reason=pl.when("old_exists").then(end)
    )


def _ended(open_rows: pl.DataFrame, moves: pl.DataFrame, moment: Moment) -> pl.DataFrame:
    now = moves.filter("old_exists").select("price_id", now="end_reason")
    joined = open_rows.join(now, on="price_id", maintain_order="left")
    return joined.with_columns(
        valid_to=pl.lit(moment.at, dtype=Timestamp),
        end_reason="now",
        state=pl.lit("ended"),
        waits_for=pl.lit(None, dtype=pl.String),
    ).drop("now")


def _begin(moves: pl.DataFrame, moment: Moment) -> pl.DataFrame:
    values = (pl.col(f"new_{name}").alias(name) for name in (*VALUE, *ORIGIN))
    new = moves.lazy().filter("new_exists")
    return _new_intervals(new.select("price_id", *PRICE_KEY, *values, "start_reason"), moment)


def _new_intervals(prices: pl.LazyFrame, moment: Moment) -> pl.DataFrame:
    rows = prices.with_columns(
        pl.lit(moment.at, dtype=Timestamp).alias("valid_from"),
        pl.lit("current").alias("state"),
        pl.lit(moment.version).alias("first_release"),
        pl.lit(moment.version).alias("last_release"),
        pl.col("observed_last").alias("observed_first"),
    )
    return frames.conform(rows, PriceHistory).collect()


def with_accelerators(history: pl.DataFrame, after: Snapshot) -> pl.DataFrame:
    """Update the accelerators of the machine types in the release; other types keep theirs."""
    first = pl.col("accelerators").list.first()
    is_one = pl.col("accelerators").list.len() == 1
    types = after.instance_types.select(
        "instance_type",
        pl.when(is_one).then(first.struct.field("accelerator_id")).alias("now_id"),
        pl.when(is_one).then(first.struct.field("count")).alias("now_count"),
        is_listed=pl.lit(True),
    )
    if not _accelerators_differ(history, types):
        return history
    joined = history.join(types, on="instance_type", how="left", maintain_order="left")
    listed = pl.col("is_listed").fill_null(False)
    return joined.with_columns(
        accelerator_id=pl.when(listed).then("now_id").otherwise("accelerator_id"),
        accelerator_count=pl.when(listed).then("now_count").otherwise("accelerator_count"),
    ).drop("now_id", "now_count", "is_listed")


def _accelerators_differ(history: pl.DataFrame, types: pl.DataFrame) -> bool:
    """Check whether machine types have other accelerators than the intervals.

    Rows of one type are adjacent, so only the first of each run is compared.
    """
    columns = ("instance_type", "accelerator_id", "accelerator_count")
    is_first = pl.any_horizontal(pl.col(n).ne_missing(pl.col(n).shift(1)) for n in columns)
    runs = history.lazy().select(columns).filter(is_first).collect()
    differs = pl.col("accelerator_id").ne_missing(pl.col("now_id"))
    differs |= pl.col("accelerator_count").ne_missing(pl.col("now_count"))
    return bool(runs.join(types, on="instance_type").select(differs.any()).item())
