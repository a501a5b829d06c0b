"""The command ``hwprices export``: tables as files for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from hwprices.cli import filters
from hwprices.cli.common import (
    open_dataset,
)
from hwprices.hidden_characters import escaped

SHARED = ("root", "version")

Target = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="Its suffix is the format: .csv, .json, .parquet, .xlsx, .duckdb; .iceberg is a "
        "folder with an Iceberg catalog over the release's own files.",
    ),
]

Tables = Annotated[
    list[str] | None,
    typer.Option(
        "--table",
        help="Which table; may be repeated for .xlsx, .duckdb, .iceberg. focus_sku_prices is the "
        "price list in the draft form of FOCUS. Default: offers; for the last two all.",
    ),
]


def export(
    target: Target,
    table: Tables = None,
    overlays: filters.OverlayFile = None,
) -> None:
    """Write tables as CSV, JSON, Parquet, Excel or DuckDB.

    Texts that a spreadsheet would run as a formula get an apostrophe in CSV, and are plain texts in
    Excel. With --overlays the table prices has own discounts applied, the list price beside them.
    Other tables with prices are refused then; a whole .duckdb has them with list prices. Excel and
    Iceberg need hwprices[export].

    Example:

        hwprices export offers.csv

        hwprices export regions.xlsx --table regions --table zones

        hwprices export everything.duckdb
    """
    dataset = open_dataset()
    rules = filters.load_overlays(overlays)
    dataset.export(target, table or (), overlays=rules)
    if rules is not None and target.suffix.lower() == ".duckdb":
        from hwprices.release.database import DISCOUNTED

        typer.echo(f"table prices: {DISCOUNTED}", err=True)
    typer.echo(f"wrote {escaped(str(target))} from release {dataset.version}")
