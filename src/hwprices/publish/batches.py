"""Put regions together in batches that fit into memory."""

from collections.abc import Iterator, Mapping


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
