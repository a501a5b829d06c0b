"""Providers: what each one gets and gives, and how its folder is found.

No list needs an edit: a new folder is found by its name. A provider is a folder
``providers/<name>/`` with

- ``__init__.py``: ``ABOUT``, its title and what its data needs (see ``About``), and where it needs
  settings of its own, a class ``Settings``;
- ``fetch.py``: ``plan(context, regions)`` lists what to fetch, ``fetch(context, unit)`` lands one
  unit's pages, and optionally ``units_at_once(settings)`` limits how many are fetched side by
  side, ``ACCOUNT_KINDS`` names the kinds of unit that are planned with an account only,
  ``narrowed(unit, instance_type)`` returns the unit for one machine where the vendor can filter,
  and ``check_access(context)`` asks the vendor what an account may do (see ``Check``);
- ``normalise.py``: ``normalise(pages)`` reads landed pages into tables;
- ``past.py``, where the vendor publishes its past: ``lists(context, since)`` lists the price lists
  there are, ``units(context, past, region)`` what to fetch for one, and ``prices(pages, past)``
  reads it;
- ``README.md``: the same settings as a table, and what to know about its prices.

A small provider has what is in ``fetch.py`` in ``__init__.py``. None imports another. Importing one
is cheap: SDKs are imported inside the functions that use them. docs/a-provider.md walks through a
new one.

A cloud that has its prices on a web page only needs no folder: a sheet ``data/price_sheets/<name>``
makes it a provider, and the folder ``price_sheets`` reads them all.
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
from hwprices.landing.bodies import PARSER_FAILURES as PARSER_FAILURES
from hwprices.landing.download import Downloaded, Http, public_url
from hwprices.landing.limits import MAX_READ_BYTES
from hwprices.landing.pages import Landing, Page, Run, Unit
from hwprices.rows.earlier import Earlier, Source
from hwprices.settings import Settings, describe, extend
from hwprices.storage.scratch import scratch_directory

UNITS_AT_ONCE = 4
"""Units of one provider fetched side by side, where the provider does not say otherwise."""

MOST_PAGES = 50  # Pages of one list: far more than any vendor has

PRICE_SHEETS = "price_sheets"
"""The folder here that serves the providers whose prices are a sheet in data/price_sheets."""


class SkippedError(HwpricesError):
    """A unit that is unavailable and is not needed, such as a region the account has not enabled.

    It is reported and is not an error of the run. ``cause`` is a code of the provider's own, kept
    in the run's manifest, for its ``normalise`` to read.
    """

    def __init__(self, message: str, remedy: str = "", *, cause: str = "") -> None:
        super().__init__(message, remedy)
        self.cause = cause


class UnreadablePageError(HwpricesError):
    """A landed page is whole, but its content is not what the vendor's format says."""

    def __init__(self, page: Page, problem: str) -> None:
        super().__init__(
            f"landed page {page.key} cannot be read: {problem[:300]}",
            "Fetch again; if it stays so, the vendor's format has changed.",
        )


ALIKE = 0.75
"""difflib's ratio from which names are spelled alike: eastsu and eastus have 0.83, eu-west-9 and
us-east-1 two thirds."""


