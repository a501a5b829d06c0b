"""Measure the price history of simulated releases: ``python -m tools.simulate_history data``.

Takes the prices of the latest release of a dataset and lets them move, day by day or hour by hour,
at the level of the tables: no page is landed and nothing is normalised. Prints the sizes and times
that docs/performance.md quotes.

    python -m tools.simulate_history data                      a year of daily releases
    python -m tools.simulate_history data --spot 0.01          spot every hour, a hundredth of it
"""

import argparse
import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl

import hwprices
from hwprices.publish.history import record
from hwprices.publish.history.record import Record, advance
from hwprices.publish.history.snapshot import Moment, Snapshot, snapshot
from hwprices.storage.store import Store
from hwprices.units import Money

START = datetime(2026, 1, 1, tzinfo=UTC)

DAILY_MOVES = 0.002
"""Share of list prices that move in a day. Generous: of 30,000 prices of Google none moved in seven
weeks (../shared/audits/peers2.md)."""

SPOT_MOVES = 1 / (14 * 24)
"""Share of spot prices that move in an hour: each every two weeks, as the same study found."""

SPOT_QUOTES = 200_000
"""Spot prices of three clouds: AWS has some 900 types × 90 zones × 4 systems of which about half
are quoted, Azure 40,000 and Google 15,000."""

SHOWN = (1, 30, 365)

TIME = pl.Datetime("us", "UTC")


@dataclass(frozen=True)
class Simulation:
    """How often releases come, how many, and what share of the prices moves between two."""

    step: timedelta
    count: int
    share: float
    shown: tuple[int, ...]


def snapshots(root: str) -> dict[str, Snapshot]:
    """Take the prices of the latest release, by provider."""
    data = hwprices.open(root)
    tables = {name: data.scan(name) for name in ("prices", "instance_types", "regions")}
    return {
        name: snapshot(name, data.version, entry.inputs, tables)
        for name, entry in data.release.providers.items()
    }


def spot(base: dict[str, Snapshot], share: float) -> dict[str, Snapshot]:
    """Make spot quotes: a share of SPOT_QUOTES, spread over made-up zones."""
    count = round(SPOT_QUOTES * share)
    one = base["aws"]
    rows = one.prices.head(1)
    index = pl.int_range(count, eager=True)
    made = pl.concat([rows] * count).with_columns(
        price_id=index.hash(1).cast(pl.String).str.zfill(24).str.slice(0, 24).alias("price_id"),
        instance_type=pl.format("m{}.large", index // 360),
        zone=pl.format("zone-{}", index % 90),
        region=pl.format("region-{}", index % 30),
        os=pl.Series([("linux", "windows", "rhel", "sles")[i // 90 % 4] for i in range(count)]),
        purchase_option=pl.lit("spot"),
        effective_hourly=(index.hash(2) % 100_000).cast(Money) / 10_000 + pl.lit(0.01).cast(Money),
    )
    ids = pl.Series("price_id", [f"{random.Random(i).getrandbits(96):024x}" for i in range(count)])
    made = made.with_columns(ids, hourly="effective_hourly", upfront=pl.lit(None, dtype=Money))
    return {"aws": replace(one, prices=made)}


def moved(one: Snapshot, share: float, index: int, at: datetime, version: str) -> Snapshot:
    """Let a share of the prices move by up to 10 %, and all be seen again."""
    rows = one.prices
    chosen = (pl.int_range(pl.len()).hash(index) % 1_000_000) < share * 1_000_000
    percent = (pl.int_range(pl.len()).hash(index + 7) % 21).cast(pl.Int64) - 10
    factor = 1 + percent.cast(Money) / 100
    price = pl.when(chosen).then((pl.col("effective_hourly") * factor).cast(Money))
    amount = pl.coalesce(price, "effective_hourly")
    unchanged = pl.col("effective_hourly").is_null() | pl.col("upfront").is_not_null()
    return replace(
        one,
        version=version,
        inputs=replace(one.inputs, pages=version),
        prices=rows.with_columns(
            pl.when(unchanged).then("hourly").otherwise(amount).alias("hourly"),
            pl.when(unchanged).then("effective_hourly").otherwise(amount).alias("effective_hourly"),
            pl.lit(at).cast(TIME).alias("observed_at"),
        ),
    )


def simulate(
    base: dict[str, Snapshot], plan: Simulation, report: Callable[[str], None]
) -> Record | None:
    """Publish the history of all releases, and report sizes and times."""
    before: dict[str, Snapshot] = {}
    past: dict[str, pl.DataFrame] = {}
    previous: str | None = None
    made: Record | None = None
    for index in range(plan.count):
        at = START + index * plan.step
        version = at.strftime("%Y%m%dT%H%M%SZ")
        source = before or base
        after = {
            name: moved(one, plan.share * (index > 0), index, at, version)
            for name, one in source.items()
        }
        began = time.perf_counter()
        made = advance(past, before, after, Moment(version, previous), {}, (None, pl.DataFrame()))
        seconds = time.perf_counter() - began
        past, before, previous = dict(made.intervals), after, version
        if index + 1 in plan.shown:
            _report(made, index + 1, seconds, report)
    return made


def _report(made: Record, count: int, seconds: float, report: Callable[[str], None]) -> None:
    with tempfile.TemporaryDirectory(prefix="hwprices-") as folder:
        began = time.perf_counter()
        files = made.write(Store(folder), "release")
        writing = time.perf_counter() - began
        history = [file for file in files if file.table == record.HISTORY]
        paths = [str(Path(folder, "release", file.key)) for file in history]
        began = time.perf_counter()
        frame = pl.scan_parquet(paths).filter(pl.col("instance_type") == "p5.48xlarge").collect()
        reading = time.perf_counter() - began
    rows = sum(file.rows for file in history)
    size = sum(file.bytes for file in history)
    changed = sum(file.bytes for file in files) - size
    report(
        f"| {count:,} | {rows:,} | {size / 1e6:.2f} MB | {changed / 1e3:.0f} kB | {seconds:.2f} s"
        f" | {writing:.2f} s | {reading * 1e3:.0f} ms ({frame.height} rows) |"
    )


def main() -> None:
    """Run the simulation that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("root")
    parser.add_argument("--spot", type=float, default=0.0, help="share of the spot quotes")
    parser.add_argument("--releases", type=int, default=0)
    arguments = parser.parse_args()
    base = snapshots(arguments.root)
    plan = Simulation(timedelta(days=1), arguments.releases or 365, DAILY_MOVES, SHOWN)
    if arguments.spot:
        base = spot(base, arguments.spot)
        hours = arguments.releases or 365 * 24
        plan = Simulation(timedelta(hours=1), hours, SPOT_MOVES, (1, 24, 24 * 30, hours))
    print("| releases | rows | price_history | changes | advance | write | one type |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    simulate(base, plan, print)


if __name__ == "__main__":
    main()
