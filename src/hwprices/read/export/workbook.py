"""Write tables as an Excel workbook that needs no work before it is read."""

import io
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl

from hwprices.errors import HwpricesError, install_command
from hwprices.read.export.cells import flat
from hwprices.release.verify import Package

MAX_SHEET_ROWS = 1_048_575
"""Rows of an Excel sheet below its heading:
https://support.microsoft.com/office/excel-specifications-and-limits-1672b34d-7043-467e-8e27-269d656771c3"""

MONEY = "#,##0.00########"
"""At least two decimals, and all that a vendor prints."""

FORMATS: Mapping[type[pl.DataType], str] = {
    pl.Decimal: MONEY,
    pl.Date: "yyyy-mm-dd",
    pl.Datetime: "yyyy-mm-dd hh:mm",
}

PERCENT = "0%"  # Of columns whose names end in discount

NARROWEST, WIDEST = 8, 44
"""Width of a column in characters; texts that are longer are cut on the screen."""

SENTENCE = 110  # Width of the columns of sentences, in the sheets About and Columns

PIXELS = 7
"""Width of a digit in Excel's default font, Calibri 11:
https://support.microsoft.com/office/change-the-column-width-and-row-height-72f5e3cc-994d-43e8-ae58-9774a0905f46"""

ARROW = 3  # Characters that the arrow of a heading's filter takes


def workbook(path: Path, frames: Mapping[str, pl.DataFrame]) -> None:
    """Write a workbook with a sheet for each frame, with a frozen heading and wide columns.

    Texts are never taken for formulas or links.

    Raises:
        HwpricesError: XlsxWriter is not installed, or a table has too many rows.
    """
    if find_spec("xlsxwriter") is None:
        raise HwpricesError("an .xlsx file needs XlsxWriter", f"{install_command('export')}.")
    import xlsxwriter

    for name, rows in frames.items():
        if rows.height > MAX_SHEET_ROWS:
            raise HwpricesError(
                f"{name} has {rows.height:,} rows, a sheet at most {MAX_SHEET_ROWS:,}",
                "Write .csv or .parquet.",
            )
    no_formulas = {"strings_to_formulas": False, "strings_to_urls": False}
    options = {**no_formulas, "remove_timezone": True, "in_memory": True}
    # all in memory first: on a full disk xlsxwriter prints a traceback of its own
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, options) as book:
        for name, rows in frames.items():
            simple = flat(rows).with_columns(pl.col(pl.Datetime).dt.replace_time_zone(None))
            simple.write_excel(
                book,
                worksheet=name[:31],
                table_name=f"table_{name}",
                table_style="Table Style Light 1",
                column_formats=_formats(simple),
                column_widths=_widths(simple),
                freeze_panes=(1, 1),
                autofit=False,
            )
    path.write_bytes(buffer.getbuffer())


def _formats(rows: pl.DataFrame) -> dict[Any, Any]:
    formats = {}
    for name, dtype in rows.schema.items():
        if name.endswith("discount"):
            formats[name] = PERCENT
        elif dtype.base_type() in FORMATS:
            formats[name] = FORMATS[dtype.base_type()]
        elif dtype.is_float():
            formats[name] = "General"
    return formats


def _widths(rows: pl.DataFrame) -> dict[Any, int]:
    """Measure columns in pixels: the heading, and the longest text."""
    longest = rows.select(pl.col(pl.String).str.len_chars().max())
    texts = longest.row(0, named=True) if longest.height else {}
    widths = {}
    for name, dtype in rows.schema.items():
        shown = texts.get(name) or len(FORMATS.get(dtype.base_type(), ""))
        widest = SENTENCE if name in ("text", "description") else WIDEST
        wide = min(max(shown, len(name) + ARROW, NARROWEST), widest)
        widths[name] = wide * PIXELS
    return widths


def about(version: str, rows: Mapping[str, int], package: Package, left_out: int) -> pl.DataFrame:
    """Make the sheet that says what the workbook holds.

    Args:
        version: the release.
        rows: rows of each table in it.
        package: the descriptions of the release's tables.
        left_out: columns of offers that are not in it.
    """
    texts = {each["name"]: each["description"] for each in package["resources"]}
    lines = [
        ("release", version),
        ("prices", "list prices without tax, for an hour where the column says nothing else"),
        ("empty cells", "not known; the sheet Columns says what each column holds"),
        *((name, f"{count:,} rows. {texts.get(name, '')}".strip()) for name, count in rows.items()),
    ]
    if left_out:
        lines.append(("other columns", f"{left_out} of offers: write the file with --all-columns"))
    return pl.DataFrame(lines, schema={"about": pl.String, "text": pl.String}, orient="row")


def columns(frames: Mapping[str, pl.DataFrame], package: Package) -> pl.DataFrame:
    """Make the sheet that explains each column: sheet, column, unit, description."""
    lines = []
    for table in package["resources"]:
        shown = frames[table["name"]].columns if table["name"] in frames else []
        fields = {field["name"]: field for field in table["schema"]["fields"]}
        for name in shown:
            if name in fields:
                field = fields[name]
                lines.append((table["name"], name, field.get("unit"), field["description"]))
    names = ("sheet", "column", "unit", "description")
    return pl.DataFrame(lines, schema=dict.fromkeys(names, pl.String), orient="row")
