"""How much of a full-size vendor is served, and figures that look drawn and are always the same."""

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Size:
    """How much is served.

    ``scale``: the share of machine types and SKUs, 1 for all. ``regions``: at most so many of each
    vendor, the largest first; None for all. ``seed``: another one gives other prices.
    ``box_lines``: how many of ``aws_world.BOXES`` AWS's price lists have.
    """

    scale: float = 1.0
    regions: int | None = None
    seed: int = 1
    box_lines: int = 1

    def share(self, items: Sequence[T]) -> list[T]:
        """Return the share of a list, spread evenly over it; one element at least."""
        count = self.count(len(items))
        return [items[number * len(items) // count] for number in range(count)] if items else []

    def count(self, full: int) -> int:
        """Return the share of a number; 1 at least."""
        return min(full, max(1, math.ceil(full * self.scale))) if full else 0

    def nearest(self, regions: Sequence[T]) -> list[T]:
        """Return the first regions, as many as are served."""
        return list(regions[: self.regions])

    def draw(self, below: int, *names: str) -> int:
        """Return a number from 0 to ``below`` - 1 that depends on the seed and the names only."""
        return zlib.crc32("/".join((str(self.seed), *names)).encode()) % below
