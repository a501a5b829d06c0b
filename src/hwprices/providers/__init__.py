"""The interface of a provider, and the registry that finds providers.

Each folder ``providers/<name>/`` is a provider, found without a list to edit. It has

- ``__init__.py``: ``ABOUT``, its title and what its data needs (see ``About``), and a class
  ``Settings`` if it has settings;
- ``fetch.py``: ``plan(context, regions)`` lists the units to fetch, and ``fetch(context, unit)``
  lands the pages of one. Optional: ``units_at_once(settings)`` limits concurrent fetches,
  ``ACCOUNT_KINDS`` names the kinds of unit that need an account, ``narrowed(unit, instance_type)``
  narrows a unit to one machine where the vendor can filter, and ``check_access(context)`` checks
  what an account may do (see ``Check``);
- ``normalise.py``: ``normalise(pages)`` reads landed pages into tables;
- ``past.py``, if the vendor publishes past prices: ``lists(context, since)`` lists the past price
  lists, ``units(context, past, region)`` returns what to fetch for one, and
  ``prices(pages, past)`` reads it;
- ``README.md``: a table of the settings, and notes on the prices.

The methods of ``Provider`` say what each function raises. A small provider keeps the contents of
``fetch.py`` in ``__init__.py``. Providers do not import each other. Importing one is cheap, because
SDKs are imported inside the functions that use them.
docs/a-provider.md shows how to add a provider.

A cloud that publishes its prices only on a web page needs no folder: a sheet
``data/price_sheets/<name>.csv`` makes it a provider, and the folder ``price_sheets`` reads it.
"""

import difflib
import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import polars as pl

from hwprices.errors import FetchError, HwpricesError
from hwprices.landing import bodies
from hwprices.landing.bodies import PARSER_FAILURES
from hwprices.landing.download import Downloaded, Http, public_url
from hwprices.landing.limits import MAX_READ_BYTES
from hwprices.landing.pages import Landing, Page, Run, Unit
from hwprices.rows.earlier import Earlier, Source
from hwprices.settings import Settings, describe, extend
from hwprices.storage.scratch import scratch_directory

UNITS_AT_ONCE = 4
"""Default number of units of one provider that are fetched concurrently."""

MOST_PAGES = 50  # Pages of one list: far more than any vendor has

PRICE_SHEETS = "price_sheets"
"""The folder whose code serves every provider with a sheet in data/price_sheets."""


class SkippedError(HwpricesError):
    """An optional unit is unavailable, such as a region that the account has not enabled.

    It is reported, but is not an error of the run. ``cause`` is a provider-specific code, which the
    run's manifest keeps for the provider's ``normalise``.
    """

    def __init__(self, message: str, remedy: str = "", *, cause: str = "") -> None:
        super().__init__(message, remedy)
        self.cause = cause


class UnreadablePageError(HwpricesError):
    """A landed page is intact, but does not follow the vendor's format."""

    def __init__(self, page: Page, problem: str) -> None:
        super().__init__(
            f"landed page {page.key} cannot be read: {problem[:300]}",
            "Fetch again; if it fails again, the vendor's format has changed.",
        )


ALIKE = 0.75
"""Minimum difflib ratio of similar spellings: eastsu and eastus have 0.83, eu-west-9 and us-east-1
0.67."""


def check_regions(provider: str, requested: Iterable[str], known: Iterable[str]) -> None:
    """Reject unknown regions, which would otherwise be silently ignored.

    Raises:
        HwpricesError: a requested region is unknown; the remedy suggests similar names.
    """
    names = sorted(set(known))
    unknown = sorted(set(requested) - set(names))
    if not unknown:
        return
    raise HwpricesError(
        f"{provider} has no region {', '.join(unknown)}",
        regions_alike(unknown, names) or f"There are: {', '.join(names)}.",
    )


def regions_alike(unknown: Iterable[str], known: Iterable[str]) -> str:
    """Suggest known regions that are spelled like the unknown ones; empty if there are none."""
    names = sorted(set(known))
    alike = [
        name
        for region in unknown
        for name in difflib.get_close_matches(region, names, cutoff=ALIKE)
    ]
    return f"Did you mean {', '.join(dict.fromkeys(alike))}?" if alike else ""


@dataclass(frozen=True)
class UnreadablePage:
    """A page that was left out of the tables: its key, and why it could not be read."""

    key: str
    reason: str


@dataclass(frozen=True)
class About:
    """A description of a provider: its title, and what is collected with and without an account.

    ``missing`` says what the vendor sells that is not collected. ``is_price_sheet``: a person read
    the prices from a web page, so they age until somebody reads it again. ``price_kinds``: patterns
    of the kinds of unit that hold prices; other kinds hold machines, regions or zones.
    """

    title: str
    without_account: str
    with_credentials: str
    is_price_sheet: bool = False
    missing: str = ""
    price_kinds: tuple[str, ...] = ("*",)


