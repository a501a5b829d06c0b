"""Write tables of a release as CSV, JSON, Parquet, a workbook, a DuckDB file or Iceberg tables.

The export of Iceberg tables contains only metadata, which points to the release's files.
"""

import io
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl

from hwprices.errors import HwpricesError, cannot_write, first_line, install_command
from hwprices.read import sql
from hwprices.read.export.cells import flat, to_csv, to_json
from hwprices.read.find.names import ReleaseWords
from hwprices.read.find.offers import leading
from hwprices.read.overlays import apply
from hwprices.read.overlays.apply import warn_unmatched
from hwprices.read.overlays.rules import Discounts, Overlays, as_overlays
from hwprices.release import database
from hwprices.release.release import DAMAGED, Package, Release, damaged_file, read_package
from hwprices.storage.scratch import scratch_directory

DEFAULT_TABLE = "offers"
BATCH_ROWS = 50_000  # Rows of the price list as Python objects: about 100 MB

LIST_PRICES = (
    DEFAULT_TABLE,
    database.FOCUS_VIEW,
    "component_prices",
    "price_components",
    "price_history",
    "changes",
)
"""Tables with prices that own discounts do not change."""


def export(
    dataset: Release,
    target: str | Path,
    tables: Sequence[str] = (),
    *,
    overlays: Discounts = None,
    all_columns: bool = False,
) -> Path:
    """Write tables to a file, or for Iceberg a folder; the suffix sets the format.

    Args:
        dataset: the release.
        target: .csv, .json or .parquet for one table; .xlsx with a sheet for each; .duckdb with a
            table for each; .iceberg for a folder with a catalog over the release's own files.
        tables: which ones. Default: ``offers``, or all for .duckdb and .iceberg.
            ``focus_sku_prices`` is the price list with FOCUS column names (not for Iceberg).
        overlays: own discounts, applied to ``prices``, which must be among the tables. Then no
            other table with prices may be named; a complete .duckdb has them with list prices and a
            comment. Not for Iceberg.
        all_columns: offers in a workbook with all columns, not only those of ``LEADING``.

    Raises:
        HwpricesError: the suffix is unknown, a table does not exist or is not allowed, the file
            exists or cannot be written, or a package is missing.
    """
    rules = as_overlays(overlays)
    path = Path(target)
    suffix = path.suffix.lower()
    if suffix == ".iceberg":
        if rules is not None:
            raise HwpricesError(
                "an Iceberg catalog is of the release's own files, which have list prices",
                "Write another format, or leave out --overlays and HWPRICES_OVERLAYS.",
            )
        return export_iceberg(dataset, path, tables)
    if suffix not in (*ONE_TABLE, ".xlsx", ".duckdb"):
        raise HwpricesError(
            f"{path}: the suffix names no format",
            f"End it in {', '.join(ONE_TABLE)}, .xlsx, .duckdb or .iceberg.",
        )
    names = list(tables) or (dataset.tables if suffix == ".duckdb" else [DEFAULT_TABLE])
    if suffix in ONE_TABLE and len(names) > 1:
        raise HwpricesError(f"{path} holds one table", "Name one, or write .xlsx or .duckdb.")
    for name in names:
        if names.count(name) > 1:
            raise HwpricesError(f"table {name} is named twice", "Name each table once.")
    if rules is not None:
        _check_discounts(names, named=bool(tables))
    if path.exists():
        raise HwpricesError(f"{path} is there already", "Give another name, or delete it.")
    frames = {name: table(dataset, name, rules) for name in names}
    if DEFAULT_TABLE in frames and suffix != ".duckdb":
        few = suffix == ".xlsx" and not all_columns
        frames[DEFAULT_TABLE] = leading(frames[DEFAULT_TABLE], few=few)
    if suffix == ".duckdb":
        with _new_file(path, dataset):
            _database(path, dataset, frames, discounted=rules is not None)
        return path
    rows = {name: frame.collect() for name, frame in frames.items()}
    with _new_file(path, dataset):
        if suffix == ".xlsx":
            _workbook(dataset, path, rows)
        else:
            ONE_TABLE[suffix](path, rows[names[0]])
    return path


def _check_discounts(names: Sequence[str], *, named: bool) -> None:
    """Refuse own discounts if they would silently not apply to a table."""
    wrong = [name for name in names if name in LIST_PRICES] if named else []
    if "prices" not in names or wrong:
        raise HwpricesError(
            f"own discounts change the table prices only, not {(wrong or names)[0]}",
            "Write prices alone (--table prices), or leave out --overlays and HWPRICES_OVERLAYS.",
        )


