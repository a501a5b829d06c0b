"""Choose each provider's tables for a release: those staged last, or those published before."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache

import polars as pl

from hwprices import providers, stage
from hwprices.errors import HwpricesError
from hwprices.publish import gate, join
from hwprices.release.manifest import (
    CheckResult,
    CollectionReport,
    Inputs,
    PartitionStatus,
    Parts,
    ReleaseManifest,
    TableFile,
)
from hwprices.release.versions import read_manifest, version_time, versions
from hwprices.rows import frames, parquet
from hwprices.schemas.tables import TABLES, Held
from hwprices.stage import Staged, inputs, validate
from hwprices.storage import layout, manifests
from hwprices.storage.manifests import Origin
from hwprices.storage.store import Store, scan_options
from hwprices.units import Timestamp

MONTH = timedelta(days=31)
"""How long one release of each day is kept for the gate; of older ones, one of each month."""

AGES = (timedelta(days=7), timedelta(days=30), timedelta(days=90))
"""Ages of the releases with which the gate compares prices for slow drift."""


def last_quarter(store: Store, now: datetime) -> list[ReleaseManifest]:
    """Read the manifests of the last quarter's releases, oldest first."""
    first = (now - AGES[-1] - timedelta(days=1)).strftime("%Y%m%dT%H%M%SZ")
    return [read_manifest(store, version) for version in versions(store) if version >= first]


def past_prices(
    store: Store, releases: Collection[ReleaseManifest], provider: str, now: datetime
) -> list[pl.LazyFrame]:
    """Scan a provider's prices of a week, a month and a quarter ago, if there are such releases.

    Releases before the last acceptance of a part of the provider are not used, because what was
    accepted then would be held again.
    """
    usable: list[ReleaseManifest] = []
    for release in releases:
        entry = release.providers.get(provider)
        if entry is not None:
            if any(result.outcome == "accepted" for result in entry.gate):
                usable.clear()
            usable.append(release)
    if not usable or version_time(usable[0].version) > now - AGES[0]:
        return []
    old_enough = (
        [release for release in usable if version_time(release.version) <= now - age]
        for age in AGES
    )
    chosen = ((releases or usable[:1])[-1] for releases in old_enough)
    by_version = {release.version: release for release in chosen}
    tables = (published_table(store, release, gate.PRICES) for release in by_version.values())
    return [prices.filter(provider=provider) for prices in tables if prices is not None]


@dataclass(frozen=True, kw_only=True)
class ProviderSource(Parts):
    """The location of one provider's tables for the coming release.

    ``results`` are those of the gate, empty if nothing new was staged.
    """

    provider: str
    status: PartitionStatus
    kept_from: str | None
    origin: Origin
    run_id: str
    report: CollectionReport
    inputs: Inputs
    results: tuple[CheckResult, ...] = ()

    @property
    def observed(self) -> tuple[str | None, str | None]:
        """The first and the last time at which a row was seen."""
        starts = [file.observed_from for file in self.files if file.observed_from]
        ends = [file.observed_to for file in self.files if file.observed_to]
        return min(starts, default=None), max(ends, default=None)


HELD = "held"
"""Folder of a staging directory for files with held rows, with a subfolder for each publication."""


@dataclass(frozen=True)
class PublishedBefore:
    """Earlier releases: the current one with its table held, and those of the last quarter."""

    previous: ReleaseManifest | None
    quarter: tuple[ReleaseManifest, ...] = ()
    held: pl.DataFrame = field(default_factory=lambda: frames.empty(Held))
    now: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass(frozen=True)
class Choice:
    """The tables of the coming release, sorted by provider, and the results of all checks.

    A provider that was never published and is stopped has results but no tables. ``staged`` are the
    tables that the gate checked, ``held`` is a table of the coming release.
    """

    sources: tuple[ProviderSource, ...]
    results: tuple[CheckResult, ...]
    staged: tuple[Staged, ...] = ()
    held: pl.DataFrame = field(default_factory=lambda: frames.empty(Held))


