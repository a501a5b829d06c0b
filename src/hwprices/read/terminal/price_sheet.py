"""Draw what checking a price sheet gave."""

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from hwprices.read.terminal.tables import table
from hwprices.release.wording import counted

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
