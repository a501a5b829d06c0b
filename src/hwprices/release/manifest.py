"""What the manifest of a release and the pointer to it hold: written by publish, read by read.

Times are ISO 8601 strings in UTC, as they are in the JSON.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass, field
from typing import Literal

from hwprices.errors import HwpricesError
from hwprices.storage import layout, manifests
from hwprices.storage.manifests import Origin

MAX_SHOWN = 80  # characters of a wrong value in an error

DIGEST_CHARACTERS = 16
"""64 bits in hex: enough to tell the pages of one collection apart."""

HISTORY_TABLES = ("price_history", "changes")
"""Tables that are made from this release and those before it, and from no landed page."""


@dataclass(frozen=True)
class TableFile:
    """One Parquet file: its key below a release or staging directory, and what it holds.

    ``sha256`` is of the file, ``content_sha256`` of its rows without when and where they were seen.
    Of HISTORY_TABLES both are of the file: when something was seen is what their rows are about.
    ``provider`` is None in a file that holds the rows of all providers.
    """

    table: str
    key: str
    rows: int
    bytes: int
    sha256: str
    content_sha256: str
    observed_from: str | None = None
    observed_to: str | None = None
    provider: str | None = None


@dataclass(frozen=True)
class TableEntry:
    """One table of a release."""

    rows: int
    bytes: int
    files: tuple[TableFile, ...]


@dataclass(frozen=True)
class DerivedFile:
    """A file made of the tables, for other programs: the DuckDB file. ``key``: below a release."""

    key: str
    bytes: int
    sha256: str


Outcome = Literal["pass", "warn", "stop", "accepted"]


@dataclass(frozen=True)
class CheckResult:
    """How one check of the gate came out for one provider. ``detail`` is a sentence for people.

    ``value`` is the figure the check looked at and ``limit`` what it may be; both are None for
    checks that count no share.
    """

    provider: str
    check: str
    outcome: Outcome
    detail: str
    value: float | None = None
    limit: float | None = None


@dataclass(frozen=True)
class Trouble:
    """A unit that was not fetched: its name, its status (skipped, failed, carried), and why.

    ``requested`` is False if the run did not ask for it (it was narrowed to some regions or kinds):
    then this is what an earlier run left. ``carried_from`` is the run whose pages it has instead.
    ``holds_prices``: its pages are prices, and not machines, regions or zones.
    """

    unit: str
    status: str
    reason: str
    requested: bool = True
    carried_from: str = ""
    holds_prices: bool = True


@dataclass(frozen=True)
class CollectionReport:
    """What a provider's collection came to.

    ``units``: number of units by status, those that the run did not ask for as ``not_requested``.
    ``quarantined``: refused rows by reason. ``accounted``:
    vendor rows that the dataset leaves out on purpose, by what they are.
    """

    units: Mapping[str, int] = field(default_factory=dict)
    troubles: tuple[Trouble, ...] = ()
    quarantined: Mapping[str, int] = field(default_factory=dict)
    accounted: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """What turned a provider's pages into rows, each part as a digest.

    ``code``: the program, and the libraries that it reads pages with. ``sheets``: the rule sheets
    that it uses. ``corrections``: the provider's entries of corrections.yaml.
    """

    code: str
    sheets: str
    corrections: str

    @property
    def digest(self) -> str:
        """One digest of all of it. While it is the same, the same pages give the same rows."""
        return hashlib.sha256("|".join(astuple(self)).encode()).hexdigest()[:DIGEST_CHARACTERS]


@dataclass(frozen=True)
class UnitInput:
    """A unit of a collection: its kind/region, how it went, and the pages that were read of it.

    ``pages`` are the first characters of their SHA-256. ``regions``: the only ones that it was
    asked for, where a run was narrowed; empty for all.
    """

    unit: str
    status: str
    pages: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()

    @property
    def collected(self) -> bool:
        """Whether its pages, new or carried over, are in the tables."""
        return self.status in ("ok", "carried") and bool(self.pages)


@dataclass(frozen=True)
class Inputs:
    """What a provider's tables were made of.

    ``pages`` is a digest of all pages and of how they were requested.
    """

    reading: Reading
    pages: str
    units: tuple[UnitInput, ...]


PartitionStatus = Literal["fresh", "kept"]
"""fresh: the tables staged last. kept: those of the release before, because the gate stopped the
new ones or none were staged."""


@dataclass(frozen=True, kw_only=True)
class ProviderEntry:
    """One provider's part in a release. ``kept_from`` is the version that a kept part was fresh in.

    ``title`` is its name for people. ``rows``: number of rows by table, before the join.
    ``price_sheet``: a person read its prices from a web page, the first of them at observed_from.
    """

    title: str = ""
    status: PartitionStatus
    kept_from: str | None = None
    origin: Origin
    run_id: str
    observed_from: str | None
    observed_to: str | None
    rows: Mapping[str, int]
    report: CollectionReport
    gate: tuple[CheckResult, ...]
    inputs: Inputs
    price_sheet: bool = False


@dataclass(frozen=True)
class UnmatchedAccelerator:
    """An accelerator that no spec sheet describes, and the instance types that have it."""

    provider: str
    vendor_name: str | None
    accelerator_id: str | None
    instance_types: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ReleaseManifest:
    """What a release holds. Two releases with the same rows have the same ``content_sha256``.

    ``notes``: the release notes, file name to SHA-256.
    """

    schema_version: str
    version: str
    created_at: str
    code_version: str = ""
    previous: str | None = None
    content_sha256: str
    tables: Mapping[str, TableEntry]
    providers: Mapping[str, ProviderEntry]
    unmatched_accelerators: tuple[UnmatchedAccelerator, ...] = ()
    derived: tuple[DerivedFile, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)

    def files_of(self, provider: str) -> tuple[TableFile, ...]:
        """List the files that hold one provider's rows alone, without those of its history."""
        tables = (entry for name, entry in self.tables.items() if name not in HISTORY_TABLES)
        files = (file for table in tables for file in table.files)
        return tuple(file for file in files if file.provider == provider)


