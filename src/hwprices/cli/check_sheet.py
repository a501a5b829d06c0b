"""The command ``hwprices check-sheet``: check a price sheet before it is used."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from hwprices.cli.common import AsJson, Root, default_root, print_json, print_table
from hwprices.cli.tables import table
from hwprices.landing.pages import Landing
from hwprices.providers.price_sheets.check import check
from hwprices.release.wording import counted
from hwprices.settings import load
from hwprices.storage import layout

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
    landings = [Landing(layout.landing_root(root or default_root())), Landing(load().sample)]
    report = check(file, landings, datetime.now(UTC))
    if as_json:
        print_json(asdict(report))
    else:
        print_table(render_report(asdict(report)))
    if report.refused:
        raise typer.Exit(1)


HEADINGS = ["region", "machine", "how", "before", "now"]


def render_report(report: Mapping[str, Any]) -> RenderableType:
    """Draw a report of ``hwprices.providers.price_sheets.check``, as a mapping."""
    refused = [Text(f"refused: {line}", "red") for line in report["refused"]]
    notes = [Text(f"note: {note}", "yellow") for note in report["notes"]]
    state = "cannot be used" if refused else "can be used"
    heading = Text(f"{report['name']}: {state}, {counted(report['prices'], 'price')}", "bold")
    return Group(heading, *refused, *notes, *_changes(report))


def _changes(report: Mapping[str, Any]) -> list[RenderableType]:
    if not report["last"]:
        return [Text("there is no earlier sheet to compare it with")]
    count = len(report["changes"])
    summary = f"{count or 'no'} changes, {report['unchanged']} unchanged since {report['last']}"
    rows = [[*change["key"], change["before"], change["after"]] for change in report["changes"]]
    drawn = table(HEADINGS, rows, right=["before", "now"])
    return [Text(summary), drawn] if rows else [Text(summary)]
