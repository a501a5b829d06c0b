"""Write the files and the manifest of a release, and describe it for other programs.

datapackage.json is a Frictionless Data Package: https://datapackage.org/standard/data-package/.
croissant.json is the same description in the format of machine-learning datasets:
https://docs.mlcommons.org/croissant/docs/croissant-spec.html (version 1.0).
"""

import hashlib
import io
import json
import tarfile
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any, cast

import polars as pl

from hwprices import providers
from hwprices.errors import HwpricesError
from hwprices.publish import arrange, choose
from hwprices.publish.choose import ProviderSource
from hwprices.publish.history import Record, backfill
from hwprices.publish.join import CARRIED, Joined
from hwprices.publish.notes import as_markdown
from hwprices.release.manifest import (
    HISTORY_TABLES,
    DerivedFile,
    Parts,
    ProviderEntry,
    ReleaseManifest,
    TableEntry,
    TableFile,
    UnmatchedAccelerator,
)
from hwprices.release.notes import ReleaseNotes
from hwprices.release.versions import version_time
from hwprices.rows import frames, parquet
from hwprices.schemas import SCHEMA_VERSION
from hwprices.schemas.columns import Column
from hwprices.schemas.tables import TABLES
from hwprices.storage import layout, manifests
from hwprices.storage.store import Store

_PACKAGE_TYPES: dict[type[pl.DataType], str] = {
    pl.String: "string",
    pl.Float64: "number",
    pl.Decimal: "number",
    pl.Int32: "integer",
    pl.Int64: "integer",
    pl.Boolean: "boolean",
    pl.Date: "date",
    pl.Datetime: "datetime",
    pl.List: "array",
    pl.Struct: "object",
}


LICENSE = {
    "name": "CC-BY-4.0",
    "path": "https://creativecommons.org/licenses/by/4.0/",
    "title": "Creative Commons Attribution 4.0; docs/data-license.md says what it covers",
}


def datapackage(manifest: ReleaseManifest) -> dict[str, Any]:
    """Make the package descriptor of a release."""
    return {
        "$schema": "https://datapackage.org/profiles/2.0/datapackage.json",
        "name": "hwprices",
        "title": "What AI and cloud hardware costs",
        "version": manifest.version,
        "created": manifest.created_at,
        "licenses": [LICENSE],
        "contributors": [{"title": "The hwprices authors", "roles": ["author"]}],
        "resources": [_package_resource(name, entry) for name, entry in manifest.tables.items()],
    }


def _package_resource(name: str, entry: TableEntry) -> dict[str, Any]:
    model = TABLES[name]
    paths = [file.key for file in entry.files]
    return {
        "name": name,
        "description": model.description,
        "path": paths[0] if len(paths) == 1 else paths,
        "format": "parquet",
        "mediatype": "application/vnd.apache.parquet",
        "rows": entry.rows,
        "bytes": entry.bytes,
        "schema": {
            "fields": [_package_field(column, about) for column, about in model.columns.items()],
            "primaryKey": model.key,
        },
    }


def _package_field(name: str, column: Column) -> dict[str, Any]:
    field = {"name": name, "type": _PACKAGE_TYPES[column.dtype.base_type()], **column.notes}
    return field if column.nullable else {**field, "constraints": {"required": True}}


_CONTEXT_FILE = Path(__file__).with_name("croissant_context.json")
CONTEXT: dict[str, Any] = json.loads(_CONTEXT_FILE.read_bytes())
"""The context that the specification prescribes for version 1.0."""

CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
PARQUET = "application/x-parquet"

DATA_TYPES = {
    "string": "sc:Text",
    "number": "sc:Float",
    "integer": "sc:Integer",
    "boolean": "sc:Boolean",
    "date": "sc:Date",
    "datetime": "sc:DateTime",
    "array": "sc:Text",
    "object": "sc:Text",
}
"""Data Package type: Croissant type. Croissant has neither decimals nor structures."""


