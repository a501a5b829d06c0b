"""Measure the price history of many releases: ``python -m tools.simulate_history data``.

Takes the prices of the latest release of a dataset and lets them move at random, at the level of
the tables: no page is landed and nothing is normalised. The intervals of all releases but the last
are drawn at once; the last one is then made as publishing makes it, and timed. Prints what
docs/performance.md quotes.

    python -m tools.simulate_history data                      a year of daily releases
    python -m tools.simulate_history data --spot 0.01          spot every hour, a hundredth of it
"""

import argparse
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl

import hwprices
from hwprices.publish.history import HISTORY, Record, advance
from hwprices.publish.history.snapshot import Moment, Snapshot, take_snapshot
from hwprices.storage.store import Store
from hwprices.units import Money, Timestamp

START = datetime(2026, 1, 1, tzinfo=UTC)

DAILY_MOVES = 0.002
"""Share of list prices that move in a day. Generous: of 30,000 prices of Google none moved in seven
weeks."""

SPOT_MOVES = 1 / (14 * 24)
"""Share of spot prices that move in an hour: each one every two weeks."""

SPOT_QUOTES = 200_000
"""Spot prices of three clouds: AWS 150,000 of types, zones and systems, Azure 40,000, Google
15,000, in round figures."""

SEED = 11


@dataclass(frozen=True)
class Simulation:
    """How often releases come, and what share of the prices moves between two."""

    step: timedelta
    share: float

    def times(self, count: int) -> pl.Series:
        """List the times of the releases."""
        return pl.Series([START + index * self.step for index in range(count)], dtype=Timestamp)


def snapshots(root: str) -> dict[str, Snapshot]:
    """Take the prices of the latest release, by provider."""
    data = hwprices.open(root)
    tables = {name: data.scan(name) for name in ("prices", "instance_types", "regions")}
    return {
        name: take_snapshot(name, data.version, entry.inputs, tables)
        for name, entry in data.release.providers.items()
    }


