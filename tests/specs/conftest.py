"""The curated sheets, read once."""

from collections.abc import Callable, Mapping
from pathlib import Path
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


@pytest.fixture
def copy(
    tmp_path: Path, project: Path
) -> Callable[[str, Callable[[pl.DataFrame], pl.DataFrame]], Path]:
    """A copy of the accelerator sheets with one of them changed; returns its directory."""

    def change(name: str, edit: Callable[[pl.DataFrame], pl.DataFrame]) -> Path:
        for file in ("accelerators", "second_sources", "sparse_figures", "ratio_exceptions"):
            frame = pl.read_csv(project / "data" / "specs" / f"{file}.csv", infer_schema=False)
            (edit(frame) if file == name else frame).write_csv(tmp_path / f"{file}.csv")
        return tmp_path

    return change