def check_regions(provider: str, requested: Iterable[str], known: Iterable[str]) -> None:
    """Refuse a misspelled region; it would do nothing, silently.

    Raises:
        HwpricesError: a requested region is not known; the line names those that are spelled alike.
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
    """Write which known regions are spelled like unknown ones; nothing if none is."""
    names = sorted(set(known))
    alike = [
        name for one in unknown for name in difflib.get_close_matches(one, names, cutoff=ALIKE)
    ]
    return f"Did you mean {', '.join(dict.fromkeys(alike))}?" if alike else ""


@dataclass(frozen=True)
class UnreadablePage:
    """A page that was left out of the tables: its key, and why it could not be read."""

    key: str
    reason: str


@dataclass(frozen=True)
class About:
    """A provider in words: its title, and what is collected with and without an account.

    ``missing`` says what the vendor sells and is not collected. ``is_price_sheet``: a person read
    its prices from a web page; they grow old until read again. ``price_kinds``: patterns of the
    kinds of unit that are prices; the others are machines, regions or zones. A market has none.
    """

    title: str
    without_account: str
    with_credentials: str
    is_price_sheet: bool = False
    missing: str = ""
    price_kinds: tuple[str, ...] = ("*",)


@dataclass(frozen=True)
class Check:
    """One thing that was looked at before a run.

    ``absent`` is what a run can do without, such as an account; ``failed`` is not. ``detail`` says
    what is there and what it adds, or what is missing without it; ``remedy`` what to do then.
    Neither has a credential in it.
    """

    what: str
    outcome: Literal["ok", "absent", "failed"]
    detail: str
    remedy: str = ""


@dataclass(frozen=True)
class Context:
    """What fetching needs. ``settings`` are of the provider's own class; ``now`` is the clock.

    ``shared`` is what the units of a run share, by name, such as a login. Only the provider looks
    into it.
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

        Args:
            unit: what the page is of.
            url: where it is.
            check: raises FetchError if the body is not what it should be.
            **request: ``params`` or a ``query``, as ``Http.download`` takes them.

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

        Args:
            unit: what the pages are of.
            url: where they are.
            following: returns the parameters of the next page, None for the last page; raises
                FetchError if the body is not what it should be.
            params: parameters of the first page.

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
    """A price list of the past, as the vendor still publishes it.

    ``kinds`` are those of its units, the first of which names the series that it belongs to.
    ``version`` is the vendor's name of it, of letters and digits. Its prices held from ``begin`` to
    ``end``; None for the list that holds now. ``published`` is when the vendor wrote it. ``params``
    are the provider's own.

    ``by_region``: each region is fetched alone. ``complete``: a price that is not in it was not
    sold. ``thinned``: one a month or year is enough. ``missing``: what is missing to fetch it, such
    as an account.
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
"""Times from which prices held, oldest first, each with all prices that held then: the columns of
the table prices, and where a price is the mean of a day, hourly_low and hourly_high."""


@dataclass(frozen=True)
class Pages:
    """What normalising needs: a run's manifest and the pages behind it. No network, no clock."""

    run: Run
    landing: Landing
    unreadable: list[UnreadablePage] = field(default_factory=list)
    """Pages left out so far. Their units are reported as failed."""
    earlier: Callable[[Source], Earlier | None] = lambda _: None
    """Gives what an earlier run made of the same pages; see ``rows.earlier``."""

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
            UnreadablePageError: it is no JSON, nested too deep, or has a name twice or a number out
                of range.
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
        """Make an UnreadablePageError of what the block raises over the content of a page.

        An altered or missing page is not meant: that is an error of the landing directory.
        """
        try:
            yield
        except PARSER_FAILURES as error:
            raise UnreadablePageError(page, f"{type(error).__name__} {error}".strip()) from error

    @contextmanager
    def leave_out(self, *pages: Page) -> Iterator[None]:
        """Leave pages out of the tables if the block, which reads them, cannot read one of them.

        What the block assigns is not assigned then. The first page is named where the error names
        none.
        """
        try:
            with self.parsing(pages[0]):
                yield
        except UnreadablePageError as error:
            self.unreadable.extend(UnreadablePage(page.key, error.message) for page in pages)

    def file(self, page: Page) -> AbstractContextManager[Path]:
        """Return a local, verified file of the page, packed as it is landed, to scan."""
        return self.landing.file(page)


@dataclass(frozen=True)
class Part:
    """Rows of one table, of one region or of the whole provider.

    ``frame`` has exactly the columns of the table's model (use ``frames.conform``). ``refused`` has
    those of the quarantine table (use ``rows.prices.refused``). ``counts`` says what became of the
    vendor's rows that are neither: ``{"out_of_scope:product_family=Storage": 12}``. For each table
    and region there is at most one part.

    ``source``: what the rows are read from, where a later run may take them over; ``facts`` are
    frames that later parts need of this one. ``holds_until``: when pages of the same content would
    begin to give other rows, because a price or a day begins or ends; None means never. ``earlier``
    has the rows where they are taken over: then the frame is empty.
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
        """Make the part of rows that an earlier run staged. ``empty`` is a frame of its table."""
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

        A lazy frame holds the frames that its rows are computed from. They are freed once nobody
        has the lazy part any more.
        """
        if isinstance(self.frame, pl.DataFrame):
            return self
        return replace(self, frame=self.frame.collect(engine="streaming"))


