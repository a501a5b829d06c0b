"""The command ``hwprices show releases``: the releases of a dataset."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import polars as pl
import typer
from rich.table import Table

from hwprices.cli.common import call, print_frame, print_json
from hwprices.cli.tables import table
from hwprices.errors import HwpricesError
from hwprices.release import versions as reading

SHARED = ("root", "limit", "json", "csv")
Newest = Annotated[int | None, typer.Option("--limit", min=1, help="Only so many, the newest.")]


def releases() -> None:
    """List the releases of a dataset, newest last.

    Prints for each its version, how many prices and offers it has, and for each provider whether
    its figures are live or from the sample, and fresh or kept from an older release.

    Example:

        hwprices show releases --root s3://bucket/hwprices
    """
    place = call().place
    entries = reading.releases(place)
    if not entries and not call().as_json:
        raise HwpricesError(
            f"no release in {place}", "Run the refresh flow (make run), or give --root."
        )
    limit = call().limit
    newest = entries[-limit:] if limit else entries
    if call().as_json:
        print_json(newest)
        return
    print_frame(as_frame(newest), lambda _: render_releases(newest))


Entry = Mapping[str, Any]  # A release as ``read.releases.releases`` describes it
HEADINGS = ["version", "prices", "offers", "providers", ""]


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
    rows = [
        [
            entry["version"],
            f"{entry['rows'].get('prices', 0):,}",
            f"{entry['rows'].get('offers', 0):,}",
            _providers(entry),
            "latest" if entry["latest"] else "",
        ]
        for entry in entries
    ]
    return table(HEADINGS, rows, right=["prices", "offers"], wrap=["providers"])


def _providers(entry: Entry) -> str:
    """List the providers by where their figures are from: ``sample, fresh: aws, gcp``."""
    by_state: dict[str, list[str]] = {}
    for name, state in entry["providers"].items():
        by_state.setdefault(state, []).append(name)
    return "; ".join(f"{state}: {', '.join(names)}" for state, names in by_state.items())
