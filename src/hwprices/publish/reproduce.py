"""Rebuild a release from its landed pages and compare; fetch a price from its vendor again."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from importlib.metadata import version as installed_version
from typing import Any, Literal

import polars as pl

from hwprices import providers, stage
from hwprices.collect import Collector
from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing, Page, Run, Unit, UnitResult
from hwprices.providers import Pages, Provider
from hwprices.publish import choose, history, join
from hwprices.release.manifest import (
    DIGEST_CHARACTERS,
    HISTORY_TABLES,
    ProviderEntry,
    ReleaseManifest,
)
from hwprices.release.versions import read_manifest, versions
from hwprices.release.wording import counted
from hwprices.rows.parquet import OBSERVATION, content_digest
from hwprices.schemas.tables import TABLES
from hwprices.settings import Settings
from hwprices.specs import sheets
from hwprices.stage import Progress
from hwprices.stage.inputs import reading
from hwprices.storage import layout
from hwprices.storage.scratch import scratch_directory
from hwprices.storage.store import Store

PARTS = ("code", "sheets", "corrections")  # Parts of a reading (``release.manifest.Reading``)
MAX_EXAMPLES = 3  # Keys of rows that are listed for each file


@dataclass(frozen=True)
class PageFault:
    """A landed page of the release that is altered or missing. ``key`` is below the root."""

    provider: str
    key: str
    state: Literal["altered", "missing"]


@dataclass(frozen=True)
class TableDifference:
    """A file of the release whose rebuilt rows differ.

    ``gone`` is the number of rows that only the release has, ``new`` of those that only the rebuilt
    file has, ``changed`` of those with the same key and other values in ``columns``. ``examples``
    are keys.
    """

    file: str
    gone: int
    new: int
    changed: int
    columns: tuple[str, ...]
    examples: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """The comparison of a release with its rebuilt copy.

    Attributes:
        version: the release.
        program: the version of the program that made it.
        installed: the installed version.
        readings: the parts of a provider's reading that have changed: code, sheets, corrections.
        pages: landed pages that are altered or missing.
        differences: the files that differ.
        problems: what could not be compared, and why.
        compared: number of files compared.
    """

    version: str
    program: str
    installed: str
    readings: Mapping[str, tuple[str, ...]]
    pages: tuple[PageFault, ...]
    differences: tuple[TableDifference, ...]
    problems: tuple[str, ...]
    compared: int

    @property
    def exit_status(self) -> int:
        """0: equal. 1: a page was altered, or a table differs. 2: not everything was compared."""
        if self.differences or any(page.state == "altered" for page in self.pages):
            return 1
        return 2 if self.problems or self.pages else 0

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and the exit status, as the command's ``--json`` does."""
        return {**asdict(self), "exit_status": self.exit_status}

    def lines(self) -> Iterator[str]:
        """Write the report as lines, the result last."""
        for page in self.pages:
            yield f"{page.provider}: page {page.key} is {page.state}"
        yield from self.problems
        for file in self.differences:
            yield (
                f"{file.file}: {counted(file.gone, 'row')} only in the release, {file.new:,} only"
                f" in the rebuilt one, {file.changed:,} changed"
                + (f" in {', '.join(file.columns)}" if file.columns else "")
                + f": {'; '.join(file.examples)}"
            )
        for part in PARTS:
            names = [name for name, parts in self.readings.items() if part in parts]
            if names:
                yield f"{part} changed since then: {', '.join(names)}"
        if self.program != self.installed:
            yield f"made by hwprices {self.program}; installed is {self.installed}"
        result = {0: "equal", 1: "not equal", 2: "not compared in full"}[self.exit_status]
        yield f"release {self.version}: {counted(self.compared, 'file')} compared, {result}"


@dataclass
class _Findings:
    """Collects the findings while a release is rebuilt."""

    pages: list[PageFault] = field(default_factory=list)
    differences: list[TableDifference] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    compared: int = 0


def reproduce(store: Store, version: str, progress: Progress = lambda _: None) -> Reproduction:
    """Rebuild a release in a temporary folder, and compare it with the published one.

    The history is compared only if the previous release is kept.

    Raises:
        HwpricesError: there is no such release.
    """
    release = read_manifest(store, version)
    found = _Findings()
    with scratch_directory() as folder:
        scratch = Store(folder)
        sources = []
        for name, entry in release.providers.items():
            progress(name)
            source = _staged(store, scratch, name, entry, found)
            if source is not None:
                _compare_vendor_files(store, scratch, release, source, found)
                sources.append(source)
        if len(sources) == len(release.providers):
            progress("join")
            _compare_joined(store, scratch, release, sources, found)
        else:
            found.problems.append("joined tables: not compared, as not every provider was rebuilt")
    progress("history")
    _compare_history(store, release, found)
    return Reproduction(
        version=version,
        program=release.code_version,
        installed=installed_version("hwprices"),
        readings=_readings(release),
        pages=tuple(found.pages),
        differences=tuple(found.differences),
        problems=tuple(found.problems),
        compared=found.compared,
    )


