"""SIGKILL at any moment of a run, with a reader verifying all the while: known wrong number R2.

The run is a whole one: from the first request, through landing, staging and the gate, to the
pointer. Six kills here, 200 with HWPRICES_NIGHTLY=1.
"""

import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from tests.helpers import vendors, whole_run
from tests.helpers.nightly import NIGHTLY
from tests.helpers.stub_server import StubServer

import hwprices
from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing
from hwprices.publish.prune import Policy, prune
from hwprices.storage import layout
from hwprices.storage.store import Store

KILLS = 200 if NIGHTLY else 6

STEP = Decimal("0.000001")
"""Added to every price from one run to the next: so little that the gate lets it pass."""

FIRST_PRICE = Decimal("0.095")
"""Of m5.large, before any step."""

NO_LOGIN = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}


class World:
    """A vendor whose prices rise with every run, a root, and a folder for temporary files."""

    def __init__(self, folder: Path, server: StubServer) -> None:
        self.root, self.scratch = folder / "data", folder / "scratch"
        self.root.mkdir()
        self.scratch.mkdir()
        self.server = server
        self.environment = vendors.environment("aws", server.url, folder) | NO_LOGIN
        self.number = 0

    def start(self):
        """Start a run with prices of its own."""
        self.number += 1
        vendors.serve_aws(self.server, STEP * self.number)
        return whole_run.start(self.root, self.environment, self.scratch)

    def run(self) -> int:
        """Make a run and wait for its end; returns the exit code."""
        process = self.start()
        process.join()
        return int(process.exitcode)

    def numbers(self) -> set[int]:
        """Read which runs the prices of the release in force are of. There must be one."""
        data = hwprices.open(self.root)
        assert data.verify() == []
        is_step = (pl.col("instance_type") == "m5.large") & (
            pl.col("purchase_option") == "on_demand"
        )
        rows = data.prices.filter(is_step).select("region", "hourly").collect()
        assert rows.height == len(vendors.AWS_REGIONS) + 1
        return {int((price - FIRST_PRICE) / STEP) for price in rows["hourly"]}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Give a root with one release. The tests share it: each heals what it broke."""
    server = StubServer().start()
    world = World(tmp_path_factory.mktemp("world"), server)
    assert world.run() == 0
    yield world
    server.stop()


@pytest.fixture(autouse=True)
def empty_scratch(world: World) -> None:
    for path in world.scratch.glob("said.*"):
        path.unlink()


class Reader(threading.Thread):
    """Opens and verifies the release in force, again and again. ``faults`` is what went wrong."""

    def __init__(self, world: World, pause: float = 0.2) -> None:
        super().__init__(daemon=True)
        self.world, self.pause = world, pause
        self.reads, self.faults = 0, list[str]()
        self.ended = threading.Event()

    def run(self) -> None:
        newest = 0
        while not self.ended.wait(self.pause):
            try:
                numbers = self.world.numbers()
            except Exception as error:
                self.faults.append(f"{type(error).__name__} {error}")
                continue
            if len(numbers) != 1 or min(numbers) < newest:
                self.faults.append(f"prices of the runs {numbers}, after those of {newest}")
            newest, self.reads = max(numbers), self.reads + 1

    def stop(self) -> None:
        self.ended.set()
        self.join()


def files(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def named_files(root: Path) -> set[str]:
    """List the files that a manifest or a pointer names, and the pointers themselves."""
    data = hwprices.open(root)
    release = f"releases/{data.version}"
    listed = {f"{release}/{f['key']}" for t in data.manifest["tables"].values() for f in t["files"]}
    staged = [key for key in Store(root).keys("staged") if key.endswith("manifest.json")]
    landing = Landing(root / "raw")
    runs = [landing.run("aws", run_id) for run_id in landing.runs("aws")]
    return {
        *listed,
        *(
            f"{release}/{name}"
            for name in (
                "manifest.json",
                "datapackage.json",
                "croissant.json",
                "small.tar",
                "parts.json",
            )
        ),
        *(f"{release}/{name}" for name in layout.NOTES),
        layout.CHANGELOG,
        *("latest.json", "status.json", ".publish.lock", ".status.lock"),
        "staged/aws/latest.json",
        *(key for path in staged for key in files_beside(root, path)),
        *(f"raw/aws/runs/{run.run_id}.json" for run in runs),
        *(f"raw/{page.key}" for run in runs for result in run.results for page in result.pages),
    }


def files_beside(root: Path, manifest: str) -> list[str]:
    folder = manifest.removesuffix("/manifest.json")
    return [key for key in Store(root).keys(folder) if "#" not in key]


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_run_killed_anywhere_leaves_a_whole_release_and_heals(world, monkeypatch) -> None:
    began = time.monotonic()
    assert world.run() == 0
    duration = time.monotonic() - began
    moments = random.Random(7)
    phases: Counter[str] = Counter()
    reader = Reader(world)
    reader.start()
    for _ in range(KILLS):
        process = world.start()
        process.join(moments.uniform(0, 1.1 * duration))
        phases[whole_run.phase(process)] += 1
        process.kill()
        process.join()
    reader.stop()
    assert reader.faults == []
    assert reader.reads > 0
    assert world.run() == 0
    assert world.numbers() == {world.number}
    monkeypatch.setattr("tempfile.tempdir", str(world.scratch))
    prune(
        Store(world.root),
        Policy(1, is_thinned=False, runs=1),
        now=datetime.now(UTC) + timedelta(days=2),
    )
    assert files(world.root) == named_files(world.root)
    assert files(world.scratch) == set()
    assert world.numbers() == {world.number}
    sys.stdout.write(f"killed while: {dict(phases)}, verified {reader.reads} times\n")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_runs_on_one_root_leave_one_release_in_force(world: World) -> None:
    both = [world.start(), world.start()]
    for process in both:
        process.join()
    codes = [process.exitcode for process in both]
    said = [path.read_text() for path in world.scratch.glob("said.*")]
    assert set(codes) <= {0, whole_run.FAILED}
    assert len(said) == codes.count(whole_run.FAILED)
    assert all("another publisher" in line for line in said)
    assert world.numbers() <= {world.number, world.number - 1}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_prune_beside_runs_and_a_reader_takes_nothing_that_is_needed(world: World) -> None:
    reader = Reader(world, pause=0.02)
    reader.start()
    process = world.start()
    refusals: list[str] = []
    while process.is_alive():
        try:
            prune(Store(world.root), Policy(1, is_thinned=False, runs=1))
        except HwpricesError as error:
            refusals.append(str(error))
        process.join(0.1)
    reader.stop()
    assert all("another publisher" in line for line in refusals)
    said = [path.read_text() for path in world.scratch.glob("said.*")]
    assert all("another publisher" in line for line in said)
    assert reader.faults == []
    assert world.numbers() == {world.number - len(said)}