def croissant(
    package: Mapping[str, Any], tables: Mapping[str, TableEntry], version: str
) -> dict[str, Any]:
    """Make the Croissant description of a release."""
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": package["name"],
        "description": f"{package['title']}. Release {version}.",
        "version": semantic_version(version),
        "datePublished": package["created"],
        "license": [entry["path"] for entry in package["licenses"]],
        "url": "https://pypi.org/project/hwprices/",
        "creator": {"@type": "Organization", "name": "The hwprices authors"},
        "citeAs": f"hwprices, release {version}",
        "isLiveDataset": True,
        "distribution": [
            item for name, entry in tables.items() for item in _distribution(name, entry)
        ],
        "recordSet": [
            _record_set(resource, tables[resource["name"]])
            for resource in package["resources"]
            if resource["name"] in tables
        ],
    }


def semantic_version(version: str) -> str:
    """Convert a release's version, a time, to the three numbers that Croissant recommends."""
    date, _, time = version.rstrip("Z").partition("T")
    return f"{int(date[:4])}.{int(date[4:])}.{int(time.partition('.')[0] or 0)}"


def _distribution(table: str, entry: TableEntry) -> Iterable[dict[str, Any]]:
    """List the files of a table; several files are also listed as a set."""
    for file in entry.files:
        yield {
            "@type": "cr:FileObject",
            "@id": file.key,
            "name": file.key,
            "contentUrl": file.key,
            "contentSize": f"{file.bytes} B",
            "encodingFormat": PARQUET,
            "sha256": file.sha256,
        }
    if len(entry.files) > 1:
        yield {
            "@type": "cr:FileSet",
            "@id": _set_id(table),
            "name": _set_id(table),
            "containedIn": [{"@id": file.key} for file in entry.files],
            "encodingFormat": PARQUET,
            "includes": "*.parquet",
        }


def _set_id(table: str) -> str:
    return f"{table}-files"


def _record_set(resource: Mapping[str, Any], entry: TableEntry) -> dict[str, Any]:
    table = resource["name"]
    return {
        "@type": "cr:RecordSet",
        "@id": table,
        "name": table,
        "description": resource["description"],
        "key": [{"@id": f"{table}/{column}"} for column in resource["schema"]["primaryKey"]],
        "field": [_field(table, field, entry.files) for field in resource["schema"]["fields"]],
    }


def _field(table: str, field: Mapping[str, Any], files: tuple[TableFile, ...]) -> dict[str, Any]:
    name = f"{table}/{field['name']}"
    several = len(files) > 1
    source = (
        {"fileSet": {"@id": _set_id(table)}} if several else {"fileObject": {"@id": files[0].key}}
    )
    return {
        "@type": "cr:Field",
        "@id": name,
        "name": name,
        "description": field["description"],
        "dataType": DATA_TYPES[field["type"]],
        **({"repeated": True} if field["type"] == "array" else {}),
        "source": {**source, "extract": {"column": field["name"]}},
    }


@dataclass(frozen=True)
class Content:
    """The contents of a release: the vendors' tables, and the tables that the join made from them.

    ``outdated``: see ``choose.outdated``.
    """

    sources: tuple[ProviderSource, ...]
    joined: Joined
    outdated: frozenset[tuple[str, str]] = frozenset()

    @property
    def vendor_files(self) -> list[tuple[ProviderSource, TableFile]]:
        """The files of the vendors' tables, with their source."""
        return [(source, file) for source in self.sources for file in source.files]

    @cached_property
    def joined_digests(self) -> dict[str, str]:
        """The ``content_sha256`` of each joined table."""
        return {name: parquet.content_digest(rows) for name, rows in self.joined.tables.items()}


def content_digest(store: Store, content: Content) -> str:
    """Hash the rows of all files and the backfilled intervals.

    If the digest is that of the current release, there is nothing new to publish.
    """
    digests = {
        file.key: file.content_sha256
        if (source.provider, file.table) not in content.outdated
        # missing columns are null
        else parquet.content_digest(
            choose.scan(store, [replace(source, files=(file,))])[file.table].collect()
        )
        for source, file in content.vendor_files
    }
    digests |= content.joined_digests | backfill.digests(store)
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()