@contextmanager
def _new_file(path: Path, dataset: Release) -> Iterator[None]:
    """Delete an incomplete file after an error, so that the next try can write it."""
    try:
        yield
    except BaseException as error:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        # polars reads while it writes, and raises the same error for a truncated input
        is_compute = isinstance(error, pl.exceptions.ComputeError)  # such as a full disk
        is_polars = is_compute or (isinstance(error, OSError) and error.errno is None)
        if is_polars and damaged_file(dataset.store, dataset.release):
            raise
        if isinstance(error, OSError) or is_compute:
            raise cannot_write(path, error) from None
        raise


def table(dataset: Release, name: str, overlays: Overlays | None = None) -> pl.LazyFrame:
    """Return a table, or the FOCUS price list.

    With own discounts ``prices`` also has ``list_effective_hourly`` and ``overlay``.

    Raises:
        HwpricesError: there is no such table.
    """
    if name == database.FOCUS_VIEW:
        return price_list(dataset)
    rows = dataset.scan(name)
    if name != "prices" or overlays is None:
        return rows
    warn_unmatched(dataset, overlays, ReleaseWords.of(dataset))
    columns = [*rows.collect_schema().names(), apply.LIST_PRICE, apply.RULE]
    return apply.apply(apply.described(dataset, rows), overlays).select(columns)


def price_list(dataset: Release) -> pl.LazyFrame:
    """Return the prices with FOCUS column names; see ``database.FOCUS_VIEW``.

    Columns have the types that the query states, even if they are empty.

    Raises:
        HwpricesError: the release has no prices, or a column has an unexpected type.
    """
    import duckdb

    dataset.files("prices")  # raises an error if there is no such table
    # not the user's connection, which may be closed or have other views;
    # not Arrow batches, because DuckDB (2.0.0) then prints a page of warnings on exit
    with sql.open_locked(dataset) as connection:
        try:
            result = connection.sql(database.focus_sql())
        except duckdb.BinderException as error:
            raise HwpricesError(f"no price list: {first_line(error)}", DAMAGED) from None
        kinds = dict(zip(result.columns, map(str, result.types), strict=True))
        if strange := [
            f"{name} {kind}" for name, kind in kinds.items() if kind not in database.FOCUS_DTYPES
        ]:
            raise HwpricesError(
                f"prices of this release have other types than expected: {', '.join(strange)}",
                DAMAGED,
            )
        schema = {name: database.FOCUS_DTYPES[kind] for name, kind in kinds.items()}
        batches = [pl.DataFrame(schema=schema)]
        connection.execute(database.focus_sql())
        while rows := connection.fetchmany(BATCH_ROWS):
            batches.append(pl.DataFrame(rows, schema=schema, orient="row"))
    return pl.concat(batches).lazy()


def _csv(path: Path, rows: pl.DataFrame) -> None:
    path.write_text(to_csv(rows), encoding="utf-8", newline="")


def _json(path: Path, rows: pl.DataFrame) -> None:
    """Write a list of objects; decimals and times are texts, to keep them exact."""
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        for index, row in enumerate(rows.iter_rows(named=True)):
            file.write(",\n" if index else "\n")
            file.write(to_json(row))
        file.write("\n]\n")


ONE_TABLE: dict[str, Callable[[Path, pl.DataFrame], None]] = {
    ".csv": _csv,
    ".json": _json,
    ".parquet": lambda path, rows: rows.write_parquet(path),
}
"""Functions that write one table, by suffix."""


def _workbook(dataset: Release, path: Path, frames: Mapping[str, pl.DataFrame]) -> None:
    """Write a workbook with a sheet for each table, and the sheets About and Columns."""
    package = read_package(dataset, Package) or {"resources": []}
    rows = {name: frame.height for name, frame in frames.items()}
    shown = frames.get(DEFAULT_TABLE)
    left_out = 0
    if shown is not None:
        left_out = len(dataset.scan(DEFAULT_TABLE).collect_schema()) - shown.width
    sheets = {
        "About": about(dataset.version, rows, package, left_out),
        **frames,
        "Columns": columns(frames, package),
    }
    workbook(path, sheets)


def _database(
    path: Path, dataset: Release, frames: Mapping[str, pl.LazyFrame], *, discounted: bool
) -> None:
    package = read_package(dataset, Package) or {"resources": []}
    with scratch_directory() as folder:
        files = {}
        for name, frame in frames.items():
            files[name] = [str(Path(folder) / f"{name}.parquet")]
            frame.sink_parquet(files[name][0])
        database.build(path, files, package, dataset.version, discounted=discounted)


