"""Write each line of a checked bill with its match and citation."""

from pathlib import Path

import polars as pl

from hwprices.errors import HwpricesError, cannot_write
from hwprices.read.export.cells import to_csv
from hwprices.read.export.workbook import workbook
from hwprices.storage.scratch import scratch_directory

COLUMNS = [
    *("file", "line", "class", "provider", "account", "service", "region", "type", "resource"),
    *("description", "start", "end", "quantity", "unit", "list_price", "list_cost", "billed"),
    *("effective", "currency", "commitment", "matched_by", "price_of", "price", "expected"),
    *("difference", "discount_percent", "detail", "price_id", "citation"),
]
"""The columns of the output: ``price`` is our list price of one unit, in the bill's currency."""

BATCH_ROWS = 100_000  # Lines of CSV that are made at once: some 100 MB


def write(
    lines: pl.LazyFrame, proofs: pl.DataFrame, totals: pl.DataFrame, target: str | Path
) -> Path:
    """Write the lines of a ``BillCheck`` as .parquet, .csv or .xlsx.

    In CSV a text that a spreadsheet would run as a formula gets an apostrophe; in Excel texts are
    texts.

    Raises:
        HwpricesError: the suffix names no format, the file exists or cannot be written, or a sheet
            has too few rows for the bill.
    """
    path = check_target(target)
    suffix = path.suffix.lower()
    rows = (
        lines.join(proofs.lazy(), on="tile", how="left")
        .select(COLUMNS)
        .with_columns(pl.col("class").cast(pl.String))
    )
    try:
        if suffix == ".parquet":
            rows.sink_parquet(path, engine="streaming")
        elif suffix == ".csv":
            _csv(rows, path)
        else:
            workbook(path, {"totals": totals, "lines": rows.collect(engine="streaming")})
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, OSError | pl.exceptions.ComputeError):
            raise cannot_write(path, error) from None
        raise
    return path


def _csv(rows: pl.LazyFrame, path: Path) -> None:
    with scratch_directory() as folder, path.open("w", encoding="utf-8", newline="") as file:
        copy = Path(folder) / "lines.parquet"
        rows.sink_parquet(copy, engine="streaming")
        lines = pl.scan_parquet(copy)
        count = lines.select(pl.len()).collect().item()
        for first in range(0, max(count, 1), BATCH_ROWS):
            batch = lines.slice(first, BATCH_ROWS).collect()
            file.write(to_csv(batch, header=first == 0))


def check_target(target: str | Path) -> Path:
    """Refuse a file that could not be written, before the bill is read.

    Raises:
        HwpricesError: the suffix names no format, or the file exists.
    """
    path = Path(target)
    if path.suffix.lower() not in (".parquet", ".csv", ".xlsx"):
        raise HwpricesError(
            f"{path}: the suffix names no format", "End it in .parquet, .csv or .xlsx."
        )
    if path.exists():
        raise HwpricesError(f"{path} is there already", "Give another name, or delete it.")
    return path
