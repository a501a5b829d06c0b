"""Open a release, scan its tables, tell kinds of prices apart, and verify its files."""

import io
import tarfile
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NotRequired, Protocol, TypedDict, TypeVar

import polars as pl

from hwprices.errors import HwpricesError, first_line
from hwprices.release.versions import NO_RELEASE, latest_version, read_manifest
from hwprices.storage import layout, manifests, scratch
from hwprices.storage.store import Store, scan_options
from hwprices.units import Timestamp

if TYPE_CHECKING:
    from hwprices.release.manifest import ReleaseManifest, TableFile


IS_PLACEHOLDER = pl.col("flags").list.contains("placeholder").fill_null(False)
"""Condition on a row of prices: the amount is not a real offer."""

REAL = (pl.col("effective_hourly").is_not_null(), ~IS_PLACEHOLDER)
"""Conditions on a row of prices: the amount is known and a real offer."""

PRIVATE_HOSTS = (("runpod", "community"),)
"""Provider and region whose machines are community hosts. RunPod's Community Cloud "connects
individual compute providers to compute consumers": https://docs.runpod.io/faq

The price of a community host is the lowest offer, and whether a machine is free is not known.
Answers show it beside the cheapest price in a data center, never as the cheapest.
"""

MOVING_OPTIONS = ("spot", "low_priority", "capacity_block", "dws_flex_start")
"""Purchase options whose prices change by the hour: rows come and go, and prices jump."""


def is_moving() -> pl.Expr:
    """Check whether the price of a row of prices changes by the hour."""
    return pl.col("purchase_option").is_in(MOVING_OPTIONS) | is_private_host()


def has_accelerators() -> pl.Expr:
    """Check whether a row of offers is of a machine with accelerators, or of an unknown kind.

    Those rows come first in the file: of tens of thousands, in a row group of their own.
    """
    return pl.col("accelerator_kind").ne_missing("none")


def is_private_host() -> pl.Expr:
    """Check whether a row with provider and region is that of a community host."""
    places = [
        (pl.col("provider") == provider) & (pl.col("region") == region)
        for provider, region in PRIVATE_HOSTS
    ]
    return pl.any_horizontal(places)


DAMAGED = "hwprices admin verify names the files that are missing or altered."
"""What to do if a table cannot be read."""


class Tables(Protocol):
    """The tables of a release: ``Release``, or frames made from one."""

    def scan(self, table: str) -> pl.LazyFrame:
        """Return a table as a lazy frame."""
        ...


WHOLE = 2 << 20
"""Bytes of the largest table that is fetched from an object store completely and only once. For
each scan of a larger table polars fetches 0.25 MB to find the footer, and then what it needs."""

WHOLE_FOR_TYPES = 1 << 20  # The same if only the rows of some machine types are needed

CACHED = 16 << 20
"""With a cache, the files with some machine types are fetched completely if they have at most these
bytes in total. A file of 500,000 prices has 13 MB (publish.arrange)."""

MOST_BETWEEN = 24_576
"""If at most so many prices of other types lie between those that are needed, all are read in one
piece. A row group has as many (rows.parquet)."""

NAMES = ["provider", "region", "instance_type", "accelerator_id", "accelerator_count"]
"""Columns of the price history in ``names_of``."""


def scan_types(
    tables: Tables, table: str, types: Collection[str], columns: Sequence[str] = ()
) -> pl.LazyFrame:
    """Scan the rows of some machine types. From a release only files that may have them are read.

    ``tables``: a release, or frames made from one. ``table``: one with the column instance_type.
    ``types``: of any provider. ``columns``: those to read, including instance_type; all by default.
    """
    if isinstance(tables, Release):
        return tables.scan_types(table, frozenset(types), columns)
    rows = tables.scan(table).filter(pl.col("instance_type").is_in(sorted(types)))
    return rows.select(columns) if columns else rows


