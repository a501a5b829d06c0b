"""Recommend machines for a language model."""

from pathlib import Path
from types import SimpleNamespace

import polars as pl


def table(name: str) -> pl.DataFrame:
    """Read a table of this folder."""
    return pl.read_csv(Path(__file__).with_name(f"{name}.csv"))


constants = SimpleNamespace(**dict(table("constants").select("name", "value").iter_rows()))
"""Numbers that the estimates are based on, with meanings and sources in constants.csv."""
