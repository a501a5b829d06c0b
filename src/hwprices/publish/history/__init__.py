"""Record what changed from release to release, and when each price was valid.

``record`` makes the tables price_history and changes of a new release; ``rebuild`` makes them again
from the kept releases. docs/history.md has the rules and an example.

Each rule is in one place:

- ``intervals``: one row for each price and value; intervals of a price never overlap.
- ``snapshot``: a difference made by our reading is not a change of the vendor. A price that was not
  collected is not removed, and not new when it is collected again.
"""

import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from hwprices import providers, stage
from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing
from hwprices.publish import arrange, choose
from hwprices.publish.arrange import in_parallel, packed
from hwprices.publish.choose import ProviderSource
from hwprices.publish.history import backfill, changes, intervals
from hwprices.publish.history.changes import Outcome, added_up, outcome_of
from hwprices.publish.history.snapshot import VALUE, Moment, Snapshot, take_snapshot
from hwprices.release.manifest import ReleaseManifest, TableFile
from hwprices.release.release import NAMES
from hwprices.release.versions import read_manifest, versions
from hwprices.rows import frames, parquet
from hwprices.schemas.tables import (
    Changes,
    InstanceTypes,
    PriceHistory,
    Prices,
    SoldAccelerators,
    Table,
)
from hwprices.stage import validate
from hwprices.storage import layout
from hwprices.storage.scratch import scratch_directory
from hwprices.storage.store import Store, scan_options
from hwprices.units import Timestamp

HISTORY, CHANGES = PriceHistory.name, Changes.name
ACCELERATORS = SoldAccelerators.name

COMPARED = (Prices.name, InstanceTypes.name)
"""Vendors' tables whose differences are listed."""


SCRATCH = "intervals"  # Folder of the files with intervals, below the temporary folder

BATCH_ROWS = 250_000
"""Intervals and prices of a provider that are processed together; a million of each took 3.4 GB. A
provider with more is processed some machine types at a time."""

READ_TOGETHER = 2
"""Batches whose current prices are read together. Reading those of one takes nearly as long: it
decompresses the same row groups, each with many machine types of a region."""


@dataclass(frozen=True)
class Record:
    """The history of a release: files with the intervals of each provider, and the changes.

    A provider has a file for each BATCH_ROWS rows, by machine type. The files are in a temporary
    ``folder`` until ``write`` copies them.

    ``names`` has the distinct NAMES of the intervals, and ``priced``: whether there is a price now.
    ``problems``: why a provider's older pages could not be read again.
    """

    files: Sequence[TableFile]
    changes: pl.DataFrame
    folder: "tempfile.TemporaryDirectory[str]"
    names: pl.DataFrame
    problems: Mapping[str, str] = field(default_factory=dict)

    @property
    def intervals(self) -> dict[str, pl.LazyFrame]:
        """The intervals of each provider."""
        paths: dict[str, list[Path]] = {}
        for file in self.files:
            path = Path(self.folder.name, SCRATCH, file.key)
            paths.setdefault(str(file.provider), []).append(path)
        return {name: _scan(files) for name, files in sorted(paths.items())}

    def write(self, store: Store, directory: str) -> list[TableFile]:
        """Write both tables below a directory."""
        for file in self.files:
            source = Store(self.folder.name)
            store.copy(source, f"{SCRATCH}/{file.key}", f"{directory}/{file.key}")
        files = list(self.files)
        if not files:
            key = layout.table_file(HISTORY)
            empty = frames.empty(PriceHistory)
            files.append(parquet.write_arranged(store, directory, key, HISTORY, empty))
        key = layout.table_file(CHANGES)
        changed = parquet.write_arranged(store, directory, key, CHANGES, self.changes)
        return [*files, changed]


def _names(intervals: pl.DataFrame) -> pl.DataFrame:
    priced = (pl.col("state") == "current").any()
    return intervals.group_by(NAMES).agg(priced=priced).sort(NAMES)


def _scan(files: list[Path] | list[str], root: str = "") -> pl.LazyFrame:
    return pl.scan_parquet(files, hive_partitioning=False, **scan_options(root))


@dataclass(frozen=True)
class ReRead:
    """The older pages, read again with the newer reading.

    ``prices``: price_id and VALUE. ``figures``: instance_type, field and value. ``problem``: why
    the pages could not be read again; the frames are empty then.
    """

    prices: pl.DataFrame | None = None
    figures: pl.DataFrame | None = None
    problem: str = ""


