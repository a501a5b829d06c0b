"""What the gate looks at, and what a check finds."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from hwprices.rows import frames
from hwprices.schemas.tables import TABLES
from hwprices.storage.manifests import Origin

Tables = Mapping[str, pl.LazyFrame]


@dataclass(frozen=True)
class Candidate:
    """A provider's tables by name, and where their figures come from (sample or live)."""

    provider: str
    origin: Origin
    tables: Tables

    def table(self, name: str) -> pl.LazyFrame:
        """Give a table's rows; empty where the provider has none."""
        return self.tables[name] if name in self.tables else frames.empty(TABLES[name]).lazy()


@dataclass(frozen=True)
class Finding:
    """What a check found.

    ``value`` is the largest share it saw, ``detail`` says which rows in words, ``stops`` whether it
    keeps the provider from being replaced. A finding without detail means that all is well.
    """

    detail: str = ""
    value: float | None = None
    limit: float | None = None
    stops: bool = True
