"""Choose each provider's tables for a release: those staged last, or those published before."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import polars as pl

from hwprices import providers
from hwprices.errors import HwpricesError
from hwprices.publish import gate, join
from hwprices.publish.gate.comparisons import COMPARISONS, DRIFT
from hwprices.publish.gate.invariants import INVARIANTS
from hwprices.publish.gate.thresholds import HISTORY_LENGTH
from hwprices.release.manifest import (
    CheckResult,
    CollectionReport,
    Inputs,
    PartitionStatus,
    ReleaseManifest,
    TableFile,
)
from hwprices.release.versions import read_manifest, versions
from hwprices.rows import frames
from hwprices.schemas.tables import TABLES
from hwprices.stage import inputs, stage
from hwprices.stage.stage import Staged
from hwprices.storage import layout, manifests
from hwprices.storage.bucket_options import scan_options
from hwprices.storage.manifests import Origin
from hwprices.storage.store import Store

MONTH = timedelta(days=31)

Figures = dict[str, dict[str, list[float]]]
"""Provider, then check, to the figures of its last releases, oldest first."""


def read_figures(store: Store) -> Figures:
    """Read the figures of past releases; none where nothing was published yet.

    Raises:
        HwpricesError: the file is damaged; the line names it.
    """
    data = store.get(layout.GATE_HISTORY)
    if data is None:
        return {}
    file = store.uri(layout.GATE_HISTORY)
    remedy = "Delete it: the default limits hold until there is history again."
    return manifests.decode(data, Figures, file=file, remedy=remedy)


def append_figures(store: Store, figures: Figures, results: Collection[CheckResult]) -> None:
    """Add the figures of a release that was published.

    Only those of checks that passed: what somebody let through says nothing about the usual.
    """
    for result in results:
        if result.value is not None and result.outcome in ("pass", "warn"):
            values = figures.setdefault(result.provider, {}).setdefault(result.check, [])
            values.append(round(result.value, 6))
            del values[:-HISTORY_LENGTH]
    store.put(layout.GATE_HISTORY, manifests.encode(figures))


def of_last_month(store: Store, now: datetime) -> list[ReleaseManifest]:
    """Read the manifests of the last month's releases, oldest first."""
    first = (now - MONTH).strftime("%Y%m%dT%H%M%SZ")
    return [read_manifest(store, version) for version in versions(store) if version >= first]


def comparable(releases: Collection[ReleaseManifest], provider: str) -> ReleaseManifest | None:
    """Choose the oldest of these releases that a provider can be compared with, or None.

    Not older than the last release in which somebody let one of the provider's results through:
    what was accepted then must not stop the provider for a month.
    """
    usable: list[ReleaseManifest] = []
    for release in releases:
        entry = release.providers.get(provider)
        if entry is None:
            continue
        if any(result.outcome == "accepted" for result in entry.gate):
            usable.clear()
        usable.append(release)
    return usable[0] if usable else None


@dataclass(frozen=True)
class Source:
    """Where one provider's tables of the coming release are taken from.

    ``directory`` is where ``files`` are, below the root. ``results`` are those of the gate, empty
    where nothing new was staged.
    """

    provider: str
    status: PartitionStatus
    kept_from: str | None
    origin: Origin
    run_id: str
    directory: str
    files: tuple[TableFile, ...]
    report: CollectionReport
    inputs: Inputs
    results: tuple[CheckResult, ...] = ()


@dataclass(frozen=True)
class Past:
    """What was published before: the current release, those of a month, and the gate's figures."""

    previous: ReleaseManifest | None
    month: tuple[ReleaseManifest, ...] = ()
    figures: Figures = field(default_factory=dict)


@dataclass(frozen=True)
class Choice:
    """The tables of the coming release, sorted by provider, and how every check came out.

    A provider that was never published and is stopped has results and no tables. ``staged`` is what
    was put to the gate.
    """

    sources: tuple[Source, ...]
    results: tuple[CheckResult, ...]
    staged: tuple[Staged, ...] = ()


