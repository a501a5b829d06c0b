"""The command ``hwprices compare``: machine types side by side."""

from typing import Annotated

import typer

from hwprices.cli import completion, filters
from hwprices.cli.common import AsCsv, AsJson, Release, Root, open_dataset, print_frame

MachineTypes = Annotated[
    list[str],
    typer.Argument(
        metavar="TYPE…",
        help="Machine types, without case or the vendor's prefix; with the cloud before a name that"
        " several clouds have: 'nebius NVIDIA HGX H100'.",
        autocompletion=completion.machines,
    ),
]
Equals = Annotated[
    bool,
    typer.Option("--equals", help="Add the machine of every other cloud most like the first one."),
]


@filters.add_options(*filters.PLACE, "os", *filters.VALUE)
def compare(
    *,
    machine_types: MachineTypes,
    equals: Equals = False,
    options: filters.Options,
    root: Root = "",
    version: Release = "latest",
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Compare machine types side by side.

    Prints specification and cheapest prices, a figure a line; ≠ marks the lines in which they
    differ, and * a stale price. Prices are the cheapest of all regions, or of those that are named.
    "break-even" is the share of hours in use from which a commitment costs less than on demand.

    Example:

        hwprices compare g6.xlarge g2-standard-4 NC4as_T4_v3

        hwprices compare g6.xlarge --equals
    """
    from hwprices.read.find import compare as comparing
    from hwprices.read.terminal.find import render_comparison

    dataset = open_dataset(root, version)
    comparison = comparing.compare(dataset, *machine_types, equals=equals, **options)
    print_frame(
        comparison.rows,
        as_json,
        lambda rows: render_comparison(rows, comparison.notes, comparison.sheets),
        as_csv=as_csv,
        notes=comparison.notes,
    )