def _readings(release: ReleaseManifest) -> dict[str, tuple[str, ...]]:
    """List for each provider the parts of its reading that have changed."""
    changed = {}
    for name, entry in release.providers.items():
        published, current = asdict(entry.inputs.reading), asdict(reading(name))
        if parts := tuple(part for part in published if published[part] != current[part]):
            changed[name] = parts
    return changed


def _staged(
    store: Store, scratch: Store, name: str, entry: ProviderEntry, found: _Findings
) -> choose.ProviderSource | None:
    """Stage a provider's run again; None if its pages or the program do not allow it."""
    landing = Landing(layout.landing_root(store.root))
    try:
        run = landing.run(name, entry.run_id)
        faults = _page_faults(landing, run)
        found.pages += faults
        if faults:
            return None
        if problem := _other_pages(run, entry):
            found.problems.append(f"{name}: {problem}")
            return None
        staged = stage.stage(providers.get(name), run, landing, scratch, keep=1)
    except HwpricesError as error:
        found.problems.append(f"{name}: {error.message}")
        return None
    return choose.from_staging(staged)


def _page_faults(landing: Landing, run: Run) -> list[PageFault]:
    """Check all pages of a run against their SHA-256."""
    pages = {page.key: page for result in run.results for page in result.pages}
    faults = []
    for key, page in sorted(pages.items()):
        state = _state(landing, page)
        if state != "whole":
            faults.append(PageFault(run.provider, f"{layout.RAW}/{key}", state))
    return faults


def _state(landing: Landing, page: Page) -> Literal["whole", "altered", "missing"]:
    try:
        with landing.file(page):
            return "whole"
    except HwpricesError:
        return "altered" if landing.store.exists(page.key) else "missing"


def _other_pages(run: Run, entry: ProviderEntry) -> str:
    """Describe the units whose pages in the run are not those of the release; empty if none."""
    in_release = {unit.unit: unit.pages for unit in entry.inputs.units}
    in_run = {
        _key(result.unit): tuple(page.sha256[:DIGEST_CHARACTERS] for page in result.pages)
        for result in run.results
    }
    units = {*in_release, *in_run}
    differing = sorted(unit for unit in units if in_release.get(unit) != in_run.get(unit))
    return f"run {run.run_id} has other pages of {', '.join(differing)}" if differing else ""


def _compare_vendor_files(
    store: Store,
    scratch: Store,
    release: ReleaseManifest,
    source: choose.ProviderSource,
    found: _Findings,
) -> None:
    """Compare a provider's staged tables."""
    made = {file.key: file for file in source.files}
    parts = choose.parts_of(store, release)[source.provider]
    published = {file.key: file for file in parts.files}
    for key in sorted({*made, *published}):
        found.compared += 1
        old, new = published.get(key), made.get(key)
        if old and new and old.content_sha256 == new.content_sha256:
            continue
        table = (old or new).table  # type: ignore[union-attr]
        old_rows = choose.published_rows(store, release, source.provider, old) if old else None
        new_rows = _read(scratch, f"{source.directory}/{key}") if new else None
        found.differences.append(_difference(table, key, old_rows, new_rows))


def _compare_joined(
    store: Store,
    scratch: Store,
    release: ReleaseManifest,
    sources: Sequence[choose.ProviderSource],
    found: _Findings,
) -> None:
    """Join the rebuilt tables with the spec sheets of the installed program, and compare."""
    previous = _previous(store, release)
    if release.previous and previous is None:
        reason = f"not compared, release {release.previous} is not kept"
        found.problems.append(f"{', '.join(join.CARRIED)}: {reason}")
    before = choose.carried(store, previous)
    try:
        joined = join.build(choose.scan(scratch, sources), sheets.load_all(), before)
    except HwpricesError as error:
        found.problems.append(f"joined tables: {error.message}")
        return
    for table, rows in joined.tables.items():
        if table in join.CARRIED and release.previous and previous is None:
            continue
        found.compared += 1
        if release.tables[table].files[0].content_sha256 == content_digest(rows):
            continue
        key = layout.table_file(table)
        old = _read(store, layout.release_file(release.version, key))
        found.differences.append(_difference(table, key, old, rows))


