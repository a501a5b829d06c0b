"""Read a curated sheet of data/specs as a typed, checked frame."""

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.specs import sheet_directory

if TYPE_CHECKING:
    from hwprices.schemas.columns import Table

LIST_SEPARATOR = ";"
FIRST_LINE = 2  # line 1 of a sheet is its header; no cell holds a line break
MONEY_PATTERN = r"^\d{1,10}(\.\d{1,10})?$"  # what Decimal(20, 10) holds without rounding


def load_all(directory: Path | None = None) -> dict[str, pl.DataFrame]:
    """Every sheet by table name, as ``load`` gives it."""
    from hwprices.schemas.tables import SHEETS

    return {table: load(table, directory) for table in SHEETS}


def load(table: str, directory: Path | None = None) -> pl.DataFrame:
    """One curated table (a key of ``schemas.SHEETS`` or ``schemas.CHECK_SHEETS``) from ``<table>.csv``: the model's columns and dtypes, sorted by key.

    An empty cell is null, in a list column an empty list.

    Raises:
        HwpricesError: no such table or file, or a cell that does not fit; names file, line and column.
    """
    from hwprices.schemas.columns import key
    from hwprices.schemas.tables import CHECK_SHEETS, RULE_SHEETS, SHEETS

    sheets = {**SHEETS, **CHECK_SHEETS, **RULE_SHEETS}
    if table not in sheets:
        raise HwpricesError(f"there is no sheet {table!r}", f"Choose one of {', '.join(sheets)}.")
    file, model = f"{table}.csv", sheets[table]
    raw = read_csv(file, directory)
    dtypes = {name: column.dtype.type for name, column in model.to_schema().columns.items()}
    same_columns(file, raw.columns, list(dtypes))
    frame = raw.select(cells(file, raw[name], dtype) for name, dtype in dtypes.items())
    _check(file, frame, model)
    return frame.sort(key(model), maintain_order=True)


def read_csv(file: str, directory: Path | None) -> pl.DataFrame:
    source = (directory or sheet_directory()) / file
    if not source.is_file():
        raise HwpricesError(f"the sheet {file} is missing", "Restore it from the repository.")
    try:
        return pl.read_csv(source.read_bytes(), infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise HwpricesError(
            f"{file} is not a readable CSV: {error}", "Compare it with the last commit."
        ) from error


def same_columns(file: str, have: list[str], want: list[str]) -> None:
    if missing := [name for name in want if name not in have]:
        raise HwpricesError(
            f"{file} has no column {', '.join(missing)}",
            "Add it; an unknown figure is an empty cell.",
        )
    if unknown := [name for name in have if name not in want]:
        raise HwpricesError(
            f"{file} has a column that the table does not know: {', '.join(unknown)}",
            "Declare it in schemas/ or remove it.",
        )


def cells(file: str, text: pl.Series, dtype: pl.DataType) -> pl.Series:
    """The column in its dtype; every cell that does not fit is an error, none becomes null."""
    if isinstance(dtype, pl.List):
        return (
            text.fill_null("")
            .str.split(LIST_SEPARATOR)
            .list.eval(pl.element().filter(pl.element() != ""))
            .alias(text.name)
        )
    typed = _typed(text, dtype)
    lost = (text.is_not_null() & typed.is_null()).arg_true()
    if lost.len():
        row = lost[0]
        message = f"{file} line {row + FIRST_LINE}, column {text.name}: {text[row]!r} is not {_wanted(dtype)}"
        raise HwpricesError(message, "Correct the cell, or empty it where the figure is not known.")
    return typed


def _typed(text: pl.Series, dtype: pl.DataType) -> pl.Series:
    if dtype == pl.Boolean:
        return text.replace_strict(
            {"true": True, "false": False}, default=None, return_dtype=pl.Boolean
        )
    if dtype == pl.Date:
        return text.str.to_date("%Y-%m-%d", strict=False)
    if isinstance(dtype, pl.Decimal):  # a cast would round the eleventh decimal away
        kept = (
            pl.select(pl.when(text.str.contains(MONEY_PATTERN)).then(text))
            .to_series()
            .alias(text.name)
        )
        return kept.cast(dtype, strict=False)
    return text.cast(dtype, strict=False)


def _wanted(dtype: pl.DataType) -> str:
    kinds: dict[type[pl.DataType], str] = {
        pl.Boolean: "true or false",
        pl.Date: "a day like 2026-01-31",
        pl.Int32: "a whole number",
        pl.Float64: "a number",
    }
    return (
        "an amount with at most ten decimals"
        if isinstance(dtype, pl.Decimal)
        else kinds.get(dtype.base_type(), str(dtype))
    )


def _check(file: str, frame: pl.DataFrame, model: "type[Table]") -> None:
    import pandera.polars as pa

    from hwprices.schemas.columns import key

    names = key(model)
    doubled = frame.select(pl.struct(names).is_duplicated()).to_series().arg_true()
    if doubled.len():
        raise HwpricesError(
            f"{file} line {doubled[0] + FIRST_LINE}: a second row has the same {', '.join(names)}",
            "Remove one of the rows.",
        )
    try:
        model.validate(frame, lazy=True)
    except pa.errors.SchemaErrors as error:
        case = error.failure_cases.sort("index", nulls_last=True).row(0, named=True)
        place = "" if case["index"] is None else f" line {case['index'] + FIRST_LINE}"
        raise HwpricesError(
            f"{file}{place}, {case['column']}: {case['failure_case']} fails {case['check']}",
            "Correct the cell and its source.",
        ) from None