@dataclass(frozen=True)
class _Judged:
    """One provider: the tables chosen, how its checks came out, and what is staged of it."""

    source: Source | None
    results: tuple[CheckResult, ...] = ()
    staged: Staged | None = None


def choose(store: Store, past: Past, accepted: Collection[str], footprint: pl.DataFrame) -> Choice:
    """Choose the tables of every provider that is staged or published."""
    published = past.previous.providers if past.previous else {}
    staged = {layout.staged_provider(key) for key in store.keys(layout.STAGED)}
    names = sorted({name for name in staged if name is not None} | set(published))
    chosen = [_choose_one(store, name, past, accepted, footprint) for name in names]
    apart = _keep_sample_apart(chosen, accepted)
    return Choice(
        tuple(one.source for one in apart if one.source is not None),
        tuple(result for one in apart for result in one.results),
        tuple(one.staged for one in apart if one.staged is not None),
    )


def _choose_one(
    store: Store, provider: str, past: Past, accepted: Collection[str], footprint: pl.DataFrame
) -> _Judged:
    """Choose the staged tables if the gate lets them through, else the previous release's."""
    staged = stage.latest(store, provider)
    old = from_release(provider, past.previous)
    if staged is None:
        return _Judged(old)
    new = from_staging(staged)
    baseline = from_release(provider, comparable(past.month, provider))
    published = _candidate(store, old) if old else None
    is_same = old is not None and baseline is not None and old.directory == baseline.directory
    month_ago = published if is_same else None
    if baseline is not None and not is_same:
        month_ago = _candidate(store, baseline)
    results = tuple(
        gate.check(
            _completed(_candidate(store, new), footprint),
            published,
            accepted,
            month_ago=month_ago,
            history=past.figures.get(provider, {}),
        )
    )
    if gate.stopped(results):
        return _Judged(replace(old, results=results) if old else None, results, staged)
    return _Judged(replace(new, results=results), results, staged)


def _keep_sample_apart(chosen: list[_Judged], accepted: Collection[str]) -> list[_Judged]:
    """Leave out providers whose tables are the sample's where another's are live.

    Nobody who reads a release expects figures of last year beside those of today. Tables of the
    sample that are published already are left out too: to keep them would be the same mixture.
    """
    if not any(one.source is not None and one.source.origin == "live" for one in chosen):
        return chosen
    return [_without_sample(one, accepted) for one in chosen]


def _without_sample(one: _Judged, accepted: Collection[str]) -> _Judged:
    """Leave out the sample's provider beside live ones, unless somebody lets it through."""
    source = one.source
    if source is None or source.origin == "live":
        return one
    let_through = {f"{source.provider}:{BESIDE_LIVE}", f"{source.provider}:*"} & set(accepted)
    detail = "these figures are the sample's, those of other providers live: use another root"
    result = CheckResult(
        source.provider, BESIDE_LIVE, "accepted" if let_through else "stop", detail
    )
    results = (*one.results, result)
    kept = replace(source, results=(*source.results, result)) if let_through else None
    return replace(one, source=kept, results=results)


def from_staging(staged: Staged) -> Source:
    """Take the tables of a run as they are staged."""
    return Source(
        provider=staged.provider,
        status="fresh",
        kept_from=None,
        origin=staged.origin,
        run_id=staged.run_id,
        directory=staged.directory,
        files=staged.files,
        report=staged.report,
        inputs=staged.inputs,
    )


def from_release(provider: str, previous: ReleaseManifest | None) -> Source | None:
    """Take a provider's tables from a release; None if it is not in it."""
    if previous is None or provider not in previous.providers:
        return None
    entry = previous.providers[provider]
    return Source(
        provider=provider,
        status="kept",
        kept_from=entry.kept_from or previous.version,
        origin=entry.origin,
        run_id=entry.run_id,
        directory=layout.release_directory(previous.version),
        files=previous.files_of(provider),
        report=entry.report,
        inputs=entry.inputs,
    )


