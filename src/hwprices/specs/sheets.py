"""Read a curated sheet of data/specs as a typed, checked frame."""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.specs import sheet_directory

if TYPE_CHECKING:
    from hwprices.schemas.tables import Table

LIST_SEPARATOR = ";"
FIRST_LINE = 2  # line 1 of a sheet is its header; no cell holds a line break
MONEY_PATTERN = r"^\d{1,10}(\.\d{1,10})?$"  # what Decimal(20, 10) holds without rounding

EXPECTED: dict[type[pl.DataType], str] = {
    pl.Boolean: "true or false",
    pl.Date: "a day like 2026-01-31",
    pl.Int32: "a whole number",
    pl.Float64: "a number",
    pl.Decimal: "an amount with at most ten decimals",
}
"""What a cell of each dtype looks like, for error messages."""


def load_all() -> dict[str, pl.DataFrame]:
    """Read every sheet that a release is joined with, by table name. See ``load``."""
    from hwprices.schemas.tables import SHEETS

    return {table: load(table) for table in SHEETS}


def load(table: str, directory: Path | None = None) -> pl.DataFrame:
    """Read one sheet, ``<table>.csv``, with the columns and dtypes of its model, sorted by key.

    ``table`` is a path below the folder of the sheets, without ``.csv``: ``accelerators``,
    ``accelerator_names/aws``. An empty cell is null, in a list column an empty list.

    The file is read each time, but parsed and checked only when its bytes change, because that
    takes most of the time of a small release.

    Raises:
        HwpricesError: no such sheet, or a cell that does not fit; names file, line and column.
    """
    from hwprices.schemas.tables import CHECK_SHEETS, RULE_SHEETS, SHEETS, sheet_model

    model = sheet_model(table)
    if model is None:
        names = ", ".join([*SHEETS, *CHECK_SHEETS, *RULE_SHEETS])
        raise HwpricesError(f"sheet {table!r} does not exist", f"Choose one of {names}.")
    file = f"{table}.csv"
    return _checked(file, read_bytes(file, directory), model).clone()


@lru_cache(maxsize=128)
def _checked(file: str, content: bytes, model: "Table") -> pl.DataFrame:
    """Parse and check the bytes of a sheet, and sort its rows by key."""
    frame = parse_sheet(file, parse_csv(file, content), model)
    _check(file, frame, model)
    return frame.sort(model.key, maintain_order=True)


def read_csv(file: str, directory: Path | None) -> pl.DataFrame:
    """Read a sheet with every column as text."""
    return parse_csv(file, read_bytes(file, directory))


def read_bytes(file: str, directory: Path | None) -> bytes:
    """Read the file of a sheet."""
    source = (directory or sheet_directory()) / file
    if not source.is_file():
        raise HwpricesError(f"the sheet {file} is missing", "Restore it from the repository.")
    return source.read_bytes()


def parse_csv(file: str, content: bytes) -> pl.DataFrame:
    """Parse a sheet with every column as text."""
    try:
        return pl.read_csv(content, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise HwpricesError(
            f"{file} is not a readable CSV: {error}", "Compare it with the last commit."
        ) from error


def parse_sheet(file: str, text: pl.DataFrame, model: "Table") -> pl.DataFrame:
    """Convert a sheet of text columns to the columns and dtypes of its model, rows as in the file.

    Raises:
        HwpricesError: a column is missing or undeclared, or a cell does not fit.
    """
    _check_columns(file, text.columns, list(model.columns))
    return text.select(
        _parse_cells(file, text[name], dtype) for name, dtype in model.dtypes.items()
    )


def _check_columns(file: str, present: list[str], declared: list[str]) -> None:
    if missing := [name for name in declared if name not in present]:
        raise HwpricesError(
            f"{file} has no column {', '.join(missing)}",
            "Add it; an unknown figure is an empty cell.",
        )
    if unknown := [name for name in present if name not in declared]:
        raise HwpricesError(
            f"{file} has a column that the table does not know: {', '.join(unknown)}",
            "Declare it in schemas/columns.csv or remove it.",
        )


def _parse_cells(file: str, text: pl.Series, dtype: pl.DataType) -> pl.Series:
    if isinstance(dtype, pl.List):
        elements = text.fill_null("").str.split(LIST_SEPARATOR)
        return elements.list.eval(pl.element().filter(pl.element() != "")).alias(text.name)
    typed = _convert(text, dtype)
    misfits = (text.is_not_null() & typed.is_null()).arg_true()
    if misfits.len():
        row = misfits[0]
        cell = f"{file} line {row + FIRST_LINE}, column {text.name}"
        expected = EXPECTED.get(dtype.base_type(), str(dtype))
        raise HwpricesError(
            f"{cell}: {text[row]!r} is not {expected}",
            "Correct the cell, or empty it where the figure is not known.",
        )
    return typed


def _convert(text: pl.Series, dtype: pl.DataType) -> pl.Series:
    if dtype == pl.Boolean:
        return text.replace_strict(
            {"true": True, "false": False}, default=None, return_dtype=pl.Boolean
        )
    if dtype == pl.Date:
        return text.str.to_date("%Y-%m-%d", strict=False)
    if isinstance(dtype, pl.Decimal):  # a cast would round the eleventh decimal away
        fits = pl.when(text.str.contains(MONEY_PATTERN)).then(text).alias(text.name)
        return pl.select(fits).to_series().cast(dtype, strict=False)
    return text.cast(dtype, strict=False)


def _check(file: str, frame: pl.DataFrame, model: "Table") -> None:
    """Check the keys and values of a frame, whose rows are in the order of the file."""
    import pandera.polars as pa

    from hwprices.schemas.validation import fits

    names = model.key
    repeated = frame.select(pl.struct(names).is_duplicated()).to_series().arg_true()
    if repeated.len():
        raise HwpricesError(
            f"{file} line {repeated[0] + FIRST_LINE}: a second row has the same {', '.join(names)}",
            "Remove one of the rows.",
        )
    _check_characters(file, frame)
    if fits(frame, model.schema):
        return
    try:
        model.schema.validate(frame, lazy=True)
    except pa.errors.SchemaErrors as error:
        failure = error.failure_cases.sort("index", nulls_last=True).row(0, named=True)
        line = "" if failure["index"] is None else f" line {failure['index'] + FIRST_LINE}"
        failed_check = f"{failure['column']}: {failure['failure_case']} fails {failure['check']}"
        raise HwpricesError(
            f"{file}{line}, {failed_check}", "Correct the cell and its source."
        ) from None


def _check_characters(file: str, frame: pl.DataFrame) -> None:
    """Reject hidden characters in texts and lists of texts."""
    from hwprices.schemas.validation import has_hidden_character

    for name, dtype in frame.schema.items():
        hidden = frame.select(has_hidden_character(pl.col(name), dtype)).to_series().arg_true()
        if hidden.len():
            raise HwpricesError(
                f"{file} line {hidden[0] + FIRST_LINE}, column {name}: a control or format"
                " character that nobody sees",
                "Write the cell again by hand.",
            )
