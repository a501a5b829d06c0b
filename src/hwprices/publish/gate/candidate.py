"""What the gate looks at, and what it says."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

from hwprices.rows import frames
from hwprices.schemas.tables import TABLES

Outcome = Literal["pass", "warn", "stop", "accepted"]
Tables = Mapping[str, pl.LazyFrame]


@dataclass(frozen=True)
class Result:
    """How one check of one provider came out.

    ``value`` is the figure the check looked at and ``limit`` the one it was held against; both are
    null for checks that count no share.
    """

    provider: str
    check: str
    outcome: Outcome
    detail: str
    value: float | None = None
    limit: float | None = None


@dataclass(frozen=True)
class Candidate:
    """A provider's tables and where they come from (sample or live)."""

    provider: str
    origin: str
    tables: Tables

    def table(self, name: str) -> pl.LazyFrame:
        """A table's rows; empty where the provider has none."""
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
