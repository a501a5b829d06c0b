"""The releases of a dataset: ``show releases``, ``admin verify``, ``reproduce`` and ``prune``."""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl
import typer
from rich.table import Table

from hwprices.cli.common import (
    LATEST,
    call,
    described,
    open_dataset,
    print_csv,
    print_frame,
    print_json,
)
from hwprices.cli.tables import count, table_of
from hwprices.errors import HwpricesError, escaped
from hwprices.release import versions as reading
from hwprices.release.versions import NO_RELEASE, resolve
from hwprices.release.wording import counted
from hwprices.storage.store import Store

if TYPE_CHECKING:
    from hwprices.publish.prune import Pruned


def releases() -> None:
    """List the releases of a dataset, newest last."""
    place = call().place
    entries = reading.releases(place)
    if not entries and not call().as_json:
        raise HwpricesError(f"no release in {place}", NO_RELEASE)
    limit = call().limit
    newest = entries[-limit:] if limit else entries
    if call().as_json:
        print_json(newest)
        return
    print_frame(as_frame(newest), lambda _: render_releases(newest))


Entry = Mapping[str, Any]  # A release as ``versions.releases`` describes it


def as_frame(entries: Sequence[Entry]) -> pl.DataFrame:
    """Return a row for each release: version, created_at, latest, prices, offers and providers."""
    return pl.DataFrame(
        [
            {
                "version": entry["version"],
                "created_at": entry["created_at"],
                "latest": entry["latest"],
                "prices": entry["rows"].get("prices", 0),
                "offers": entry["rows"].get("offers", 0),
                "providers": _providers(entry),
            }
            for entry in entries
        ]
    )


def render_releases(entries: Sequence[Entry]) -> Table:
    """Draw a line for each release."""
    return table_of(
        as_frame(entries),
        {
            "version": "version",
            "prices": ("prices", count),
            "offers": ("offers", count),
            "providers": "providers",
            "": lambda row: "latest" * row["latest"],
        },
        wrap=["providers"],
    )


def _providers(entry: Entry) -> str:
    """List the providers by the origin of their figures: ``sample, fresh: aws, gcp``."""
    by_state: dict[str, list[str]] = {}
    for name, state in entry["providers"].items():
        by_state.setdefault(state, []).append(name)
    return "; ".join(f"{state}: {', '.join(names)}" for state, names in by_state.items())


@described()
def verify(version: str = LATEST) -> None:
    """Check a release against its checksums."""
    dataset = open_dataset(version)
    faults = dataset.verify()
    files = sum(len(entry["files"]) for entry in dataset.manifest["tables"].values())
    if call().as_json:
        print_json({"version": dataset.version, "files": files, "faults": faults})
    elif call().as_csv:
        print_csv(pl.DataFrame({"fault": faults}, schema={"fault": pl.String}))
    else:
        for fault in faults:
            typer.echo(escaped(fault), err=True)
    if faults:
        raise typer.Exit(1)
    if not call().for_programs:
        typer.echo(f"release {dataset.version} is intact: {files} files match their checksums")


@described()
def reproduce(
    version: str = LATEST,
) -> None:
    """Rebuild a release from its landed pages."""
    from hwprices.publish.reproduce import reproduce as rebuild
    from hwprices.release.release import Release

    store = Store(resolve(call().place))
    made = rebuild(
        store, Release(store, version).version, lambda step: typer.echo(f"{step} …", err=True)
    )
    if call().as_json:
        print_json(made.to_dict())
    else:
        for line in made.lines():
            typer.echo(escaped(line))
    raise typer.Exit(made.exit_status)


@described()
def prune(
    keep: int | None = None,
    thin: bool = True,
    yes: bool = False,
    dry_run: bool = False,
) -> None:
    """Delete old releases and the pages only they need."""
    from hwprices.publish.prune import RELEASES, Policy, plan
    from hwprices.publish.prune import prune as prune_root
    from hwprices.settings import load

    place, settings = call().place, load()
    store = Store(place)
    releases = keep or settings.keep_releases or RELEASES
    policy = Policy(releases, is_thinned=thin, runs=settings.keep_runs)
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
    if pruned.releases:
        versions = escaped(", ".join(pruned.releases))
        typer.echo(f"{verb} {counted(len(pruned.releases), 'release')}: {versions}")
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
        period = f"{pruned.kept[0]} to {pruned.kept[-1]}" if pruned.kept[1:] else pruned.kept[0]
        typer.echo(f"{counted(len(pruned.kept), 'release')} kept: {period}")
