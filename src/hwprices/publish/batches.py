"""Combine regions in batches that fit into memory, and work at two of them at a time."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

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
