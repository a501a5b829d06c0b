"""What a release's manifest, the pointer to it and status.json hold, written by publish.

Times are ISO 8601 strings in UTC, as they are in the JSON.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta

from hwprices.storage import layout
from hwprices.storage.manifests import Origin

MAX_SHOWN = 80  # characters of a wrong value in an error

Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"""A number of rows, bytes or units: what a column of a table can hold."""

TableName = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]{0,62}\Z")]
"""A small letter, then small letters, digits and _; as long as PostgreSQL's names may be."""


def require(holds: bool, field_name: str, value: str, problem: str) -> None:
    """Refuse a value of a manifest, as msgspec does: ``manifests.decode`` adds the file.

    Raises:
        ValueError: it does not hold; the value is quoted, short, its control characters escaped.
    """
    if not holds:
        shown = ascii(value[:MAX_SHOWN]) + "…" * (len(value) > MAX_SHOWN)
        raise ValueError(f"{field_name}: {shown} {problem}")


def require_time(field_name: str, text: str | None) -> None:
    """Refuse what is neither a time in ISO 8601, nor a day, nor None.

    Raises:
        ValueError: it is not.
    """
    if text is not None:
        try:
            datetime.fromisoformat(text)
        except ValueError:
            require(False, field_name, text, "is not a time")


DIGEST_CHARACTERS = 16  # 64 bits in hex: enough to tell the pages of one collection apart

HISTORY_TABLES = ("price_history", "changes")
"""Tables that are made from this release and those before it, and from no landed page."""


@dataclass(frozen=True)
class TableFile:
    """One Parquet file: its key below a release or staging directory, and what it holds.

    ``sha256`` is of the file, ``content_sha256`` of its rows without when and where they were seen.
    Of what a release arranges anew both are of the file. ``provider`` is None in a file that holds
    the rows of all providers. ``types``: the first and the last machine type of its rows, in the
    order of their characters; None in a table without any. ``fixed``: of staged prices, checksums
    of the rows that do not change by the hour, without when and where they were seen, one for each
    group of machine types; another version of polars may make others.
    """

    table: TableName
    key: str
    rows: Count
    bytes: Count
    sha256: str
    content_sha256: str
    observed_from: str | None = None
    observed_to: str | None = None
    provider: str | None = None
    types: tuple[str, str] | None = None
    fixed: str | None = None

    def __post_init__(self) -> None:
        """Refuse a key that is not one of the table's files."""
        is_file = layout.is_file_of(self.table, self.key)
        require(is_file, "key", self.key, "is not a file of the table")


@dataclass(frozen=True)
class TableEntry:
    """One table of a release."""

    rows: Count
    bytes: Count
    files: Annotated[tuple[TableFile, ...], Meta(min_length=1)]


@dataclass(frozen=True)
class DerivedFile:
    """A file made of the tables: the small ones in one. ``key``: below a release."""

    key: Literal["small.tar"]
    bytes: Count
    sha256: str


Outcome = Literal["pass", "warn", "stop", "held", "accepted", "released"]