def names_of(tables: Tables) -> pl.DataFrame:
    """List the machines that have or had prices, by region.

    Columns: provider, region, instance_type, accelerator_id, accelerator_count, ``priced`` (whether
    the release has a price of it), ``file`` (the number of the file of prices with the type),
    ``first_row`` and ``rows`` (where it is in that file) and ``placeholders`` (whether one of its
    prices is flagged as a placeholder). Frames made from a release only have provider, region,
    instance_type and ``priced`` of machines with a price.
    """
    names: pl.DataFrame | None = getattr(tables, "names", None)
    if names is not None:
        return names
    rows = tables.scan("prices").select("provider", "region", "instance_type").unique()
    return rows.with_columns(priced=pl.lit(True)).collect()


def stock_of(tables: Tables) -> pl.LazyFrame:
    """Return the table stock; ``first_seen`` and ``ended_at`` are null if a release lacks them."""
    rows = tables.scan("stock")
    added = {"first_seen", "ended_at"} - set(rows.collect_schema())
    return rows.with_columns(pl.lit(None, dtype=Timestamp).alias(name) for name in sorted(added))


class Release:
    """The files of one release. ``Dataset`` builds the answers on it."""

    def __init__(self, store: Store, version: str) -> None:
        self.store = store
        self._cache = None if store.is_local else scratch.from_environment()
        self._whole: dict[str, pl.DataFrame] = {}
        self._of_types: dict[tuple[str, ...], tuple[frozenset[str], pl.DataFrame]] = {}
        self.version = self._latest() if version == "latest" else version
        self.release = read_manifest(store, self.version, is_latest=version == "latest")

    def _latest(self) -> str:
        version = latest_version(self.store)
        if version is None:
            raise HwpricesError(f"no release in {self.store.root}", NO_RELEASE)
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

    def files(self, table: str, types: Collection[str] | None = None) -> list[str]:
        """List the paths or URLs of a table's Parquet files, for any program that reads Parquet.

        With ``types`` only files that may have rows of these machine types, but at least one.

        >>> import hwprices
        >>> hwprices.open("sample").files("offers")[0].rpartition("/")[2]
        'offers.parquet'

        Raises:
            HwpricesError: the release has no such table, or a file is a link out of the root, a
                directory, a pipe or a device.
        """
        chosen = self._chosen(table, types)
        return [self.store.uri(self._checked_key(file.key)) for file in chosen]

    def _chosen(self, table: str, types: Collection[str] | None) -> Sequence["TableFile"]:
        if table not in self.release.tables:
            raise HwpricesError(
                f"release {self.version} has no table {table!r}",
                f"There are: {', '.join(self.tables)}.",
            )
        files = self.release.tables[table].files
        if types is None or len(files) == 1:
            return files
        known = self.names.filter(pl.col("instance_type").is_in(sorted(types)))
        if table == "prices":
            numbers = known["file"].drop_nulls().unique().sort()
            return [files[number] for number in numbers] or files[:1]
        having = [name for name, entry in self.release.providers.items() if table in entry.rows]
        if having:  # tables of vendors: prices of some clouds have no components
            known = known.filter(pl.col("provider").is_in(having))
        names, providers = known["instance_type"].unique().sort(), set(known["provider"])
        return [f for f in files if _may_have(f, names.to_list(), providers)] or files[:1]

    def _checked_key(self, file: str) -> str:
        """Return the key of a file; refuse links out of the root, directories, pipes and devices.

        polars and DuckDB would read a directory as the Parquet files in it, or as no rows.
        """
        key = layout.release_file(self.version, file)
        if self.store.leads_out(key):
            raise HwpricesError(
                f"{self.store.uri(key)} is a link out of {self.store.root}",
                "Put the file itself there if you trust it.",
            )
        if obstacle := self.store.obstacle(key):
            raise HwpricesError(f"{self.store.uri(key)} is {obstacle}, not a file", DAMAGED)
        return key

    @cached_property
    def memo(self) -> dict[type, Any]:
        """What answers need of this release more than once, by its class."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to copy and pickle: without memo, which is made again when needed."""
        return {name: value for name, value in self.__dict__.items() if name != "memo"}

    @cached_property
    def names(self) -> pl.DataFrame:
        """The machines that have or had prices, by region: see ``names_of``."""
        return pl.read_parquet(self._small[layout.NAMES])

    @cached_property
    def _small(self) -> Mapping[str, bytes]:
        """The files with the names and the small tables, by key, fetched with one request."""
        sha256 = next((file.sha256 for file in self.release.derived), "")
        data = self._get(layout.SMALL, sha256)
        try:
            with tarfile.open(fileobj=io.BytesIO(data)) as archive:
                files = {member.name: archive.extractfile(member) for member in archive}
                return {name: file.read() for name, file in files.items() if file}
        except tarfile.TarError as error:
            file = self.store.uri(layout.release_file(self.version, layout.SMALL))
            raise HwpricesError(f"{file} is damaged: {error}", DAMAGED) from None

    def _get(self, file: str, sha256: str) -> bytes:
        """Read a file from the cache, or from the store into the cache."""
        if self._cache and (data := self._cache.read(sha256)) is not None:
            return data
        key = self._checked_key(file)
        data = self.store.get(key)
        if data is None:
            raise HwpricesError(f"{self.store.uri(key)} is missing", DAMAGED)
        if self._cache:
            self._cache.write(data)
        return data

    def _is_whole(self, table: str, limit: int) -> bool:
        """Check whether a table is read into memory: on an object store, if it is small."""
        entry = self.release.tables.get(table)
        is_one = entry is not None and len(entry.files) == 1 and entry.bytes <= limit
        return not self.store.is_local and (table in self._whole or is_one)

    def _fetch(self, table: str) -> pl.DataFrame:
        """Read a small table from an object store, once."""
        if table not in self._whole:
            (file,) = self.release.tables[table].files
            copy = self._small.get(file.key) if self.release.derived else None
            data = copy or self._get(file.key, file.sha256)
            self._whole[table] = pl.read_parquet(data, hive_partitioning=False)
        return self._whole[table]

    def scan_types(
        self, table: str, types: frozenset[str], columns: Sequence[str] = ()
    ) -> pl.LazyFrame:
        """Scan the rows of some machine types; from an object store they are read immediately.

        The rows read last are kept for later scans.
        """
        has_type = pl.col("instance_type").is_in(sorted(types))
        selected = [pl.col(name) for name in columns] or [pl.all()]
        if self.store.is_local or self._is_whole(table, WHOLE_FOR_TYPES):
            return self._scan(table, types).filter(has_type).select(selected)
        known, rows = self._of_types.get((table, *columns), (frozenset[str](), None))
        if rows is None or not types <= known:
            rows = self._ranges(table, types).filter(has_type).select(selected).collect()
            self._of_types[table, *columns] = types, rows
        return rows.lazy().filter(has_type)

    def scan(self, table: str) -> pl.LazyFrame:
        """Return a table as a lazy frame; nothing is read until it is collected.

        If a file is missing or damaged, collecting the frame raises the error of polars:
        FileNotFoundError or polars.exceptions.ComputeError. ``verify`` names the file.

        >>> import hwprices
        >>> p5 = hwprices.open("sample").scan("instance_types")
        >>> p5.filter(instance_type="p5.48xlarge").select("vcpus", "memory_gib").collect().rows()
        [(192, 2048.0)]
        """
        return self._scan(table)

    def _scan(self, table: str, types: Collection[str] | None = None) -> pl.LazyFrame:
        if self._is_whole(table, WHOLE):
            return self._fetch(table).lazy()
        return self._ranges(table, types)

    def _ranges(self, table: str, types: Collection[str] | None) -> pl.LazyFrame:
        if self._cache and types is not None:
            chosen = self._chosen(table, types)
            if sum(file.bytes for file in chosen) <= CACHED:
                copies = [self._get(file.key, file.sha256) for file in chosen]
                return pl.scan_parquet(copies, hive_partitioning=False)
        files, options = self.files(table, types), scan_options(self.store.root)
        if table == "prices" and types is not None and not self.store.is_local:
            places = self._places(types)
            if len(places) == len(files):
                return pl.concat(
                    pl.scan_parquet(file, hive_partitioning=False, **options).slice(first, rows)
                    for file, (first, rows) in zip(files, places, strict=True)
                )
        return pl.scan_parquet(files, hive_partitioning=False, **options)

    def _places(self, types: Collection[str]) -> list[tuple[int, int]]:
        """Return the first row and the number of rows in each file that has prices of the types.

        Empty if more than MOST_BETWEEN prices of other types lie between them: then polars skips
        row groups by the first and last name in each.
        """
        if "first_row" not in self.names.columns:  # a release made before this column
            return []
        first, rows = pl.col("first_row"), pl.col("rows")
        known = self.names.filter(pl.col("instance_type").is_in(sorted(types)))
        files = (
            known.drop_nulls("file")
            .unique("instance_type")
            .group_by("file")
            .agg(first.min(), rows.sum(), length=(first + rows).max() - first.min())
            .sort("file")
        )
        are_together = pl.col("length") - rows <= MOST_BETWEEN
        places = files.select("first_row", "length").rows()
        return places if files.select(are_together.all()).item() else []


