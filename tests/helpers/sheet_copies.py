"""Copies of the accelerator sheets with one of them changed."""

from collections.abc import Callable
from pathlib import Path

import polars as pl

from tests.conftest import PROJECT

SHEETS = (
    *("accelerators", "second_sources", "sparse_figures", "ratio_exceptions", "interconnect_links"),
    *("benchmarks", "local_hardware"),
)

Edit = Callable[[pl.DataFrame], pl.DataFrame]


def copy_with(directory: Path, sheet: str, edit: Edit) -> Path:
    """Copy the accelerator sheets into a directory, one of them edited. Returns the directory."""
    for name in SHEETS:
        frame = pl.read_csv(PROJECT / "data" / "specs" / f"{name}.csv", infer_schema=False)
        (edit(frame) if name == sheet else frame).write_csv(directory / f"{name}.csv")
    return directory


def set_cells(device: str, **cells: str | None) -> Edit:
    """Return an edit of accelerators that sets cells of a device."""
    is_device = pl.col("accelerator_id") == device
    return lambda frame: frame.with_columns(
        pl.when(is_device).then(pl.lit(value)).otherwise(name).alias(name)
        for name, value in cells.items()
    )


def add(**cells: str) -> Edit:
    """Return an edit that adds a row; cells that are not named are empty."""

    def with_row(frame: pl.DataFrame) -> pl.DataFrame:
        row = {name: cells.get(name) for name in frame.columns}
        return pl.concat([frame, pl.DataFrame([row], schema=frame.schema)])

    return with_row
