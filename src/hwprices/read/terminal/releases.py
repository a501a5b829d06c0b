"""Draw the list of releases."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from rich.table import Table

from hwprices.read.terminal.tables import table

Entry = Mapping[str, Any]
"""A release as ``read.releases.releases`` describes it."""

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