def _compare_history(store: Store, release: ReleaseManifest, found: _Findings) -> None:
    """Make the history again from the previous release and this one, and compare the bytes."""
    previous = _previous(store, release)
    if release.previous and previous is None:
        reason = f"not compared, release {release.previous} is not kept"
        found.problems.append(f"{', '.join(HISTORY_TABLES)}: {reason}")
        return
    past = history.history_of(store, previous) if previous else {}
    made = history.Rebuilt(release, history.from_release(store, previous, release, past))
    found.compared += sum(len(release.tables[name].files) for name in HISTORY_TABLES)
    found.problems += [
        f"{key}: comes out differently; hwprices history --rebuild compares all releases"
        for key in history.differences(store, made)
    ]


def _previous(store: Store, release: ReleaseManifest) -> ReleaseManifest | None:
    if release.previous is None or release.previous not in versions(store):
        return None
    return read_manifest(store, release.previous)


def _read(store: Store, key: str) -> pl.DataFrame | None:
    data = store.get(key)
    return None if data is None else pl.read_parquet(data, hive_partitioning=False)


def _difference(
    table: str, key: str, old: pl.DataFrame | None, new: pl.DataFrame | None
) -> TableDifference:
    """Compare the rows of a file by key; None for a missing file."""
    columns = TABLES[table].key
    if old is None or new is None:
        rows = old if old is not None else new
        height = rows.height if rows is not None else 0
        gone, added = (height, 0) if old is not None else (0, height)
        return TableDifference(key, gone, added, 0, (), _examples(rows, columns))
    compared = [name for name in old.columns if name in new.columns and name not in OBSERVATION]
    values = [name for name in compared if name not in columns]
    gone_rows = old.join(new, on=columns, how="anti", nulls_equal=True)
    new_rows = new.join(old, on=columns, how="anti", nulls_equal=True)
    joined = old.join(new, on=columns, how="inner", nulls_equal=True, suffix=":new")
    differs = {name: joined[name].ne_missing(joined[f"{name}:new"]) for name in values}
    changed = [name for name, is_other in differs.items() if is_other.any()]
    rows = joined.filter(pl.any_horizontal(pl.lit(False), *(differs[name] for name in changed)))
    shown = pl.concat([part.select(columns) for part in (rows, gone_rows, new_rows)])
    return TableDifference(
        key,
        gone_rows.height,
        new_rows.height,
        rows.height,
        (*changed, *sorted(set(old.columns) ^ set(new.columns))),
        _examples(shown, columns),
    )


def _examples(rows: pl.DataFrame | None, columns: list[str]) -> tuple[str, ...]:
    if rows is None:
        return ()
    named = rows.select(columns).head(MAX_EXAMPLES).rows()
    return tuple(" ".join(str(value) for value in row if value is not None) for row in named)


Announce = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class SoughtPrice:
    """A price to fetch again.

    ``units`` are its units, as kind/region. If they are unknown, they are found by ``pages``, the
    SHA-256 of the landed pages that the price was read from.
    """

    price_id: str
    provider: str
    region: str
    instance_type: str
    units: tuple[str, ...]
    pages: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class LivePrice:
    """A vendor's current price.

    ``amount``: prices.effective_hourly; None if the vendor no longer lists it. ``re_read``: the
    amount that this program reads from the pages of the release; None if they are gone or lack the
    price.
    """

    amount: Decimal | None
    re_read: Decimal | None
    at: datetime