@dataclass(frozen=True)
class CheckResult:
    """How one check of the gate came out for one provider. ``detail`` is a sentence.

    ``value`` is the number of rows; None where no row was held. ``accept`` is what --accept has to
    name to publish them.
    """

    provider: str
    check: str
    outcome: Outcome
    detail: str
    value: float | None = None
    accept: str = ""


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
    requested, where a run was narrowed; empty for all.
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

    ``title`` is its display name. ``rows``: number of rows by table, before the join.
    ``price_sheet``: a person read its prices from a web page, the first of them at observed_from.
    ``newest_price``: when the last of its prices was seen. ``content_sha256``: of all its tables.
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
    newest_price: str | None = None
    content_sha256: str = ""

    def __post_init__(self) -> None:
        """Refuse times that are none."""
        require_time("newest_price", self.newest_price)
        require_time("observed_from", self.observed_from)
        require_time("observed_to", self.observed_to)


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
    tables: Mapping[TableName, TableEntry]
    providers: Mapping[str, ProviderEntry]
    unmatched_accelerators: tuple[UnmatchedAccelerator, ...] = ()
    derived: tuple[DerivedFile, ...] = ()
    notes: Mapping[layout.NotesFile, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what would be read as another release, or a file as two."""
        require_time("created_at", self.created_at)
        is_version = self.previous is None or layout.is_version(self.previous)
        require(is_version, "previous", self.previous or "", "is not a version")
        keys: set[str] = set()
        for name, entry in self.tables.items():
            for file in entry.files:
                require(file.table == name, f"tables.{name}", file.table, "is another table")
                require(file.key not in keys, f"tables.{name}", file.key, "is listed twice")
                keys.add(file.key)


@dataclass(frozen=True)
class Parts:
    """Where one provider's tables of a release lie as they were staged: by region.

    The gate and the next release read them there; ``releases/<version>/parts.json`` has them by
    provider. Files named in ``rewritten``, of which rows are held, lie in the folder ``held_in``.
    """

    directory: str
    files: tuple[TableFile, ...]
    rewritten: tuple[str, ...] = ()
    held_in: str = ""

    @property
    def content_sha256(self) -> str:
        """One digest of all rows, without when and where they were seen."""
        digests = sorted(f"{file.key} {file.content_sha256}" for file in self.files)
        return hashlib.sha256("\n".join(digests).encode()).hexdigest()

    def path(self, file: TableFile) -> str:
        """Return the key of a file, below the root."""
        folder = (
            f"{self.directory}/{self.held_in}" if file.key in self.rewritten else self.directory
        )
        return f"{folder}/{file.key}"


@dataclass(frozen=True)
class SchemaVersion:
    """The one field to read before the rest: a newer manifest may have another shape."""

    schema_version: Annotated[str, Meta(pattern=r"^[0-9]{1,9}\Z")]


@dataclass(frozen=True)
class LatestRelease:
    """``latest.json``: the current release. Only ``version`` is promised to be there.

    ``manifest`` is the key of its manifest.
    """

    version: str
    created_at: str = ""
    manifest: str = ""
    schema_version: str = ""

    def __post_init__(self) -> None:
        """Refuse a pointer that does not name a release, or the manifest of another one."""
        require(layout.is_version(self.version), "version", self.version, "is not a version")
        is_own = self.manifest in ("", layout.release_manifest(self.version))
        require(is_own, "manifest", self.manifest, f"is not that of release {self.version}")


ProviderOutcome = Literal["published", "unchanged", "partial", "held_back", "skipped", "failed"]
"""How the last try ended.

published: its tables are in a release that was made of them. unchanged: they are the same as those
published before. partial: they are published, but some units failed or have older pages. held_back:
the gate stopped them. skipped: its credentials are not configured. failed: there was nothing to
stage.
"""


@dataclass(frozen=True)
class UnitCounts:
    """The units of a provider's last try. ``carried`` failed and have older pages instead.

    ``skipped`` have nothing to fetch; ``not_requested`` were left out by a narrowed run.
    """

    fetched: Count = 0
    failed: Count = 0
    carried: Count = 0
    skipped: Count = 0
    not_requested: Count = 0


@dataclass(frozen=True, kw_only=True)
class ProviderStatus:
    """The status of one provider.

    Attributes:
        title: its display name.
        outcome: how the last try ended.
        reason: why it failed, is partial, skipped or held back, or which rows are held, in one
            line; otherwise empty.
        checks: the gate's checks that stopped it.
        last_try: when the last collection began.
        last_success: when the last collection began that fetched all its units and came through the
            gate; None if none has.
        complete_since: the age of the tables: when the earliest of the units that they are made of
            was last fetched. Older than ``last_success`` after a run of some kinds or regions.
        sheet_seen_on: of the current price sheet, the oldest day when a person read the vendor's
            page; None for the others.
        origin: whether the last try was of the sample or live.
        run_id: the run whose tables were put to the gate last.
        release: the current version that has its tables; None if none has.
        units: the units of the last try.
        troubles: those that failed, were carried over or skipped, with the reason.
        new_words: how many words of the vendor are not known yet, in the current release.
        held: how many rows of the current release keep an older value, or are left out.
        prices_fetched: False if the last try requested prices and got none.
    """

    title: str = ""
    outcome: ProviderOutcome
    reason: str = ""
    checks: tuple[str, ...] = ()
    last_try: str | None = None
    last_success: str | None = None
    complete_since: str | None = None
    sheet_seen_on: str | None = None
    origin: Origin | None = None
    run_id: str = ""
    release: str | None = None
    units: UnitCounts = field(default_factory=UnitCounts)
    troubles: tuple[Trouble, ...] = ()
    prices_fetched: bool = True
    new_words: Count = 0
    held: Count = 0

    def __post_init__(self) -> None:
        """Refuse times that are none."""
        for name in ("last_try", "last_success", "complete_since", "sheet_seen_on"):
            require_time(name, getattr(self, name))


@dataclass(frozen=True, kw_only=True)
class Status:
    """``status.json``: every provider that was ever collected or published here."""

    updated_at: str
    providers: Mapping[str, ProviderStatus] = field(default_factory=dict)
