"""The command ``hwprices price``: everything about the price of one machine type."""

from shlex import quote
from typing import Annotated

import typer

from hwprices.cli import completion, filters
from hwprices.cli.common import (
    AsCsv,
    AsJson,
    Limit,
    Release,
    Root,
    open_dataset,
    print_frame,
)
from hwprices.errors import HwpricesError

MachineType = Annotated[
    str,
    typer.Argument(
        metavar="TYPE",
        help="A machine type, without case or the vendor's prefix: g6.xlarge, d4s_v5.",
        autocompletion=completion.machines,
    ),
]


@filters.add_options("provider", *filters.PLACE, *filters.PURCHASE, *filters.VALUE)
def price(
    *,
    context: typer.Context,
    machine_type: MachineType,
    options: filters.Options,
    limit: Limit = None,
    root: Root = "",
    version: Release = "latest",
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Show what a machine type has and costs.

    Prints its specification, every purchase option with its cheapest region, and prices by region
    for each operating system. "break-even" is the share of hours in use from which a commitment
    costs less than on demand. Without --os all systems are shown. --json and --csv give every price
    in a row of its own.

    Example:

        hwprices price d4s_v5

        hwprices price p5.48xlarge --option on_demand --os linux
    """
    from hwprices.read.find import machine
    from hwprices.read.terminal.find import render_machine
    from hwprices.release.root import root_option

    _check_one_type([machine_type, *context.args])
    dataset = open_dataset(root, version)
    answer = machine.answer(dataset, machine_type, **options)
    cloud = f" --provider {answer.machine.provider}" if options.get("provider") else ""
    own = answer.rows["instance_type"].to_list()  # the name of the host if it is sold by the host
    name = quote(own[0] if own else answer.machine.instance_type)
    hint = f"hwprices explain {name}{cloud}{root_option(dataset.store.root)}"
    print_frame(
        answer.rows,
        as_json,
        lambda _: render_machine(answer, limit, hint),
        as_csv=as_csv,
        limit=limit,
        notes=answer.notes,
    )


def _check_one_type(names: list[str]) -> None:
    """Refuse several machine types.

    Raises:
        HwpricesError: there are several.
    """
    if len(names) > 1:
        raise HwpricesError(
            f"price shows one machine type, and {len(names)} are named",
            f"Write: hwprices compare {' '.join(map(quote, names))}. A name with spaces needs"
            " quotes.",
        )