class Provider:
    """One provider's folder. Its modules are imported when they are used."""

    def __init__(self, package: str) -> None:
        self.package = package
        """The Python package with its code; price sheets share one."""
        self.name = package.rpartition(".")[2]
        """Its id in every table: the folder's name."""

    def _module(self, name: str) -> ModuleType:
        module = f"{self.package}.{name}"
        return importlib.import_module(module if importlib.util.find_spec(module) else self.package)

    @property
    def about(self) -> About:
        """Its title and what it needs."""
        about: About = importlib.import_module(self.package).ABOUT
        return about

    @property
    def settings_class(self) -> type[Settings]:
        """The class of its settings: the common ones, and its own where it has some."""
        own: type[Settings] = getattr(importlib.import_module(self.package), "Settings", Settings)
        return own

    @property
    def own_settings(self) -> list[tuple[str, str, str]]:
        """List its own settings as ``settings.describe`` does; none where it has none."""
        model = self.settings_class
        return [] if model is Settings else describe(model)

    def settings(self, common: Settings) -> Settings:
        """Add its own settings, read from the environment, to the common ones.

        Raises:
            HwpricesError: one of its own settings has a value that does not fit.
        """
        return extend(common, self.settings_class)

    def units_at_once(self, settings: Settings) -> int:
        """Limit the units that are fetched side by side."""
        limit = getattr(self._module("fetch"), "units_at_once", None)
        return int(limit(settings)) if limit else UNITS_AT_ONCE

    @property
    def account_kinds(self) -> Sequence[str]:
        """Kinds of unit that are planned with an account only; empty where there is none."""
        kinds: Sequence[str] = getattr(self._module("fetch"), "ACCOUNT_KINDS", ())
        return kinds

    def holds_prices(self, kind: str) -> bool:
        """Return whether units of this kind are prices; others are machines, regions or zones."""
        return any(fnmatchcase(kind, pattern) for pattern in self.about.price_kinds)

    def plan(self, context: Context, regions: Sequence[str] | None) -> list[Unit]:
        """List the units to fetch; ``regions`` narrows it. May ask the vendor's index.

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
            SkippedError: there is nothing to have; the error says why.
        """
        pages: list[Page] = self._module("fetch").fetch(context, unit)
        return pages

    def narrowed(self, unit: Unit, instance_type: str) -> Unit:
        """Return the least that can be fetched in place of a unit for the prices of one machine."""
        narrow = getattr(self._module("fetch"), "narrowed", None)
        return narrow(unit, instance_type) if narrow else unit

    @property
    def publishes_its_past(self) -> bool:
        """Return whether the vendor still has price lists of the past."""
        return importlib.util.find_spec(f"{self.package}.past") is not None

    def past_lists(self, context: Context, since: datetime) -> list[PastList]:
        """List the price lists of the past, oldest first; only if ``publishes_its_past``.

        Those that ended before ``since`` may be left out.

        Raises:
            FetchError: the vendor's index is unavailable.
        """
        lists: list[PastList] = self._module("past").lists(context, since)
        return lists

    def past_units(self, context: Context, past: PastList, region: str) -> list[Unit]:
        """Return the units of a price list of the past; ``fetch`` fetches them.

        ``region`` is ``global`` where the list has all of them.

        Raises:
            FetchError: the vendor's index is unavailable.
            SkippedError: the list has no such region.
        """
        units: list[Unit] = self._module("past").units(context, past, region)
        return units

    def past_prices(self, pages: Pages, past: PastList) -> PastPrices:
        """Read the landed pages of a price list of the past. Pure, as ``normalise``.

        Raises:
            HwpricesError: a page cannot be read, or is altered or missing.
        """
        prices: PastPrices = self._module("past").prices(pages, past)
        return prices

    def check_access(self, context: Context) -> Iterator[Check]:
        """Ask the vendor what the account may do. Nothing is yielded where no account is needed.

        Raises:
            HwpricesError: the check itself cannot be made.
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
        """Its title, as the sheet has it."""
        about: About = importlib.import_module(self.package).about(self.name)
        return about

    def plan(self, context: Context, regions: Sequence[str] | None) -> list[Unit]:
        """List the one unit there is; ``regions`` narrows nothing, a sheet has all of them."""
        units: list[Unit] = self._module("fetch").plan(self.name)
        return units


def _sheets() -> list[str]:
    names: list[str] = importlib.import_module(f"{__name__}.{PRICE_SHEETS}").names()
    return names


def names() -> list[str]:
    """List every provider there is, sorted: the folders here, and the price sheets."""
    return sorted(_folders(tuple(__path__)) - {PRICE_SHEETS} | set(_sheets()))


@cache
def _folders(paths: tuple[str, ...]) -> frozenset[str]:
    """List the packages in these folders, once: flows ask for the names hundreds of times."""
    return frozenset(module.name for module in pkgutil.iter_modules(paths) if module.ispkg)


def chosen(settings: Settings) -> list[str]:
    """List the providers that HWPRICES_PROVIDERS names, sorted; all if it names none.

    Raises:
        HwpricesError: it names one that there is not.
    """
    if not settings.providers:
        return names()
    return sorted({get(name).name for name in settings.providers})


def get(name: str) -> Provider:
    """Return one provider.

    Raises:
        HwpricesError: the name is unknown; the line lists the known ones.
    """
    if name not in names():
        raise HwpricesError(f"no provider {name!r}", f"There are: {', '.join(names())}.")
    return SheetProvider(name) if name in _sheets() else Provider(f"{__name__}.{name}")
