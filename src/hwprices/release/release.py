"""Open a release, and give its tables as lazy frames."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Protocol

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.release.versions import latest_version, read_manifest
from hwprices.storage import layout, manifests
from hwprices.storage.bucket_options import scan_options
from hwprices.storage.store import Store

DAMAGED = "hwprices verify names the files that are missing or altered."
"""What to do if a table cannot be read."""


class Tables(Protocol):
    """Anything that has the tables of a release: ``Release``, or frames made from one."""

    def scan(self, table: str) -> pl.LazyFrame:
        """Return a table as a lazy frame."""
        ...


class Release:
    """The files of one release. ``Dataset`` adds the answers."""

    def __init__(self, store: Store, version: str) -> None:
        self.store = store
        self.version = self._latest() if version == "latest" else version
        self.release = read_manifest(store, self.version, is_latest=version == "latest")

    def _latest(self) -> str:
        version = latest_version(self.store)
        if version is None:
            raise HwpricesError(
                f"no release in {self.store.root}",
                "Run the refresh flow (make run), or give the root of a dataset.",
            )
        return version

    @cached_property
    def manifest(self) -> Mapping[str, Any]:
        """The manifest as JSON values.

        >>> import hwprices
        >>> hwprices.open("sample").manifest["tables"]["prices"]["rows"] > 1000
        True
        """
        return manifests.to_mapping(self.release)

    @property
    def tables(self) -> list[str]:
        """Names of the tables of this release.

        >>> import hwprices
        >>> hwprices.open("sample").tables[:3]
        ['regions', 'zones', 'instance_types']
        """
        return list(self.release.tables)

    def files(self, table: str) -> list[str]:
        """List the paths or URLs of a table's Parquet files, for any program that reads Parquet.

        >>> import hwprices
        >>> hwprices.open("sample").files("offers")[0].rpartition("/")[2]
        'offers.parquet'

        Raises:
            HwpricesError: the release has no such table, a file is a link out of the root, or a
                directory, pipe or device is in the place of one.
        """
        if table not in self.release.tables:
            raise HwpricesError(
                f"release {self.version} has no table {table!r}",
                f"There are: {', '.join(self.tables)}.",
            )
        keys = [
            layout.release_file(self.version, file.key) for file in self.release.tables[table].files
        ]
        for key in keys:
            self._check_place(key)
        return [self.store.uri(key) for key in keys]

    def _check_place(self, key: str) -> None:
        """Refuse what polars and DuckDB would take for a file, and is none.

        A directory would be read as all the Parquet files in it: without any, as no rows.
        """
        if self.store.leads_out(key):
            raise HwpricesError(
                f"{self.store.uri(key)} is a link out of {self.store.root}",
                "Put the file itself there if you trust it.",
            )
        if obstacle := self.store.obstacle(key):
            raise HwpricesError(f"{self.store.uri(key)} is {obstacle}, not a file", DAMAGED)

    def scan(self, table: str) -> pl.LazyFrame:
        """Return a table as a lazy frame; nothing is read until it is collected.

        Where a file is missing or damaged, collecting it, and each method that does, raises what
        polars does: FileNotFoundError or polars.exceptions.ComputeError. ``verify`` names the file.

        >>> import hwprices
        >>> p5 = hwprices.open("sample").scan("instance_types")
        >>> p5.filter(instance_type="p5.48xlarge").select("vcpus", "memory_gib").collect().rows()
        [(192, 2048.0)]
        """
        return pl.scan_parquet(
            self.files(table), hive_partitioning=False, **scan_options(self.store.root)
        )