@dataclass(frozen=True)
class Check:
    """The result of one check before a run.

    ``absent``: the run can do without it, such as an account. ``failed``: it cannot. ``detail``
    says what was found and what it adds, or what is missing without it; ``remedy`` says what to do.
    Neither contains a credential.
    """

    what: str
    outcome: Literal["ok", "absent", "failed"]
    detail: str
    remedy: str = ""


@dataclass(frozen=True)
class Context:
    """What fetching needs. ``settings`` is of the provider's class; ``now`` is the clock.

    ``shared`` holds what the units of a run share, by name, such as a login. Only the provider uses
    it.
    """

    settings: Any
    landing: Landing
    http: Http
    now: Callable[[], datetime]
    shared: dict[str, Any] = field(default_factory=dict)

    def land_json(
        self, unit: Unit, url: str, check: Callable[[Downloaded], object], **request: Any
    ) -> Page:
        """Download one page of JSON, check it, and land it.

        ``check`` raises FetchError if the body is not what it should be. ``request``: ``params`` or
        ``query`` of ``Http.download``.

        Raises:
            FetchError: the page is unavailable or refused by ``check``.
        """
        with scratch_directory() as folder:
            path = Path(folder) / "body"
            body = self.http.download(url, path, max_bytes=MAX_READ_BYTES, **request)
            check(body)
            return self.landing.land(unit, body, suffix="json")

    def land_json_pages(
        self,
        unit: Unit,
        url: str,
        following: Callable[[Downloaded], Mapping[str, str] | None],
        params: Mapping[str, str],
    ) -> list[Page]:
        """Download a list of JSON page by page, and land each page.

        ``following`` returns the parameters of the next page, None after the last one; it raises
        FetchError if the body is not what it should be. ``params`` are those of the first page.

        Raises:
            FetchError: a page is unavailable or refused by ``following``, or the pages do not end.
        """
        pages: list[Page] = []
        following_params: Mapping[str, str] | None = params

        def check(body: Downloaded) -> None:
            nonlocal following_params
            following_params = following(body)

        while following_params is not None:
            if len(pages) == MOST_PAGES:
                raise FetchError(
                    f"{public_url(url)} has no end after {MOST_PAGES} pages",
                    "The endpoint setting is wrong, or the vendor's pages have changed.",
                )
            pages.append(self.land_json(unit, url, check, params=following_params))
        return pages


@dataclass(frozen=True, kw_only=True)
class PastList:
    """A past price list that the vendor still publishes.

    ``kinds``: the kinds of its units; the first names the series of lists. ``version``: the
    vendor's name for it, letters and digits. Its prices held from ``begin`` to ``end``, which is
    None for the current list. ``published``: when the vendor wrote it. ``params``: for the
    provider.

    ``by_region``: each region is fetched separately. ``complete``: what has no price in it was not
    sold. ``thinned``: one list a month or a year is enough. ``missing``: what fetching it lacks,
    such as an account.
    """

    kinds: tuple[str, ...]
    version: str
    begin: datetime
    end: datetime | None
    published: datetime
    params: Mapping[str, str] = field(default_factory=dict)
    by_region: bool = True
    complete: bool = True
    thinned: bool = True
    missing: str = ""


PastPrices = Iterator[tuple[datetime, pl.LazyFrame]]
"""Start times, oldest first, each with all prices that held from then on: the columns of the table
prices, and hourly_low and hourly_high where a price is a daily mean."""


