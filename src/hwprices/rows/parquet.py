"""Write Parquet files of a table, with descriptions inside, and take their checksums."""

import hashlib
import io
import json
from dataclasses import replace
from datetime import datetime

import polars as pl
import pyarrow as pa

from hwprices.release.manifest import TableFile
from hwprices.release.release import is_moving
from hwprices.schemas.tables import TABLES
from hwprices.storage import layout
from hwprices.storage.store import Store

ROW_GROUP = 24_576
"""Rows of a row group, of which a reader fetches the whole for one machine type: 0.6 MB of prices.
Fewer would make footers larger, which a reader of all files fetches (docs/performance.md). A
multiple of the 2,048 that DuckDB reads at once."""

OFFERS_GROUP = 1 << 15
"""The same of offers, whose 119 columns take 15 kB of footer in each group: most releases have one.
Machines with accelerators are in the first, of which ``recommend`` fetches the price ids."""

DIGESTED_ROWS = 100_000
"""Rows that are hashed at once. Another number would change the digest of every larger file."""

TYPE_GROUPS, CHECKSUM = 256, 8
"""Groups of machine types that are compared by checksum, and the digits of one: 2 kB for each file
of prices, and all of a family of six types are in 2 % of the rows."""

LEVEL = 1
"""Level of zstd. Files of level 3, which polars takes by default, are 2 to 5 % smaller and take a
third more time to write: half of a price table is hashes, which cannot be packed."""

OBSERVATION = ("observed_at", "first_seen", "last_seen", "raw_sha256", "source_url")
"""Columns that say when and where a row was seen. They alone do not make a new release."""


def write(
    store: Store,
    directory: str,
    table: str,
    frame: pl.DataFrame,
    *,
    provider: str | None = None,
    region: str | None = None,
) -> TableFile:
    """Write one file of a table below ``directory``. Writing equal rows gives equal bytes.

    ``provider`` and ``region`` say whose rows the frame holds, None for those of all.
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
    store: Store, directory: str, key: str, table: str, frame: pl.DataFrame
) -> TableFile:
    """Write rows of a table as a release has them; ``content_sha256`` is that of the file."""
    data = encode(table, frame)
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


def encode(table: str, frame: pl.DataFrame) -> bytes:
    """Make the bytes of a file with rows of a table. Equal rows give equal bytes."""
    buffer = io.BytesIO()
    frame.write_parquet(
        buffer,
        compression="zstd",
        compression_level=LEVEL,
        row_group_size=OFFERS_GROUP if table == "offers" else ROW_GROUP,
        statistics=True,
        arrow_schema=arrow_schema(table),
        metadata=_metadata(table),
    )
    return buffer.getvalue()


def _observed(frame: pl.DataFrame) -> tuple[str | None, str | None]:
    """Find the first and the last time a row was seen, in ISO 8601; None if no row says."""
    if "observed_at" not in frame.columns:
        return None, None
    times = frame["observed_at"]
    first, last = times.min(), times.max()
    if not isinstance(first, datetime) or not isinstance(last, datetime):
        return None, None
    return first.isoformat(), last.isoformat()


def content_digest(frame: pl.DataFrame) -> str:
    """Hash the rows, without when and where they were seen. Memory use stays small.

    It is taken over uncompressed Parquet and not over Arrow's buffers, in which equal strings may
    lie differently, depending on how they were made. Rows are put into one chunk of memory before:
    polars makes as many chunks as the machine has cores, and each becomes a page of its own.
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

    It takes a quarter of the processor time of ``content_digest`` (424,000 prices).
    Returns CHECKSUM hexadecimal digits for each group.
    """
    sums = pl.zeros(TYPE_GROUPS, pl.UInt64, eager=True)
    for rows in prices.drop(OBSERVATION, strict=False).iter_slices(DIGESTED_ROWS):
        fixed = rows.filter(~is_moving())
        hashes = fixed.select(group=type_group(), sum=fixed.hash_rows() % 16**CHECKSUM)
        by_group = hashes.group_by("group").sum()
        sums = sums.scatter(by_group["group"], sums.gather(by_group["group"]) + by_group["sum"])
    return "".join(f"{total % 16**CHECKSUM:0{CHECKSUM}x}" for total in sums)


def type_group() -> pl.Expr:
    """Return the number of the group of machine types whose fixed prices have one checksum."""
    return pl.col("instance_type").hash() % TYPE_GROUPS


def changed_groups(fixed: str, before: str) -> list[int]:
    """Return the groups of machine types whose checksums in ``fixed_checksums`` differ."""
    places = range(0, max(len(fixed), len(before)), CHECKSUM)
    pairs = ((fixed[at : at + CHECKSUM], before[at : at + CHECKSUM]) for at in places)
    return [group for group, (now, then) in enumerate(pairs) if now != then]


def arrow_schema(table: str) -> pa.Schema:
    """Make the Arrow schema of a table: description, unit, FOCUS counterpart on each field."""
    columns = TABLES[table].to_schema().columns
    empty = pl.DataFrame(schema={name: column.dtype.type for name, column in columns.items()})
    fields = empty.to_arrow().schema
    return pa.schema(
        fields.field(name).with_metadata(_notes(column)) for name, column in columns.items()
    )


def _notes(column: pa.Field) -> dict[str, str]:
    notes = {name: note for name, note in (column.metadata or {}).items() if note}
    return {name: str(note) for name, note in {"description": column.description, **notes}.items()}


def _metadata(table: str) -> dict[str, str]:
    description = str(TABLES[table].to_schema().description or "").strip()
    return {"hwprices.table": table, "hwprices.description": description}