@dataclass(frozen=True)
class _Judged:
    """One provider: the chosen tables, the rows held, the results of its checks, what is staged."""

    source: ProviderSource | None
    held: pl.DataFrame
    results: tuple[CheckResult, ...] = ()
    staged: Staged | None = None


def choose(
    store: Store, past: PublishedBefore, accepted: Collection[str], footprint: pl.DataFrame
) -> Choice:
    """Choose the tables of every provider that is staged or published."""
    published = past.previous.providers if past.previous else {}
    staged = {layout.staged_latest.parse(key, "provider") for key in store.keys(layout.STAGED)}
    names = sorted({name for name in staged if name is not None} | set(published))
    peers = _peers(store, past.previous)
    judged = [
        _choose_one(store, name, past, accepted, footprint=footprint, peers=peers) for name in names
    ]
    if any(one.source is not None and one.source.origin == "live" for one in judged):
        judged = [_without_sample(one, accepted) for one in judged]
    held = [frames.empty(Held), *(one.held for one in judged if one.source)]
    return Choice(
        tuple(one.source for one in judged if one.source is not None),
        tuple(result for one in judged for result in one.results),
        tuple(one.staged for one in judged if one.staged is not None),
        validate.sort_by_key(pl.concat(held), Held),
    )


def _choose_one(
    store: Store,
    provider: str,
    past: PublishedBefore,
    accepted: Collection[str],
    *,
    footprint: pl.DataFrame,
    peers: pl.LazyFrame | None,
) -> _Judged:
    """Choose the staged tables if the gate passes them, otherwise those of the previous release.

    ``footprint`` is the sheet region_footprint, ``peers`` the result of ``_peers``.
    """
    staged = stage.latest(store, provider)
    old = from_release(store, provider, past.previous)
    held_before = past.held.filter(provider=provider)
    if staged is None:
        return _Judged(old, held_before)
    new = from_staging(staged)
    judgement = gate.judge(
        _completed(_candidate(store, new), footprint),
        _completed(_candidate(store, old), footprint) if old else None,
        accepted,
        past=past_prices(store, past.quarter, provider, past.now),
        held_before=held_before,
        peers=peers,
        now=past.now,
        store=store,
    )
    results = judgement.results
    if gate.stopped(results):
        chosen = replace(old, results=results) if old else None
    else:
        chosen = replace(_without_held(store, new, judgement, past.now), results=results)
    return _Judged(chosen, judgement.held, results, staged)


def _peers(store: Store, previous: ReleaseManifest | None) -> pl.LazyFrame | None:
    """Scan the prices per accelerator of the last release; they are read once, if at all."""
    prices, types = (
        published_table(store, previous, table) for table in (gate.PRICES, "instance_types")
    )
    if prices is None or types is None:
        return None
    peers = gate.per_accelerator(prices, types)

    @cache
    def read() -> pl.DataFrame:
        return peers.collect()

    return pl.defer(read, schema=peers.collect_schema())


def _without_held(
    store: Store, source: ProviderSource, judgement: gate.Judgement, now: datetime
) -> ProviderSource:
    """Rewrite the files with held rows: these rows get the values that were published before."""
    files = {file.key: file for file in source.files}
    rewritten: set[str] = set()
    held_in = f"{HELD}/{now:%Y%m%dT%H%M%S.%fZ}"  # older releases of this run have other folders
    regions = judgement.held["region"].drop_nulls().unique().sort()
    for table, replacement in judgement.replacements.items():
        table_files = [file for file in source.files if file.table == table]
        is_split = table_files and layout.table_file(table, source.provider) not in files
        for region in regions if is_split else [None]:
            key = layout.table_file(table, source.provider, region)
            rows = frames.empty(TABLES[table])
            if key in files:
                rows = scan(store, [replace(source, files=(files[key],))])[table].collect()
            before = replacement.before
            before = before.filter(region=region) if region else before
            published = replace(replacement, before=before).publish(rows)
            if key in files or published.height:
                files[key] = parquet.write(
                    store,
                    f"{source.directory}/{held_in}",
                    table,
                    published,
                    provider=source.provider,
                    region=region,
                )
                rewritten.add(key)
    return replace(
        source, files=tuple(files.values()), rewritten=tuple(sorted(rewritten)), held_in=held_in
    )