@dataclass(frozen=True)
class Pages:
    """What normalising needs: a run's manifest and its pages. No network, no clock."""

    run: Run
    landing: Landing
    unreadable: list[UnreadablePage] = field(default_factory=list)
    """Pages left out so far. Their units are reported as failed."""
    earlier: Callable[[Source], Earlier | None] = lambda _: None
    """Returns what an earlier run made of the same pages; see ``rows.earlier``."""

    def of(self, kind: str, region: str | None = None) -> list[Page]:
        """List the pages of a kind in the order in which they were fetched."""
        return self.run.of(kind, region)

    def regions(self, kind: str) -> list[str]:
        """List the regions that have pages of a kind, sorted."""
        return self.run.regions(kind)

    def read(self, page: Page) -> bytes:
        """Read the content of a page that fits in memory."""
        return self.landing.read(page)

    def read_json(self, page: Page) -> Any:
        """Read JSON content, numbers with a fraction as Decimal.

        Raises:
            UnreadablePageError: it is not JSON, is nested too deep, repeats a name in an object or
                has a number out of range.
        """
        with self.parsing(page):
            return bodies.loads(self.read(page))

    def items(self, kind: str, *names: str) -> Iterator[tuple[Page, Any]]:
        """Yield each item of a kind's pages: ``names`` are the members that lead to the list.

        A page without such a list is left out.
        """
        for page in self.of(kind):
            listed: list[Any] = []
            with self.leave_out(page):
                content = self.read_json(page)
                for name in names[:-1]:
                    content = content[name]
                listed = bodies.items(content, names[-1])
            yield from ((page, item) for item in listed)

    @contextmanager
    def parsing(self, page: Page) -> Iterator[None]:
        """Turn a parser's failure in the block, which reads a page, into an UnreadablePageError.

        An altered or missing page is an error of the landing directory and passes through.
        """
        try:
            yield
        except PARSER_FAILURES as error:
            raise UnreadablePageError(page, f"{type(error).__name__} {error}".strip()) from error

    @contextmanager
    def leave_out(self, *pages: Page) -> Iterator[None]:
        """Leave the pages out of the tables if the block cannot read one of them.

        The block ends at the failure, so its assignments may be missing. An error that names no
        page is reported for the first one.
        """
        try:
            with self.parsing(pages[0]):
                yield
        except UnreadablePageError as error:
            self.unreadable.extend(UnreadablePage(page.key, error.message) for page in pages)

    def file(self, page: Page) -> AbstractContextManager[Path]:
        """Return a local, verified file of the page, compressed as it was landed."""
        return self.landing.file(page)


@dataclass(frozen=True)
class Part:
    """Rows of one table, for one region or the whole provider. A table and region have one part.

    ``frame`` has exactly the columns of the table's model (use ``frames.conform``), ``refused``
    those of the quarantine table (use ``rows.prices.refused``). ``counts`` counts the vendor's rows
    that are in neither: ``{"out_of_scope:product_family=Storage": 12}``.

    ``source``: what the rows are read from, if a later run may take them over. ``facts``: frames
    that later parts need. ``holds_until``: when the same pages would first give other rows, because
    a price or a day begins or ends; None means never. ``earlier``: rows taken over from an earlier
    run; ``frame`` is then empty.
    """

    table: str
    frame: pl.DataFrame | pl.LazyFrame
    region: str | None = None
    refused: pl.DataFrame | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    source: Source | None = None
    facts: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    holds_until: datetime | None = None
    earlier: Earlier | None = None

    @classmethod
    def taken_over(cls, source: Source, earlier: Earlier, empty: pl.DataFrame) -> "Part":
        """Make a part of rows that an earlier run staged. ``empty`` is a frame of the table."""
        return cls(
            source.table,
            empty,
            source.region,
            counts=earlier.counts,
            source=source,
            facts=earlier.facts,
            holds_until=earlier.holds_until,
            earlier=earlier,
        )

    def collected(self) -> "Part":
        """Return the part with its rows computed.

        A lazy frame keeps its inputs in memory. They are freed once nothing refers to this part.
        """
        if isinstance(self.frame, pl.DataFrame):
            return self
        return replace(self, frame=self.frame.collect(engine="streaming"))


