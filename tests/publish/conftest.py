"""An empty store, and one with a release, for the tests of publishing."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.helpers.releases import fleet, stage

from hwprices.publish import release
from hwprices.storage.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


@pytest.fixture(scope="session")
def first_release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = Store(tmp_path_factory.mktemp("first"))
    stage(store, "20260801T040000.000000Z", fleet())
    release.publish(store, now=lambda: datetime(2026, 8, 1, 4, 17, tzinfo=UTC))
    return store.path


@pytest.fixture
def released(first_release: Path, tmp_path: Path) -> Store:
    """A copy of the first release, of one provider."""
    shutil.copytree(first_release, tmp_path, dirs_exist_ok=True)
    return Store(tmp_path)
