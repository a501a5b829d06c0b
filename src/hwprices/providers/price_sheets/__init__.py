"""Clouds whose prices are only on a web page: each price sheet in data/price_sheets is a provider.

A person copies a sheet, which is a CSV, from a vendor's page. Its file name is the provider's id. A
new cloud needs a price sheet and a sheet of accelerator names, and no code.
"""

import csv
from pathlib import Path

from hwprices.providers import About
from hwprices.specs import data_directory


def folder() -> Path:
    """Return the folder of the price sheets."""
    return data_directory() / "price_sheets"


def sheet_file(name: str) -> Path:
    """Return the path of a provider's sheet, which may not exist."""
    return folder() / f"{name}.csv"


def names() -> list[str]:
    """List the providers that have a sheet, sorted."""
    return sorted(path.stem for path in folder().glob("*.csv"))


def about(name: str) -> About:
    """Describe a sheet's provider, with the vendor's name from the first line of the sheet."""
    with sheet_file(name).open(encoding="utf-8", newline="") as file:
        first = next(csv.DictReader(file), {})
    return About(
        title=first.get("vendor") or name,
        without_account="GPU prices of its web page, as of the day a person read them",
        with_credentials="nothing more",
        is_price_sheet=True,
        missing="what the page lacks: where there is room, other machines, changes since that day",
    )
