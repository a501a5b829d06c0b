"""Sort rows by columns of texts that repeat, and list the texts of such columns once each."""

from collections.abc import Mapping, Sequence

import polars as pl

SAMPLE = 10_000
"""Rows that are looked at to tell whether a column's texts repeat. Of a frame with fewer, listing
them takes longer than it saves."""

MOST_NUMBERS = 2**63
"""The numbers of rows must be fewer, so that they fit into 64 bits."""


def distinct_texts(frame: pl.DataFrame, sample: int = SAMPLE) -> dict[str, pl.Series]:
    """List the distinct texts of each text column in which they repeat.

    A column is left out where most texts in a sample of its rows differ, and every column where the
    frame has no more rows than the sample: listing them would take longer than it saves.
    """
    names = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    if frame.height <= sample or not names:
        return {}
    rows = frame.select(names).gather_every(frame.height // sample)
    few = rows.select(pl.all().n_unique() * 2 <= pl.len())
    repeating = [name for name in names if few[name].item()]
    lists = frame.select(pl.col(repeating).unique().implode())
    return {name: lists[name].explode() for name in repeating}


def sort(frame: pl.DataFrame, by: Sequence[str], texts: Mapping[str, pl.Series]) -> pl.DataFrame:
    """Sort rows by columns: nulls first, texts by their bytes, equal rows in the order they had.

    The result is that of polars' sort. Where the texts repeat, as in prices, it takes half the
    time, since each row gets one number and the numbers are sorted (docs/performance.md).

    Args:
        frame: the rows.
        by: the columns that they are sorted by.
        texts: its ``distinct_texts``. A column of text that is not among them is not numbered, and
            polars sorts the frame.
    """
    number = _number(frame, by, texts)
    if number is None:
        return frame.sort(by, nulls_last=False, maintain_order=True)
    numbers = frame.lazy().select(number=number)
    order = numbers.select(pl.arg_sort_by("number", maintain_order=True)).collect().to_series()
    # each column in one chunk: polars takes twice as long to gather rows from several
    return pl.DataFrame([column.rechunk().gather(order) for column in frame])


def has_equal_rows(frame: pl.DataFrame, by: Sequence[str]) -> bool:
    """Tell whether two rows of a frame that is sorted by these columns are equal in all of them."""
    # the last column first: it differs most often
    pairs = (pl.col(name).eq_missing(pl.col(name).shift(1)) for name in reversed(by))
    return bool(frame.lazy().select(pl.all_horizontal(pairs).slice(1).any()).collect().item())


def _number(
    frame: pl.DataFrame, by: Sequence[str], texts: Mapping[str, pl.Series]
) -> pl.Expr | None:
    """Number rows in the order of these columns; None where the numbers would be too large."""
    number, possible = pl.lit(0, dtype=pl.UInt64), 1
    for name in by:
        ranked = _rank(frame[name], texts.get(name))
        if ranked is None:
            return None
        rank, count = ranked
        number, possible = number * count + rank, possible * count
        if possible > MOST_NUMBERS:
            return None
    return number


def _rank(column: pl.Series, texts: pl.Series | None) -> tuple[pl.Expr, int] | None:
    """Number the values of a column from 1 in their order, nulls 0; return how many there are.

    None where the column has neither whole numbers nor texts that are listed.
    """
    value = pl.col(column.name)
    if column.dtype.is_integer():
        least, most = column.min(), column.max()
        if not isinstance(least, int) or not isinstance(most, int):
            return pl.lit(0, dtype=pl.UInt64), 1  # all are null
        value = value.cast(pl.Int64) - (least - 1)
        return value.cast(pl.UInt64).fill_null(0), most - least + 2
    if texts is None:
        return None
    words = texts.drop_nulls().sort()
    number = value.cast(pl.Enum(words)).to_physical().cast(pl.UInt64) + 1
    return number.fill_null(0), words.len() + 1
