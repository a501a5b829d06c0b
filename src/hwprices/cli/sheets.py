"""The command ``hwprices admin sheets``: how old price sheets are, and whether one can be used."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from hwprices.cli.common import call, print_json, print_table, shares
from hwprices.cli.tables import table
from hwprices.landing.pages import Landing
from hwprices.providers.price_sheets.check import READ_AGAIN, SheetPage, check, pages
from hwprices.release.wording import counted
from hwprices.settings import load
from hwprices.storage import layout

SheetFile = Annotated[
    Path | None,
    typer.Argument(
        metavar="[FILE]", help="A sheet to check; its name is the provider's: lambda.csv."
    ),
]


@shares("root", "json")
def sheets(file: SheetFile = None) -> None:
    """List price sheets by age, or check one.

    A price sheet (data/price_sheets) holds the prices of a cloud that has them on a web page only.
    Without a file, prints the pages that were read more than 60 days ago, with the figures to
    confirm on each. With a file, prints the lines that are refused and why, whether it is stale,
    the GPUs without a spec sheet, and how its prices differ from the sheet that was landed last, in
    the dataset or else in the sample; ends with exit status 1 if a line is refused.

    Examples:

        hwprices admin sheets

        hwprices admin sheets data/price_sheets/coreweave.csv
    """
    now = datetime.now(UTC)
    if file is None:
        listed = pages(now)
        if call().as_json:
            print_json([asdict(page) for page in listed])
        else:
            print_table(render_pages(listed))
        return
    landings = [Landing(layout.landing_root(call().place)), Landing(load().sample)]
    report = check(file, landings, now)
    if call().as_json:
        print_json(asdict(report))
    else:
        print_table(render_report(asdict(report)))
    if report.refused:
        raise typer.Exit(1)


def render_pages(listed: Sequence[SheetPage]) -> RenderableType:
    """Draw the pages to read again with their figures, and count the others."""
    drawn: list[RenderableType] = []
    for page in listed:
        if page.due:
            drawn.append(
                Text(f"{page.provider}, read {page.read_on}, {page.days} days ago", "bold")
            )
            drawn.append(Text(f"  {page.page}", no_wrap=True, overflow="ignore"))
            drawn += [Padding(Text(figure), (0, 0, 0, 4)) for figure in page.figures]
    fresh = sum(1 for page in listed if not page.due)
    drawn.append(Text(f"{counted(fresh, 'page')} read in the last {READ_AGAIN.days} days.", "dim"))
    return Group(*drawn)


HEADINGS = ["region", "machine", "option", "before", "now"]


def render_report(report: Mapping[str, Any]) -> RenderableType:
    """Draw a report of ``hwprices.providers.price_sheets.check``, as a mapping."""
    refused = [Text(f"refused: {line}", "red") for line in report["refused"]]
    notes = [Text(f"note: {note}", "yellow") for note in report["notes"]]
    state = "cannot be used" if refused else "can be used"
    heading = Text(f"{report['name']}: {state}, {counted(report['prices'], 'price')}", "bold")
    return Group(heading, *refused, *notes, *_changes(report))


def _changes(report: Mapping[str, Any]) -> list[RenderableType]:
    if not report["last"]:
        return [Text("an earlier sheet is missing, so nothing is compared")]
    count = len(report["changes"])
    summary = f"{count or 'no'} changes, {report['unchanged']} unchanged since {report['last']}"
    rows = [[*change["key"], change["before"], change["after"]] for change in report["changes"]]
    drawn = table(HEADINGS, rows, right=["before", "now"])
    return [Text(summary), drawn] if rows else [Text(summary)]
