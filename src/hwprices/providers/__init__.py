"""Providers: each is a folder here with a ``PROVIDER``; no list to edit.

A provider plans what to fetch, lands pages, and reads its own landed pages into frames. It never imports another provider, and
importing it is cheap: SDKs are imported inside the functions that use them.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.landing.download import Http
from hwprices.landing.pages import Landing, Page, Run, Unit
from hwprices.settings import Settings


class SkippedError(HwpricesError):
    """A unit that cannot be had and is not missed: a region the account has not enabled. Reported, not an error of the run."""


@dataclass(frozen=True)
class Context:
    """What fetching needs. The clock is an argument."""

    settings: Settings
    landing: Landing
    http: Http
    now: Callable[[], datetime]


@dataclass(frozen=True)
class Pages:
    """What normalising needs: a run's manifest and the pages behind it. No network, no clock."""

    run: Run
    landing: Landing

    def of(self, kind: str, region: str | None = None) -> list[Page]:
        """Pages of a kind in fetch order."""
        return self.run.of(kind, region)

    def regions(self, kind: str) -> list[str]:
        """Regions that have pages of a kind."""
        return self.run.regions(kind)

    def read(self, page: Page) -> bytes:
        """Content of a page that fits in memory."""
        return self.landing.read(page)

    def read_json(self, page: Page) -> Any:
        """JSON content, fractions as Decimal."""
        return self.landing.read_json(page)

    def file(self, page: Page) -> AbstractContextManager[Path]:
        """A local, verified ``.gz`` file of the page, to scan."""
        return self.landing.file(page)


@dataclass(frozen=True)
class Part:
    """Rows of one table, of one region or of the whole provider.

    ``frame`` has exactly the columns of the table's model (use ``frames.conform``). ``refused`` has the columns of the
    quarantine table (use ``frames.refused``). ``counts`` says what became of the vendor's rows that are neither:
    ``{"out_of_scope:product_family=Storage": 12}``. For each table × region at most one part.
    """

    table: str
    frame: pl.DataFrame | pl.LazyFrame
    region: str | None = None
    refused: pl.DataFrame | None = None
    counts: Mapping[str, int] = field(default_factory=dict)


@runtime_checkable
class Provider(Protocol):
    """What a provider must be able to do."""

    @property
    def name(self) -> str:
        """Its id in every table: the folder's name."""

    def concurrency(self, settings: Settings) -> int:
        """How many units are fetched at once."""

    def plan(self, context: Context, regions: Sequence[str] | None) -> list[Unit]:
        """Which units to fetch; ``regions`` narrows it. May ask the vendor's index. Raises FetchError."""

    def fetch(self, context: Context, unit: Unit) -> list[Page]:
        """Fetch and land one unit's pages. Raises FetchError, or SkippedError with the reason."""

    def normalise(self, pages: Pages) -> Iterator[Part]:
        """Read landed pages into tables, region by region. Pure: the same pages give the same rows in the same order."""


def names() -> list[str]:
    """Every provider there is, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.ispkg)


def get(name: str) -> Provider:
    """One provider.

    Raises:
        HwpricesError: there is none of that name; the line lists those there are.
    """
    if name not in names():
        raise HwpricesError(f"no provider {name!r}", f"There are: {', '.join(names())}.")
    provider: Provider = importlib.import_module(f"{__name__}.{name}").PROVIDER
    return provider
