"""Publish many simulated days, and measure disk and time: ``python -m tools.simulate_days 100``.

Every day the sample release's prices move a little (``DAILY_MOVES``), are staged, published and
pruned by the code that does it in earnest, with the default retention. Nothing is fetched or
normalised: in place of the vendors' pages a file of random bytes as large as they are in the sample
is landed every day. What the gate would hold back (a family may be a tenth of a small provider's
prices) is accepted, as a person would. Prints what docs/performance.md quotes.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

import hwprices
from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.publish import release
from hwprices.publish.prune import Policy, prune
from hwprices.read.dataset import Dataset
from hwprices.release.manifest import DIGEST_CHARACTERS, Inputs, Reading, UnitInput
from hwprices.release.versions import sample_root, versions
from hwprices.rows import parquet
from hwprices.specs import data_directory
from hwprices.stage import Staged, make_current
from hwprices.storage import layout
from hwprices.storage.store import Store
from hwprices.units import Money, Timestamp
from tools.demo_release import VENDOR_TABLES
from tools.simulate_history import DAILY_MOVES

START = datetime(2026, 1, 1, 4, tzinfo=UTC)

SEED = 11

DRAWS = 10_000
"""The draw of a family is one of so many numbers; the first DAILY_MOVES of them move. That is a
share of families here, and of prices in tools/simulate_history.py."""

AREAS = (layout.RELEASES, layout.STAGED, layout.RAW)


@dataclass
class Cloud:
    """One provider: its tables, of which the prices move, and the bytes of its pages in a day."""

    name: str
    tables: dict[str, pl.DataFrame]
    page_bytes: int


def clouds(dataset: Dataset) -> Iterator[Cloud]:
    """Take every provider of the sample release."""
    pages = data_directory() / "sample"
    for name in dataset.release.providers:
        tables = {}
        for table in VENDOR_TABLES:
            tables[table] = dataset.scan(table).filter(provider=name).collect()
        size = sum(path.stat().st_size for path in (pages / name).rglob("*.gz"))
        yield Cloud(name, tables, size)


def move(prices: pl.DataFrame, at: datetime) -> pl.DataFrame:
    """Change the prices of a share of the families by up to a tenth, and all be seen now.

    All prices of a family (m5, c4; at Azure of a size) in a region move together, as vendors' do:
    bare metal and its virtual twin would else drift apart, and the gate stop the release.
    """
    family = pl.col("instance_type").str.replace("[-.].*$", "")
    draw = pl.struct("region", family).hash(seed=SEED + at.toordinal())
    percent = (draw // DRAWS % 21).cast(pl.Int64) - 10
    factor = pl.when(draw % DRAWS < DAILY_MOVES * DRAWS).then(100 + percent).otherwise(100)
    amounts = pl.col("hourly", "upfront", "effective_hourly")
    return prices.with_columns(
        (amounts * (factor.cast(Money) / 100)).cast(Money),
        pl.lit(at, Timestamp).alias("observed_at"),
    )


def collect(store: Store, cloud: Cloud, at: datetime, generator: np.random.Generator) -> None:
    """Land a page and stage the tables of one day."""
    landing = Landing(layout.landing_root(store.root))
    run, unit = at.strftime("%Y%m%dT%H%M%S.%fZ"), Unit(cloud.name, "prices")
    page = landing.land_bytes(
        unit,
        generator.bytes(cloud.page_bytes),
        url="https://vendor.example/prices",
        retrieved_at=at,
    )
    path = store.local(f"{layout.RAW}/{page.key}")
    assert path is not None
    os.utime(path, (at.timestamp(), at.timestamp()))
    landing.write_run(Run(run, cloud.name, "live", at, "0", (UnitResult(unit, "ok", (page,)),)))
    cloud.tables["prices"] = move(cloud.tables["prices"], at)
    directory = layout.staged_directory(cloud.name, run)
    files = tuple(
        parquet.write(store, directory, table, rows, provider=cloud.name)
        for table, rows in cloud.tables.items()
    )
    units = (UnitInput("prices/global", "ok", (page.sha256[:DIGEST_CHARACTERS],)),)
    inputs = Inputs(Reading("code", "sheets", "corrections"), page.sha256, units)
    make_current(store, Staged(cloud.name, run, "live", files, inputs=inputs))


def size(store: Store, area: str) -> int:
    """Add up the bytes of all files of an area."""
    paths = (store.local(key) for key in store.keys(area))
    return sum(path.stat().st_size for path in paths if path is not None)


def simulate(root: str, days: int) -> Iterator[list[str]]:
    """Publish so many days; give a row of figures for each."""
    store, generator = Store(root), np.random.default_rng(SEED)
    every = list(clouds(hwprices.open(sample_root())))
    for day in range(days):
        at = START + timedelta(days=day)
        for cloud in every:
            collect(store, cloud, at, generator)
        began = time.process_time()
        made = release.publish(
            store,
            now=partial(datetime.fromtimestamp, at.timestamp(), UTC),
            accepted=[f"{cloud.name}:*" for cloud in every],
        )
        published = time.process_time()
        prune(store, Policy(), now=at)
        pruned = time.process_time()
        assert not made.held_back, made.held_back
        sizes = [size(store, area) for area in AREAS]
        one = size(store, layout.release_directory(made.version))
        megabytes = [f"{value / 1e6:.1f}" for value in (one, *sizes, sum(sizes))]
        seconds = [f"{published - began:.1f}", f"{pruned - published:.2f}"]
        yield [str(day + 1), str(len(versions(store))), *megabytes, *seconds]


def main() -> None:
    """Run the requested simulation."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("days", type=int, nargs="?", default=100)
    parser.add_argument("--every", type=int, default=10, help="print the figures of so many days")
    arguments = parser.parse_args()
    heads = ("day", "releases", "one release", *AREAS, "all, MB", "publish, s CPU", "prune, s CPU")
    print(f"| {' | '.join(heads)} |\n|{'---:|' * len(heads)}")
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder) / "scratch"
        scratch.mkdir()
        tempfile.tempdir = str(scratch)  # prune looks for old downloads, by the simulated clock
        for cells in simulate(f"{folder}/data", arguments.days):
            if int(cells[0]) % arguments.every == 0 or cells[0] in ("1", str(arguments.days)):
                print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
