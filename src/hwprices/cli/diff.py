"""The command ``hwprices diff``: how the prices of two releases differ."""

from typing import Annotated

import typer

from hwprices.cli.common import AsCsv, AsJson, Limit, Root, open_dataset, print_frame, print_table

Older = Annotated[
    str,
    typer.Argument(
        help="The earlier release, or a day such as 2026-10-01; without it the one before."
    ),
]
Newer = Annotated[str, typer.Argument(help="The later release.")]

SHOWN = 20  # prices, a screenful


def diff(
    older: Older = "",
    newer: Newer = "latest",
    limit: Limit = None,
    root: Root = "",
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Show how the prices of two releases differ.

    Prints how many went up, went down, are new or gone, and how many we restated without the
    vendor having changed them; then the largest changes. A price that was a placeholder or is one
    now is counted apart: it went neither up nor down. The earlier release need not be kept:
    its prices are in the history of the later one.

    Example:

        hwprices diff

        hwprices diff 2026-10-01 --csv
    """
    from hwprices.read.terminal import history as terminal

    dataset = open_dataset(root, newer)
    rows = dataset.diff(older or None)
    if as_json or as_csv:
        print_frame(rows, as_json, lambda _: "", as_csv=as_csv, limit=limit)
        return
    before = older or dataset.release.previous or ""
    shown = limit or SHOWN
    print_table(terminal.of_diff(rows, before, dataset.version, shown))