NAMESPACE = "hwprices"


def export_iceberg(dataset: Release, folder: str | Path, tables: Sequence[str] = ()) -> Path:
    """Make an Iceberg catalog (SQLite) of a release's tables, and return its folder.

    The release must be in a folder on this machine. ``folder``, which must not exist, gets
    ``catalog.db`` and the metadata. ``tables``: all by default; those without rows are left out.

    Raises:
        HwpricesError: pyiceberg is not installed, the release is on an object store or has no such
            table, a table is named twice, or the folder exists or cannot be written. An incomplete
            folder is deleted.
    """
    if find_spec("pyiceberg") is None or find_spec("pyarrow") is None:
        raise HwpricesError("Iceberg needs pyiceberg", f"{install_command('export')}.")
    if not dataset.store.is_local:
        raise HwpricesError(
            f"{dataset.store.root} is not a folder", "Copy the release to this machine first."
        )
    names = list(tables) or dataset.tables
    for name in names:
        if names.count(name) > 1:
            raise HwpricesError(f"table {name} is named twice", "Name each table once.")
    files = {name: dataset.files(name) for name in names}
    target = Path(folder).absolute()
    if target.exists():
        raise HwpricesError(f"{target} is there already", "Give another name, or delete it.")
    from sqlalchemy.exc import SQLAlchemyError

    try:
        target.mkdir(parents=True)
        _register(dataset, target, files)
    except BaseException as error:
        shutil.rmtree(target, ignore_errors=True)
        if isinstance(error, OSError):
            raise cannot_write(target, error) from None
        if isinstance(error, SQLAlchemyError):  # such as a full disk
            raise cannot_write(target, getattr(error, "orig", error)) from None
        raise
    return Path(folder)


def _register(dataset: Release, folder: Path, files: Mapping[str, list[str]]) -> None:
    """Make the catalog in an empty folder, with tables over these Parquet files."""
    import pyarrow.parquet
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog(NAMESPACE, uri=f"sqlite:///{folder}/catalog.db", warehouse=folder.as_uri())
    catalog.create_namespace(NAMESPACE)
    for name, paths in files.items():
        if dataset.manifest["tables"][name]["rows"] == 0:
            continue
        absolute = [str(Path(path).absolute()) for path in paths]
        schema = pyarrow.parquet.read_schema(absolute[0])
        made = catalog.create_table(f"{NAMESPACE}.{name}", schema=schema)
        made.add_files(absolute, snapshot_properties={"hwprices.release": dataset.version})


MAX_SHEET_ROWS = 1_048_575
"""Rows of an Excel sheet below its heading:
https://support.microsoft.com/office/excel-specifications-and-limits-1672b34d-7043-467e-8e27-269d656771c3"""

MONEY = "#,##0.00########"  # two decimals, or as many as the vendor prints

FORMATS: Mapping[type[pl.DataType], str] = {
    pl.Decimal: MONEY,
    pl.Date: "yyyy-mm-dd",
    pl.Datetime: "yyyy-mm-dd hh:mm",
}

PERCENT = "0%"  # Of columns whose names end in discount

MIN_WIDTH, MAX_WIDTH = 8, 44  # of a column, in characters
SENTENCE = 110  # Width of columns with sentences, in the sheets About and Columns

PIXELS = 7
"""Width of a digit in Excel's default font, Calibri 11:
https://support.microsoft.com/office/change-the-column-width-and-row-height-72f5e3cc-994d-43e8-ae58-9774a0905f46"""

ARROW = 3  # Width of a heading's filter arrow, in characters


def workbook(path: Path, frames: Mapping[str, pl.DataFrame]) -> None:
    """Write a workbook with a sheet for each frame, with frozen headings and fitted columns.

    Text is never interpreted as a formula or link.

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
    # in memory first, because xlsxwriter prints a traceback if the disk is full
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
        limit = SENTENCE if name in ("text", "description") else MAX_WIDTH
        widths[name] = min(max(shown, len(name) + ARROW, MIN_WIDTH), limit) * PIXELS
    return widths


def about(version: str, rows: Mapping[str, int], package: Package, left_out: int) -> pl.DataFrame:
    """Make the sheet that describes the workbook.

    ``rows``: number of rows of each table in the workbook. ``left_out``: number of columns of
    offers that are not in it.
    """
    texts = {each["name"]: each["description"] for each in package["resources"]}
    lines = [
        ("release", version),
        ("prices", "list prices without tax, per hour unless the column states otherwise"),
        ("empty cells", "not known; the sheet Columns describes each column"),
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
