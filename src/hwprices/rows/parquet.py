"""Parquet files of a table: written the same way everywhere, described inside, with a checksum and a digest of their content."""

import hashlib
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow as pa

from hwprices.schemas.tables import TABLES
from hwprices.storage.store import Store

ROW_GROUP = 100_000  # one type is found in milliseconds in a sorted file of such groups, and a group fits any cache

OBSERVATION = ("observed_at", "raw_sha256", "source_url")
"""Columns that say when and where a row was seen, not what it says: they alone do not make a new release."""


@dataclass(frozen=True)
class TableFile:
    """One Parquet file: its key below a release or staging directory, and what it holds."""

    table: str
    key: str
    rows: int
    bytes: int
    sha256: str
    content_sha256: str
    observed_from: str | None = None
    observed_to: str | None = None


def file_key(table: str, provider: str | None = None, region: str | None = None) -> str:
    """Where a table's rows are kept: ``offers.parquet``, ``prices/provider=aws/us-east-1.parquet``, ``zones/provider=aws/all.parquet``."""
    return (
        f"{table}.parquet"
        if provider is None
        else f"{table}/provider={provider}/{region or 'all'}.parquet"
    )


def write(store: Store, directory: str, key: str, table: str, frame: pl.DataFrame) -> TableFile:
    """Write one file below ``directory``; two writes of the same rows are byte-identical.

    Raises:
        HwpricesError: it cannot be written.
    """
    buffer = io.BytesIO()
    frame.write_parquet(
        buffer,
        compression="zstd",
        row_group_size=ROW_GROUP,
        statistics=True,
        arrow_schema=arrow_schema(table),
        metadata=_metadata(table),
    )
    data = buffer.getvalue()
    store.put(f"{directory}/{key}", data)
    seen = (
        frame["observed_at"].drop_nulls()
        if "observed_at" in frame.columns
        else pl.Series(dtype=pl.Datetime("us", "UTC"))
    )
    first, last = (seen.min(), seen.max()) if len(seen) else (None, None)
    return TableFile(
        table=table,
        key=key,
        rows=frame.height,
        bytes=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        content_sha256=content_digest(frame),
        observed_from=first.isoformat() if first is not None else None,  # type: ignore[union-attr]
        observed_to=last.isoformat() if last is not None else None,  # type: ignore[union-attr]
    )


def scan(
    store: Store, directory: str, keys: Iterable[str], options: dict[str, str] | None = None
) -> pl.LazyFrame | None:
    """A lazy frame over files of one table, or None where there is none."""
    sources = [store.uri(f"{directory}/{key}") for key in keys]
    return (
        pl.scan_parquet(sources, hive_partitioning=False, storage_options=options)
        if sources
        else None
    )


def content_digest(frame: pl.DataFrame) -> str:
    """SHA-256 of what the rows say, without when and where they were seen. A slice at a time, so memory stays small.

    Over Parquet's encoding, not Arrow's: equal strings may lie differently in Arrow's buffers, depending on how they were made.
    """
    digest = hashlib.sha256(json.dumps([(n, str(t)) for n, t in frame.schema.items()]).encode())
    said = frame.drop(OBSERVATION, strict=False)
    for part in said.iter_slices(ROW_GROUP):
        buffer = io.BytesIO()
        part.write_parquet(buffer, compression="uncompressed", statistics=False)
        digest.update(buffer.getbuffer())
    return digest.hexdigest()


def arrow_schema(table: str) -> pa.Schema:
    """The table's Arrow schema with description, unit and FOCUS counterpart on each field."""
    columns = TABLES[table].to_schema().columns
    bare = pl.DataFrame(schema={n: c.dtype.type for n, c in columns.items()}).to_arrow().schema
    fields = []
    for name, column in columns.items():
        notes = {
            "description": column.description,
            **{k: v for k, v in (column.metadata or {}).items() if v},
        }
        fields.append(bare.field(name).with_metadata({k: str(v) for k, v in notes.items()}))
    return pa.schema(fields)


def _metadata(table: str) -> dict[str, str]:
    return {
        "hwprices.table": table,
        "hwprices.description": str(TABLES[table].to_schema().description or "").strip(),
    }


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