@dataclass(frozen=True)
class SchemaVersion:
    """The one field to read before the rest: a newer manifest may have another shape."""

    schema_version: str | int


@dataclass(frozen=True)
class LatestRelease:
    """``latest.json``: the current release. Only ``version`` is promised to be there.

    ``manifest`` is the key of its manifest.
    """

    version: str
    created_at: str = ""
    manifest: str = ""
    schema_version: str = ""


def check_release(manifest: ReleaseManifest, version: str, *, file: str, remedy: str) -> None:
    """Check the values of a manifest that was read, before anything is done with them.

    Args:
        manifest: with fields of the right types already.
        version: the release that it was read for.
        file: what to call the file in the error.
        remedy: what to do about a damaged file.

    Raises:
        HwpricesError: a table has another name than tables have, a file does not lie below the
            release, a number is negative or absurd, a time is none, or the manifest is that of
            another release.
    """
    for field_name, fault in _faults(manifest, version):
        raise HwpricesError(f"{file} is damaged ({field_name}: {fault})", remedy)


def check_latest(latest: LatestRelease, *, file: str, remedy: str) -> None:
    """Check the pointer to the release in force. Arguments as those of ``check_release``.

    Raises:
        HwpricesError: it does not name a release, or the manifest of another one.
    """
    if not layout.is_version(latest.version):
        fault = f"version: {_shown(latest.version)} is no version"
        raise HwpricesError(f"{file} is damaged ({fault})", remedy)
    if latest.manifest not in ("", layout.release_manifest(latest.version)):
        fault = f"manifest: {_shown(latest.manifest)} is not that of release {latest.version}"
        raise HwpricesError(f"{file} is damaged ({fault})", remedy)


def _faults(manifest: ReleaseManifest, version: str) -> Iterator[tuple[str, str]]:
    """Give each field with a value that it may not have, and what is wrong with it."""
    if manifest.version != version:
        yield "version", f"{_shown(manifest.version)} in the directory of {version}"
    if manifest.previous is not None and not layout.is_version(manifest.previous):
        yield "previous", f"{_shown(manifest.previous)} is no version"
    yield from _faults_of_extras(manifest)
    yield from _faults_of_times(manifest)
    keys: set[str] = set()
    for name, entry in manifest.tables.items():
        if not layout.is_table_name(name):
            yield "tables", f"{_shown(name)} is no name of a table"
        if not entry.files:
            yield f"tables.{name}.files", "there is none"
        yield from _no_counts(f"tables.{name}", entry)
        for index, file in enumerate(entry.files):
            field_name = f"tables.{name}.files[{index}]"
            if file.table != name:
                yield f"{field_name}.table", f"{_shown(file.table)} is another table"
            if not layout.is_file_of(name, file.key):
                yield f"{field_name}.key", f"{_shown(file.key)} is no file of the table"
            if file.key in keys:
                yield f"{field_name}.key", f"{_shown(file.key)} is listed twice"
            keys.add(file.key)
            yield from _no_counts(field_name, file)


def _faults_of_extras(manifest: ReleaseManifest) -> Iterator[tuple[str, str]]:
    """Give each file that is neither a table's, nor notes, nor made for another program."""
    for index, derived in enumerate(manifest.derived):
        if derived.key != layout.DATABASE:
            yield f"derived[{index}].key", f"{_shown(derived.key)} is no file of a release"
    for name in manifest.notes:
        if name not in layout.NOTES:
            yield "notes", f"{_shown(name)} is no file of notes"


def _faults_of_times(manifest: ReleaseManifest) -> Iterator[tuple[str, str]]:
    """Give each time that is none."""
    times: dict[str, str | None] = {"created_at": manifest.created_at}
    for name, entry in manifest.providers.items():
        times[f"providers.{name[:MAX_SHOWN]}.observed_from"] = entry.observed_from
        times[f"providers.{name[:MAX_SHOWN]}.observed_to"] = entry.observed_to
    for field_name, time in times.items():
        if time is not None and not manifests.is_time(time):
            yield field_name, f"{_shown(time)} is no time"


def _no_counts(field_name: str, entry: TableEntry | TableFile) -> Iterator[tuple[str, str]]:
    for name, count in (("rows", entry.rows), ("bytes", entry.bytes)):
        if count < 0:
            yield f"{field_name}.{name}", f"{count} is negative"
        elif count > manifests.MAX_COUNT:
            yield f"{field_name}.{name}", "it is too large"


def _shown(text: str) -> str:
    """Return a text of the manifest for an error: in quotes, short, control characters escaped."""
    return ascii(text[:MAX_SHOWN]) + "…" * (len(text) > MAX_SHOWN)
