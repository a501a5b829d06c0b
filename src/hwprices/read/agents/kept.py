"""A release whose tables stay in memory: a program asks many questions, a person one."""

import polars as pl

from hwprices.read.dataset import Dataset
from hwprices.release.root import default_root, resolve
from hwprices.storage.store import Store

MAX_BYTES = 32 << 20
"""Largest Parquet file that is kept in memory, some 500 MB there. Larger tables are read anew for
each question. Reading the sample's tables is two thirds of most answers."""


class KeptDataset(Dataset):
    """A dataset that reads each table of up to MAX_BYTES once."""

    @classmethod
    def at_root(cls, root: str, version: str = "latest") -> "KeptDataset":
        """Open a release; without a root that of ``default_root``."""
        return cls(Store(resolve(root or default_root())), version)

    def scan(self, table: str) -> pl.LazyFrame:
        """Return a table as a lazy frame."""
        kept: dict[str, pl.DataFrame] = self.__dict__.setdefault("_kept", {})
        if table not in kept:
            rows = super().scan(table)
            if self.release.tables[table].bytes > MAX_BYTES:
                return rows
            kept[table] = rows.collect()
        return kept[table].lazy()
