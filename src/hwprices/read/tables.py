"""What the answers need of a dataset: its tables by name."""

from typing import Protocol

import polars as pl


class Tables(Protocol):
    """Anything with the tables of a release; ``hwprices.open(…)`` gives one."""

    def scan(self, table: str) -> pl.LazyFrame:
        """Give a table as a lazy frame."""
        ...
