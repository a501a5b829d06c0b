"""Check the files of a release against its manifest, and its rows against datapackage.json."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NotRequired, TypedDict, TypeVar

import polars as pl

from hwprices.errors import HwpricesError, first_line
from hwprices.release.manifest import ReleaseManifest
from hwprices.release.release import DAMAGED
from hwprices.storage import layout, manifests
from hwprices.storage.store import Store

if TYPE_CHECKING:
    from hwprices.release.release import Release


def faults(store: Store, release: ReleaseManifest) -> list[str]:
    """List each file that is missing, altered, or not in the manifest; none means complete."""
    checksums = dict(_checksums(release))
    described = {
        layout.release_manifest(release.version),
        layout.release_datapackage(release.version),
        layout.release_croissant(release.version),
        layout.release_parts(release.version),
    }
    report = layout.release_report(release.version, "")
    others = [
        f"{store.uri(key)} is not in the manifest"
        for key in store.keys(layout.release_directory(release.version))
        if key not in checksums and key not in described and not key.startswith(report)
    ]
    return [*(fault for key in checksums for fault in _fault(store, key, checksums[key])), *others]


def explain(error: Exception, store: Store, release: ReleaseManifest) -> HwpricesError | None:
    """Describe in one line that a table cannot be read, with the damaged file of a local root.

    ``error`` is what polars raised. Returns None where it is about something else, such as a column
    that no table has while every file of the release matches its checksum.
    """
    from polars.exceptions import ComputeError, PolarsError

    is_missing = isinstance(error, FileNotFoundError) and ".parquet" in str(error)
    is_cut = isinstance(error, ComputeError) and str(error).startswith("parquet: ")
    if not isinstance(error, PolarsError) and not is_missing:
        return None
    fault = damaged_file(store, release)
    if fault is None and not (is_cut or (is_missing and not store.is_local)):
        return None
    return HwpricesError(
        fault or f"cannot read release {release.version} in {store.root}: {first_line(error)}",
        DAMAGED,
    )


def damaged_file(store: Store, release: ReleaseManifest) -> str | None:
    """Describe what is wrong with the first damaged file of a table; None on an object store.

    There all files would be downloaded for it.
    """
    if not store.is_local:
        return None
    files = (file for table in release.tables.values() for file in table.files)
    keys = {layout.release_file(release.version, file.key): file.sha256 for file in files}
    return next((fault for key, sha in keys.items() for fault in _fault(store, key, sha)), None)


def _checksums(release: ReleaseManifest) -> Iterator[tuple[str, str]]:
    for name, sha256 in release.notes.items():
        yield layout.release_file(release.version, name), sha256
    for table in release.tables.values():
        for file in table.files:
            yield layout.release_file(release.version, file.key), file.sha256
    for derived in release.derived:
        yield layout.release_file(release.version, derived.key), derived.sha256


def _fault(store: Store, key: str, sha256: str) -> Iterator[str]:
    uri = store.uri(key)
    if store.leads_out(key):
        yield f"{uri} is a link out of {store.root}"
        return
    if obstacle := store.obstacle(key):
        yield f"{uri} is {obstacle}, not a file"
        return
    digest = store.sha256(key)
    if digest is None:
        yield f"{uri} is missing"
    elif digest != sha256:
        yield f"{uri} was altered: its checksum does not match the manifest"


T = TypeVar("T")


class Constraints(TypedDict):
    """What the values of a column keep to."""

    required: NotRequired[bool]


class Field(TypedDict):
    """A column."""

    name: str
    description: str
    unit: NotRequired[str]
    constraints: NotRequired[Constraints]


class Fields(TypedDict):
    """The columns of a table."""

    fields: list[Field]


class Resource(TypedDict):
    """A table."""

    name: str
    description: str
    schema: Fields


class Package(TypedDict):
    """The documentation of all tables."""

    resources: list[Resource]


def read_package(dataset: "Release", kind: type[T]) -> T | None:
    """Read datapackage.json as ``Package`` or a dictionary; None if the file is missing."""
    key = layout.release_datapackage(dataset.version)
    data = dataset.store.get(key, manifests.MAX_BYTES)
    if data is None:
        return None
    return manifests.decode(data, kind, file=dataset.store.uri(key), remedy="Publish again.")


def missing_value(release: "Release") -> str | None:
    """Describe the first required column that is absent or has nulls, if any."""
    package = read_package(release, Package)
    for resource in package["resources"] if package else ():
        table = resource["name"]
        if table not in release.tables:
            continue
        fields = resource["schema"]["fields"]
        required = [f["name"] for f in fields if f.get("constraints", {}).get("required")]
        rows = release.scan(table)
        for column in sorted(set(required) - set(rows.collect_schema())):
            return f"table {table} has no column {column}"
        for column, nulls in rows.select(pl.col(required).null_count()).collect().to_dict().items():
            if nulls.item():
                return f"{column} is null in {nulls.item():,} rows of table {table}"
    return None
