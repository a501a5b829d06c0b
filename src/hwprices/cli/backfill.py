"""The command ``hwprices admin backfill``: the past from the vendor itself."""

from typing import Annotated, Literal

import typer

from hwprices.cli.common import call
from hwprices.errors import HwpricesError

SHARED = ("root",)
Vendor = Annotated[str, typer.Argument(metavar="PROVIDER", help="A provider: aws or gcp.")]
Since = Annotated[str, typer.Option(help="From this day on: 2024-01-01.")]
Until = Annotated[str, typer.Option(help="Until this day; without it until today.")]
Every = Annotated[
    Literal["month", "quarter", "year"],
    typer.Option(
        help="How many price lists: the first of each month, quarter or year. Spot: every day."
    ),
]
Region = Annotated[
    list[str] | None,
    typer.Option(help="Only this region; may be repeated. Without it all of the last run."),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say how much it would download, and download nothing.")
]


def backfill(
    provider: Vendor,
    since: Since,
    until: Until = "",
    every: Every = "month",
    region: Region = None,
    dry_run: DryRun = False,
) -> None:
    """Fetch past prices from the vendor itself.

    The next release has them in its history, marked as backfilled; what releases observed stays as
    it is. AWS keeps a price list for each month from December 2015 on, with savings plans, and 90
    days of spot prices; Google Cloud the rates of each month. After an interruption, give the same
    command again: lists that are there are not fetched again. Exit status: 1 if a list was left
    out.

    Example:

        hwprices admin backfill aws --since 2024-01-01 --region us-east-1 --dry-run

        hwprices admin backfill gcp --since 2024-01-01 --every quarter
    """
    from datetime import UTC, datetime

    from hwprices.cli.tables import listing
    from hwprices.publish.backfill import Backfill
    from hwprices.release.root import resolve
    from hwprices.release.versions import instant
    from hwprices.release.wording import counted
    from hwprices.settings import load
    from hwprices.storage.store import Store

    begin = instant(since).replace(hour=0, minute=0, second=0, microsecond=0)
    end = instant(until) if until else datetime.now(UTC)
    if begin >= end:
        raise HwpricesError(f"{since} is not before {until or 'today'}", "Name an earlier day.")
    store = Store(resolve(call().place))
    with Backfill(store, provider, load()) as made:
        chosen = made.choose(region or [], begin, end, every)
        plan = made.estimate(chosen)
        size = f"{plan.bytes / 1e9:.2f} GB, {plan.minutes:.0f} minutes at 20 MB/s"
        lines = [f"{counted(plan.lists, 'list')}, {plan.missing:,} to fetch: {size}"]
        if plan.unknown:
            names = listing(plan.unknown)
            lines.append(f"not in the estimate, as no run has fetched it yet: {names}")
        lines += [f"left out: {note}" for note in made.notes]
        for line in lines:
            typer.echo(line, err=not dry_run)
        if dry_run:
            return
        done = made.run(chosen, lambda line: typer.echo(line, err=True))
    for line in done.left_out:
        typer.echo(f"left out: {line}", err=True)
    typer.echo(
        f"{counted(done.fetched, 'list')} fetched, {done.kept:,} there already,"
        f" {done.absent:,} that the vendor does not have,"
        f" {counted(done.intervals, 'interval')}. The next release has them."
    )
    if done.left_out:
        raise typer.Exit(1)
