"""Make columns of lists."""

from collections.abc import Sequence
from itertools import accumulate

import polars as pl
import pyarrow as pa


def list_column(
    name: str, elements: pl.Series, lists: Sequence[Sequence[object] | None]
) -> pl.Series:
    """Cut a column of all elements, one list after another, into lists.

    polars makes a column of its own of each list when it is given them as they are, which takes
    some twenty times as long.

    Args:
        name: the column's name.
        elements: what is in the lists, in their order.
        lists: give the lengths; None is a list that is null.
    """
    ends = [0, *accumulate([len(values) if values else 0 for values in lists])]
    starts = [None if values is None else start for values, start in zip(lists, ends, strict=False)]
    offsets = pa.array([*starts, ends[-1]], pa.int64())
    return pl.Series(name, pa.LargeListArray.from_arrays(offsets, elements.to_arrow()))
