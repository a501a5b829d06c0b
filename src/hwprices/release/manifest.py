"""The contents of a release's manifest, of the pointer to it, and of status.json.

Times are ISO 8601 strings in UTC, as in the JSON.
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
"""A number of rows, bytes or units that fits a column of a table."""

TableName = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]{0,62}\Z")]
"""A lower-case letter, then lower-case letters, digits and _; at most PostgreSQL's length."""


def require(condition: bool, field_name: str, value: str, problem: str) -> None:
    """Refuse a value of a manifest as msgspec does; ``manifests.decode`` adds the file.

    Raises:
        ValueError: the condition is false; quotes the value, cut and escaped.
    """
    if not condition:
        shown = ascii(value[:MAX_SHOWN]) + "…" * (len(value) > MAX_SHOWN)
        raise ValueError(f"{field_name}: {shown} {problem}")


def require_time(field_name: str, text: str | None) -> None:
    """Refuse a text that is not a time or day in ISO 8601. None is accepted.

    Raises:
        ValueError: it is not a time.
    """
    if text is not None:
        try:
            datetime.fromisoformat(text)
        except ValueError:
            require(False, field_name, text, "is not a time")


DIGEST_CHARACTERS = 16  # 64 bits in hex: enough to distinguish the pages of one collection

HISTORY_TABLES = ("price_history", "changes")
"""Tables that are made from this and earlier releases instead of landed pages."""


@dataclass(frozen=True)
class TableFile:
    """One Parquet file.

    Attributes:
        table: the table of its rows.
        key: its key below a release or staging directory.
        rows: their number.
        bytes: its length.
        sha256: of the file.
        content_sha256: of the rows without when and where they were seen. In a file that a release
            arranges by machine type it equals ``sha256``.
        observed_from: the first time at which a row was seen.
        observed_to: the last time at which a row was seen.
        provider: the provider of all rows; None in a file with several providers.
        types: the first and last machine type by name; None in a table without machine types.
        fixed: of staged prices: checksums of the rows that do not change by the hour, one for each
            group of machine types. Another version of polars may compute others.
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
    """The file with the small tables. ``key`` is below a release."""

    key: Literal["small.tar"]
    bytes: Count
    sha256: str


Outcome = Literal["pass", "warn", "stop", "held", "accepted", "released"]


@dataclass(frozen=True)
class CheckResult:
    """The result of one check of the gate for one provider. ``detail`` is a sentence.

    ``value`` is the number of rows held; None if no row was held. ``accept`` is the argument of
    --accept that publishes them.
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

    ``requested`` is False if the run was narrowed to other regions or kinds: then this is the
    result of an earlier run. ``carried_from`` is the run whose pages it has instead.
    ``holds_prices``: its pages are prices, not machines, regions or zones.
    """

    unit: str
    status: str
    reason: str
    requested: bool = True
    carried_from: str = ""
    holds_prices: bool = True


@dataclass(frozen=True)
class CollectionReport:
    """The result of a provider's collection.

    ``units``: number of units by status; those that the run did not request are ``not_requested``.
    ``quarantined``: refused rows by reason. ``accounted``: vendor rows left out on purpose, by
    kind.
    """

    units: Mapping[str, int] = field(default_factory=dict)
    troubles: tuple[Trouble, ...] = ()
    quarantined: Mapping[str, int] = field(default_factory=dict)
    accounted: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """Digests of everything that turns a provider's pages into rows.

    ``code``: the program and the libraries that parse pages. ``sheets``: the rule sheets.
    ``corrections``: the provider's entries of corrections.yaml.
    """

    code: str
    sheets: str
    corrections: str

    @property
    def digest(self) -> str:
        """One digest of all three. While it is unchanged, the same pages give the same rows."""
        return hashlib.sha256("|".join(astuple(self)).encode()).hexdigest()[:DIGEST_CHARACTERS]


@dataclass(frozen=True)
class UnitInput:
    """A unit of a collection: its kind/region, its status and its pages.

    ``pages`` are the first characters of their SHA-256. ``regions`` are those to which a narrowed
    run limited the unit; empty for all.
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
    """The inputs of a provider's tables.

    ``pages`` is a digest of all pages and of how they were requested.
    """

    reading: Reading
    pages: str
    units: tuple[UnitInput, ...]


