"""Turn a run's landed pages into checked tables under staged/.

Each run has its own directory. The pointer to it is written last: the tables staged before stay
current until the new ones are complete.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

import polars as pl

from hwprices import providers
from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing, Run, UnitResult
from hwprices.providers import Pages, Part, Provider, UnreadablePage
from hwprices.release.manifest import CollectionReport, Inputs, Reading, TableFile, Trouble
from hwprices.release.versions import latest_version, read_manifest
from hwprices.rows import parquet, prices
from hwprices.rows.earlier import Earlier, match_times
from hwprices.schemas.tables import TABLES
from hwprices.settings import Settings
from hwprices.stage import corrections, validate
from hwprices.stage.inputs import (
    EarlierParts,
    PartRecord,
    Result,
    holds,
    inputs_of,
    keep,
    times_of,
)
from hwprices.stage.validate import MISTAKE, StagedFiles
from hwprices.storage import layout, manifests
from hwprices.storage.manifests import Origin
from hwprices.storage.store import Store

AMOUNTS = {"prices": "effective_hourly", "market_quantiles": "min_usd"}
"""Amount column of each table that holds prices. A run has at least one amount."""


class StagedTables:
    """The tables of one run while they are being written below its staging directory.

    Give every part to ``add``, then call ``finish`` once.
    """

    def __init__(self, store: Store, directory: str, run: Run) -> None:
        self.accounted: Counter[str] = Counter()
        """Vendor rows that are left out on purpose, by kind."""
        self.parts: list[PartRecord] = []
        """The parts that later runs can reuse."""
        self.holds_until: datetime | None = None
        """When the same pages begin to produce different rows; None means never."""
        self.refused_by_reason: dict[str, int] = {}
        """Refused rows by reason, set by ``finish``."""
        self._store = store
        self._directory = directory
        self._provider = run.provider
        self._started_at = run.started_at
        self._sources = {page.sha256: page.url for result in run.results for page in result.pages}
        self._corrections = corrections.load(run.provider)
        self._keys: set[str] = set()
        self._files: list[TableFile] = []
        self._refused: list[pl.DataFrame] = []
        self._prices_with_amount = 0

    @property
    def files(self) -> tuple[TableFile, ...]:
        """The files written so far, sorted by key."""
        return tuple(sorted(self._files, key=lambda file: file.key))

    @property
    def has_prices(self) -> bool:
        """Whether at least one price or market quantile has an amount."""
        return self._prices_with_amount > 0

    def take_over(
        self,
        last: "Staged | None",
        earlier: EarlierParts,
        run: Run,
        inputs: Inputs,
        landing: Landing,
    ) -> bool:
        """Reuse the tables staged last if reading the pages would produce the same rows.

        The pages are read anew if the program made a mistake in the last tables, so that it warns
        of it again; if the pages were fetched at other times and parts can be reused one by one;
        and if a page was altered since it landed, because reading refuses it.

        Returns:
            whether the tables were reused.
        """
        fetched, pages = times_of(run), [page for result in run.results for page in result.pages]
        if last is None or not pages or last.inputs != inputs or MISTAKE in last.quarantined:
            return False
        if last.run_id == run.run_id:  # tables are not copied onto themselves
            return False
        times = match_times(last.times, fetched) if holds(last.holds_until, fetched) else None
        if times is None or (
            earlier.has_reusable and any(old != new for old, new in times.items())
        ):
            return False
        if any(landing.store.sha256(page.key) != page.sha256 for page in pages):
            return False
        copied = earlier.copy(self._directory, times)
        if copied is None:
            return False
        self._files, self.parts = copied
        self.refused_by_reason = dict(last.quarantined)
        self.accounted.update(last.accounted)
        self.holds_until = last.holds_until
        return True

    def add(self, part: Part, *, can_be_reused: bool = False) -> None:
        """Check the rows of a part and write the good ones, or reuse those of an earlier run.

        ``Part.collected`` must have computed the rows. With ``can_be_reused`` a part that has a
        source is kept for later runs.

        Raises:
            HwpricesError: the table and region already have a part, a correction is stale, the
                columns are not the table's, or a file cannot be written.
        """
        key = layout.table_file(part.table, self._provider, part.region)
        if key in self._keys:
            raise HwpricesError(
                f"{self._provider} gives two parts for the file {key}",
                "Join them in the provider's normalise: the second would replace the first.",
            )
        self._keys.add(key)
        self.accounted.update(part.counts)
        if part.holds_until is not None:
            self.holds_until = min(part.holds_until, self.holds_until or part.holds_until)
        result = self._take_over(part.earlier) if part.earlier else self._check(part)
        self._refused.append(result.refused)
        self._prices_with_amount += result.with_amount
        if result.file:
            self._files.append(result.file)
        if can_be_reused and part.source:
            kept = keep(self._store, self._directory, part, part.source, result)
            self.parts.append(kept)

    def _check(self, part: Part) -> Result:
        rows = part.frame
        assert isinstance(rows, pl.DataFrame), "call Part.collected first"
        if part.table == "instance_types":
            rows = corrections.apply(rows, self._provider, self._corrections)
        split = validate.split(rows, TABLES[part.table], self._sources)
        refused = [split.refused] if part.refused is None else [part.refused, split.refused]
        amount = AMOUNTS.get(part.table)
        return Result(
            file=self._write(part.table, split.good, part.region) if split.good.height else None,
            refused=pl.concat(refused),
            with_amount=split.good[amount].count() if amount else 0,
        )

    def finish(self, last: StagedFiles | None = None) -> None:
        """Write the quarantine table, then fail if too many rows were refused.

        The table is written first so that the refused rows of a failed run can be inspected.
        ``last`` are the tables staged before, None for none.

        Raises:
            HwpricesError: too many rows of known kinds were refused, or a file cannot be written.
        """
        refused = prices.merge_refused(self._refused)
        if refused.height:
            refused = validate.repair(refused, self._started_at)
            self._files.append(self._write("quarantine", refused))
        counts = refused.group_by("reason").agg(pl.col("occurrences").sum()).sort("reason")
        self.refused_by_reason = dict(counts.iter_rows())
        current = StagedFiles(self._store, self._directory, self.files)
        validate.check_refusals(self._provider, refused, current, last)

    def _take_over(self, earlier: Earlier) -> Result:
        if earlier.file:
            self._store.put(f"{self._directory}/{earlier.file.key}", earlier.data)
        return Result(earlier.file, earlier.refused, earlier.with_amount)

    def _write(self, table: str, rows: pl.DataFrame, region: str | None = None) -> TableFile:
        return parquet.write(
            self._store, self._directory, table, rows, provider=self._provider, region=region
        )


Progress = Callable[[str], None]

MAX_PARALLEL_ROWS = 1_200_000
"""Rows of the longest part that is checked while the next one is read. AWS's largest region has a
million, with which staging takes 2.6 GB."""


@dataclass(frozen=True)
class Staged:
    """The manifest of one provider's staged tables.

    Attributes:
        provider: its name.
        run_id: the run whose pages were read.
        origin: whether the pages are the vendor's or the sample's.
        files: the tables' files.
        quarantined: refused rows by reason.
        accounted: vendor rows left out on purpose, by kind.
        units: number of units by status; those that the run did not request are ``not_requested``.
        troubles: the units that were not fetched or not read.
        oldest_run: the earliest run that pages of carried or unrequested units are from.
        inputs: what the tables were made of.
        parts: the parts that a later run may reuse, and those that this run reused.
        price_units: as ``units``, for those that hold prices.
        times: when each page was fetched.
        holds_until: when the same pages begin to produce different rows; None means never.
    """

    provider: str
    run_id: str
    origin: Origin
    files: tuple[TableFile, ...]
    quarantined: Mapping[str, int] = field(default_factory=dict)
    accounted: Mapping[str, int] = field(default_factory=dict)
    units: Mapping[str, int] = field(default_factory=dict)
    troubles: tuple[Trouble, ...] = ()
    oldest_run: str = ""
    inputs: Inputs = field(kw_only=True)
    parts: tuple[PartRecord, ...] = ()
    price_units: Mapping[str, int] = field(default_factory=dict)
    times: tuple[datetime, ...] = ()
    holds_until: datetime | None = None

    @property
    def directory(self) -> str:
        """Where the files lie, below the root."""
        return layout.staged_directory(self.provider, self.run_id)

    @property
    def report(self) -> CollectionReport:
        """What the release says about this collection."""
        return CollectionReport(self.units, self.troubles, self.quarantined, self.accounted)

    def of(self, table: str) -> list[TableFile]:
        """List the files of one table."""
        return [file for file in self.files if file.table == table]

    def rows(self, table: str) -> int:
        """Count the rows of one table."""
        return sum(file.rows for file in self.of(table))


def stage(
    provider: Provider,
    run: Run,
    landing: Landing,
    store: Store,
    *,
    keep: int,
    progress: Progress = lambda _: None,
) -> Staged:
    """Turn a run's landed pages into staged tables and make them current.

    Raises:
        HwpricesError: a landed page is altered, too many rows were refused, no price has an amount,
            or the root cannot be written. What was staged before stays current.
    """
    tables = StagedTables(store, layout.staged_directory(run.provider, run.run_id), run)
    last, inputs = _last(store, run.provider), inputs_of(run)
    earlier = _earlier_parts(store, last, inputs.reading)
    if tables.take_over(last, earlier, run, inputs, landing):
        progress("reuse all tables")
    else:
        pages = Pages(run, landing, earlier=earlier.find)
        _add_parts(tables, provider, pages, progress)
        tables.finish(StagedFiles(store, last.directory, last.files) if last else None)
        run = _with_unreadable(run, pages.unreadable)
        if not tables.has_prices:
            raise _no_price(run)
    staged = Staged(
        provider=run.provider,
        run_id=run.run_id,
        origin=run.origin,
        files=tables.files,
        quarantined=tables.refused_by_reason,
        accounted=dict(sorted(tables.accounted.items())),
        units=_units(run.results),
        price_units=_units([r for r in run.results if provider.holds_prices(r.unit.kind)]),
        troubles=troubles(provider, run.results),
        oldest_run=min(
            (r.carried_from for r in run.results if r.pages and r.carried_from), default=""
        ),
        inputs=inputs_of(run),
        parts=tuple(tables.parts),
        times=times_of(run),
        holds_until=tables.holds_until,
    )
    make_current(store, staged)
    prune(store, run.provider, keep)
    return staged


def _add_parts(tables: StagedTables, provider: Provider, pages: Pages, progress: Progress) -> None:
    """Check and write each part while the next one is read, to use two cores.

    Nothing is read beside a part of more than MAX_PARALLEL_ROWS rows, which bounds the memory.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="staging") as executor:
        adding: Future[None] | None = None
        for part in map(Part.collected, provider.normalise(pages)):
            if adding is not None:
                adding.result()
            verb = "reuse" if part.earlier else "normalise"
            progress(f"{verb} {part.table} {part.region or ''}".strip())
            adding = executor.submit(tables.add, part, can_be_reused=_is_readable(part, pages))
            assert isinstance(part.frame, pl.DataFrame)  # since it is collected
            if part.frame.height > MAX_PARALLEL_ROWS:
                adding.result()
            del part  # free its rows before the next part is computed
        if adding is not None:
            adding.result()


