"""The reader: open a release and get lazy frames. Needs polars, duckdb and obstore, nothing of the pipeline."""

import hashlib
import importlib.util
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.storage import layout, manifests
from hwprices.storage.release_manifest import LatestRelease, ReleaseManifest, SchemaVersion
from hwprices.storage.store import Store, storage_options

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SCHEMA_VERSION = "1"


def versions(store: Store) -> list[str]:
    """Versions of the releases that are whole, oldest first."""
    found = (
        layout.release_version(key)
        for key in store.keys(layout.RELEASES)
        if layout.is_release_manifest(key)
    )
    return sorted(version for version in found if version is not None)


def read_manifest(store: Store, version: str) -> ReleaseManifest:
    """The manifest of a release.

    Raises:
        HwpricesError: there is no such release, its manifest is damaged, or it is of a newer schema than this reader knows.
    """
    key = layout.release_manifest(version)
    data = store.get(key)
    if data is None:
        known = versions(store)
        hint = (
            f"There are: {', '.join(known[-5:])}."
            if known
            else "There are none yet: run the refresh flow (make run)."
        )
        raise HwpricesError(f"no release {version} in {store.root}", hint)
    file = f"the manifest {store.uri(key)}"
    remedy = "Open another release, or publish again."
    schema = manifests.decode(data, SchemaVersion, file=file, remedy=remedy).schema_version
    if int(schema) > int(SCHEMA_VERSION):
        raise HwpricesError(
            f"release {version} has schema version {schema}; this reader knows {SCHEMA_VERSION}",
            "Upgrade: pip install -U hwprices.",
        )
    return manifests.decode(data, ReleaseManifest, file=file, remedy=remedy)


def latest_version(store: Store) -> str | None:
    """The version of the release in force, or None.

    Raises:
        HwpricesError: the pointer is damaged.
    """
    data = store.get(layout.LATEST_RELEASE)
    if data is None:
        return None
    file = store.uri(layout.LATEST_RELEASE)
    remedy = "Give a version; hwprices releases lists them."
    return manifests.decode(data, LatestRelease, file=file, remedy=remedy).version


class Dataset:
    """One release. ``scan(table)`` or an attribute (``dataset.prices``) is a lazy frame."""

    def __init__(self, store: Store, version: str) -> None:
        self.store = store
        self.version = self._latest() if version == "latest" else version
        self.release = read_manifest(store, self.version)
        self.manifest: Mapping[str, Any] = manifests.to_mapping(self.release)

    def _latest(self) -> str:
        version = latest_version(self.store)
        if version is None:
            raise HwpricesError(
                f"no release in {self.store.root}",
                "Run the refresh flow (make run), or give the root of a dataset.",
            )
        return version

    @property
    def tables(self) -> list[str]:
        """Names of the tables in this release."""
        return list(self.manifest["tables"])

    def files(self, table: str) -> list[str]:
        """Paths or URLs of a table's Parquet files, for any program that reads Parquet.

        Raises:
            HwpricesError: the release has no such table.
        """
        if table not in self.manifest["tables"]:
            raise HwpricesError(
                f"release {self.version} has no table {table!r}",
                f"There are: {', '.join(self.tables)}.",
            )
        return [
            self.store.uri(layout.release_file(self.version, file["key"]))
            for file in self.manifest["tables"][table]["files"]
        ]

    def scan(self, table: str) -> pl.LazyFrame:
        """A table as a lazy frame; nothing is read until it is collected."""
        return pl.scan_parquet(
            self.files(table),
            hive_partitioning=False,
            storage_options=storage_options(self.store.root),
        )

    def __getattr__(self, name: str) -> pl.LazyFrame:
        if name.startswith("_") or name not in self.manifest["tables"]:
            raise AttributeError(f"{type(self).__name__} has no attribute or table {name!r}")
        return self.scan(name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.tables})

    def __repr__(self) -> str:
        rows = ", ".join(
            f"{name} {entry['rows']:,}" for name, entry in self.manifest["tables"].items()
        )
        return f"<hwprices {self.version}: {rows}>"

    @cached_property
    def duckdb(self) -> "DuckDBPyConnection":
        """A DuckDB connection with a view for each table. On an object store polars does the reading: DuckDB would have to
        download an extension, and to be told the credentials again."""
        import duckdb

        connection = duckdb.connect()
        for table in self.tables:
            if not self.store.is_local:
                self._register(connection, table)
                continue
            quoted = ", ".join("'" + file.replace("'", "''") + "'" for file in self.files(table))
            connection.execute(
                f"create view {table} as select * from read_parquet([{quoted}], hive_partitioning = false)"
            )  # noqa: S608 - names from the manifest
        return connection

    def _register(self, connection: "DuckDBPyConnection", table: str) -> None:
        """A table read by polars. DuckDB takes it through pyarrow, which the reader does without otherwise."""
        if importlib.util.find_spec("pyarrow") is None:
            raise HwpricesError(
                f"SQL over {self.store.root} needs pyarrow",
                "pip install pyarrow, or use scan(table), which does not.",
            )
        connection.register(table, self.scan(table))

    def verify(self) -> list[str]:
        """Every fault against the manifest: files missing, altered, or there though nobody wrote them. Empty when whole."""
        faults = []
        expected = {
            layout.release_manifest(self.version),
            layout.release_datapackage(self.version),
        }
        for entry in self.manifest["tables"].values():
            for file in entry["files"]:
                key = layout.release_file(self.version, file["key"])
                expected.add(key)
                data = self.store.get(key)
                if data is None:
                    faults.append(f"{self.store.uri(key)} is missing")
                elif hashlib.sha256(data).hexdigest() != file["sha256"]:
                    faults.append(
                        f"{self.store.uri(key)} was altered: its checksum does not match the manifest"
                    )
        faults += [
            f"{self.store.uri(key)} is not in the manifest"
            for key in self.store.keys(layout.release_directory(self.version))
            if key not in expected
        ]
        return faults


def open(root: str | Path, version: str = "latest") -> Dataset:
    """Open a release of the dataset at ``root``: a folder, or ``s3://``, ``gs://``, ``az://``.

    Raises:
        HwpricesError: there is no dataset, no such version, or it cannot be read; the line says what to do.
    """
    return Dataset(Store(root), version)


def releases(root: str | Path) -> list[dict[str, Any]]:
    """Every whole release, oldest first: version, created_at, rows by table, providers with origin and status, latest."""
    store = Store(root)
    latest = latest_version(store)
    listed = []
    for version in versions(store):
        manifest = read_manifest(store, version)
        rows = {name: entry.rows for name, entry in manifest.tables.items()}
        providers = {
            name: f"{entry.origin}, {entry.status}" for name, entry in manifest.providers.items()
        }
        listed.append(
            {
                "version": version,
                "created_at": manifest.created_at,
                "latest": version == latest,
                "rows": rows,
                "providers": providers,
            }
        )
    return listed
