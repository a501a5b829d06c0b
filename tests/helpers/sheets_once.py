"""Read and check the spec sheets once in a process, however many releases its tests publish.

That is two thirds of the time that publishing a small release takes, and the same for each.
"""

from functools import cache
from pathlib import Path

import polars as pl
import pytest

from hwprices.schemas.columns import Table
from hwprices.specs import sheets
from hwprices.stage import validate


def read_sheets_once(patch: pytest.MonkeyPatch) -> None:
    """Keep the sheets of each folder that is read, and what their check before publishing gives."""
    load, check = cache(sheets.load_all), validate.check
    kept: set[int] = set()
    """The id of each frame that ``load`` keeps, and no other frame can have."""
    checked: dict[tuple[int, type[Table]], pl.DataFrame] = {}

    def load_once(directory: Path | None = None) -> dict[str, pl.DataFrame]:
        frames = load(directory or sheets.sheet_directory())
        kept.update(id(frame) for frame in frames.values())
        return dict(frames)

    def check_once(frame: pl.DataFrame, model: type[Table]) -> pl.DataFrame:
        if id(frame) not in kept:
            return check(frame, model)
        if (id(frame), model) not in checked:
            checked[id(frame), model] = check(frame, model)
        return checked[id(frame), model]

    patch.setattr(sheets, "load_all", load_once)
    patch.setattr(validate, "check", check_once)
