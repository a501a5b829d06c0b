"""The curated sheets, read once."""

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl
import pytest

from hwprices.specs.sheets import load_all


@pytest.fixture(scope="session")
def sheets() -> Mapping[str, pl.DataFrame]:
    return load_all()


@pytest.fixture(scope="session")
def accelerators(sheets: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    return sheets["accelerators"]


@pytest.fixture(scope="session")
def device(accelerators: pl.DataFrame) -> Callable[[str], dict[str, Any]]:
    """The row of one accelerator."""
    rows = {row["accelerator_id"]: row for row in accelerators.iter_rows(named=True)}
    return rows.__getitem__
