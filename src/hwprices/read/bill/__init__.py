"""Compare a bill with a release (``Dataset.bill``), and write the result line by line."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from hwprices.errors import HwpricesError, cannot_write
from hwprices.read.bill import readers
from hwprices.read.export.cells import to_csv
from hwprices.read.export.files import workbook
from hwprices.read.overlays.rules import Discounts
from hwprices.release.release import Release
from hwprices.release.wording import counted
from hwprices.storage.scratch import scratch_directory

if TYPE_CHECKING:
    from hwprices.read.bill.check import BillCheck
    from hwprices.read.bill.reprice import Repricing


class Bill:
    """The validated lines of a bill, and the release to compare them with.

    ``content`` has its format, files, currency and period.
    """

    def __init__(self, dataset: Release, path: str | Path) -> None:
        self.dataset = dataset
        self.content = readers.read(path)

    def __repr__(self) -> str:
        content = self.content
        return (
            f"<bill: {content.format}, {counted(content.count, 'line')}, {content.currency},"
            f" {content.first:%Y-%m-%d} to {content.last:%Y-%m-%d}>"
        )

    @property
    def lines(self) -> pl.LazyFrame:
        """The lines: the columns of ``bill.formats.COLUMNS``, and each ``file`` and ``line``."""
        return self.content.lines

    def check(self, *, overlays: Discounts = None, nearest: bool = False) -> "BillCheck":
        """Compare each line with the list price that was valid in its hour.

        Args:
            overlays: own discounts, as in ``find``: lines at the discounted price are
                "as_contracted".
            nearest: compare lines older than the price history with the first known price.

        Raises:
            HwpricesError: a rule is wrong.
        """
        from hwprices.read.bill import check

        return check.check(self.dataset, self.content, overlays=overlays, nearest=nearest)

    def reprice(
        self,
        *,
        on: Sequence[str] = (),
        option: str = "on_demand",
        region: Sequence[str] = (),
        usd_per: Mapping[str, object] | None = None,
    ) -> "Repricing":
        """Compute what the machines of the bill cost elsewhere, or with another purchase option.

        Args:
            on: providers to move to, each with its most similar machine. By default the bill's own
                provider: the same machine with another purchase option.
            option: purchase option there: on_demand, spot, reserved, savings_plan, committed_use,
                or commitment for the cheapest commitment.
            region: regions there. Default: the cheapest one on the machine's continent.
            usd_per: exchange rates, as in ``find``.

        Raises:
            HwpricesError: a provider, option or region is unknown, or the bill's currency has no
                rate.
        """
        from hwprices.read.bill import reprice

        return reprice.reprice(
            self.dataset, self.content, on=on, option=option, region=region, rates=usd_per
        )


COLUMNS = [
    *("file", "line", "class", "provider", "account", "service", "region", "type", "resource"),
    *("description", "start", "end", "quantity", "unit", "list_price", "list_cost", "billed"),
    *("effective", "currency", "commitment", "matched_by", "price_of", "price", "expected"),
    *("difference", "discount_percent", "detail", "price_id", "citation"),
]
"""The columns of the output: ``price`` is our list price of one unit, in the bill's currency."""

BATCH_ROWS = 100_000  # Lines of CSV in memory: about 100 MB


def write(
    lines: pl.LazyFrame, proofs: pl.DataFrame, totals: pl.DataFrame, target: str | Path
) -> Path:
    """Write the lines of a ``BillCheck`` as .parquet, .csv or .xlsx, in the order of the bill.

    In CSV, text that a spreadsheet would run as a formula gets an apostrophe.

    Raises:
        HwpricesError: the suffix is not a format, the file exists or cannot be written, or the bill
            has more lines than a sheet can hold.
    """
    path = check_target(target)
    suffix = path.suffix.lower()
    rows = (
        lines.join(proofs.lazy(), on="tile", how="left", maintain_order="left")
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
    """Refuse an output file that exists or has another suffix, before the bill is read.

    Raises:
        HwpricesError: the suffix is not a format, or the file exists.
    """
    path = Path(target)
    if path.suffix.lower() not in (".parquet", ".csv", ".xlsx"):
        raise HwpricesError(
            f"{path}: the suffix names no format", "End it in .parquet, .csv or .xlsx."
        )
    if path.exists():
        raise HwpricesError(f"{path} is there already", "Give another name, or delete it.")
    return path