def _last(store: Store, provider: str) -> Staged | None:
    with suppress(HwpricesError):
        return latest(store, provider)
    return None


def _earlier_parts(store: Store, last: Staged | None, current_reading: Reading) -> EarlierParts:
    if last is None:
        return EarlierParts(store)
    return EarlierParts(
        store=store,
        directory=last.directory,
        run_id=last.run_id,
        parts=last.parts,
        files=last.files,
        reading=last.inputs.reading,
        current_reading=current_reading,
    )


def _is_readable(part: Part, pages: Pages) -> bool:
    """Check whether all pages of a part could be read."""
    unreadable = {page.key for page in pages.unreadable}
    return part.source is not None and unreadable.isdisjoint(p.key for p in part.source.pages)


def stage_run(settings: Settings, run: Run, progress: Progress = lambda _: None) -> Staged:
    """Stage a recorded run with its provider, below the root of the settings. See ``stage``."""
    provider = providers.get(run.provider)
    landing = Landing(layout.landing_root(settings.root))
    store = Store(settings.root)
    return stage(provider, run, landing, store, keep=settings.keep_runs, progress=progress)


def make_current(store: Store, staged: Staged) -> None:
    """Write the manifest of staged tables, then point at it."""
    manifest = manifests.encode(staged)
    store.put(layout.staged_manifest(staged.provider, staged.run_id), manifest)
    store.put(layout.staged_latest(staged.provider), manifest)


