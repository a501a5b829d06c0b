"""Shape frames and columns: a table's form, lists, and hashes of rows."""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import accumulate

import polars as pl
import polars_hash  # noqa: F401  (registers the chash namespace)
import pyarrow as pa

from hwprices.schemas.columns import Table


def dtypes(model: type[Table]) -> dict[str, pl.DataType]:
    """List the columns of a table in published order, with their polars dtypes."""
    return dict(_dtypes(model))


@cache
def _dtypes(model: type[Table]) -> Mapping[str, pl.DataType]:
    """Return the data type of each column; cached, since making a schema takes 10 ms."""
    return {name: column.dtype.type for name, column in model.to_schema().columns.items()}


def empty(model: type[Table]) -> pl.DataFrame:
    """Make a frame of the table with no rows."""
    return pl.DataFrame(schema=dtypes(model))


def conform(frame: pl.LazyFrame, model: type[Table]) -> pl.LazyFrame:
    """Return the frame the table's columns in order and dtype; columns it lacks become null.

    Raises:
        polars.exceptions.InvalidOperationError: a value does not fit its dtype (at collect).
        ValueError: it has columns that the table does not have.
    """
    present = frame.collect_schema()
    declared = dtypes(model)
    if unknown := [name for name in present if name not in declared]:
        raise ValueError(f"{model.__name__} has no columns {unknown}")
    return frame.select(
        pl.col(name).cast(dtype) if name in present else pl.lit(None, dtype=dtype).alias(name)
        for name, dtype in declared.items()
    )


def replace(frame: pl.DataFrame, *columns: pl.Series) -> pl.DataFrame:
    """Replace the columns that have the names of these; the others are not copied.

    polars' ``with_columns`` first copies every column if some lie in other chunks of memory.

    Raises:
        polars.exceptions.ColumnNotFoundError: the frame has no column of that name.
    """
    result = frame.clone()
    for column in columns:
        result.replace_column(result.get_column_index(column.name), column)
    return result


def by_value(frame: pl.DataFrame, column: str) -> dict[str, pl.DataFrame]:
    """Divide a frame by the texts of a column. Rows keep their order and are not copied.

    For frames in which equal texts are in few long runs: each run is cut out on its own.
    """
    runs: dict[str, list[pl.DataFrame]] = {}
    start = 0
    for length, value in frame[column].rle().struct.unnest().iter_rows():
        runs.setdefault(value, []).append(frame.slice(start, length))
        start += length
    return {value: pl.concat(parts) if parts[1:] else parts[0] for value, parts in runs.items()}


def independent(rows: pl.DataFrame) -> pl.DataFrame:
    """Copy rows, so that they do not hold the texts of the larger frame they were taken from.

    A filtered column of polars refers to the buffers of the whole one, be it for a single row.
    """
    copy = pl.from_arrow(rows.to_arrow(compat_level=pl.CompatLevel.oldest()), schema=rows.schema)
    assert isinstance(copy, pl.DataFrame)
    return copy


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


HASH_CHARACTERS = 24  # 96 bits in hex: at 10^8 rows the odds of one collision are below 10^-12


def digest(*parts: pl.Expr) -> pl.Expr:
    """Compute a stable 96-bit hash in hex of string expressions. Null and "" differ."""
    return joined(*parts).chash.sha2_256().str.slice(0, HASH_CHARACTERS)  # type: ignore[attr-defined, no-any-return]


def joined(*parts: pl.Expr) -> pl.Expr:
    """Join the texts that ``digest`` hashes.

    Joining texts that were joined before gives the same text, so what many rows share can be joined
    once.
    """
    return pl.concat_str([p.cast(pl.String).fill_null("\x00") for p in parts], separator="\x1f")
