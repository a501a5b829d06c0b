"""Write files: ``hwprices export`` for other programs, ``hwprices export report`` for a browser."""

from pathlib import Path
from typing import Any

import typer

from hwprices.cli import filters
from hwprices.cli.common import described, open_dataset
from hwprices.errors import HwpricesError, escaped
from hwprices.read.dataset import Dataset

TOOLS = ("gpuhunt", "skypilot", "opencost", "karpenter")


@filters.add_options("provider", "region", "type", "option")
@described(tool=lambda: list(TOOLS))
def export(
    *,
    target: Path,
    table: list[str] | None = None,
    all_columns: bool = False,
    tool: str | None = None,
    options: filters.Options,
    overlays: filters.OverlayFile = None,
) -> None:
    """Write tables as CSV, JSON, Parquet, Excel or DuckDB, or prices as files of other tools."""
    dataset = open_dataset()
    if tool is not None:
        if table:
            raise HwpricesError("--as writes prices, not tables", "Leave out --table.")
        _export_as(dataset, tool, target, overlays=overlays, **options)
        return
    if any(options.values()):
        raise HwpricesError(
            "the options that choose prices need --as",
            "Add --as, or write `hwprices find … --csv` to a file.",
        )
    dataset.export(target, table or (), overlays=overlays, all_columns=all_columns)
    if overlays is not None and target.suffix.lower() == ".duckdb":
        from hwprices.release.database import DISCOUNTED

        typer.echo(f"table prices: {DISCOUNTED}", err=True)
    typer.echo(f"wrote {escaped(str(target))} from release {dataset.version}")


def _export_as(dataset: Dataset, tool: str, folder: Path, **options: Any) -> None:
    """Write the files of another tool, and count the prices that it cannot represent."""
    from hwprices.read.export.tools import LEFT_OUT, reasons

    catalog = dataset.export_as(tool, folder, **options)
    left_out = catalog.left_out["prices"].sum()
    lines = [
        f"wrote {catalog.exported:,} prices of release {dataset.version} to {folder}",
        f"left out {left_out:,} prices (by provider: {folder / LEFT_OUT})",
        *(f"{row[2]:>9,}  {row[0]}" for row in reasons(catalog.left_out).iter_rows()),
        f"not in the files of {tool}:",
        *(f"  - {detail}" for detail in catalog.details),
    ]
    for line in lines:
        typer.echo(escaped(line))


@described()
def report(
    out: Path = Path("report"),
) -> None:
    """Write a release as pages for a browser."""
    from hwprices.read.report import report as pages

    written = pages.write(open_dataset(), out)
    typer.echo(f"{written.index}  ({written.files:,} files, {written.bytes / 1e6:.1f} MB)")
