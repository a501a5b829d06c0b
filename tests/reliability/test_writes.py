"""A disk that is full, and one that is read-only, at every kind of write; a clock set back.

The kernel refuses the write: a limit on the size of files stands for the full disk, permissions for
the read-only one. What was in force stays whole, and the next run heals.
"""

import os
import random
import re
import resource
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from tests.helpers import releases
from tests.helpers.nightly import NIGHTLY
from tests.helpers.releases import fleet, publish

import hwprices
from hwprices import stage
from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing, Unit
from hwprices.publish import release
from hwprices.publish.prune import Policy, prune
from hwprices.storage.store import Folder, Store

T0 = datetime(2026, 8, 1, 4, 17, tzinfo=UTC)
NOBODY = 65534
FULL_AFTER = 64
"""Bytes that a file gets before the disk is full. Every file written here is longer."""

KEYS = {
    "landed page": r"aws/prices/.*\.(gz|zst)",
    "manifest of a run": r"aws/runs/.*",
    "staged table": r"staged/.*/prices/.*",
    "staged manifest": r"staged/aws/r\d+/manifest\.json",
    "staged pointer": r"staged/aws/latest\.json",
    "claim of a version": r"releases/.*/datapackage\.json",
    "released table": r"releases/.*/prices/.*",
    "joined table": r"releases/.*/offers\.parquet",
    "release notes": r"releases/.*/notes\.json",
    "release manifest": r"releases/.*/manifest\.json",
    "pointer": r"latest\.json",
    "changelog": r"releases/CHANGELOG\.md",
    "status": r"status\.json",
}
AFTER_THE_POINTER = ("changelog", "status")


@pytest.fixture
def root() -> Iterator[Path]:
    with open_folder() as folder:
        yield folder


@contextmanager
def open_folder() -> Iterator[Path]:
    """Make a folder that any user may enter: root has to become another user to be refused."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@contextmanager
def full(_root: Path, size: int = FULL_AFTER) -> Iterator[None]:
    """Let every file end after a few bytes; the write after them fails with EFBIG."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def read_only(root: Path) -> Iterator[None]:
    """Take the right to write from all folders and files; root becomes nobody for the while."""
    paths = [root, *root.rglob("*")]
    modes = {path: path.stat().st_mode for path in paths}
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
        for path, mode in modes.items():
            path.chmod(mode)


@contextmanager
def at_writes_of(pattern: str, fault: Callable[..., object]) -> Iterator[list[str]]:
    """Have a fault while a key of this pattern is written. Gives the keys that were."""
    keys: list[str] = []
    put, swap = Folder.put, Folder.swap

    def faulty(method: Callable[..., bool]) -> Callable[..., bool]:
        def call(store: Folder, key: str, *arguments: object, **more: object) -> bool:
            if not re.fullmatch(pattern, key):
                return method(store, key, *arguments, **more)
            keys.append(key)
            with fault(store.path):  # type: ignore[attr-defined]
                return method(store, key, *arguments, **more)

        return call

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Folder, "put", faulty(put))
        patch.setattr(Folder, "swap", faulty(swap))
        yield keys


def run(root: Path, number: int) -> release.Published:
    """Land a page, stage tables and publish them, as run ``number``."""
    landing = Landing(root / "raw")
    content = random.Random(number).randbytes(2000)
    landing.land_bytes(Unit("aws", "prices"), content, url="https://x.test", retrieved_at=T0)
    landing.store.put(f"aws/runs/r{number}.json", b"{}" * 100)
    store = Store(root)
    at = T0 + timedelta(minutes=number)
    return publish(store, fleet(30 + number), run_id=f"r{number}", at=at)


def height(root: Path) -> int:
    data = hwprices.open(root)
    assert data.verify() == []
    return data.prices.collect().height


