"""What the tests of answers share."""

import pytest
from tests.helpers.small_release import TYPES, Release, build, rows


@pytest.fixture(scope="session")
def release() -> Release:
    """A small release with real prices; see tests/helpers/small_release.py."""
    return Release({**build().tables, "instance_types": rows("instance_types", *TYPES)})
