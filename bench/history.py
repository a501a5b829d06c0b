"""Measure extending the price history of a year of daily releases by the next release.

    python -m bench.history

The intervals come from tools/simulate_history.py: the sample release's prices, of which 0.2 % move
every day. The baseline, reading the files with the intervals and writing them again, is the minimum
cost.
"""

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import polars as pl
from tools import simulate_history
from tools.simulate_history import DAILY_MOVES, Simulation

from bench import measure
from hwprices.publish.history import advance
from hwprices.publish.history.snapshot import Moment
from hwprices.release.versions import sample_root
from hwprices.rows import parquet
from hwprices.storage.store import Store

DAYS, SMALL_DAYS = 365, 10

CARRIED = measure.Goal(ratio=60, seconds=10)
"""The history is joined, classified, checked and written; checking every row takes the most."""


def rows(is_small: bool) -> Iterator[measure.Row]:
    """Measure one size."""
    days = SMALL_DAYS if is_small else DAYS
    with tempfile.TemporaryDirectory(prefix="hwprices-bench-") as folder:
        steps = {"bare": (rewrite, folder), "carry": (carry, folder, days)}
        measure.run_apart(draw, folder, days)
        costs = measure.compare(steps, runs=2)
    yield measure.make_row(
        "carrying the history further",
        f"{days} days, {costs['carry'].result:,} intervals",
        costs["carry"],
        baseline=costs["bare"],
        baseline_name="writing it again",
        goal=CARRIED,
        is_small=is_small,
    )


def draw(folder: str, days: int) -> None:
    """Write the intervals of ``days`` days, one file per provider."""
    base, plan = simulate_history.snapshots(sample_root()), _plan()
    versions = plan.times(days).dt.strftime("%Y%m%dT%H%M%SZ")
    history = advance({}, {}, base, Moment(versions[0]), {}, (None, pl.DataFrame()))
    for name, rows in history.intervals.items():
        simulate_history.drawn(rows.collect(), plan, days).write_parquet(_file(folder, name))


def carry(folder: str, days: int) -> int:
    """Extend the intervals by a day; return their number."""
    base, plan = simulate_history.snapshots(sample_root()), _plan()
    times = plan.times(days + 1)
    versions = times.dt.strftime("%Y%m%dT%H%M%SZ").to_list()
    past = {name: pl.read_parquet(_file(folder, name)) for name in base}
    previous = {
        name: replace(
            snapshot, version=versions[-2], inputs=replace(snapshot.inputs, pages="before")
        )
        for name, snapshot in base.items()
    }
    current = {
        name: simulate_history.moved(past[name], base[name], times[-1], plan) for name in base
    }
    intervals = {name: rows.lazy() for name, rows in past.items()}
    moment = Moment(versions[-1], versions[-2])
    history = advance(intervals, previous, current, moment, {}, (None, pl.DataFrame()))
    return sum(file.rows for file in history.write(Store(f"{folder}/out"), "release"))


def rewrite(folder: str) -> None:
    """Read the intervals and write them again."""
    for path in sorted(Path(folder).glob("*.parquet")):
        rows = pl.read_parquet(path)
        rows.write_parquet(f"{folder}/again", row_group_size=parquet.ROW_GROUP)


def _plan() -> Simulation:
    return Simulation(timedelta(days=1), DAILY_MOVES)


def _file(folder: str, provider: str) -> Path:
    return Path(folder) / f"{provider}.parquet"


if __name__ == "__main__":
    sys.exit(measure.run_script(rows))