def _candidate(store: Store, source: Source) -> gate.Candidate:
    files = [file for file in _by_region(source.files) if file.table == gate.PRICES]
    one_file = (replace(source, files=(file,)) for file in files)
    prices = (scan(store, [only])[gate.PRICES] for only in one_file)
    return gate.Candidate(
        source.provider,
        source.origin,
        scan(store, [source]),
        [gate.PriceFile(rows, file.rows) for rows, file in zip(prices, files, strict=True)],
    )


def _completed(candidate: gate.Candidate, footprint: pl.DataFrame) -> gate.Candidate:
    regions = join.regions(candidate.table("regions"), footprint)
    return replace(candidate, tables={**candidate.tables, "regions": regions.lazy()})


def scan(store: Store, sources: Collection[Source]) -> dict[str, pl.LazyFrame]:
    """Open the vendor tables of these sources, by region. Tables that no source has are absent.

    Columns that were added to a table after its files were written are null.
    """
    uris: dict[str, list[str]] = {}
    for source in sources:
        for file in _by_region(source.files):
            uri = store.uri(f"{source.directory}/{file.key}")
            uris.setdefault(file.table, []).append(uri)
    options = scan_options(store.root)
    return {
        table: pl.scan_parquet(
            files,
            hive_partitioning=False,
            schema=frames.dtypes(TABLES[table]),
            missing_columns="insert",
            **options,
        )
        for table, files in uris.items()
    }


def new_words(store: Store, release: ReleaseManifest | None) -> pl.LazyFrame | None:
    """Open the table new_words of a release; None if it has none."""
    table = release.tables.get("new_words") if release else None
    if release is None or table is None:
        return None
    uris = [store.uri(layout.release_file(release.version, file.key)) for file in table.files]
    return pl.scan_parquet(uris, hive_partitioning=False, **scan_options(store.root))


def outdated(store: Store, sources: Collection[Source]) -> frozenset[tuple[str, str]]:
    """Find the tables that were written before a column was added to them.

    Returns pairs of provider and table. One file of each table is looked at, and none of a source
    that this program read.
    """
    pairs: set[tuple[str, str]] = set()
    for source in sources:
        if source.inputs.reading.code == inputs.reading(source.provider).code:
            continue
        for file in {file.table: file for file in source.files}.values():
            uri = store.uri(f"{source.directory}/{file.key}")
            rows = pl.scan_parquet(uri, hive_partitioning=False, **scan_options(store.root))
            if set(frames.dtypes(TABLES[file.table])) - set(rows.collect_schema()):
                pairs.add((source.provider, file.table))
    return frozenset(pairs)


def _by_region(files: Collection[TableFile]) -> list[TableFile]:
    """Sort files as their rows are sorted, so that those of two releases are in one order."""
    return sorted(files, key=lambda file: file.key.removesuffix(".parquet"))


BESIDE_LIVE = "sample_beside_live"
"""The one check that looks at more than one provider. See ``choose``."""

CHECKS = tuple(sorted({*COMPARISONS, *DRIFT, *INVARIANTS, "sample_over_live", BESIDE_LIVE}))
"""Every check that can stop a provider."""

EXAMPLE = "Write provider:check, such as aws:type_gone, or aws:* for all of its checks."


def check_names(accepted: Collection[str]) -> None:
    """Check that each name is a provider and one of the gate's checks.

    Raises:
        HwpricesError: one is not; the line lists those there are.
    """
    for name in accepted:
        provider, colon, check = name.partition(":")
        if not colon:
            raise HwpricesError(f"--accept {name}: it names no check", EXAMPLE)
        if provider not in providers.names():
            names = ", ".join(providers.names())
            raise HwpricesError(
                f"--accept {name}: no provider {provider!r}", f"There are: {names}."
            )
        if check not in (*CHECKS, "*"):
            names = ", ".join(CHECKS)
            raise HwpricesError(
                f"--accept {name}: the gate has no check {check!r}", f"It has: {names}."
            )
