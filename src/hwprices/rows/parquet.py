"""Write Parquet files of a table, with descriptions inside, and compute their checksums."""

import hashlib
import io
import json
from dataclasses import replace
from datetime import datetime
from functools import cache

import polars as pl
import pyarrow as pa

from hwprices.release.manifest import TableFile
from hwprices.release.release import has_accelerators, is_moving
from hwprices.schemas.tables import TABLES
from hwprices.storage import layout
from hwprices.storage.store import Store

ROW_GROUP = 24_576
"""Rows of a row group. For one machine type a reader fetches a complete group: 0.6 MB of prices.
Smaller groups make larger footers, which are fetched with every file (docs/performance.md). A
multiple of DuckDB's vector size of 2,048."""

DEVICE_GROUP = ROW_GROUP // 2
"""The same of prices of machines with accelerators, the subject of most questions. With 8,192
``find`` needs one request more: docs/performance.md."""

DIGESTED_ROWS = 100_000
"""Rows that are hashed together. Another number would change the digest of every larger file."""

TYPE_GROUPS, CHECKSUM = 256, 8
"""Groups of machine types that are compared by checksum, and the digits of a checksum: 2 kB for
each file of prices. A family of six types touches 2 % of the rows."""

LEVEL = 1
"""Level of zstd. Level 3, the default of polars, saves 2 to 5 % and takes a third more time: half
of a price table is hashes, which cannot be compressed."""

OBSERVATION = ("observed_at", "first_seen", "last_seen", "raw_sha256", "source_url")
"""Columns that say when and where a row was seen; a change in them alone makes no release."""


def write(
    store: Store,
    directory: str,
    table: str,
    frame: pl.DataFrame,
    *,
    provider: str | None = None,
    region: str | None = None,
) -> TableFile:
    """Write one file of a table below ``directory``. Equal rows give equal bytes.

    ``provider`` and ``region`` are those of all rows; None if the frame holds several.
    """
    key = layout.table_file(table, provider, region)
    return replace(write_file(store, directory, key, table, frame), provider=provider)


def write_file(
    store: Store, directory: str, key: str, table: str, frame: pl.DataFrame
) -> TableFile:
    """Write the rows of a table into the file with this key below ``directory``."""
    file = write_arranged(store, directory, key, table, frame)
    fixed = fixed_checksums(frame) if table == "prices" else None
    return replace(file, content_sha256=content_digest(frame), fixed=fixed)


def write_arranged(
    store: Store, directory: str, key: str, table: str, frame: pl.DataFrame, group: int = 0
) -> TableFile:
    """Write rows of a table for a release, where ``content_sha256`` is that of the file.

    ``group``: rows of a row group; ROW_GROUP by default.
    """
    data = encode(table, frame, group)
    store.put(f"{directory}/{key}", data)
    first, last = _observed(frame)
    sha256 = hashlib.sha256(data).hexdigest()
    return TableFile(
        table=table,
        key=key,
        rows=frame.height,
        bytes=len(data),
        sha256=sha256,
        content_sha256=sha256,
        observed_from=first,
        observed_to=last,
        types=_types(frame),
    )


def _types(frame: pl.DataFrame) -> tuple[str, str] | None:
    """Return the first and the last machine type."""
    if "instance_type" not in frame.columns or frame.is_empty():
        return None
    types = frame["instance_type"]
    return str(types.min()), str(types.max())


def encode(table: str, frame: pl.DataFrame, group: int = 0) -> bytes:
    """Make the bytes of a file with rows of a table. Equal rows give equal bytes."""
    buffer = io.BytesIO()
    if table == "offers":  # by default polars makes a row group of each chunk
        parts = (frame.filter(has_accelerators()), frame.filter(~has_accelerators()))
        frame = pl.concat((part.rechunk() for part in parts), rechunk=False)
    frame.write_parquet(
        buffer,
        compression="zstd",
        compression_level=LEVEL,
        row_group_size=None if table == "offers" else group or ROW_GROUP,
        statistics=True,
        arrow_schema=arrow_schema(table),
        metadata={"hwprices.table": table, "hwprices.description": TABLES[table].description},
    )
    return buffer.getvalue()


def _observed(frame: pl.DataFrame) -> tuple[str | None, str | None]:
    """Return the first and last ``observed_at`` in ISO 8601; None without any."""
    if "observed_at" not in frame.columns:
        return None, None
    times = frame["observed_at"]
    first, last = times.min(), times.max()
    if not isinstance(first, datetime) or not isinstance(last, datetime):
        return None, None
    return first.isoformat(), last.isoformat()


def content_digest(frame: pl.DataFrame) -> str:
    """Hash the rows without the columns OBSERVATION.

    Hashes uncompressed Parquet, because Arrow's buffers of equal strings may differ. Rows are first
    put into one chunk: polars makes one chunk per core, and each would become a separate page.
    """
    dtypes = [(name, str(dtype)) for name, dtype in frame.schema.items()]
    digest = hashlib.sha256(json.dumps(dtypes).encode())
    for rows in frame.drop(OBSERVATION, strict=False).iter_slices(DIGESTED_ROWS):
        buffer = io.BytesIO()
        rows.rechunk().write_parquet(buffer, compression="uncompressed", statistics=False)
        digest.update(buffer.getbuffer())
    return digest.hexdigest()


def fixed_checksums(prices: pl.DataFrame) -> str:
    """Add up hashes of the prices that do not change by the hour, in TYPE_GROUPS of machine types.

    Takes a quarter of the processor time of ``content_digest`` (424,000 prices). Returns CHECKSUM
    hexadecimal digits for each group.
    """
    sums = pl.zeros(TYPE_GROUPS, pl.UInt64, eager=True)
    for rows in prices.drop(OBSERVATION, strict=False).iter_slices(DIGESTED_ROWS):
        fixed = rows.filter(~is_moving())
        hashes = fixed.select(group=type_group(), sum=fixed.hash_rows() % 16**CHECKSUM)
        by_group = hashes.group_by("group").sum()
        sums = sums.scatter(by_group["group"], sums.gather(by_group["group"]) + by_group["sum"])
    return "".join(f"{total % 16**CHECKSUM:0{CHECKSUM}x}" for total in sums)


def type_group() -> pl.Expr:
    """Return the number of a machine type's group in ``fixed_checksums``."""
    return pl.col("instance_type").hash() % TYPE_GROUPS


def changed_groups(fixed: str, before: str) -> list[int]:
    """List the groups of machine types whose checksums in ``fixed_checksums`` differ."""
    starts = range(0, max(len(fixed), len(before)), CHECKSUM)
    slices = (slice(start, start + CHECKSUM) for start in starts)
    return [group for group, part in enumerate(slices) if fixed[part] != before[part]]


@cache  # 5 ms for each of the 20 files of a release
def arrow_schema(table: str) -> pa.Schema:
    """Make the Arrow schema of a table, with description, unit and FOCUS counterpart of fields."""
    columns = TABLES[table].columns
    fields = pl.DataFrame(schema=TABLES[table].dtypes).to_arrow().schema
    return pa.schema(
        fields.field(name).with_metadata(column.notes) for name, column in columns.items()
    )
