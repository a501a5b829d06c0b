"""An empty store, and one with a release, for the tests of publishing."""

import shutil
from pathlib import Path

import pytest
from tests.helpers.releases import fleet, publish

from hwprices.storage.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


@pytest.fixture(scope="session")
def first_release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("first")
    publish(root, fleet(), run_id="20260801T040000.000000Z")
    return root


@pytest.fixture
def released(first_release: Path, tmp_path: Path) -> Store:
    """A copy of the first release, of one provider."""
    shutil.copytree(first_release, tmp_path, dirs_exist_ok=True)
    return Store(tmp_path)
