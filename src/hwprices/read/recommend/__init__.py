"""Recommend machines for a language model."""

from pathlib import Path

import polars as pl


def table(name: str) -> pl.DataFrame:
    """Read a table of this folder."""
    return pl.read_csv(Path(__file__).with_name(f"{name}.csv"))