class World:
    """A root with a release, and the number of the last run: one more price with each."""

    def __init__(self, root: Path) -> None:
        self.root, self.number = root, 1
        run(root, 1)

    def run(self) -> release.Published:
        self.number += 1
        return run(self.root, self.number)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with open_folder() as folder:
        yield World(folder)


FAULTS = (full, read_only)
WRITES = [
    (kind, fault)
    for number, kind in enumerate(KEYS)
    for fault in FAULTS
    if NIGHTLY or fault is FAULTS[number % 2]
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "fault"), WRITES)
def test_a_write_that_fails_leaves_what_is_in_force(world, kind, fault) -> None:
    """The next run heals. With HWPRICES_NIGHTLY=1 each write meets both faults, else one."""
    root, before = world.root, height(world.root)
    with (
        at_writes_of(KEYS[kind], fault) as keys,
        pytest.raises(HwpricesError, match="cannot write") as raised,
    ):
        world.run()
    assert keys
    assert str(root) in str(raised.value)
    is_published = kind in AFTER_THE_POINTER
    assert ("is published, but" in str(raised.value)) == is_published
    assert height(root) == (30 + world.number if is_published else before)
    assert world.run().new
    assert height(root) == 30 + world.number
    assert [path for path in root.rglob("*") if is_half_written(path.name)] == []


def is_half_written(name: str) -> bool:
    return "#" in name or (name.startswith(".") and ".json." in name)


def test_a_read_only_root_can_be_read_and_says_so_when_written(root: Path) -> None:
    run(root, 1)
    with read_only(root):
        with pytest.raises(HwpricesError, match="cannot write"):
            Store(root).check_writable()
        with pytest.raises(HwpricesError, match="cannot write"):
            release.publish(Store(root))
        with pytest.raises(HwpricesError, match="cannot write"):
            prune(Store(root), Policy(1, is_thinned=False))
        assert height(root) == 31


def test_a_full_disk_is_seen_before_a_run(root: Path) -> None:
    with full(root, 0), pytest.raises(HwpricesError, match="cannot write"):
        Store(root).check_writable()


def test_a_clock_set_back_hides_no_release_and_deletes_nothing_in_force(root: Path) -> None:
    """The run and the release of the earlier time are the newer ones, and so are their prices.

    The release is named a second after the one before it: history is in the order of the names.
    """
    store = Store(root)

    def collect(day: int, count: int, price: str = "0.1") -> datetime:
        now = datetime(2026, 8, day, tzinfo=UTC)
        seen = releases.seen_at(now, fleet(count, price=price))
        releases.stage(store, f"{now:%Y%m%dT%H%M%S.%fZ}", seen)
        return now

    for day in (3, 4, 5):
        now = collect(day, 30 + day)
        release.publish(store, now=lambda now=now: now)
    back = datetime(2026, 8, 1, tzinfo=UTC)
    assert not release.publish(store, now=lambda: back).held_back  # what it published, once more
    collect(1, 39, "0.101")
    stage.prune(store, "aws", keep=1)
    published = release.publish(store, now=lambda: back)
    assert (published.new, published.version) == (True, "20260805T000001Z")
    history = hwprices.open(root).price_history.filter(instance_type="m1.large").collect()
    assert history.sort("valid_from").select("hourly", "valid_to").rows() == [
        (Decimal("0.1"), datetime(2026, 8, 5, 0, 0, 1, tzinfo=UTC)),
        (Decimal("0.101"), None),
    ]
    prune(store, Policy(1, is_thinned=False))
    assert height(root) == 39
    later = collect(2, 40, "0.101")
    assert release.publish(store, now=lambda: later).new
    assert height(root) == 40


def test_two_releases_of_one_second_have_two_names(root: Path) -> None:
    store = Store(root)
    for number in (1, 2):
        publish(store, fleet(30 + number), run_id=f"r{number}", at=T0)
    found = [entry["version"] for entry in hwprices.releases(root)]
    assert found == ["20260801T041700Z", "20260801T041701Z"]
    assert height(root) == 32
