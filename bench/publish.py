"""Measure validating and publishing: 10 million price rows of three clouds, and half a million.

    python -m bench.publish

The rows are made from the sample release: a region's on-demand prices of Linux, with all systems,
tenancies and commitments that AWS lists for a machine type, copied into made-up regions. Two
releases are made; in the second, 0.5 % of the prices have moved. The second one, which passes every
check of the gate, is measured: each step, including the history, and how the cost grows with the
rows. The gate also compares with the release of a month ago, which is the first one here.
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

import polars as pl

import hwprices
from bench import measure
from hwprices.publish import release
from hwprices.read.dataset import Dataset
from hwprices.release.manifest import DIGEST_CHARACTERS, Inputs, Reading, TableFile, UnitInput
from hwprices.release.versions import sample_root
from hwprices.rows import parquet
from hwprices.rows.frames import conform
from hwprices.rows.prices import effective_hourly, price_id
from hwprices.schemas.tables import TABLES, Prices
from hwprices.stage import Staged, make_current, validate
from hwprices.storage import layout
from hwprices.storage.store import Store
from hwprices.units import HOURS_PER_YEAR, Money

measure.load_pandera()

FULL, SMALL = 10_000_000, 250_000

PUBLISHED = measure.Goal(seconds=30, megabytes=2000)
"""For gate, join, history and notes."""

VALIDATED = measure.Goal(seconds=60)
LINEAR = measure.Goal(ratio=2.1)
"""Factor of time for twice the rows."""

START = datetime(2026, 11, 1, 4, tzinfo=UTC)

BOUGHT = ("os", "purchase_option", "commitment_plan", "term_months", "payment_option")
"""The key of a price beside the machine type: equal for a bare-metal machine and its virtual
twin."""

MOVED = 200
"""One in 200 prices moves from the first release to the second."""


@dataclass(frozen=True)
class Cloud:
    """A cloud's share of all rows, its number of regions, and the region that is copied."""

    provider: str
    share: float
    regions: int
    copied: str

    def names(self) -> list[str]:
        """List the made-up regions."""
        return [f"region-{number}" for number in range(self.regions)]


CLOUDS = (
    Cloud("aws", 0.8, 34, "us-east-1"),
    Cloud("azure", 0.1, 60, "westeurope"),
    Cloud("gcp", 0.1, 44, "us-central1"),
)
"""Shares and regions of the three clouds' live price lists, in round figures."""