def record(
    store: Store,
    previous: ReleaseManifest | None,
    sources: Sequence[ProviderSource],
    accelerators: pl.DataFrame,
    version: str,
) -> Record:
    """Make the history of a release that is about to be written.

    Raises:
        HwpricesError: a table fails a check of its model: a mistake in this package.
    """
    moment = Moment(version, previous.version if previous else None)
    after = {source.provider: _of_source(store, source, version) for source in sources}
    runs = {source.provider: source for source in sources}
    before = _last_snapshots(store, previous)
    again = {
        name: read_again(store, name, previous.providers[name].run_id)
        for name, snapshot in before.items()
        if previous
        and name in after
        and _must_read_again(store, snapshot, after[name], runs[name], previous)
    }
    past = history_of(store, previous) if previous else {}
    sheets = (_accelerators(store, previous), accelerators)
    empty = frames.empty(PriceHistory).lazy()
    backfilled = {
        name: backfill.intervals_of(store, name, past.get(name, empty))
        for name in {*past, *backfill.providers_of(store)}
    }
    was_checked = previous is not None
    return advance(
        past, before, after, moment, again, sheets, backfilled=backfilled, was_checked=was_checked
    )


def advance(
    past: Mapping[str, pl.LazyFrame],
    before: Mapping[str, Snapshot],
    after: Mapping[str, Snapshot],
    moment: Moment,
    again: Mapping[str, ReRead],
    sheets: tuple[pl.DataFrame | None, pl.DataFrame],
    *,
    backfilled: Mapping[str, pl.LazyFrame] | None = None,
    was_checked: bool = False,
) -> Record:
    """Carry the intervals of all providers to the next release, and list the changes.

    ``backfilled`` are the intervals to fit in before the observed ones, by default those of
    ``past``. ``sheets`` are the accelerators of the previous release (None without one) and of this
    one. With ``was_checked`` the intervals of ``past`` have been checked, and only those of prices
    that moved are checked.
    """
    folder = scratch_directory()
    files: list[TableFile] = []
    listed = [frames.empty(Changes)]
    names = [_names(frames.empty(PriceHistory))]
    empty = frames.empty(PriceHistory).lazy()
    older = past if backfilled is None else backfilled
    for name in sorted({*past, *after, *older}):
        read = again.get(name, ReRead())
        previous, current = before.get(name), after.get(name)
        rows = past.get(name, empty).filter(~backfill.IS_BACKFILLED)
        fill = older.get(name, empty).filter(backfill.IS_BACKFILLED)
        outcomes: list[Outcome] = []
        unchecked = frames.empty(PriceHistory)
        carry = _Carry(
            name,
            rows=rows,
            backfilled=fill,
            previous=previous,
            current=current,
            moment=moment,
            re_read=read.prices,
            store=Store(folder.name),
            was_checked=was_checked,
        )
        for piece in carry.pieces():
            files.append(replace(piece.file, provider=name))
            names.append(piece.names)
            if unchecked.height + piece.unchecked.height > BATCH_ROWS:
                _checked(unchecked, PriceHistory)
                unchecked = unchecked.clear()
            unchecked = pl.concat([unchecked, piece.unchecked])
            outcomes.append(piece.outcome)
        _checked(unchecked, PriceHistory)
        placeholders = [s.placeholders for s in (previous, current) if s is not None]
        listed += changes.of_provider(name, added_up(outcomes), placeholders)
        listed.append(changes.of_instance_types(previous, current, read.figures))
    if sheets[0] is not None:
        listed.append(changes.of_accelerators(sheets[0], sheets[1]))
    problems = {name: read.problem for name, read in again.items() if read.problem}
    changed = _checked(pl.concat(listed), Changes)
    return Record(files, changed, folder, pl.concat(names).sort(NAMES), problems)


@dataclass(frozen=True)
class _Piece:
    """The new intervals of some machine types; ``unchecked`` are still to be checked."""

    file: TableFile
    names: pl.DataFrame
    outcome: Outcome
    unchecked: pl.DataFrame


