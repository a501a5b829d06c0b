"""Work in batches that fit into memory, and arrange rows by machine type.

Most questions are about a machine or an accelerator in all regions. A remote reader fetches the
footer of one file and the row groups of that machine (measured in docs/performance.md). Rows of
machines with accelerators come first, sorted by accelerator; the others follow, sorted by type.
Rows of the same type are sorted by key.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import polars as pl

from hwprices.release.manifest import TableFile
from hwprices.release.release import IS_PLACEHOLDER
from hwprices.rows import frames, parquet
from hwprices.storage import layout
from hwprices.storage.store import Store

AT_ONCE = 2
"""Batches processed in parallel: one batch often uses only one core, more take more memory."""

Batch = TypeVar("Batch")
Result = TypeVar("Result")


def in_parallel(
    work: Callable[[Batch], Result],
    batches: Iterable[Batch],
    rows: Callable[[Batch], int] = lambda _: 0,
    most: int = 0,
) -> Iterator[Result]:
    """Process up to AT_ONCE batches in parallel; yield the results in the order of the batches.

    To bound the memory of results, a batch starts only after the caller has taken the result of the
    batch AT_ONCE before it. ``rows`` counts the rows of a batch: batches in progress have at most
    ``most`` rows in total, and a larger batch is processed alone.
    """
    started: deque[tuple[int, Future[Result]]] = deque()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for batch in batches:
            count = rows(batch)
            while started and sum(size for size, _ in started) + count > most:
                yield started.popleft()[1].result()
            started.append((count, pool.submit(work, batch)))
            if len(started) == AT_ONCE:  # before the next batch is made
                yield started.popleft()[1].result()
        while started:
            yield started.popleft()[1].result()


def packed(counts: Mapping[str, int], most: int) -> Iterator[list[str]]:
    """Group names, sorted, into batches of at most ``most`` rows.

    ``counts``: rows by name, such as a region or machine type. A name with more rows is a batch by
    itself.

    Raises:
        ValueError: ``most`` is not at least one row.
    """
    if most < 1:
        raise ValueError(f"a batch of at most {most} rows has no region: allow one row or more")
    regions: list[str] = []
    rows = 0
    for region, count in sorted(counts.items()):
        if regions and rows + count > most:
            yield regions
            regions, rows = [], 0
        regions.append(region)
        rows += count
    if regions:
        yield regions


FILE_ROWS = 500_000
"""Rows of a file: 13 MB of prices. Only one file is sorted at a time: two took 1.4 times the memory
and 0.9 times the seconds."""

TYPE = "instance_type"

LARGE = ("prices", "price_components", "availability")
"""Tables with rows for each machine and region."""


@dataclass(frozen=True)
class _Batch:
    """The machine types of one file, in order."""

    number: int
    types: pl.Series
    rows: int
    has_accelerators: bool


@dataclass(frozen=True)
class Arranged:
    """A file and, for prices, its machine types.

    ``types`` has instance_type, file (the file's number), first_row and rows (where the type is in
    it), and placeholders (whether a price of the type is flagged as a placeholder).
    """

    file: TableFile
    types: pl.DataFrame


def arrange(
    store: Store, directory: str, table: str, rows: pl.LazyFrame, devices: pl.DataFrame
) -> list[Arranged]:
    """Write the rows of all providers: a large table by machine type, others in one file.

    ``rows`` are of all providers, each provider's sorted by key. ``devices``: ``instance_type`` and
    ``accelerator_id`` of the machines that have an accelerator.
    """
    if table not in LARGE:
        key = layout.table_file(table)
        return [
            Arranged(
                parquet.write_arranged(store, directory, key, table, rows.collect()), _NO_TYPES
            )
        ]

    def write(batch: _Batch) -> Arranged:
        place = pl.col(TYPE).cast(pl.Enum(batch.types), strict=False).to_physical()
        # the bounds skip row groups of other types: 0.3 of 0.7 s per file, with 5 million prices
        bounds = (pl.lit(batch.types.min()), pl.lit(batch.types.max()))
        chosen = rows.filter(pl.col(TYPE).is_between(*bounds), place.is_not_null()).collect()
        frames.sort_in_place(chosen, [place])
        key = layout.arranged_file(table, f"{batch.number:03}")
        group = parquet.DEVICE_GROUP if batch.has_accelerators else parquet.ROW_GROUP
        file = parquet.write_arranged(store, directory, key, table, chosen, group)
        return Arranged(file, _types(chosen, batch.number) if table == "prices" else _NO_TYPES)

    empty = _Batch(0, pl.Series(dtype=pl.String), 0, has_accelerators=False)
    batches = list(_batches(rows, devices)) or [empty]
    return list(in_parallel(write, batches, lambda batch: batch.rows, FILE_ROWS))


_NO_TYPES = pl.DataFrame(
    schema={
        TYPE: pl.String,
        **{"file": pl.UInt16, "first_row": pl.UInt32, "rows": pl.UInt32},
        "placeholders": pl.Boolean,
    }
)


def _types(prices: pl.DataFrame, number: int) -> pl.DataFrame:
    return (
        prices.with_row_index("row")
        .group_by(TYPE)
        .agg(
            file=pl.lit(number, pl.UInt16),
            first_row=pl.col("row").min(),
            rows=pl.len(),
            placeholders=IS_PLACEHOLDER.any(),
        )
    )


def _batches(rows: pl.LazyFrame, devices: pl.DataFrame) -> Iterator[_Batch]:
    """Divide machine types among files. No file mixes types with and without an accelerator."""
    counts = rows.group_by(TYPE).len().collect(engine="streaming")
    named = devices.group_by(TYPE).agg(pl.col("accelerator_id").min())
    ordered = counts.join(named, on=TYPE, how="left").sort(
        "accelerator_id", TYPE, nulls_last=[True, False]
    )
    parts = ordered.with_columns(
        part=pl.col("accelerator_id").is_null().cast(pl.Int64) * len(ordered)
        + (pl.col("len").cum_sum() - 1) // FILE_ROWS
    )
    for number, part in enumerate(parts.partition_by("part", maintain_order=True)):
        has_accelerators = part["accelerator_id"].count() > 0
        yield _Batch(number, part[TYPE], int(part["len"].sum()), has_accelerators)
