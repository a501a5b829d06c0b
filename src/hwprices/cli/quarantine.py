"""The command ``hwprices admin quarantine``: what was refused, and why."""

import polars as pl
from rich.console import RenderableType
from rich.text import Text

from hwprices.cli.common import call, open_dataset, print_frame
from hwprices.cli.tables import SCREENFUL, listing, table
from hwprices.read.find import overview


def quarantine() -> None:
    """List what was refused, grouped by reason.

    Prints how many rows of each table were refused, why, in which regions, and the message of one
    of them. The table quarantine has every row.

    Example:

        hwprices admin quarantine
    """
    groups = overview.quarantine(open_dataset())
    print_frame(groups, lambda rows: render_quarantine(rows, call().limit))


def render_quarantine(groups: pl.DataFrame, limit: int | None) -> RenderableType:
    """Draw the refused rows, grouped by reason."""
    if groups.is_empty():
        return Text("No row was refused.")
    shown = groups.head(limit or SCREENFUL)
    rows = [
        [
            row["provider"],
            row["reason"],
            f"{row['occurrences']:,}",
            row["table"],
            listing(row["regions"]),
            row["example"].removeprefix(f"{row['reason']} "),
        ]
        for row in shown.iter_rows(named=True)
    ]
    return table(
        ["cloud", "reason", "rows", "table", "regions", "for example"],
        rows,
        title=f"{groups['occurrences'].sum():,} refused rows",
        right=["rows"],
        wrap=["for example", "regions"],
        least=["regions", "table"],
    )
