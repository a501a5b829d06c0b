"""What a release has and lacks: ``hwprices show coverage``, ``hwprices admin quarantine``."""

import math
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import polars as pl
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hwprices.cli import filters
from hwprices.cli.common import call, described, not_collected, open_dataset, print_frame
from hwprices.cli.tables import SCREENFUL, Row, codes, count, listing, table, table_of
from hwprices.errors import HwpricesError
from hwprices.read.find import covers, request
from hwprices.read.find.names import ReleaseWords
from hwprices.release.release import Release
from hwprices.release.wording import ago


@filters.add_options("provider")
@described()
def coverage(
    *,
    options: filters.Options,
    columns: bool = False,
    unknown: bool = False,
) -> None:
    """Show which regions have prices, and how old they are."""
    dataset = open_dataset()
    provider = options["provider"]
    words = ReleaseWords.of(dataset)
    names = request.split(provider)
    # a marketplace sells no machine types, so it is not among the words of the release
    markets = frozenset(names) & (dataset.release.providers.keys() - words.providers.keys())
    chosen = markets | request.providers(words, [name for name in names if name not in markets])
    if columns and unknown:
        raise HwpricesError("--columns and --unknown are two lists", "Give one of them.")
    if unknown:
        print_frame(
            covers.new_words(dataset, chosen),
            lambda rows: render_new_words(rows.head(call().limit or rows.height)),
        )
        return
    if columns:
        counts = covers.columns(dataset, chosen)
        print_frame(counts, lambda rows: render_columns(rows, call().limit))
        return
    regions = covers.coverage(dataset)
    if chosen:
        regions = regions.filter(regions["provider"].is_in(sorted(chosen)))
    below: list[RenderableType] = [*_without_sheet(dataset, chosen), *not_collected(chosen)]
    print_frame(regions, lambda rows: Group(render_coverage(rows, call().limit), *below))


def render_coverage(regions: pl.DataFrame, limit: int | None) -> RenderableType:
    """Draw what a release covers: a line for each provider, and one for each priced region."""
    now = datetime.now(UTC)
    covered = table_of(
        covers.by_provider(regions),
        {
            "cloud": "provider",
            "regions": lambda row: f"{row['regions_with_prices']} of {row['regions']}",
            "prices": ("prices", count),
            "seen": lambda row: _age(row, now),
            "options": lambda row: codes(row["purchase_options"]),
            "systems": lambda row: codes(row["operating_systems"]),
            "currencies": lambda row: " ".join(row["currencies"]),
        },
        title="Covered",
        wrap=["options", "systems"],
        least=["systems", "currencies"],
    )
    priced = regions.filter(pl.col("prices") > 0)
    parts: list[RenderableType] = [covered, _regions(priced.head(limit or priced.height), now)]
    lacking = regions.filter(pl.col("prices") == 0).group_by("provider").agg("region")
    for provider, names in lacking.sort("provider").iter_rows():
        parts.append(Text(f"no prices of {provider}: {listing(names)}", "dim"))
    return Group(*parts)


def _without_sheet(dataset: Release, chosen: Collection[str]) -> Iterator[Table]:
    """Draw the accelerators without a spec sheet, of all providers if none is chosen."""
    unmatched = dataset.release.unmatched_accelerators
    rows = [entry for entry in unmatched if not chosen or entry.provider in chosen]
    if rows:
        yield table(
            ["cloud", "accelerator", "machines"],
            [
                [
                    entry.provider,
                    entry.accelerator_id or entry.vendor_name or "its vendor does not name it",
                    listing(entry.instance_types),
                ]
                for entry in rows
            ],
            title="\nAccelerators without a spec sheet",
            wrap=["accelerator", "machines"],
            least=(),
        )