PartitionStatus = Literal["fresh", "kept"]
"""fresh: the tables staged last. kept: those of the previous release, because the gate stopped the
new ones or none were staged."""


@dataclass(frozen=True, kw_only=True)
class ProviderEntry:
    """One provider in a release.

    ``title`` is its display name. ``kept_from``: the release in which kept tables were fresh.
    ``rows``: number of rows by table, before the join. ``price_sheet``: a person read its prices
    from a web page, the first of them at observed_from. ``newest_price``: when the last of its
    prices was seen. ``content_sha256``: of all its tables.
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
        """Refuse invalid times."""
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
    """The contents of a release. Two releases with the same rows have the same ``content_sha256``.

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
        """Refuse invalid times and versions, and files that are listed twice or wrongly."""
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
    """The location of one provider's staged tables, which are split by region.

    The gate and the next release read them there. ``releases/<version>/parts.json`` has the Parts
    of all providers. ``rewritten`` lists the files with held rows, which are in the folder
    ``held_in``.
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
    """The field that is read first: a newer manifest may have other fields."""

    schema_version: Annotated[str, Meta(pattern=r"^[0-9]{1,9}\Z")]


@dataclass(frozen=True)
class LatestRelease:
    """``latest.json``: the current release. Only ``version`` is guaranteed to be present.

    ``manifest`` is the key of its manifest.
    """

    version: str
    created_at: str = ""
    manifest: str = ""
    schema_version: str = ""

    def __post_init__(self) -> None:
        """Refuse a pointer that names no release, or the manifest of another release."""
        require(layout.is_version(self.version), "version", self.version, "is not a version")
        is_same = self.manifest in ("", layout.release_manifest(self.version))
        require(is_same, "manifest", self.manifest, f"is not that of release {self.version}")


ProviderOutcome = Literal["published", "unchanged", "partial", "held_back", "skipped", "failed"]
"""The outcome of a provider's last collection.

published: its tables are in a new release. unchanged: they are the same as those published before.
partial: they are published, but some units failed or have older pages. held_back: the gate stopped
them. skipped: its credentials are not configured. failed: nothing could be staged.
"""


@dataclass(frozen=True)
class UnitCounts:
    """Numbers of units in a provider's last collection.

    ``carried`` units failed and have older pages instead; ``skipped`` units have nothing to fetch;
    a narrowed run left out the ``not_requested`` ones.
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
        outcome: the outcome of the last collection.
        reason: why it failed, was partial, skipped or held back, or which rows are held, in one
            line; otherwise empty.
        checks: the gate's checks that stopped it.
        last_try: when the last collection began.
        last_success: when the last collection began that fetched all its units and passed the
            gate; None if there is none.
        complete_since: the age of the tables: when the oldest of their units was fetched. It is
            older than ``last_success`` after a run of some kinds or regions.
        sheet_seen_on: the oldest day on which a person read the vendor's page for the current
            price sheet; None for other providers.
        origin: whether the last collection was of the sample or live.
        run_id: the run whose tables the gate checked last.
        release: the current release if it has the provider's tables, otherwise None.
        units: the units of the last collection.
        troubles: the units that failed, were carried over or skipped, with the reason.
        new_words: how many words of the vendor in the current release are not known yet.
        held: how many rows of the current release keep an older value, or are left out.
        prices_fetched: False if the last collection requested prices and got none.
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
        """Refuse invalid times."""
        for name in ("last_try", "last_success", "complete_since", "sheet_seen_on"):
            require_time(name, getattr(self, name))


@dataclass(frozen=True, kw_only=True)
class Status:
    """``status.json``: all providers that were ever collected or published here."""

    updated_at: str
    providers: Mapping[str, ProviderStatus] = field(default_factory=dict)
