"""What the tests of answers share."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.helpers import make
from tests.helpers.market import publish as publish_market
from tests.helpers.offer_rows import prices
from tests.helpers.sample_release import made_once
from tests.helpers.small_release import PRICES, TYPES, Release, build, rows

import hwprices
from hwprices.publish import release as published
from hwprices.storage.store import Store


@pytest.fixture(scope="session")
def release() -> Release:
    """A small release with real prices; see tests/helpers/small_release.py."""
    more = {"instance_types": rows("instance_types", *TYPES), "prices": prices(*PRICES).collect()}
    return Release({**build().tables, **more})


@pytest.fixture(scope="session")
def twenty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of a release with 20 prices. Read only."""

    def publish(root: Path) -> None:
        make.stage_frames(Store(root), "r1", make.world(20))
        published.publish(Store(root), now=lambda: datetime(2026, 8, 1, tzinfo=UTC))

    return made_once(tmp_path_factory, "twenty", publish)


@pytest.fixture(scope="session")
def market(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one small release of three clouds; see tests/helpers/market.py. Read only."""
    return made_once(tmp_path_factory, "market", publish_market)


@pytest.fixture(scope="session")
def data(market: Path) -> hwprices.Dataset:
    """The release of ``market``."""
    return hwprices.open(market)
