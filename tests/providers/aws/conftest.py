"""Share what the tests of AWS read."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def recorded(project: Path) -> Callable[[str], bytes]:
    """Read a recording by its name."""
    folder = project / "tests/recordings/aws"
    return lambda name: gzip.decompress((folder / f"{name}.gz").read_bytes())
