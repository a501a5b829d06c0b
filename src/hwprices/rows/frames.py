"""Shape a frame like the table it belongs to."""

from collections.abc import Mapping
from functools import cache

import polars as pl

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
    """Give the frame the table's columns in order and dtype; columns it lacks become null.

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

    For frames in which equal texts stand in few long runs: each run is cut out on its own.
    """
    runs: dict[str, list[pl.DataFrame]] = {}
    start = 0
    for length, value in frame[column].rle().struct.unnest().iter_rows():
        runs.setdefault(value, []).append(frame.slice(start, length))
        start += length
    return {value: pl.concat(parts) for value, parts in runs.items()}


def independent(rows: pl.DataFrame) -> pl.DataFrame:
    """Copy rows, so that they do not hold the texts of the larger frame they were taken from.

    A filtered column of polars refers to the buffers of the whole one, be it for a single row.
    """
    copy = pl.from_arrow(rows.to_arrow(compat_level=pl.CompatLevel.oldest()), schema=rows.schema)
    assert isinstance(copy, pl.DataFrame)
    return copy
