"""Put regions together in batches that fit into memory, and work at two of them at a time."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

AT_ONCE = 2
"""So many batches are in work side by side: much of the work of one is done by one thread. More
would take more memory, too."""

Batch = TypeVar("Batch")
Result = TypeVar("Result")


def side_by_side(work: Callable[[Batch], Result], batches: Iterable[Batch]) -> Iterator[Result]:
    """Do the work of some batches at a time; give the results in the order of the batches.

    No batch is begun before the result of the last but one was taken: results take memory, too.
    """
    begun: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for batch in batches:
            if len(begun) == AT_ONCE:
                yield begun.popleft().result()
            begun.append(pool.submit(work, batch))
        while begun:
            yield begun.popleft().result()


def packed(counts: Mapping[str, int], most: int) -> Iterator[list[str]]:
    """Give regions in their order, so many at once that they have at most so many rows.

    ``counts``: rows by region. A region that has more rows is a batch of its own.
    """
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