def claim_version(store: Store, created_at: datetime, after: str | None) -> str:
    """Claim a version, the release's time, so that no other publisher uses it.

    The claim is a placeholder for datapackage.json with a unique id. A second that is claimed by
    another publisher, or was by a killed one, is skipped. The version is always later than
    ``after``, the current release, even if the clock was set back: otherwise intervals of the
    history would end before they begin.
    """
    claim = manifests.encode({"claim": uuid.uuid4().hex})
    if after is not None:
        created_at = max(created_at, version_time(after) + timedelta(seconds=1))
    while True:
        version = created_at.strftime("%Y%m%dT%H%M%SZ")
        if store.put(layout.release_datapackage(version), claim, create=True):
            return version
        created_at += timedelta(seconds=1)


@dataclass(frozen=True)
class Head:
    """The identity of a release. ``digest``: see ``content_digest``."""

    version: str
    digest: str
    previous: str | None
    created_at: datetime


def write(
    store: Store, content: Content, past: Record, notes: ReleaseNotes, head: Head
) -> ReleaseManifest:
    """Write a release below its directory, the manifest last. It is not yet current.

    Raises:
        HwpricesError: the release already exists, or the root cannot be written.
    """
    version = head.version
    directory = layout.release_directory(version)
    vendors = list(_write_vendors(store, content, directory))
    files = [
        *(arranged.file for arranged in vendors),
        *_write_joined(store, content, directory),
        *past.write(store, directory),
    ]
    _write_parts(store, content, version)
    types = pl.concat([arranged.types for arranged in vendors])
    named = past.names.join(types, on=arrange.TYPE, how="left", maintain_order="left")
    small = write_small(store, version, named, files)
    manifest = ReleaseManifest(
        schema_version=SCHEMA_VERSION,
        version=version,
        created_at=head.created_at.isoformat(),
        code_version=installed_version("hwprices"),
        previous=head.previous,
        content_sha256=head.digest,
        tables=_table_entries(files),
        providers={
            source.provider: _provider_entry(source, content.joined.tables)
            for source in content.sources
        },
        unmatched_accelerators=tuple(
            UnmatchedAccelerator(**accelerator) for accelerator in content.joined.unmatched
        ),
        derived=(small,),
        notes=_write_notes(store, notes),
    )
    package = datapackage(manifest)
    described = croissant(package, manifest.tables, version)
    store.put(layout.release_datapackage(version), manifests.encode(package))
    store.put(layout.release_croissant(version), manifests.encode(described))
    if not store.put(layout.release_manifest(version), manifests.encode(manifest), create=True):
        raise HwpricesError(
            f"release {version} already exists",
            "Another publisher was faster: nothing was changed.",
        )
    return manifest


def _write_joined(store: Store, content: Content, directory: str) -> Iterator[TableFile]:
    for table, rows in content.joined.tables.items():
        key = layout.table_file(table)
        file = parquet.write_arranged(store, directory, key, table, rows)
        yield replace(file, content_sha256=content.joined_digests[table])


def _write_notes(store: Store, notes: ReleaseNotes) -> dict[layout.NotesFile, str]:
    digests: dict[layout.NotesFile, str] = {}
    texts = (as_markdown(notes).encode(), manifests.encode(notes))
    for name, text in zip(layout.NOTES, texts, strict=True):
        store.put(layout.release_file(notes.version, name), text)
        digests[name] = hashlib.sha256(text).hexdigest()
    return digests


def _write_vendors(store: Store, content: Content, directory: str) -> Iterator[arrange.Arranged]:
    """Arrange the vendors' tables, except for those that the join completes."""
    tables = choose.scan(store, content.sources)
    devices = _devices(tables["instance_types"]) if "instance_types" in tables else _NO_DEVICES
    names = TABLES.keys() - content.joined.tables.keys() - set(HISTORY_TABLES)
    for table in sorted(names):
        rows = tables.get(table, frames.empty(TABLES[table]).lazy())
        yield from arrange.arrange(store, directory, table, rows, devices)


