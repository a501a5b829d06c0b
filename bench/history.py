"""Measure carrying the price history of a year of daily releases to the next release.

    python -m bench.history

The intervals are drawn as tools/simulate_history.py draws them: the sample release's prices, of
which 0.2 % move every day. The baseline is reading the files with the intervals and writing them
again: whatever is done to them costs that.
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
"""Joined, told apart, checked and written; the ratio is what checking every row costs."""


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
    """Write the intervals of so many days, one file a provider."""
    base, plan = simulate_history.snapshots(sample_root()), _plan()
    versions = plan.times(days).dt.strftime("%Y%m%dT%H%M%SZ")
    made = advance({}, {}, base, Moment(versions[0]), {}, (None, pl.DataFrame()))
    for name, rows in made.intervals.items():
        simulate_history.drawn(rows.collect(), plan, days).write_parquet(_file(folder, name))


def carry(folder: str, days: int) -> int:
    """Carry the intervals to the next day; return how many there are then."""
    base, plan = simulate_history.snapshots(sample_root()), _plan()
    times = plan.times(days + 1)
    versions = times.dt.strftime("%Y%m%dT%H%M%SZ").to_list()
    past = {name: pl.read_parquet(_file(folder, name)) for name in base}
    before = {
        name: replace(one, version=versions[-2], inputs=replace(one.inputs, pages="before"))
        for name, one in base.items()
    }
    after = {name: simulate_history.moved(past[name], base[name], times[-1], plan) for name in base}
    begun = {name: rows.lazy() for name, rows in past.items()}
    moment = Moment(versions[-1], versions[-2])
    made = advance(begun, before, after, moment, {}, (None, pl.DataFrame()))
    return sum(file.rows for file in made.write(Store(f"{folder}/out"), "release"))


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
