"""The command ``hwprices history``: what a machine type or accelerator cost, and when."""

from typing import Annotated

import typer

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

Name = Annotated[
    str,
    typer.Argument(
        help="A machine type or family (p5.48xlarge, p5, d4s_v5), or an accelerator (h100, l40s)."
    ),
]
Provider = Annotated[str | None, typer.Option(help="Only this provider: aws, google …")]
Region = Annotated[str | None, typer.Option(help="Only this region.")]
System = Annotated[
    str, typer.Option("--os", help="Only this operating system: windows, rhel …; or all.")
]
PurchaseOption = Annotated[
    str | None,
    typer.Option(
        "--purchase-option",
        "--option",
        help="Only this purchase option: on_demand, spot, reserved …",
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        min=1, help="How many ways to buy it are shown, else 10; of --json and --csv how many rows."
    ),
]
Rebuild = Annotated[
    bool,
    typer.Option(
        "--rebuild",
        help="Make the history again from all kept releases, and compare it with what is there.",
    ),
]

SHOWN = 10  # ways to buy, a table that is read at a glance


def history(
    name: Name = "",
    provider: Provider = None,
    region: Region = None,
    purchase_option: PurchaseOption = None,
    os: System = "linux",
    limit: Limit = None,
    rebuild: Rebuild = False,
    root: Root = "",
    version: Release = "latest",
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Show what a machine type or accelerator cost, and when.

    Prints every price it had with the time in which it was valid, and a small chart in a terminal;
    of an accelerator the cheapest hour. Says which changes are corrections of ours, and since when
    something is no longer sold or was not collected. Types that are gone are found too.

    Example:

        hwprices history p5.48xlarge --region us-east-1

        hwprices history h100 --option on_demand --csv
    """
    if rebuild:
        _rebuild(root or default_root())
        return
    if not name:
        raise HwpricesError("no name is given", "Write a machine type or an accelerator.")
    dataset = open_dataset(root, version)
    rows = dataset.history(
        name,
        provider=provider,
        region=region,
        purchase_option=purchase_option,
        os=os,
        plain=not (as_json or as_csv),
    )
    if as_json or as_csv:
        print_frame(rows, as_json, lambda _: "", as_csv=as_csv, limit=limit)
        return
    from hwprices.read.history.intervals import is_of_family
    from hwprices.read.terminal import history as terminal

    if rows.is_empty():
        raise HwpricesError(
            f"no price of {name} fits", "Leave out an option, or ask --json for all of them."
        )
    types = rows["instance_type"].unique()
    is_one_family = len(types) == 1 or all(is_of_family(one, name) for one in types)
    draw = terminal.of_type if is_one_family else terminal.of_accelerator
    print_lines(draw(rows, width=screen_width(), chart=is_screen(), limit=limit or SHOWN))


def is_screen() -> bool:
    """Tell whether a person looks at the output: in a pipe it is plain."""
    import sys

    encoding = (sys.stdout.encoding or "").lower()
    return sys.stdout.isatty() and encoding.startswith("utf")


def screen_width() -> int:
    """Count the columns of the screen; in a pipe lines are as long as they are."""
    import shutil

    return shutil.get_terminal_size().columns if is_screen() else 10_000


def print_lines(lines: list[str]) -> None:
    """Print lines, control characters escaped."""
    from hwprices.read.terminal.tables import escaped

    for line in lines:
        typer.echo(escaped(line))


def _rebuild(place: str) -> None:
    """Make the histories again, print what differs, and end with 1 if anything does."""
    from hwprices.publish.history import rebuild
    from hwprices.storage.store import Store

    store = Store(place)
    made = [one for one in rebuild.rebuild(store) if "price_history" in one.release.tables]
    faults = [
        f"{one.release.version}: {key} comes out differently"
        for one in made
        for key in rebuild.differences(store, one)
    ]
    print_lines(faults)
    if faults:
        raise typer.Exit(1)
    typer.echo(f"the history of {len(made)} releases comes out byte for byte as it is")