def render_columns(columns: pl.DataFrame, limit: int | None) -> RenderableType:
    """Draw the columns that lack a value in some row, by table."""
    lacking = columns.filter(pl.col("filled") < pl.col("rows"))
    drawn = table_of(
        lacking.head(limit or lacking.height),
        {
            "table": "table",
            "column": "column",
            "rows with a value": lambda row: f"{row['filled']:,} of {row['rows']:,}",
            "share": ("share", _percent),
            "clouds with a value": lambda row: listing(row["providers"]),
        },
        title="Columns with gaps",
        right=["rows with a value"],
        wrap=["clouds with a value"],
        least=["clouds with a value"],
    )
    complete = columns.filter(pl.col("rows") > 0, pl.col("filled") == pl.col("rows")).height
    empty = lacking.filter(pl.col("filled") == 0).height
    note = f"Columns without gaps: {complete:,}. Of those above, without any value: {empty:,}."
    return Group(drawn, Text(note, "dim"))


def _percent(share: float) -> str:
    """Write a share below 1. It is rounded down, and 0 % means none at all."""
    return "< 1 %" if 0 < share < 0.01 else f"{math.floor(100 * share)} %"


def _regions(priced: pl.DataFrame, now: datetime) -> Table:
    return table_of(
        priced,
        {
            "region": "region",
            "cloud": "provider",
            "country": "country",
            "prices": ("prices", count),
            "types": ("machine_types", count),
            "seen": lambda row: _age(row, now),
            "name": "display_name",
            "options": lambda row: codes(row["purchase_options"]),
        },
        title="\nRegions with prices",
        wrap=["options"],
        least=["options", "name"],
    )


def _age(row: Mapping[str, Any], now: datetime) -> str:
    """Write the age of the newest and the oldest price."""
    oldest, newest = (
        ago(now - row[name]) if row[name] else "never" for name in ("observed_from", "observed_to")
    )
    if oldest == newest:
        return newest
    number, _, unit = newest.partition(" ")
    same_unit = unit and oldest.endswith(unit)
    return f"{number if same_unit else newest} to {oldest}"


def render_new_words(words: pl.DataFrame, *, most: int | None = None) -> RenderableType:
    """Draw the result of ``covers.new_words``.

    ``most``: words to show per provider; the others are counted.
    """
    if words.is_empty():
        return Text("No word of a vendor is unknown.")
    rows: list[Row] = []
    for (provider,), group in words.group_by("provider", maintain_order=True):
        shown = group.head(most or group.height)
        rows += shown.iter_rows(named=True)
        if hidden := group.height - shown.height:
            more = f"… and {hidden:,} more: hwprices show coverage --unknown --provider {provider}"
            rows.append(dict.fromkeys(words.columns) | {"provider": provider, "word": more})
    return table_of(
        rows,
        {
            "cloud": "provider",
            "word": "word",
            "lines": ("lines", count),
            "further rows": ("dependants", count),
            "since": lambda row: f"{row['first_seen']:%Y-%m-%d}" if row["first_seen"] else "",
            "reason": "reason",
            "for example": "example",
            "page": "source_url",
        },
        title="New from the vendor",
        wrap=["word", "for example", "page"],
        least=["page", "reason", "for example"],
        caption="Neither these lines nor the further rows that need them are published.",
    )


def quarantine() -> None:
    """List the refused rows, grouped by reason."""
    groups = covers.quarantine(open_dataset())
    print_frame(groups, lambda rows: render_quarantine(rows, call().limit))


def render_quarantine(groups: pl.DataFrame, limit: int | None) -> RenderableType:
    """Draw the refused rows, grouped by reason."""
    if groups.is_empty():
        return Text("No row was refused.")
    return table_of(
        groups.head(limit or SCREENFUL),
        {
            "cloud": "provider",
            "reason": "reason",
            "rows": ("occurrences", count),
            "table": "table",
            "regions": lambda row: listing(row["regions"]),
            "for example": lambda row: row["example"].removeprefix(f"{row['reason']} "),
        },
        title=f"{groups['occurrences'].sum():,} refused rows",
        wrap=["for example", "regions"],
        least=["regions", "table"],
    )