def spot(base: Mapping[str, Snapshot], share: float) -> dict[str, Snapshot]:
    """Make spot quotes: a share of SPOT_QUOTES, in made-up zones."""
    count = round(SPOT_QUOTES * share)
    generator = np.random.default_rng(SEED)
    index = pl.int_range(count, eager=True)
    amount = pl.Series(generator.integers(100, 100_000, count)).cast(Money) / 10_000
    ids = [f"{number:024x}" for number in generator.integers(0, 2**63, count)]
    systems = ["linux", "windows", "rhel", "sles"]
    one = base["aws"]
    made = pl.concat([one.prices.head(1).collect()] * count).with_columns(
        pl.Series("price_id", [text[8:] + text[:8] for text in ids]),
        pl.format("m{}.large", index // 360).alias("instance_type"),
        pl.format("zone-{}", index % 90).alias("zone"),
        pl.format("region-{}", index % 30).alias("region"),
        pl.Series("os", [systems[number // 90 % 4] for number in range(count)]),
        pl.lit("spot").alias("purchase_option"),
        amount.alias("hourly"),
        amount.alias("effective_hourly"),
        pl.lit(None, dtype=Money).alias("upfront"),
        pl.lit(None, dtype=pl.String).alias("price_reason"),
    )
    return {"aws": replace(one, prices=made.lazy())}


def drawn(first: pl.DataFrame, plan: Simulation, count: int) -> pl.DataFrame:
    """Draw the intervals of ``count`` releases of prices that move, from those of the first."""
    generator = np.random.default_rng(SEED)
    total = round(first.height * plan.share * (count - 1))
    moves = pl.DataFrame(
        {
            "row": generator.integers(0, first.height, total),
            "step": generator.integers(1, max(count, 2), total),
            "percent": generator.integers(-10, 11, total),
        }
    ).unique(["row", "step"])
    start = pl.DataFrame({"row": np.arange(first.height)}).with_columns(
        step=pl.lit(0, pl.Int64), percent=pl.lit(0, pl.Int64)
    )
    spans = pl.concat([start, moves.select(start.columns)]).sort("row", "step")
    following = pl.col("step").shift(-1).over("row")
    times = plan.times(count)
    versions = times.dt.strftime("%Y%m%dT%H%M%SZ")
    spans = spans.with_columns(following=following, last=following.fill_null(count) - 1)
    rows = spans.join(first.with_row_index("row").cast({"row": pl.Int64}), on="row")
    factor = 1 + pl.col("percent").cast(Money) / 100
    ended = pl.col("following").is_not_null()
    return rows.with_columns(
        (pl.col("hourly") * factor).cast(Money),
        (pl.col("effective_hourly") * factor).cast(Money),
        valid_from=times.gather(rows["step"]),
        valid_to=times.gather(rows["following"]),
        first_release=versions.gather(rows["step"]),
        last_release=versions.gather(rows["last"]),
        observed_first=times.gather(rows["step"]) - timedelta(minutes=10),
        observed_last=times.gather(rows["last"]) - timedelta(minutes=10),
        start_reason=pl.when(pl.col("step") > 0)
        .then(pl.lit("price_changed"))
        .otherwise("start_reason"),
        end_reason=pl.when(ended).then(pl.lit("price_changed")),
        state=pl.when(ended).then(pl.lit("ended")).otherwise(pl.lit("current")),
    ).select(first.columns)


def measure(base: Mapping[str, Snapshot], plan: Simulation, count: int) -> str:
    """Make the last of ``count`` releases; return a row of sizes and times."""
    times = plan.times(count)
    versions = times.dt.strftime("%Y%m%dT%H%M%SZ").to_list()
    sheets = (None, pl.DataFrame())
    made = advance({}, {}, base, Moment(versions[0]), {}, sheets)
    began = time.perf_counter()
    if count > 1:
        first = {name: rows.collect() for name, rows in made.intervals.items()}
        past = {name: drawn(rows, plan, count - 1) for name, rows in first.items()}
        before = {
            name: replace(one, version=versions[-2], inputs=replace(one.inputs, pages="before"))
            for name, one in base.items()
        }
        after = {name: moved(past[name], base[name], times[-1], plan) for name in base}
        began = time.perf_counter()
        begun = {name: rows.lazy() for name, rows in past.items()}
        made = advance(begun, before, after, Moment(versions[-1], versions[-2]), {}, sheets)
    seconds = time.perf_counter() - began if count > 1 else float("nan")
    return _row(made, count, seconds)


def moved(past: pl.DataFrame, base: Snapshot, at: datetime, plan: Simulation) -> Snapshot:
    """Change a share of the prices once more."""
    rows = past.filter(pl.col("valid_to").is_null()).rename({"observed_last": "observed_at"})
    rows = rows.select(base.prices.collect_schema().names())
    chosen = np.random.default_rng(SEED + 1).random(rows.height) < plan.share
    factor = pl.when(pl.Series(chosen)).then(pl.lit(105)).otherwise(pl.lit(100)).cast(Money) / 100
    prices = rows.with_columns(
        (pl.col("hourly") * factor).cast(Money),
        (pl.col("effective_hourly") * factor).cast(Money),
        pl.lit(at, Timestamp).alias("observed_at"),
    )
    return replace(base, inputs=replace(base.inputs, pages="after"), prices=prices.lazy())


def _row(made: Record, count: int, seconds: float) -> str:
    with tempfile.TemporaryDirectory(prefix="hwprices-") as folder:
        began = time.perf_counter()
        files = made.write(Store(folder), "release")
        writing = time.perf_counter() - began
        history = [file for file in files if file.table == HISTORY]
        paths = [str(Path(folder, "release", file.key)) for file in history]
        began = time.perf_counter()
        pl.scan_parquet(paths).filter(pl.col("instance_type") == "p5.48xlarge").collect()
        reading = time.perf_counter() - began
    rows = sum(file.rows for file in history)
    size = sum(file.bytes for file in history)
    changed = sum(file.bytes for file in files) - size
    cells = [f"{count:,}", f"{rows:,}", f"{size / 1e6:.2f} MB", f"{changed / 1e3:.0f} kB"]
    cells += [
        f"{seconds:.2f} s" if count > 1 else "",
        f"{writing:.2f} s",
        f"{reading * 1e3:.0f} ms",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Run the requested simulation."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("root")
    parser.add_argument("--spot", type=float, default=0.0, help="share of the spot quotes")
    arguments = parser.parse_args()
    base = snapshots(arguments.root)
    counts: tuple[int, ...] = (1, 30, 365)
    plan = Simulation(timedelta(days=1), DAILY_MOVES)
    if arguments.spot:
        base = spot(base, arguments.spot)
        plan = Simulation(timedelta(hours=1), SPOT_MOVES)
        counts = (1, 24, 24 * 30, 24 * 365)
    print("| releases | rows | price_history | changes | advance | write | one type |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for count in counts:
        print(measure(base, plan, count), flush=True)


if __name__ == "__main__":
    main()