def ask(
    store: Store,
    release: ReleaseManifest,
    sought: SoughtPrice,
    settings: Settings,
    announce: Announce = lambda _: None,
) -> LivePrice:
    """Fetch the units of a price, and read it.

    Other pages that are needed, such as the machine types of a composed price, are the landed pages
    of the release; they are fetched only if these are gone.

    Nothing is written to ``store``; ``source`` and ``root`` of the settings are not used.
    ``announce`` is called with a line before each download, and with its size afterwards.

    Raises:
        HwpricesError: the price is on a price sheet, or a page is unavailable or cannot be read.
    """
    provider = providers.get(sought.provider)
    if provider.about.is_price_sheet:
        raise HwpricesError(
            f"a person read the prices of {sought.provider} from a web page",
            "Open the page: hwprices explain names it.",
        )
    entry = release.providers[sought.provider]
    old_landing = Landing(layout.landing_root(store.root))
    old = _old_results(old_landing, entry, sought)
    needed = _needed_units(entry, sought)
    sizes = {_key(result.unit): sum(page.bytes for page in result.pages) for result in old}
    with scratch_directory() as folder:
        live = settings.model_copy(update={"root": folder, "source": "live"})
        with Collector(sought.provider, live) as collector:
            landing = collector.landing
            kept = [result for result in old if _key(result.unit) not in needed]
            for result in kept:
                _copy_pages(old_landing, landing, result)
            planned = collector.plan(_regions_of(needed))
            wanted = [unit for unit in planned if _key(unit) in needed]
            if not wanted:
                raise HwpricesError(
                    f"{sought.provider} no longer lists {', '.join(sorted(needed))}",
                    "Collect again: hwprices admin refresh.",
                )
            present = {*needed, *(_key(result.unit) for result in kept)}
            in_region = [unit for unit in planned if unit.region in (sought.region, "global")]
            others = [unit for unit in in_region if _key(unit) not in present]
            fetched: list[UnitResult] = []
            amount = None
            for units in (wanted, others):
                if amount is None and units:
                    fetched += _fetch(collector, units, sought, announce, sizes)
                    amount = _read_price(provider, landing, [*fetched, *kept], sought)
        return LivePrice(
            amount=amount,
            re_read=_read_price(provider, old_landing, old, sought) if old else None,
            at=datetime.now(UTC),
        )


def _key(unit: Unit) -> str:
    return f"{unit.kind}/{unit.region}"


def _needed_units(entry: ProviderEntry, sought: SoughtPrice) -> set[str]:
    """List the units whose pages hold the price."""
    if sought.units:
        return set(sought.units)
    digests = {page[:DIGEST_CHARACTERS] for page in sought.pages}
    units = {unit.unit for unit in entry.inputs.units if digests.intersection(unit.pages)}
    if not units:
        raise HwpricesError(
            f"no unit of {sought.provider} in the release has the page of {sought.price_id}",
            "Recheck against a later release instead.",
        )
    return units


def _regions_of(units: Iterable[str]) -> list[str] | None:
    """Return the regions to plan; None if a unit is global."""
    regions = {unit.partition("/")[2] for unit in units}
    return None if "global" in regions else sorted(regions)


def _old_results(landing: Landing, entry: ProviderEntry, sought: SoughtPrice) -> list[UnitResult]:
    """Return the results of the release's run for the price's region whose pages still exist."""
    try:
        run = landing.run(sought.provider, entry.run_id)
    except HwpricesError:
        return []
    return [
        result
        for result in run.results
        if result.unit.region in (sought.region, "global")
        and all(landing.store.exists(page.key) for page in result.pages)
    ]


def _copy_pages(old: Landing, new: Landing, result: UnitResult) -> None:
    """Copy a unit's pages into another landing root and verify their checksums."""
    for page in result.pages:
        with old.file(page) as path:
            new.store.put(page.key, path)


def _fetch(
    collector: Collector,
    units: Sequence[Unit],
    sought: SoughtPrice,
    announce: Announce,
    sizes: Mapping[str, int],
) -> list[UnitResult]:
    """Fetch units, narrowed to the machine if the vendor can filter.

    ``sizes``: length of each unit's pages in the release, by kind/region.
    """
    results = []
    for unit in units:
        narrowed = collector.provider.narrowed(unit, sought.instance_type)
        what = unit.name
        if narrowed == unit:
            size = sizes.get(_key(unit))
            what = f"all of {unit.name}" + (f", last time {size:,} bytes" if size else "")
        announce(f"fetching {what}")
        result = collector.fetch(narrowed)
        if result.status == "failed":
            raise HwpricesError(result.reason)
        size = sum(page.bytes for page in result.pages)
        announce(f"{unit.name}: {counted(len(result.pages), 'page')}, {size:,} bytes")
        results.append(result)
    return results


def _read_price(
    provider: Provider, landing: Landing, results: Sequence[UnitResult], sought: SoughtPrice
) -> Decimal | None:
    """Read the price from pages; None if it is not on them."""
    run = Run("live", provider.name, "live", datetime.now(UTC), "", tuple(results))
    pages = Pages(run, landing)
    amount = None
    for part in provider.normalise(pages):
        if part.table != "prices" or part.region not in (None, sought.region):
            continue
        rows = part.frame.lazy().filter(pl.col("price_id") == sought.price_id)
        for found in rows.select("effective_hourly").collect().to_series():
            amount = found
    if amount is None and pages.unreadable:
        raise HwpricesError(pages.unreadable[0].reason)
    return amount
