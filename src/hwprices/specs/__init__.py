"""Find and read the project's own data: the curated sheets, the corrections, the bundled pages.

Importing this package is cheap (no pandera), because the reader uses it too.
"""

import csv
import importlib.resources
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from hwprices.errors import HwpricesError

if TYPE_CHECKING:
    import polars as pl


def data_directory() -> Path:
    """Return the folder ``data`` of the package, or else of the checkout."""
    packaged = Path(str(importlib.resources.files("hwprices"))) / "data"
    checkout = Path(__file__).resolve().parents[3] / "data"
    for folder in (packaged, checkout):
        if (folder / "specs").is_dir():
            return folder
    raise HwpricesError(
        "the spec sheets are missing from this installation",
        "Reinstall hwprices, or run it from a checkout.",
    )


def sheet_directory() -> Path:
    """Return the folder of the curated sheets."""
    return data_directory() / "specs"


def packaged_rows(name: str) -> list[dict[str, str]]:
    """Read the rows of a curated sheet without polars, for modules that need them when imported.

    Polars starts threads; a process that is forked afterwards waits for them forever.
    """
    return csv_rows(sheet_directory() / f"{name}.csv")


def csv_rows(file: Path) -> list[dict[str, str]]:
    """Read the rows of a CSV file, such as one beside a module."""
    with file.open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


@cache
def packaged_sheet(name: str) -> "pl.DataFrame":
    """Read a curated sheet without checking it. Cached: it is part of the package."""
    # The settings import this package before flows set the environment variables of polars.
    import polars as pl

    return pl.read_csv((sheet_directory() / f"{name}.csv").read_bytes(), infer_schema_length=None)
