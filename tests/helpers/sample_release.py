"""Roots that are made once for all tests and all workers of pytest: of the whole bundled sample."""

import fcntl
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hwprices import providers
from hwprices.collect import Collector
from hwprices.publish import release
from hwprices.settings import load
from hwprices.stage import stage_run
from hwprices.storage.store import Store

COLLECTED_AT = datetime(2026, 11, 21, tzinfo=UTC)


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return the folder that ``make`` fills. Read only: whoever writes there works on a copy.

    The first worker that asks makes it, while the others that ask wait.
    """
    folder = of_all_workers(factory)
    made = folder / name
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            unfinished = folder / f"{name}.unfinished"
            make(unfinished)
            unfinished.rename(made)
    return made


def sample_release(factory: pytest.TempPathFactory) -> Path:
    """Return the root of the release of the whole bundled sample."""
    return made_once(factory, "sample-release", make)


def of_all_workers(factory: pytest.TempPathFactory) -> Path:
    """Return the temporary folder of the test run; a worker of pytest-xdist has its own below."""
    folder = factory.getbasetemp()
    return folder.parent if folder.name.startswith("popen-") else folder


def make(root: Path) -> None:
    """Collect, stage and publish the sample of every provider."""
    settings = load(root=str(root), source="sample")
    for name in providers.names():
        with Collector(name, settings) as collector:
            results = [collector.fetch(unit) for unit in collector.plan()]
            stage_run(settings, collector.record(COLLECTED_AT, results))
    release.publish(Store(root))
