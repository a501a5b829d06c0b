"""What the tests of answers share."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.helpers import small_release
from tests.helpers.releases import Release, fleet, publish
from tests.helpers.sample_release import made_once

import hwprices


@pytest.fixture(scope="session")
def release() -> Release:
    """A small release with real prices; see tests/helpers/small_release.py."""
    vendor = small_release.vendor()
    own = {name: vendor[name] for name in ("instance_types", "prices")}
    return Release({**small_release.build().tables, **own})


@pytest.fixture(scope="session")
def twenty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of a release with 20 prices. Read only."""
    at = datetime(2026, 8, 1, tzinfo=UTC)
    return made_once(tmp_path_factory, "twenty", lambda root: publish(root, fleet(20), at=at))


@pytest.fixture(scope="session")
def data(market: Path) -> hwprices.Dataset:
    """The release of ``market``."""
    return hwprices.open(market)
