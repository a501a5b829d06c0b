"""Read and check the spec sheets once in a process, however many releases its tests publish.

That is two thirds of the time that publishing a small release takes, and the same for each.
"""

from functools import cache
from pathlib import Path

import polars as pl
import pytest

from hwprices.publish.join import PUBLISHED_SHEETS
from hwprices.schemas.columns import Table, table_name
from hwprices.specs import sheets
from hwprices.stage import validate


def read_sheets_once(patch: pytest.MonkeyPatch) -> None:
    """Keep the sheets of each folder that is read, and what their check before publishing gives."""
    load, check = cache(sheets.load_all), validate.check
    checked: dict[int, tuple[pl.DataFrame, pl.DataFrame]] = {}
    """By id; a frame that is kept shares its id with no other."""

    def load_once(directory: Path | None = None) -> dict[str, pl.DataFrame]:
        return dict(load(directory or sheets.sheet_directory()))

    def check_once(frame: pl.DataFrame, model: type[Table]) -> pl.DataFrame:
        if table_name(model) not in PUBLISHED_SHEETS:
            return check(frame, model)
        if id(frame) not in checked:
            checked[id(frame)] = frame, check(frame, model)
        return checked[id(frame)][1]

    patch.setattr(sheets, "load_all", load_once)
    patch.setattr(validate, "check", check_once)
