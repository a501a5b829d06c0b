"""A dataset whose tables stay in memory: a server answers many questions about one release.

``server`` imports it with the first question, because polars takes half a second.
"""

import polars as pl

from hwprices.read.dataset import Dataset
from hwprices.release.root import default_root, resolve
from hwprices.storage.store import Store

MAX_BYTES = 32 << 20
"""Largest table that stays in memory, in bytes of Parquet; a larger one is read for each question.
Of the CPU time of a question about the sample, memory saves a quarter (find) to a half (device)."""


class KeptDataset(Dataset):
    """A dataset that reads each table of up to MAX_BYTES once."""

    def __init__(self, store: Store, version: str) -> None:
        super().__init__(store, version)
        self._kept: dict[str, pl.DataFrame] = {}

    @classmethod
    def at_root(cls, root: str, version: str = "latest") -> "KeptDataset":
        """Open a release; without a root that of ``default_root``."""
        return cls(Store(resolve(root or default_root())), version)

    def scan(self, table: str) -> pl.LazyFrame:
        """Return a table as a lazy frame."""
        if table not in self._kept:
            rows = super().scan(table)
            if self.release.tables[table].bytes > MAX_BYTES:
                return rows
            self._kept[table] = rows.collect()
        return self._kept[table].lazy()
