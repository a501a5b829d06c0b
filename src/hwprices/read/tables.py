"""What the answers need of a dataset: its tables by name, and what to do where one is damaged."""

from typing import Protocol

import polars as pl

DAMAGED = "hwprices verify names the files that are missing or altered."
"""What to do where a table cannot be read."""


class Tables(Protocol):
    """Anything with the tables of a release; ``hwprices.open(…)`` gives one."""

    def scan(self, table: str) -> pl.LazyFrame:
        """Give a table as a lazy frame."""
        ...