class Provider:
    """One provider's folder. Its modules are imported on first use."""

    def __init__(self, package: str) -> None:
        self.package = package
        """The Python package with its code; all price sheets share one."""
        self.name = package.rpartition(".")[2]
        """Its id in every table: the name of the folder."""

    def _module(self, name: str) -> ModuleType:
        module = f"{self.package}.{name}"
        return importlib.import_module(module if importlib.util.find_spec(module) else self.package)

    @property
    def about(self) -> About:
        """Its title and what its data needs."""
        about: About = importlib.import_module(self.package).ABOUT
        return about

    @property
    def settings_class(self) -> type[Settings]:
        """The class of its settings: the common ones, and its own if it has any."""
        model: type[Settings] = getattr(importlib.import_module(self.package), "Settings", Settings)
        return model

    @property
    def own_settings(self) -> list[tuple[str, str, str]]:
        """List its own settings as ``settings.describe`` does; empty if it has none."""
        model = self.settings_class
        return [] if model is Settings else describe(model)

    def settings(self, common: Settings) -> Settings:
        """Add its own settings, read from the environment, to the common ones.

        Raises:
            HwpricesError: one of its own settings has an invalid value.
        """
        return extend(common, self.settings_class)

    def units_at_once(self, settings: Settings) -> int:
        """Return how many units are fetched concurrently."""
        limit = getattr(self._module("fetch"), "units_at_once", None)
        return int(limit(settings)) if limit else UNITS_AT_ONCE

    @property
    def account_kinds(self) -> Sequence[str]:
        """Kinds of unit that need an account."""
        kinds: Sequence[str] = getattr(self._module("fetch"), "ACCOUNT_KINDS", ())
        return kinds

    def holds_prices(self, kind: str) -> bool:
        """Check whether units of this kind hold prices, not machines, regions or zones."""
        return any(fnmatchcase(kind, pattern) for pattern in self.about.price_kinds)

    def plan(self, context: Context, regions: Sequence[str] | None) -> list[Unit]:
        """List the units to fetch, limited to ``regions``. May download the vendor's index.

        Raises:
            SkippedError: prices need credentials, and none are configured.
            FetchError: the index is unavailable.
        """
        units: list[Unit] = self._module("fetch").plan(context, regions)
        return units

    def fetch(self, context: Context, unit: Unit) -> list[Page]:
        """Fetch and land one unit's pages.

        Raises:
            FetchError: they are unavailable.
            SkippedError: there is nothing to fetch; the error says why.
        """
        pages: list[Page] = self._module("fetch").fetch(context, unit)
        return pages

    def narrowed(self, unit: Unit, instance_type: str) -> Unit:
        """Narrow a unit to the prices of one machine, as far as the vendor can filter."""
        narrow = getattr(self._module("fetch"), "narrowed", None)
        return narrow(unit, instance_type) if narrow else unit

    @property
    def publishes_its_past(self) -> bool:
        """Check whether the vendor still publishes past price lists."""
        return importlib.util.find_spec(f"{self.package}.past") is not None

    def past_lists(self, context: Context, since: datetime) -> list[PastList]:
        """List the past price lists, oldest first; only if ``publishes_its_past``.

        Lists that ended before ``since`` may be left out.

        Raises:
            FetchError: the vendor's index is unavailable.
        """
        lists: list[PastList] = self._module("past").lists(context, since)
        return lists

    def past_units(self, context: Context, past: PastList, region: str) -> list[Unit]:
        """Return the units of a past price list, for ``fetch``.

        ``region`` is ``global`` if the list covers all regions.

        Raises:
            FetchError: the vendor's index is unavailable.
            SkippedError: the list has no such region.
        """
        units: list[Unit] = self._module("past").units(context, past, region)
        return units

    def past_prices(self, pages: Pages, past: PastList) -> PastPrices:
        """Read the landed pages of a past price list. Pure, like ``normalise``.

        Raises:
            HwpricesError: a page cannot be read, or is altered or missing.
        """
        prices: PastPrices = self._module("past").prices(pages, past)
        return prices

    def check_access(self, context: Context) -> Iterator[Check]:
        """Check what the account may do. Yields nothing if no account is needed.

        Raises:
            HwpricesError: the check itself failed.
        """
        if check := getattr(self._module("fetch"), "check_access", None):
            yield from check(context)

    def normalise(self, pages: Pages) -> Iterator[Part]:
        """Read landed pages into tables, region by region.

        Pure: the same pages give the same rows in the same order. A page that cannot be read is
        left out and listed in ``pages.unreadable``.

        Raises:
            UnreadablePageError: a page cannot be read, and prices need it.
            HwpricesError: a landed page is altered or missing.
        """
        parts: Iterator[Part] = self._module("normalise").normalise(pages)
        return parts


class SheetProvider(Provider):
    """A provider that is a price sheet: the folder ``price_sheets`` does its work."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{__name__}.{PRICE_SHEETS}")
        self.name = name

    @property
    def about(self) -> About:
        """Its title, from the sheet."""
        about: About = importlib.import_module(self.package).about(self.name)
        return about

    def plan(self, context: Context, regions: Sequence[str] | None) -> list[Unit]:
        """List the one unit of the sheet, which has all regions: ``regions`` is ignored."""
        units: list[Unit] = self._module("fetch").plan(self.name)
        return units


def _sheets() -> list[str]:
    names: list[str] = importlib.import_module(f"{__name__}.{PRICE_SHEETS}").names()
    return names


def names() -> list[str]:
    """List all providers, sorted: the folders here, and the price sheets."""
    return sorted(_folders(tuple(__path__)) - {PRICE_SHEETS} | set(_sheets()))


@cache
def _folders(paths: tuple[str, ...]) -> frozenset[str]:
    """List the packages in these folders, once: flows ask for the names hundreds of times."""
    return frozenset(module.name for module in pkgutil.iter_modules(paths) if module.ispkg)


def chosen(settings: Settings) -> list[str]:
    """List the providers that HWPRICES_PROVIDERS names, sorted; all if it names none.

    Raises:
        HwpricesError: it names an unknown provider.
    """
    if not settings.providers:
        return names()
    return sorted({get(name).name for name in settings.providers})


def get(name: str) -> Provider:
    """Return one provider.

    Raises:
        HwpricesError: the name is unknown; the remedy lists the known names.
    """
    if name not in names():
        raise HwpricesError(f"no provider {name!r}", f"There are: {', '.join(names())}.")
    return SheetProvider(name) if name in _sheets() else Provider(f"{__name__}.{name}")
