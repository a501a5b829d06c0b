"""The command ``hwprices check-sheet``: check a price sheet before it is used."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from hwprices.cli.common import AsJson, Root, default_root, print_json, print_table

SheetFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="The sheet; its name is the provider's: lambda.csv.")
]


def check_sheet(file: SheetFile, root: Root = "", as_json: AsJson = False) -> None:
    """Check a price sheet and show what changed.

    A price sheet (data/price_sheets) holds the prices of a cloud that has them on a web page only.
    Prints the lines that are refused and why, whether it is stale, the GPUs without a spec sheet,
    and how its prices differ from the sheet that was landed last, in the dataset or else in the
    sample. Ends with exit status 1 if a line is refused.

    Example:

        hwprices check-sheet data/price_sheets/coreweave.csv
    """
    from dataclasses import asdict

    from hwprices.landing.pages import Landing
    from hwprices.providers.price_sheets.check import check
    from hwprices.read.terminal.price_sheet import render_report
    from hwprices.settings import load
    from hwprices.storage import layout

    landings = [Landing(layout.landing_root(root or default_root())), Landing(load().sample)]
    report = check(file, landings, datetime.now(UTC))
    if as_json:
        print_json(asdict(report))
    else:
        print_table(render_report(asdict(report)))
    if report.refused:
        raise typer.Exit(1)