def rows(is_small: bool) -> Iterator[measure.Row]:
    """Measure the steps at one size, and the total at half of it."""
    count = SMALL if is_small else FULL
    with tempfile.TemporaryDirectory(prefix="hwprices-bench-") as folder:
        half = published(f"{folder}/half", count // 2)
        checked = measure.run_apart(prepare, f"{folder}/whole", count)
        whole = published(f"{folder}/whole", count, is_prepared=True)
        bare = measure.run_apart(rewrite_prices, f"{folder}/whole")
    size = f"{count:,} rows"
    validating = measure.Cost(checked.result["seconds"], checked.result["cpu_seconds"], 0)
    common = {"baseline": bare, "baseline_name": "writing the price files again"}
    yield measure.make_row(
        "validate", size, validating, goal=VALIDATED, is_small=is_small, **common
    )
    yield measure.make_row("publish", size, whole, goal=PUBLISHED, is_small=is_small, **common)
    for name, (seconds, megabytes) in whole.result.items():
        yield measure.make_row(f"  {name}", size, measure.Cost(seconds, seconds, megabytes))
    yield measure.make_row(
        "publish, by the size",
        size,
        whole,
        baseline=half,
        baseline_name="half the rows",
        goal=LINEAR,
        is_small=is_small,
    )


def published(root: str, count: int, *, is_prepared: bool = False) -> measure.Cost:
    """Make two releases and return the cost of the second."""
    if not is_prepared:
        measure.run_apart(prepare, root, count)
    measure.run_apart(publish, root, 1)
    return measure.run_apart(publish, root, 2)


def prepare(root: str, count: int) -> dict[str, float]:
    """Stage two runs of all clouds; return the seconds for checking the first."""
    store, spent = Store(root), {"seconds": 0.0, "cpu_seconds": 0.0}
    sample = hwprices.open(sample_root())
    for cloud in CLOUDS:
        _stage(store, sample, cloud, round(count * cloud.share), spent)
    return spent


def _stage(
    store: Store, sample: Dataset, cloud: Cloud, count: int, spent: dict[str, float]
) -> None:
    """Stage two runs of one cloud; the pointer stays at the first."""
    tables = {name: sample.scan(name).filter(provider=cloud.provider) for name in COPIED}
    base = tables["prices"].filter(region=cloud.copied).collect()
    one_region = _one_region(base, count // cloud.regions)
    inventory = [
        (name, None, _inventory(conform(tables[name], TABLES[name]).collect(), cloud))
        for name in ("instance_types", "regions", "availability")
    ]
    directories = [layout.staged_directory(cloud.provider, run) for run in RUNS]
    files: list[list[TableFile]] = [[], []]
    for name in cloud.names():
        region = one_region.with_columns(pl.lit(name).alias("region")).with_columns(price_id())
        began, cpu_began = time.perf_counter(), time.process_time()
        good = validate.split(region, Prices, {}).good
        spent["seconds"] += time.perf_counter() - began
        spent["cpu_seconds"] += time.process_time() - cpu_began
        for index, made in enumerate((good, _moved(good))):
            rows = made.with_columns(raw_sha256=pl.lit(_page(index)))
            files[index].append(_write(store, directories[index], "prices", rows, cloud, name))
    for index, directory in enumerate(directories):
        files[index] += [
            _write(store, directory, name, rows, cloud, region) for name, region, rows in inventory
        ]
        staged = Staged(
            cloud.provider, RUNS[index], "live", tuple(files[index]), inputs=_inputs(cloud, index)
        )
        store.put(layout.staged_manifest(cloud.provider, RUNS[index]), b"{}")
        make_current(store, staged)
    _point_at(store, cloud.provider, RUNS[0])


COPIED = ("prices", "instance_types", "regions", "availability")

RUNS = ("20261101T040000.000000Z", "20261102T040000.000000Z")


SYSTEMS = (
    ("linux", "none", 100),
    ("windows", "none", 150),
    ("rhel", "none", 120),
    ("sles", "none", 110),
    ("linux", "sql_std", 300),
    ("windows", "sql_std", 350),
    ("windows", "sql_web", 170),
    ("windows", "sql_ent", 500),
)
"""Operating system, software, and percent of the price of Linux alone."""

COMMITMENTS = (("reserved", "standard"), ("savings_plan", "compute"))
TERMS = ((12, 80), (36, 60))
"""Months, and percent of the on-demand price."""
PAYMENTS = (("no_upfront", 0), ("partial_upfront", 50), ("all_upfront", 100))
"""Payment option, and percent that is paid upfront."""

TENANCIES = (("shared", 100), ("dedicated", 110))


def _one_region(base: pl.DataFrame, count: int) -> pl.DataFrame:
    """Multiply the on-demand prices of Linux as AWS lists them: about 200 rows per machine type.

    If that is not enough, made-up machine types repeat them.
    """
    plain = base.filter(purchase_option="on_demand", os="linux", tenancy="shared", software="none")
    plain = plain.unique(["instance_type", "zone", "currency"], keep="first", maintain_order=True)
    options: list[tuple[str, str | None, int, int, str, int]]
    options = [("on_demand", None, 0, 100, "none", 0)]
    options += [(*plan, *term, *pay) for plan, term, pay in product(COMMITMENTS, TERMS, PAYMENTS)]
    prices = pl.concat(
        _price_rows(plain, system, tenancy, option)
        for tenancy, option, system in product(TENANCIES, options, SYSTEMS)
    )
    copies = -(-count // prices.height) - 1
    name = pl.col("instance_type")
    others = [prices.with_columns(pl.format("{}-{}", name, number)) for number in range(copies)]
    return pl.concat([prices, *others]).head(count)


def _price_rows(
    plain: pl.DataFrame,
    system: tuple[str, str, int],
    tenancy: tuple[str, int],
    option: tuple[str, str | None, int, int, str, int],
) -> pl.DataFrame:
    """Change the system, tenancy and payment of these machines, and the price accordingly."""
    kind, plan, months, share, payment, upfront = option
    rate = pl.col("hourly") * (system[2] * tenancy[1] * share) / 100**3
    fee = rate * (HOURS_PER_YEAR * months // 12) * upfront / 100
    prices = plain.with_columns(
        pl.lit(kind).alias("purchase_option"),
        pl.lit(plan, dtype=pl.String).alias("commitment_plan"),
        pl.lit(months, dtype=pl.Int32).alias("term_months"),
        pl.lit(payment).alias("payment_option"),
        pl.lit(system[0]).alias("os"),
        pl.lit(system[1]).alias("software"),
        pl.lit(tenancy[0]).alias("tenancy"),
        hourly=(rate * (100 - upfront) / 100).cast(Money),
        upfront=fee.cast(Money) if upfront else pl.lit(None, dtype=Money),
    )
    return prices.with_columns(effective_hourly())


def _inventory(table: pl.DataFrame, cloud: Cloud) -> pl.DataFrame:
    """Copy the rows of the region into every made-up one; machine types have no region."""
    if "region" not in table.columns:
        return table
    rows = table.filter(region=cloud.copied)
    return pl.concat(rows.with_columns(pl.lit(name).alias("region")) for name in cloud.names())


def _moved(prices: pl.DataFrame) -> pl.DataFrame:
    """Raise about one price in MOVED by 2.97 %, and date all a day later.

    With 3 % some made-up prices equal those of other types, and are held as copied.

    The price of a bare-metal machine moves with its virtual twin, or the gate would stop the
    release.
    """
    twin = pl.col("instance_type").str.replace("-metal$", "")
    chosen = pl.struct(twin, *BOUGHT).hash() % MOVED == 0
    factor = pl.when(chosen).then(pl.lit(10297)).otherwise(pl.lit(10000)).cast(Money) / 10000
    amounts = pl.col("hourly", "upfront", "effective_hourly")
    day = pl.col("observed_at").dt.offset_by("1d")
    return prices.with_columns((amounts * factor).cast(Money), day)


def _write(
    store: Store, directory: str, table: str, rows: pl.DataFrame, cloud: Cloud, region: str | None
) -> TableFile:
    return parquet.write(store, directory, table, rows, provider=cloud.provider, region=region)


def _page(index: int) -> str:
    """Return the SHA-256 of a run's page, which is not kept, so that the gate traces no price."""
    return f"{index:064}"[::-1]


def _inputs(cloud: Cloud, index: int) -> Inputs:
    """Record each region's page as collected, with another page in each run."""
    pages = (_page(index)[:DIGEST_CHARACTERS],)
    units = tuple(UnitInput(f"prices/{name}", "ok", pages) for name in cloud.names())
    return Inputs(Reading("code", "sheets", "corrections"), f"pages-{index}", units)


def _point_at(store: Store, provider: str, run: str) -> None:
    """Make a staged run the current one."""
    manifest = store.get(layout.staged_manifest(provider, run))
    assert manifest is not None
    store.put(layout.staged_latest(provider), manifest)


def publish(root: str, number: int) -> dict[str, object]:
    """Publish the first or second run; return seconds and peak of memory of each step."""
    store = Store(root)
    for cloud in CLOUDS:
        _point_at(store, cloud.provider, RUNS[number - 1])
    clock = Clock()
    result = release.publish(
        store,
        now=lambda: START + timedelta(days=number),
        progress=clock.begin,
    )
    clock.begin("")
    assert result.new, result.results
    assert not result.held_back, result.held_back
    assert not result.held, result.held
    return clock.steps


class Clock:
    """Records the time of each step of publishing, and the peak memory so far, in MB."""

    def __init__(self) -> None:
        self.steps: dict[str, object] = {}
        self._step = ""
        self._began = 0.0

    def begin(self, step: str) -> None:
        """End the previous step, and begin this one."""
        now = time.perf_counter()
        if self._step:
            self.steps[self._step] = (now - self._began, measure.peak_megabytes())
        self._step, self._began = step, now


def rewrite_prices(root: str) -> None:
    """Read every price file of the newest release and write it again: the minimum cost."""
    dataset = hwprices.open(root)
    with tempfile.TemporaryDirectory(prefix="hwprices-bench-") as folder:
        for file in dataset.release.tables["prices"].files:
            path = Path(dataset.store.uri(layout.release_file(dataset.version, file.key)))
            pl.read_parquet(path, hive_partitioning=False).write_parquet(
                Path(folder) / "copy", row_group_size=parquet.ROW_GROUP
            )


if __name__ == "__main__":
    sys.exit(measure.run_script(rows))