def _without_sample(judged: _Judged, accepted: Collection[str]) -> _Judged:
    """Leave out a provider of the sample from a release with live ones, unless it is accepted.

    Readers do not expect last year's figures beside today's. Sample tables that are already
    published are left out too.
    """
    source = judged.source
    if source is None or source.origin == "live":
        return judged
    let_through = {f"{source.provider}:{BESIDE_LIVE}", f"{source.provider}:*"} & set(accepted)
    detail = "these figures are the sample's, those of other providers live: use another root"
    result = CheckResult(
        *(source.provider, BESIDE_LIVE, "accepted" if let_through else "stop", detail),
        accept=f"{source.provider}:{BESIDE_LIVE}",
    )
    results = (*judged.results, result)
    kept = replace(source, results=(*source.results, result)) if let_through else None
    return replace(judged, source=kept, results=results)


def from_staging(staged: Staged) -> ProviderSource:
    """Return the staged tables of a run."""
    return ProviderSource(
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


def from_release(
    store: Store, provider: str, previous: ReleaseManifest | None
) -> ProviderSource | None:
    """Return a provider's staged tables of a release; None if the release lacks the provider."""
    if previous is None or provider not in previous.providers:
        return None
    entry = previous.providers[provider]
    parts = parts_of(store, previous)[provider]
    gone = {parts.path(file) for file in parts.files} - set(store.keys(parts.directory))
    if gone:
        parts = _restored(store, provider, previous, parts)
    return ProviderSource(
        provider=provider,
        status="kept",
        kept_from=entry.kept_from or previous.version,
        origin=entry.origin,
        run_id=entry.run_id,
        report=entry.report,
        inputs=entry.inputs,
        directory=parts.directory,
        files=parts.files,
        rewritten=parts.rewritten,
        held_in=parts.held_in,
    )


def parts_of(store: Store, release: ReleaseManifest) -> Mapping[str, Parts]:
    """Read the locations of the staged tables of a release, by provider."""
    key = layout.release_parts(release.version)
    data = store.get(key, manifests.MAX_BYTES)
    remedy = "Copy it from where the release is complete."
    if data is None:
        raise HwpricesError(f"{store.uri(key)} is missing", remedy)
    return manifests.decode(data, dict[str, Parts], file=store.uri(key), remedy=remedy)


def _restored(store: Store, provider: str, release: ReleaseManifest, parts: Parts) -> Parts:
    """Write the staged tables of a release again, whose files have been deleted."""
    directory = layout.staged_directory(provider, release.providers[provider].run_id)
    files = []
    for file in parts.files:
        rows = published_rows(store, release, provider, file)
        written = parquet.write_file(store, directory, file.key, file.table, rows)
        files.append(replace(written, provider=provider))
    return Parts(directory, tuple(files))


def published_rows(
    store: Store, release: ReleaseManifest, provider: str, file: TableFile
) -> pl.DataFrame:
    """Read from a release the rows of one of its staged files, sorted by key."""
    table = published_table(store, release, file.table)
    assert table is not None, file.table
    region = layout.region_of(file.key)
    rows = table.filter(provider=provider, **({"region": region} if region else {}))
    if file.table == "stock":  # intervals that ended were not staged
        rows = rows.filter(pl.col("ended_at").is_null()).with_columns(
            first_seen=pl.lit(None, dtype=Timestamp)
        )
    if file.table == "market_quantiles":  # nor were earlier days
        rows = rows.filter(pl.col("day") == pl.col("day").max())
    return validate.sort_by_key(rows.collect(), TABLES[file.table])


def _candidate(store: Store, source: ProviderSource) -> gate.Candidate:
    files = [file for file in _by_region(source.files) if file.table == gate.PRICES]
    prices = [_price_file(store, source, file) for file in files]
    return gate.Candidate(
        source.provider,
        source.origin,
        scan(store, [source]),
        prices,
        observed_at=max((file.seen[1] for file in prices if file.seen), default=None),
        pages=frozenset(page for unit in source.inputs.units for page in unit.pages),
    )


def _price_file(store: Store, source: ProviderSource, file: TableFile) -> gate.PriceFile:
    rows = scan(store, [replace(source, files=(file,))])[gate.PRICES]
    first, last = (
        datetime.fromisoformat(time) if time else None
        for time in (file.observed_from, file.observed_to)
    )
    seen = (first, last) if first and last else None
    region = layout.region_of(file.key) or ""
    return gate.PriceFile(rows, file.rows, region, file.content_sha256, seen, file.fixed)


def _completed(candidate: gate.Candidate, footprint: pl.DataFrame) -> gate.Candidate:
    """Fill in the regions as a release does, so that the gate compares the sheet's figures too."""
    regions = join.regions(candidate.table("regions"), footprint)
    return replace(candidate, tables={**candidate.tables, "regions": regions.lazy()})


def scan(store: Store, sources: Collection[ProviderSource]) -> dict[str, pl.LazyFrame]:
    """Scan the vendor tables of these sources, by name. Tables that no source has are absent.

    Columns that were added to a table after its files were written are null.
    """
    uris: dict[str, list[str]] = {}
    for source in sources:
        for file in _by_region(source.files):
            uri = store.uri(source.path(file))
            uris.setdefault(file.table, []).append(uri)
    return {table: _scan(store, files, table) for table, files in uris.items()}


def published_table(
    store: Store, release: ReleaseManifest | None, name: str
) -> pl.LazyFrame | None:
    """Scan a table of a release; None if the release lacks it."""
    table = release.tables.get(name) if release else None
    if release is None or table is None:
        return None
    uris = [store.uri(layout.release_file(release.version, file.key)) for file in table.files]
    return _scan(store, uris, name)


def carried(store: Store, release: ReleaseManifest | None) -> dict[str, pl.LazyFrame]:
    """Scan the tables of a release that the next one continues."""
    tables = {name: published_table(store, release, name) for name in join.CARRIED}
    return {name: rows for name, rows in tables.items() if rows is not None}


def _scan(store: Store, uris: Sequence[str], table: str) -> pl.LazyFrame:
    return pl.scan_parquet(
        list(uris),
        hive_partitioning=False,
        schema=TABLES[table].dtypes,
        missing_columns="insert",
        **scan_options(store.root),
    )


def outdated(store: Store, sources: Collection[ProviderSource]) -> frozenset[tuple[str, str]]:
    """Find the tables that were written before a column was added to them.

    Returns pairs of provider and table. Checks one file of each table, and none of a source that
    was read by this version of the program.
    """
    pairs: set[tuple[str, str]] = set()
    for source in sources:
        if source.inputs.reading.code == inputs.reading(source.provider).code:
            continue
        for file in {file.table: file for file in source.files}.values():
            uri = store.uri(source.path(file))
            rows = pl.scan_parquet(uri, hive_partitioning=False, **scan_options(store.root))
            if set(TABLES[file.table].dtypes) - set(rows.collect_schema()):
                pairs.add((source.provider, file.table))
    return frozenset(pairs)


def _by_region(files: Collection[TableFile]) -> list[TableFile]:
    """Sort files as their rows are sorted, so that those of two releases have the same order."""
    return sorted(files, key=lambda file: file.key.removesuffix(".parquet"))


BESIDE_LIVE = "sample_beside_live"
"""Check of ``_without_sample``, the only check that compares providers."""

EXAMPLE = "Write provider:part, such as aws:p5.48xlarge or aws:us-east-1, or aws:* for all of it."


def check_names(accepted: Collection[str]) -> None:
    """Check that each name has the form provider:part.

    Raises:
        HwpricesError: a name has no part, or there is no such provider.
    """
    for name in accepted:
        provider, _, part = name.partition(":")
        if not part:
            raise HwpricesError(f"--accept {name}: it names no part", EXAMPLE)
        if provider not in providers.names():
            names = ", ".join(providers.names())
            raise HwpricesError(
                f"--accept {name}: no provider {provider!r}", f"There are: {names}."
            )
