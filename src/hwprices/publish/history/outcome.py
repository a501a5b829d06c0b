"""Sum up what a release did to the prices of one provider, without the intervals themselves."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from hwprices.publish.history.intervals import Step
from hwprices.rows import frames

SUBJECTS = ("instance_type", "region")
"""What comes with its first price, and goes with its last."""

WAITING = ("was_state", "state", "waits_for", "collection_unit")
BACK = ("was_state", "was_for", "collection_unit")
"""What is said of prices that wait or are back. Where a provider is left out of a release, all of
its prices wait, so that they are counted and not kept."""


@dataclass(frozen=True)
class Outcome:
    """What a release did to one provider's prices, without the intervals themselves.

    Attributes:
        had: number of intervals before.
        has: number of intervals now.
        sold_before: machine types and regions of the intervals that were open before, as
            ``_types_and_regions`` lists them.
        sold: the same of those that are open now.
        ever: the same of all intervals before.
        moves: as those of ``Step``.
        waiting: number of ``prices`` of ``Step.waiting`` by WAITING.
        back: number of ``prices`` of ``Step.back`` by BACK.
    """

    had: int
    has: int
    sold_before: pl.DataFrame
    sold: pl.DataFrame
    ever: pl.DataFrame
    moves: pl.DataFrame
    waiting: pl.DataFrame
    back: pl.DataFrame


def outcome_of(step: Step) -> Outcome:
    """Sum up a step. The result is far smaller than the intervals."""
    columns = ("provider", *SUBJECTS, "valid_to")
    before, after = step.before.select(columns), step.history.select(columns)
    open_before = _open(before)
    sold_before = _types_and_regions(open_before)
    return Outcome(
        had=step.before.height,
        has=step.history.height,
        sold_before=sold_before,
        sold=_types_and_regions(_open(after)),
        ever=sold_before if open_before is before else _types_and_regions(before),
        moves=frames.independent(step.moves),
        waiting=_counted(step.waiting, WAITING),
        back=_counted(step.back, BACK),
    )


def added_up(parts: Sequence[Outcome]) -> Outcome:
    """Put the outcomes of pieces of one provider together: one at least, none with a region twice.

    A machine type may be in several pieces, so that the subjects are made unique.
    """
    frames_of_parts = {
        name: pl.concat([getattr(part, name) for part in parts])
        for name in ("sold_before", "sold", "ever", "moves", "waiting", "back")
    }
    for name in ("sold_before", "sold", "ever"):
        frames_of_parts[name] = frames_of_parts[name].unique()
    had, has = (sum(getattr(part, name) for part in parts) for name in ("had", "has"))
    return Outcome(had=had, has=has, **frames_of_parts)


def _open(intervals: pl.DataFrame) -> pl.DataFrame:
    """Leave out those that have ended; the same frame where none has."""
    is_open = intervals["valid_to"].is_null()
    return intervals if is_open.all() else intervals.filter(is_open)


def _counted(rows: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Count rows by these columns; ``prices`` is their number."""
    return rows.group_by(columns).agg(prices=pl.len().cast(pl.Int64))


def _types_and_regions(rows: pl.DataFrame) -> pl.DataFrame:
    """List the machine types and the regions of intervals; the column of the other is null.

    Sorted by key, rows of one subject follow one another: only the first of each run is looked at.
    """
    runs = {subject: pl.col(subject).ne_missing(pl.col(subject).shift(1)) for subject in SUBJECTS}
    by_subject = [
        rows.select("provider", subject).filter(is_first).unique()
        for subject, is_first in runs.items()
    ]
    return frames.independent(pl.concat(by_subject, how="diagonal"))
