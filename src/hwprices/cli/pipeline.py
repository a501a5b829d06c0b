"""Commands that make or change a dataset. They need the extra ``hwprices[pipeline]``."""

from typing import Annotated

import typer

from hwprices.cli.common import Root, default_root

Keep = Annotated[int, typer.Option(min=1, help="How many of the newest releases stay.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def prune(keep: Keep = 30, root: Root = "", yes: Yes = False) -> None:
    """Delete old releases; the latest always stays.

    Asks first, and prints what it deleted: releases older than the newest ones, and files that an
    interrupted publication left behind.

    Example:

        hwprices prune --keep 10
    """
    from hwprices.publish import release
    from hwprices.storage.store import Store

    place = root or default_root()
    if not yes:
        typer.confirm(f"Delete all but the newest {keep} releases in {place}?", abort=True)
    deleted = release.prune(Store(place), keep)
    typer.echo(f"deleted {len(deleted)}: {', '.join(deleted)}" if deleted else "nothing to delete")


def refresh(context: typer.Context) -> None:
    """Collect prices and publish a release (hwprices[pipeline])."""
    from hwprices.flows import command

    command.app(context.args, prog_name=context.command_path)


def serve() -> None:
    """Run the pipeline by its schedules (hwprices[pipeline]).

    On this machine, until Ctrl-C.
    """
    from hwprices.flows import serve as server

    server.main()