@dataclass(frozen=True)
class _Carry:
    """Carries one provider's intervals to the next release, as ``advance`` does for all."""

    provider: str
    rows: pl.LazyFrame
    backfilled: pl.LazyFrame
    previous: Snapshot | None
    current: Snapshot | None
    moment: Moment
    re_read: pl.DataFrame | None
    store: Store
    was_checked: bool

    def pieces(self) -> Iterator[_Piece]:
        """Carry all intervals together or, if there are many, some machine types at a time."""
        past = intervals.past_of(self.rows)
        current = [self.current.prices.select(arrange.TYPE)] if self.current else []
        older = self.backfilled.select(arrange.TYPE)
        types = pl.concat([self.rows.select(arrange.TYPE), older, *current])
        counted = types.group_by(arrange.TYPE).len().collect(engine="streaming")
        counts: dict[str, int] = dict(counted.iter_rows()) or {"": 0}  # one piece without rows
        units = self._first_observed()
        yield from in_parallel(
            lambda batch: self._piece(*batch, past, units),
            self._batches(list(packed(counts, BATCH_ROWS))),
            rows=lambda batch: sum(counts[name] for name in batch[1]),
            most=4 * BATCH_ROWS,
        )

    def _batches(
        self, batches: list[list[str]]
    ) -> Iterator[tuple[int, list[str], Snapshot | None]]:
        """Number the batches of machine types, and add the snapshot with their current prices."""
        for number, types in enumerate(batches):
            current = self.current
            if current is not None:
                if number % READ_TOGETHER == 0:
                    last = batches[number : number + READ_TOGETHER][-1][-1]
                    prices = current.prices.filter(_between(types[0], last)).collect()
                    frames.sort_in_place(prices, [arrange.TYPE])
                end = int(prices[arrange.TYPE].search_sorted(types[-1], side="right"))
                current = replace(current, prices=prices[:end].lazy())
                prices = prices[end:]
            yield number, types, current

    def _first_observed(self) -> pl.DataFrame | None:
        """Return when each unit was first observed; None if nothing is backfilled."""
        if self.backfilled.head(1).collect().is_empty():
            return None
        observed = [self.rows.select("collection_unit", "valid_from")]
        if self.current is not None:
            units = self.current.prices_with_origin().select("collection_unit")
            observed.append(units.with_columns(valid_from=pl.lit(self.moment.at, dtype=Timestamp)))
        return backfill.first_observed(pl.concat(observed))

    def _piece(
        self,
        number: int,
        types: list[str],
        current: Snapshot | None,
        past: intervals.Past,
        units: pl.DataFrame | None,
    ) -> _Piece:
        """Carry the intervals of these machine types, which are consecutive by name."""
        is_in = _between(types[0], types[-1])
        before, older = self.rows.filter(is_in).collect(), self.backfilled.filter(is_in)
        frames.sort_in_place(before, intervals.ORDER)
        step = intervals.step(before, self.previous, current, self.moment, self.re_read, past)
        if not self.was_checked:
            _checked(step.history, PriceHistory)
        unchecked = step.affected if self.was_checked else step.history.clear()
        history, outcome = step.history, outcome_of(step)
        del before, step  # half of the memory
        fitted = backfill.fit_in(older.collect(), history, units)
        if fitted.height:
            if current is not None:
                fitted = intervals.with_accelerators(fitted, current)
            history = pl.concat([history, fitted])
            frames.sort_in_place(history, intervals.ORDER)
            _checked(history, PriceHistory)
        key = layout.table_file(HISTORY, self.provider, f"{number:03}")
        file = parquet.write_arranged(self.store, SCRATCH, key, HISTORY, history)
        return _Piece(file, _names(history), outcome, unchecked)


def _between(first: str, last: str) -> pl.Expr:
    return pl.col(arrange.TYPE).is_between(pl.lit(first), pl.lit(last))


def _checked(rows: pl.DataFrame, model: Table) -> pl.DataFrame:
    return rows if rows.is_empty() else validate.check(rows, model)


def history_of(store: Store, release: ReleaseManifest) -> dict[str, pl.LazyFrame]:
    """Scan the intervals of a release by provider."""
    uris: dict[str, list[str]] = {}
    for file in release.tables[HISTORY].files:
        uri = store.uri(layout.release_file(release.version, file.key))
        uris.setdefault(str(file.provider), []).append(uri)
    return {name: _scan(files, store.root) for name, files in uris.items()}


def from_release(
    store: Store,
    previous: ReleaseManifest | None,
    release: ReleaseManifest,
    past: Mapping[str, pl.LazyFrame],
) -> Record:
    """Make the history of a kept release again.

    Pages that were read again when it was published are not: their values are in its changes.
    """
    moment = Moment(release.version, previous.version if previous else None)
    sources = [choose.from_release(store, name, release) for name in release.providers]
    after = {
        source.provider: _of_source(store, source, release.version) for source in sources if source
    }
    listed = _table(store, release, CHANGES)
    again = {name: from_changes(listed, name) for name in after}
    sheets = (_accelerators(store, previous), _table(store, release, ACCELERATORS))
    before = _last_snapshots(store, previous)
    backfilled = history_of(store, release)
    return advance(past, before, after, moment, again, sheets, backfilled=backfilled)


def _of_source(
    store: Store, source: ProviderSource, version: str, *, prices: bool = True
) -> Snapshot:
    tables = choose.scan(store, [source])
    return take_snapshot(source.provider, version, source.inputs, tables, prices=prices)


def _last_snapshots(store: Store, previous: ReleaseManifest | None) -> dict[str, Snapshot]:
    if previous is None:
        return {}
    sources = (choose.from_release(store, name, previous) for name in previous.providers)
    return {
        source.provider: _of_source(store, source, previous.version, prices=False)
        for source in sources
        if source is not None
    }