_NO_DEVICES = pl.DataFrame(schema={"instance_type": pl.String, "accelerator_id": pl.String})


def _devices(types: pl.LazyFrame) -> pl.DataFrame:
    """List the machine types with an accelerator; those whose accelerator has no id come first."""
    devices = pl.col("accelerators")
    first = devices.list.first().struct.field("accelerator_id").fill_null("")
    return (
        types.filter(devices.list.len() > 0).select("instance_type", accelerator_id=first).collect()
    )


def _write_parts(store: Store, content: Content, version: str) -> None:
    """Write the locations of the staged tables, for the next release."""
    parts = {
        source.provider: asdict(
            Parts(source.directory, source.files, source.rewritten, source.held_in)
        )
        for source in content.sources
    }
    store.put(layout.release_parts(version), manifests.encode(parts))


SMALL_TABLES = (
    *("accelerators", "billing_terms", "component_prices", "cpu_families", "cpus"),
    *("instance_types", "local_hardware", "regions"),
)
"""Tables that most questions need. ``small.tar`` has copies of them."""

SMALL_BYTES = 1 << 19
"""Length of the largest file that is copied: larger ones would slow down all questions."""


def write_small(
    store: Store, version: str, names: pl.DataFrame, files: Collection[TableFile]
) -> DerivedFile:
    """Write the small tables into one file, so that a remote reader needs one request.

    ``names``: which machine types have or had prices in which regions.
    """
    buffer = io.BytesIO()
    names.write_parquet(buffer, compression="zstd")
    members = {layout.NAMES: buffer.getvalue()}
    for file in files:
        if file.table in SMALL_TABLES and file.bytes <= SMALL_BYTES:
            members[file.key] = cast(bytes, store.get(layout.release_file(version, file.key)))
    archived = io.BytesIO()
    with tarfile.open(fileobj=archived, mode="w") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    data = archived.getvalue()
    store.put(layout.release_file(version, layout.SMALL), data)
    return DerivedFile(layout.SMALL, len(data), hashlib.sha256(data).hexdigest())


def _table_entries(files: Collection[TableFile]) -> dict[str, TableEntry]:
    entries = {}
    for table in TABLES:
        of_table = sorted((f for f in files if f.table == table), key=lambda file: file.key)
        if of_table:
            rows, size = sum(f.rows for f in of_table), sum(f.bytes for f in of_table)
            entries[table] = TableEntry(rows, size, tuple(of_table))
    return entries


def is_price_sheet(provider: str) -> bool:
    """Check whether a person read the provider's prices from a web page."""
    return provider in providers.names() and providers.get(provider).about.is_price_sheet


def provider_title(provider: str) -> str:
    """Return a provider's display name; empty if the program no longer has the provider."""
    return providers.get(provider).about.title if provider in providers.names() else ""


def _provider_entry(source: ProviderSource, joined: Mapping[str, pl.DataFrame]) -> ProviderEntry:
    rows: dict[str, int] = {}
    for file in sorted(source.files, key=lambda file: file.table):
        rows[file.table] = rows.get(file.table, 0) + file.rows
    for table in ("held", *CARRIED):
        if count := joined[table].filter(provider=source.provider).height:
            rows[table] = count
    observed_from, observed_to = source.observed
    return ProviderEntry(
        title=provider_title(source.provider),
        status=source.status,
        kept_from=source.kept_from,
        origin=source.origin,
        run_id=source.run_id,
        observed_from=observed_from,
        observed_to=observed_to,
        rows=rows,
        report=source.report,
        gate=source.results,
        inputs=source.inputs,
        price_sheet=is_price_sheet(source.provider),
        newest_price=max(
            (f.observed_to for f in source.files if f.table == "prices" and f.observed_to),
            default=None,
        ),
        content_sha256=source.content_sha256,
    )
