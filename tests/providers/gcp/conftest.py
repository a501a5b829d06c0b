"""Share what the tests of Google Cloud read."""

from pathlib import Path

import pytest
from tests.helpers.gcp_pages import Tables, normalise_sample


@pytest.fixture(scope="session")
def sample(project: Path) -> Tables:
    """The tables of the bundled sample. Read only."""
    return normalise_sample(project)