def _must_read_again(
    store: Store,
    before: Snapshot,
    after: Snapshot,
    source: ProviderSource,
    previous: ReleaseManifest,
) -> bool:
    """Check whether both pages and reading differ, and the rows do too."""
    if _digests(source.files) == _digests(choose.parts_of(store, previous)[source.provider].files):
        return False
    return before.reading != after.reading and before.inputs.pages != after.inputs.pages


def _digests(files: Collection[TableFile]) -> dict[str, str]:
    return {file.key: file.content_sha256 for file in files if file.table in COMPARED}


def _accelerators(store: Store, release: ReleaseManifest | None) -> pl.DataFrame | None:
    return _table(store, release, ACCELERATORS) if release else None


def _table(store: Store, release: ReleaseManifest, table: str) -> pl.DataFrame:
    directory = layout.release_directory(release.version)
    keys: Collection[str] = [file.key for file in release.tables[table].files]
    parts = [
        pl.read_parquet(store.get(f"{directory}/{key}") or b"", hive_partitioning=False)
        for key in keys
    ]
    return pl.concat(parts)


@dataclass(frozen=True)
class Rebuilt:
    """A release and its history, made again."""

    release: ReleaseManifest
    record: Record


def rebuild(store: Store) -> list[Rebuilt]:
    """Make the history of each kept release again, oldest first.

    A release whose predecessor was deleted is not listed: its own history is the starting point for
    the next one.
    """
    rebuilt: list[Rebuilt] = []
    past: dict[str, pl.LazyFrame] = {}
    previous: ReleaseManifest | None = None
    for version in versions(store):
        release = read_manifest(store, version)
        if release.previous == (previous.version if previous else None):
            made = from_release(store, previous, release, past)
            rebuilt.append(Rebuilt(release, made))
            past = made.intervals
        else:
            past = history_of(store, release)
        previous = release
    return rebuilt


def differences(store: Store, rebuilt: Rebuilt) -> list[str]:
    """List the history files of a release whose bytes differ from the published ones."""
    published = {
        file.key: file.sha256
        for name in (HISTORY, CHANGES)
        for file in rebuilt.release.tables[name].files
    }
    with scratch_directory() as folder:
        directory = layout.release_directory(rebuilt.release.version)
        made = {file.key: file.sha256 for file in rebuilt.record.write(Store(folder), directory)}
    keys = sorted({*published, *made})
    return [key for key in keys if published.get(key) != made.get(key)]


def read_again(store: Store, provider: str, run_id: str) -> ReRead:
    """Stage the landed pages of an older run again, in a temporary folder.

    It is not an error if the pages are gone or the program refuses them: see ``ReRead.problem``.
    """
    landing = Landing(layout.landing_root(store.root))
    try:
        run = landing.run(provider, run_id)
        with scratch_directory() as folder:
            scratch = Store(folder)
            staged = stage.stage(providers.get(provider), run, landing, scratch, keep=1)
            prices = _staged_table(scratch, staged, Prices.name)
            types = _staged_table(scratch, staged, InstanceTypes.name)
    except HwpricesError as error:
        return ReRead(problem=error.message)
    return ReRead(prices.select("price_id", *VALUE), changes.figures(types))


def _staged_table(store: Store, staged: stage.Staged, table: str) -> pl.DataFrame:
    files = [store.uri(f"{staged.directory}/{file.key}") for file in staged.of(table)]
    if not files:
        return frames.empty({"prices": Prices, "instance_types": InstanceTypes}[table])
    return pl.scan_parquet(files, hive_partitioning=False).collect()


def from_changes(changes: pl.DataFrame, provider: str) -> ReRead:
    """Return what was read again for a release, from its changes.

    This way a history can be made again after the pages are gone or the program has changed.
    """
    rows = changes.filter(provider=provider, evidence="re_read")
    return ReRead(
        _middle(
            rows.filter(subject="price"), ["price_id"], VALUE, ["effective_hourly", "price_reason"]
        ),
        _middle(rows.filter(subject="instance_type"), ["instance_type", "field"], ["value"], []),
    )


def _middle(
    rows: pl.DataFrame, key: list[str], values: "tuple[str, ...] | list[str]", one_of: list[str]
) -> pl.DataFrame | None:
    """Find the middle value: the new one of our step, otherwise the old one of the vendor's step.

    Rows without a value in any of the columns ``one_of`` did not exist and are left out.
    """
    if rows.is_empty():
        return None
    is_ours = pl.col("change") == "restated"
    middle = rows.with_columns(
        pl.when(is_ours).then(f"new_{name}").otherwise(f"old_{name}").alias(name) for name in values
    )
    first = middle.sort(~is_ours, maintain_order=True).unique(
        key, keep="first", maintain_order=True
    )
    exists = [pl.col(name).is_not_null() for name in one_of] or [pl.lit(True)]
    return first.filter(pl.any_horizontal(exists)).select(*key, *values)