def latest(store: Store, provider: str) -> Staged | None:
    """Read the manifest of the current staged tables; None if nothing is staged."""
    key = layout.staged_latest(provider)
    data = store.get(key, manifests.MAX_BYTES)
    if data is None:
        return None
    remedy = "Delete it and collect again."
    return manifests.decode(data, Staged, file=store.uri(key), remedy=remedy)


def keys_by_run(store: Store, provider: str) -> dict[str, list[str]]:
    """List the staged files of a provider by run."""
    runs: dict[str, list[str]] = {}
    for key in store.keys(layout.staged(provider)):
        if run := layout.staged_file.parse(key, "run_id"):
            runs.setdefault(run, []).append(key)
    return runs


def prune(store: Store, provider: str, keep: int) -> None:
    """Delete all but the newest ``keep`` staged runs, and the files of killed or failed runs.

    Also kept are the current run, which is not the newest by name if the clock was set back; the
    run of the current release, which the gate compares with; and for a day a run without a
    manifest, which may still be in progress.
    """
    current = latest(store, provider)
    runs = keys_by_run(store, provider)
    kept = {*sorted(runs)[-keep:], current.run_id if current else None}
    if version := latest_version(store):
        published = read_manifest(store, version).providers.get(provider)
        kept.add(published.run_id if published else None)
    for run, keys in runs.items():
        is_complete = layout.staged_manifest(provider, run) in keys
        if run not in kept and (is_complete or store.are_old(keys)):
            store.delete_below(layout.staged_directory(provider, run))


