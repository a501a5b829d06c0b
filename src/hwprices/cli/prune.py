"""The command ``hwprices admin prune``: delete old releases."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from hwprices.cli.common import call
from hwprices.errors import HwpricesError

SHARED = ("root",)

if TYPE_CHECKING:
    from hwprices.publish.prune import Pruned

Keep = Annotated[
    int | None,
    typer.Option(
        min=1,
        show_default="HWPRICES_KEEP_RELEASES, else 30",
        help="How many of the newest releases stay.",
    ),
]

Thinned = Annotated[
    bool,
    typer.Option(
        "--thin/--no-thin",
        help="Of older releases, keep the first of each day of the last month and the first of each"
        " month; or none.",
    ),
]

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be deleted, and delete nothing.")
]


def prune(
    keep: Keep = None, thin: Thinned = True, yes: Yes = False, dry_run: DryRun = False
) -> None:
    """Delete old releases and what only they were made of.

    What stays: the newest releases, the first of each day of the last month, the first of each
    month, the latest, and those of the last month with a gate check let through; the pages of which
    a release that stays was made, and those of each provider's newest collections
    (HWPRICES_KEEP_RUNS). The whole price history is in every release, so none of it is lost.

    What goes besides: what runs left behind that failed or were killed. May run beside a collection
    and beside readers: the last release stays for an hour after the next one came, and leftovers
    for a day. Says what it would delete and asks, unless there is nothing. After each publication
    the same is done without asking; HWPRICES_KEEP_RELEASES=0 turns that off.

    Examples:

        hwprices admin prune --keep 10

        hwprices admin prune --dry-run
    """
    from hwprices.publish.prune import RELEASES, Policy, plan
    from hwprices.publish.prune import prune as prune_root
    from hwprices.settings import load
    from hwprices.storage.store import Store

    place, settings = call().place, load()
    store = Store(place)
    count = keep or settings.keep_releases or RELEASES
    policy = Policy(count, is_thinned=thin, runs=settings.keep_runs)
    if yes and not dry_run:
        _print_pruned(prune_root(store, policy), "deleted")
        return
    planned = plan(store, policy)
    _print_pruned(planned, "would delete")
    if dry_run or not _deletes(planned):
        return
    if sys.stdin is None:  # closed, as by a scheduler
        raise HwpricesError("prune asks first, and standard input is closed", "Give --yes.")
    typer.confirm(f"Delete this below {place}?", abort=True)
    _print_pruned(prune_root(store, policy), "deleted")


def _deletes(pruned: "Pruned") -> bool:
    return bool(pruned.releases or pruned.runs or pruned.leftovers or pruned.scratch)


def _print_pruned(pruned: "Pruned", verb: str) -> None:
    """Print what was deleted or would be, and which releases stay."""
    from hwprices.hidden_characters import escaped
    from hwprices.release.wording import counted

    if pruned.releases:
        named = escaped(", ".join(pruned.releases))
        typer.echo(f"{verb} {counted(len(pruned.releases), 'release')}: {named}")
    if pruned.runs:
        typer.echo(f"{verb} the pages of {counted(len(pruned.runs), 'old collection')}")
    if pruned.leftovers:
        files = counted(pruned.leftovers, "file")
        typer.echo(f"{verb} {files} that no release or collection needs")
    if pruned.scratch:
        folders = counted(pruned.scratch, "temporary folder")
        typer.echo(f"{verb} {folders} of runs that were killed")
    if not _deletes(pruned):
        typer.echo("nothing to delete")
    if pruned.kept:
        of_time = f"{pruned.kept[0]} to {pruned.kept[-1]}" if pruned.kept[1:] else pruned.kept[0]
        typer.echo(f"{counted(len(pruned.kept), 'release')} kept: {of_time}")