def _may_have(file: "TableFile", names: Sequence[str], providers: Collection[str]) -> bool:
    """Check whether one of the names, sorted, is in the range of a file."""
    if file.types is None or file.provider not in (None, *providers):
        return False
    first, last = file.types
    place = bisect_left(names, first)
    return place < len(names) and names[place] <= last


def faults(store: Store, release: "ReleaseManifest") -> list[str]:
    """List the files that are missing, altered or not in the manifest; empty if all is well."""
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


def explain(error: Exception, store: Store, release: "ReleaseManifest") -> HwpricesError | None:
    """Make one line of a polars error over an unreadable table; names the file of a local root.

    None if the error has another cause, such as a column that does not exist, and all files of the
    release match their checksums.
    """
    is_missing = isinstance(error, FileNotFoundError) and ".parquet" in str(error)
    is_cut = isinstance(error, pl.exceptions.ComputeError) and str(error).startswith("parquet: ")
    if not isinstance(error, pl.exceptions.PolarsError) and not is_missing:
        return None
    fault = damaged_file(store, release)
    if fault is None and not (is_cut or (is_missing and not store.is_local)):
        return None
    return HwpricesError(
        fault or f"cannot read release {release.version} in {store.root}: {first_line(error)}",
        DAMAGED,
    )


def damaged_file(store: Store, release: "ReleaseManifest") -> str | None:
    """Describe what is wrong with the first damaged file of a table.

    None on an object store, because checking would download all files.
    """
    if not store.is_local:
        return None
    files = (file for table in release.tables.values() for file in table.files)
    keys = {layout.release_file(release.version, file.key): file.sha256 for file in files}
    return next((fault for key, sha in keys.items() for fault in _fault(store, key, sha)), None)


def _checksums(release: "ReleaseManifest") -> Iterator[tuple[str, str]]:
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
    """Constraints on the values of a column."""

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


def read_package(dataset: Release, kind: type[T]) -> T | None:
    """Read datapackage.json as ``Package`` or a dictionary; None if the file is missing."""
    key = layout.release_datapackage(dataset.version)
    data = dataset.store.get(key, manifests.MAX_BYTES)
    if data is None:
        return None
    return manifests.decode(data, kind, file=dataset.store.uri(key), remedy="Publish again.")


def missing_value(release: Release) -> str | None:
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
