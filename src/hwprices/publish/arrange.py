"""Combine regions in batches that fit into memory, and arrange rows by machine type.

Most questions name a machine or an accelerator and want all regions. A reader far away fetches the
footer of one file and the row groups of that machine (docs/performance.md has what was measured).
Rows of machines with accelerators come first, by accelerator; the others follow by type. Of two
rows of a type the order is that of the key.
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
"""Batches that are worked at together: one alone keeps one core busy for much of its time. More of
them would take more memory."""

Batch = TypeVar("Batch")
Result = TypeVar("Result")


def in_parallel(
    work: Callable[[Batch], Result],
    batches: Iterable[Batch],
    rows: Callable[[Batch], int] = lambda _: 0,
    most: int = 0,
) -> Iterator[Result]:
    """Work at AT_ONCE batches at a time; give the results in the order of the batches.

    Results take memory too, so a batch is begun only when the caller has taken the result of the
    batch AT_ONCE before it. With ``rows``, which counts the rows of a batch, those that are worked
    at have at most ``most`` rows together, and a batch that has more is worked at alone.
    """
    begun: deque[tuple[int, Future[Result]]] = deque()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for batch in batches:
            count = rows(batch)
            while begun and (
                len(begun) == AT_ONCE or sum(size for size, _ in begun) + count > most
            ):
                yield begun.popleft()[1].result()
            begun.append((count, pool.submit(work, batch)))
        while begun:
            yield begun.popleft()[1].result()


def packed(counts: Mapping[str, int], most: int) -> Iterator[list[str]]:
    """Return regions in their order, so many at once that they have at most so many rows.

    ``counts``: rows by region. A region that has more rows is a batch of its own.

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
"""Rows of a file: 13 MB of prices. So many are in memory at a time while they are sorted: those of
two files took 1.4 times the memory and 0.9 times the seconds."""

TYPE = "instance_type"

LARGE = ("prices", "price_components", "availability")
"""Tables of which a vendor has rows for each machine and region."""


@dataclass(frozen=True)
class _Batch:
    """The machine types of one file, in their order."""

    number: int
    types: pl.Series
    rows: int


@dataclass(frozen=True)
class Arranged:
    """A file, and of prices its machine types: instance_type, file and placeholders.

    ``file`` is its number, ``placeholders`` whether a price of the type is flagged as one.
    """

    file: TableFile
    types: pl.DataFrame


def arrange(
    store: Store, directory: str, table: str, rows: pl.LazyFrame, devices: pl.DataFrame
) -> list[Arranged]:
    """Write the rows of all providers: a large table by machine type, another one as it comes.

    Args:
        store: where to.
        directory: the release's, below the root.
        table: its name.
        rows: of all providers, each provider's sorted by key.
        devices: ``instance_type`` and ``accelerator_id`` of the machines that have an accelerator.
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
        # the bounds spare reading other types' row groups: 0.3 of 0.7 s for each file, of 5 million
        bounds = (pl.lit(batch.types.min()), pl.lit(batch.types.max()))
        own = rows.filter(pl.col(TYPE).is_between(*bounds), place.is_not_null()).collect()
        frames.sort_in_place(own, [place])
        key = layout.arranged_file(table, f"{batch.number:03}")
        file = parquet.write_arranged(store, directory, key, table, own)
        return Arranged(file, _types(own, batch.number) if table == "prices" else _NO_TYPES)

    nothing = _Batch(0, pl.Series(dtype=pl.String), 0)
    batches = list(_batches(rows, devices)) or [nothing]
    return list(in_parallel(write, batches, lambda batch: batch.rows, FILE_ROWS))


_NO_TYPES = pl.DataFrame(schema={TYPE: pl.String, "file": pl.UInt16, "placeholders": pl.Boolean})


def _types(prices: pl.DataFrame, number: int) -> pl.DataFrame:
    return prices.group_by(TYPE).agg(
        file=pl.lit(number, pl.UInt16), placeholders=IS_PLACEHOLDER.any()
    )


def _batches(rows: pl.LazyFrame, devices: pl.DataFrame) -> Iterator[_Batch]:
    """Divide machine types among files. None has types with an accelerator and types without."""
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
        yield _Batch(number, part[TYPE], int(part["len"].sum()))
