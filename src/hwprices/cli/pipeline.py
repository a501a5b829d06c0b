"""Commands that make or change a dataset. They need the extra ``hwprices[pipeline]``."""

from typing import Annotated

import typer

from hwprices.cli.common import Root, default_root

Keep = Annotated[int, typer.Option(min=1, help="How many of the newest releases stay.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def prune(keep: Keep = 30, root: Root = "", yes: Yes = False) -> None:
    """Delete old releases; the latest always stays.

    Asks first, and prints what it deleted: releases older than the newest ones, and what runs left
    behind that failed or were killed. May run beside a collection and beside readers: the last
    release stays for an hour after the next one came, and leftovers for a day.

    Example:

        hwprices prune --keep 10
    """
    from hwprices.publish.prune import Pruned
    from hwprices.publish.prune import prune as prune_root
    from hwprices.read.terminal.tables import escaped
    from hwprices.settings import load
    from hwprices.storage.store import Store

    place = root or default_root()
    if not yes:
        typer.confirm(f"Delete all but the newest {keep} releases in {place}?", abort=True)
    pruned = prune_root(Store(place), keep, keep_runs=load().keep_runs)
    names = escaped(", ".join(pruned.releases))
    if pruned.releases:
        typer.echo(f"deleted {len(pruned.releases)}: {names}")
    if pruned.leftovers:
        typer.echo(f"deleted {pruned.leftovers} files that interrupted runs left")
    if pruned == Pruned():
        typer.echo("nothing to delete")


def refresh(context: typer.Context) -> None:
    """Collect prices and publish a release.

    Its options are those of the main job; they need hwprices[pipeline].

    Example:

        hwprices refresh --source sample
    """
    from hwprices.flows import command

    command.app(context.args, prog_name=context.command_path)


def serve() -> None:
    """Run the pipeline by its schedules, until Ctrl-C.

    Starts a Prefect server, the deployments and a worker on this machine; needs hwprices[pipeline].

    Example:

        hwprices serve
    """
    from hwprices.flows import serve as server

    server.main()