def _units(results: Sequence[UnitResult]) -> dict[str, int]:
    statuses = (result.status if result.requested else "not_requested" for result in results)
    return dict(sorted(Counter(statuses).items()))


def _with_unreadable(run: Run, unreadable: Sequence[UnreadablePage]) -> Run:
    """Mark the units with unreadable pages as failed, each with the reasons."""
    reason_of = {page.key: page.reason for page in unreadable}
    results = []
    for result in run.results:
        reasons = [reason_of[page.key] for page in result.pages if page.key in reason_of]
        failed = replace(result, status="failed", reason="; ".join(dict.fromkeys(reasons)))
        results.append(failed if reasons else result)
    return replace(run, results=tuple(results))


def troubles(provider: Provider, results: Iterable[UnitResult]) -> tuple[Trouble, ...]:
    """List the units that were not fetched or not read, with the reasons."""
    return tuple(
        Trouble(
            result.unit.name,
            result.status,
            result.reason,
            result.requested,
            result.carried_from if result.status == "carried" else "",
            provider.holds_prices(result.unit.kind),
        )
        for result in results
        if result.status != "ok"
    )


def _no_price(run: Run) -> HwpricesError:
    failed = next((result for result in run.results if result.status == "failed"), None)
    example = f": {failed.unit.name} failed: {failed.reason}" if failed else ""
    return HwpricesError(
        f"{run.provider}: no price is known in run {run.run_id}{example}",
        "The last good data stays published.",
    )
