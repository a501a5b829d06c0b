"""What the tests of answers share."""

from pathlib import Path

import pytest
from tests.helpers.market import publish as publish_market
from tests.helpers.offer_rows import prices
from tests.helpers.small_release import PRICES, TYPES, Release, build, rows


@pytest.fixture(scope="session")
def release() -> Release:
    """A small release with real prices; see tests/helpers/small_release.py."""
    more = {"instance_types": rows("instance_types", *TYPES), "prices": prices(*PRICES).collect()}
    return Release({**build().tables, **more})


@pytest.fixture(scope="session")
def market(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one small release of three clouds; see tests/helpers/market.py. Read only."""
    return publish_market(tmp_path_factory.mktemp("market"))
