"""What the manifest of a release and the pointer to it hold: written by publish, read by read.

Times are ISO 8601 strings in UTC, as they are in the JSON. Fields with a default may be missing
from the manifests of older releases.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from hwprices.storage import layout
from hwprices.storage.manifests import Origin


@dataclass(frozen=True)
class TableFile:
    """One Parquet file: its key below a release or staging directory, and what it holds.

    ``sha256`` is of the file, ``content_sha256`` of its rows without when and where they were seen.
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

    def __post_init__(self) -> None:
        """Fill in the provider in manifests written before the field existed: its key says it."""
        if self.provider is None:
            object.__setattr__(self, "provider", layout.table_file_provider(self.key))


@dataclass(frozen=True)
class TableEntry:
    """One table of a release."""

    rows: int
    bytes: int
    files: tuple[TableFile, ...]


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
    """A unit that was not fetched: its name, its status (skipped, failed, carried), and why."""

    unit: str
    status: str
    reason: str


@dataclass(frozen=True)
class CollectionReport:
    """What a provider's collection came to.

    ``units``: number of units by status. ``quarantined``: refused rows by reason. ``accounted``:
    vendor rows that the dataset leaves out on purpose, by what they are.
    """

    units: Mapping[str, int] = field(default_factory=dict)
    troubles: tuple[Trouble, ...] = ()
    quarantined: Mapping[str, int] = field(default_factory=dict)
    accounted: Mapping[str, int] = field(default_factory=dict)


PartitionStatus = Literal["fresh", "kept"]
"""fresh: the tables staged last. kept: those of the release before, because the gate stopped the
new ones or none were staged."""


@dataclass(frozen=True, kw_only=True)
class ProviderEntry:
    """One provider's part in a release. ``kept_from`` is the version that a kept part was fresh in.

    ``rows``: number of rows by table, before the join.
    """

    status: PartitionStatus
    kept_from: str | None = None
    origin: Origin
    run_id: str
    observed_from: str | None
    observed_to: str | None
    rows: Mapping[str, int]
    report: CollectionReport
    gate: tuple[CheckResult, ...]


@dataclass(frozen=True)
class UnmatchedAccelerator:
    """An accelerator that no spec sheet describes, and the instance types that have it."""

    provider: str
    vendor_name: str | None
    accelerator_id: str | None
    instance_types: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ReleaseManifest:
    """What a release holds. Two releases with the same rows have the same ``content_sha256``."""

    schema_version: str
    version: str
    created_at: str
    code_version: str = ""
    previous: str | None = None
    content_sha256: str
    tables: Mapping[str, TableEntry]
    providers: Mapping[str, ProviderEntry]
    unmatched_accelerators: tuple[UnmatchedAccelerator, ...] = ()

    def files_of(self, provider: str) -> tuple[TableFile, ...]:
        """List the files that hold one provider's rows alone."""
        files = (file for table in self.tables.values() for file in table.files)
        return tuple(file for file in files if file.provider == provider)


@dataclass(frozen=True)
class SchemaVersion:
    """The one field to read before the rest: a newer manifest may have another shape."""

    schema_version: str | int


@dataclass(frozen=True)
class LatestRelease:
    """``latest.json``: the release in force. ``manifest`` is the key of its manifest."""

    version: str
    created_at: str = ""
    manifest: str = ""
    schema_version: str = ""
