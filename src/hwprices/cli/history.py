"""The command ``hwprices history``: what a machine type or accelerator cost, and when."""

from dataclasses import replace
from typing import Annotated

import typer

from hwprices.cli import filters
from hwprices.cli.common import (
    AsCsv,
    AsJson,
    Release,
    Root,
    default_root,
    open_dataset,
    print_frame,
)
from hwprices.errors import HwpricesError

Limit = Annotated[
    int | None,
    typer.Option(
        min=1, help="How many purchase options, else 10; of --json and --csv how many rows."
    ),
]
Rebuild = Annotated[
    bool,
    typer.Option(
        "--rebuild",
        help="Make the history again from all kept releases, and compare it with what is there.",
    ),
]

SHOWN = 10  # purchase options, a table that is read at a glance


@filters.add_options(*filters.MACHINE, "provider", *filters.PLACE, *filters.PURCHASE)
def history(
    *,
    words: filters.Words = None,
    options: filters.Options,
    limit: Limit = None,
    rebuild: Rebuild = False,
    root: Root = "",
    version: Release = "latest",
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Show what a machine type or accelerator cost, and when.

    Takes words and options as find does: a machine type, a family or an accelerator, and where, how
    and with which system. Prints every price it had with the time in which it was valid, and a
    small chart in a terminal; of an accelerator the cheapest hour. Says which changes are
    corrections of ours, and since when something is no longer sold or was not collected. Types that
    are gone are found too. --json and --csv have every tenancy, software and license.

    Example:

        hwprices history p5.48xlarge us-east

        hwprices history h100 europe --option on_demand --csv
    """
    if rebuild:
        _rebuild(root or default_root())
        return
    from hwprices.read.find.search import EVERY_WAY, USUAL
    from hwprices.read.history import intervals
    from hwprices.read.terminal import history as terminal

    usual = replace(EVERY_WAY, os=USUAL.os) if as_json or as_csv else USUAL
    answer = intervals.answer(open_dataset(root, version), " ".join(words or []), usual, **options)
    if as_json or as_csv:
        print_frame(answer.rows, as_json, lambda _: "", as_csv=as_csv, limit=limit)
        return
    if answer.rows.is_empty():
        raise HwpricesError(
            "no price that a release has had fits",
            "Leave out a word or an option, or ask --json for every tenancy and license.",
        )
    print_lines(
        terminal.of_answer(answer, width=screen_width(), chart=is_screen(), limit=limit or SHOWN)
    )


def is_screen() -> bool:
    """Return whether a person looks at the output: in a pipe it is plain."""
    import sys

    encoding = (sys.stdout.encoding or "").lower()
    return sys.stdout.isatty() and encoding.startswith("utf")


def screen_width() -> int:
    """Count the columns of the screen; in a pipe lines are as long as they are."""
    import shutil

    return shutil.get_terminal_size().columns if is_screen() else 10_000


def print_lines(lines: list[str]) -> None:
    """Print lines, control characters escaped."""
    from hwprices.hidden_characters import escaped

    for line in lines:
        typer.echo(escaped(line))


def _rebuild(place: str) -> None:
    """Make the histories again, print what differs, and end with 1 if anything does."""
    from hwprices.publish.history import record
    from hwprices.storage.store import Store

    store = Store(place)
    made = record.rebuild(store)
    faults = [
        f"{one.release.version}: {key} comes out differently"
        for one in made
        for key in record.differences(store, one)
    ]
    print_lines(faults)
    if faults:
        raise typer.Exit(1)
    typer.echo(f"the history of {len(made)} releases comes out byte for byte as it is")
