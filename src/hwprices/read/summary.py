"""Summarize a release for a terminal: rows, refused rows, an H100's price, age of the figures."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import polars as pl
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hwprices.hidden_characters import escaped
from hwprices.read.find import search, words
from hwprices.read.find.vocabulary import ReleaseWords
from hwprices.read.terminal import next_steps
from hwprices.read.terminal.tables import money, table
from hwprices.read.terminal.where_sold import PRIVATE
from hwprices.release import notes as release_notes
from hwprices.release.age import seen_words, sheet_seen
from hwprices.release.manifest import ReleaseManifest, UnmatchedAccelerator
from hwprices.release.real_prices import is_private_host
from hwprices.release.release import Release, Tables
from hwprices.units import Money

SHOWN_GPU = "h100"  # every provider rents it out

MAX_ISSUES = 5  # failed units, and accelerators without a sheet; the manifest has all of them

ACRONYM_LETTERS = 3  # a provider's id of so few letters is an acronym: aws, gcp

HARMLESS_FLAGS = ["availability_unknown", "per_gpu_rate"]
"""Flags that are not a reason to leave out a price of one GPU."""

COUNTED = {
    "regions": "regions",
    "instance_types": "machines",
    "prices": "prices",
    "price_components": "their parts",
    "quarantine": "refused",
}
"""Tables of providers that are counted one by one, and the heading of each."""

GPU_HEADINGS = ["", "cheapest", "how", "device", "machine", "region", "on demand from"]


def cheapest_per_accelerator(dataset: Tables, name: str = SHOWN_GPU) -> pl.DataFrame:
    """Find the cheapest prices of one accelerator for an hour.

    As for ``find``, "h100" is every form of the H100, and what a vendor calls so without saying
    which form it is.

    Returns one row per provider, purchase option and term: provider, private_host, purchase_option,
    term_months, currency, per_accelerator_hour, accelerator_id (null where the form is not known),
    vendor_name (of the accelerator), region, instance_type. Only Linux, shared tenancy, license
    included, and prices that are known and have no flag but those of HARMLESS_FLAGS: many clouds do
    not list where a machine is offered. A provider without prices in USD has its own currency;
    community hosts have rows of their own.
    """
    names = ReleaseWords(dataset)
    ids = words.accelerators(name, names.accelerators)
    without_id = search.pairs("instance_type", words.unknown_machines(name, names))
    accelerator = pl.col("accelerators").list.first().struct
    machines = (
        dataset.scan("instance_types")
        .filter(pl.col("accelerators").list.len() == 1, pl.col("accelerator_count") > 0)
        .select(
            *("provider", "instance_type", "accelerator_count"),
            accelerator.field("accelerator_id", "vendor_name"),
        )
        .filter(pl.col("accelerator_id").is_in(ids) | without_id)
    )
    price = pl.col("effective_hourly") / pl.col("accelerator_count").cast(Money)
    option = ["provider", "private_host", "purchase_option", "term_months"]
    return (
        dataset.scan("prices")
        .filter(
            *search.of_prices(search.Search()),
            pl.col("effective_hourly").is_not_null(),
            pl.col("flags").list.set_difference(HARMLESS_FLAGS).list.len() == 0,
        )
        .join(machines, on=["provider", "instance_type"])
        .with_columns(per_accelerator_hour=price, private_host=is_private_host())
        .sort(pl.col("currency") != "USD", "per_accelerator_hour", "region", "instance_type")
        .unique(option, keep="first", maintain_order=True)
        .select(
            *option,
            *("currency", "per_accelerator_hour", "accelerator_id", "vendor_name"),
            *("region", "instance_type"),
        )
        .sort(
            *("provider", "private_host", "per_accelerator_hour", "purchase_option", "term_months")
        )
        .collect()
    )


def providers(dataset: Release) -> pl.DataFrame:
    """Return a row for each provider: origin and age of its figures, and its rows."""
    entries = dataset.release.providers
    names = ("origin", "status", "kept_from", "observed_from", "observed_to")
    return pl.DataFrame(
        [
            {
                "provider": provider,
                "title": provider_title(dataset.release, provider),
                **{name: getattr(entry, name) for name in names},
                **{table: entry.rows.get(table, 0) for table in COUNTED},
            }
            for provider, entry in entries.items()
        ],
        infer_schema_length=None,
    )


def to_json(dataset: Release) -> dict[str, Any]:
    """Return the summary as JSON values."""
    return {
        "version": dataset.version,
        "root": dataset.store.root,
        "created_at": dataset.release.created_at,
        "previous": dataset.release.previous,
        "rows": {name: entry.rows for name, entry in dataset.release.tables.items()},
        "providers": providers(dataset).to_dicts(),
        "cheapest_h100": cheapest_per_accelerator(dataset).to_dicts(),
        "unmatched_accelerators": dataset.manifest["unmatched_accelerators"],
    }


def render(
    dataset: Release, *, new: bool | None = None, notices: Sequence[str] | None = None
) -> RenderableType:
    """Draw the summary.

    Args:
        dataset: the release.
        new: it was made just now, or (False) nothing had changed; None for neither.
        notices: what a person should know first, such as a provider that the gate held back; None
            if all went well. Without them "nothing new" would hide that a provider stands still.
    """
    unchanged = "Nothing new: still release" if notices is None else "Still release"
    headline = {True: "New release", False: unchanged, None: "Release"}[new]
    title = Text.assemble(
        (f"{headline} ", "bold"), (dataset.version, "bold green"), f"  in {dataset.store.root}"
    )
    gpus = cheapest_per_accelerator(dataset)
    parts: list[RenderableType] = [
        "",
        *(Text(escaped(notice), "bold yellow") for notice in notices or ()),
        title,
        *_news(dataset),
        _rows(dataset.release),
        _gpus(dataset, gpus),
        *_notes(dataset.release),
        next_steps.render(dataset, gpus),
    ]
    return Group(*parts)


def provider_title(release: ReleaseManifest, provider: str) -> str:
    """Return the display name of a provider: its title in the manifest, or else its id."""
    default = provider.upper() if len(provider) <= ACRONYM_LETTERS else provider.title()
    return release.providers[provider].title or default


def _rows(release: ReleaseManifest) -> RenderableType:
    """Count the rows of each provider in the tables that say most, and of all other tables.

    A line for a provider: there may be many, and more of them than fit side by side.
    """
    lines = [
        _counts(provider_title(release, provider), entry.rows)
        for provider, entry in release.providers.items()
    ]
    totals = {name: entry.rows for name, entry in release.tables.items()}
    lines.append(_counts("total", totals))
    headings = list(COUNTED.values())
    counts = table(["", *headings], lines, title="Rows", right=headings)
    others = [f"{name} {rows:,}" for name, rows in totals.items() if name not in COUNTED]
    return Group(counts, Text(f"and {', '.join(others)}", style="dim"))


def _counts(title: str, rows: Mapping[str, int]) -> list[Text]:
    """Write the line of one provider; a table that it has no rows in is left empty."""
    cells = [
        Text(f"{rows[name]:,}" if rows.get(name) else "", "yellow" if name == "quarantine" else "")
        for name in COUNTED
    ]
    return [Text(title), *cells]


def _news(dataset: Release) -> list[RenderableType]:
    """Describe what is new against the release before, in a few lines."""
    notes = release_notes.read(dataset)
    if notes is None:
        return []
    before = f" since release {notes.previous}" if notes.previous else ""
    lines = [Text(f"  {line}") for line in release_notes.lines(notes)]
    more = [Text("  hwprices diff lists the prices.")] if notes.previous else []
    return ["", Text(f"What is new{before}", style="bold"), *lines, *more, ""]


def _gpus(dataset: Release, prices: pl.DataFrame) -> Table:
    """Show the cheapest and the on-demand price of one H100, by provider.

    ``prices`` are those of ``cheapest_per_accelerator``.
    """
    rows = []
    for provider in dataset.release.providers:
        title = provider_title(dataset.release, provider)
        of_provider = prices.filter(provider=provider)
        rows.append([title, *_gpu(of_provider.filter(~pl.col("private_host")))])
        private = of_provider.filter("private_host")
        if private.height:
            rows.append([f"{title}, {PRIVATE}", *_gpu(private)])
    return table(
        GPU_HEADINGS,
        rows,
        title="\nOne H100 for an hour",
        right=["cheapest", "on demand from"],
    )


def _gpu(prices: pl.DataFrame) -> list[str]:
    """Write the cells of one provider: its cheapest price, and its cheapest on-demand price."""
    if prices.is_empty():
        return ["no price known"]
    cheapest = prices.row(0, named=True)
    on_demand = prices.filter(purchase_option="on_demand").to_dicts()
    return [
        _price(cheapest),
        _purchase(cheapest),
        (cheapest["accelerator_id"] or cheapest["vendor_name"]).removeprefix("nvidia-"),
        cheapest["instance_type"],
        cheapest["region"],
        _price(on_demand[0]) if on_demand else "-",
    ]


def _price(row: Mapping[str, Any]) -> str:
    """Write a price in its own currency: dollars with their sign, others with their code."""
    amount = money(row["per_accelerator_hour"])
    return f"${amount}" if row["currency"] == "USD" else f"{amount} {row['currency']}"


def _purchase(row: Mapping[str, Any]) -> str:
    option = str(row["purchase_option"]).replace("_", " ")
    return f"{option}, {row['term_months'] // 12} y" if row["term_months"] else option


def _notes(release: ReleaseManifest) -> list[RenderableType]:
    """Describe how old each provider's figures are, and which units or spec sheets are missing."""
    notes: list[RenderableType] = [Text("\nHow fresh", style="bold")]
    width = 2 + max(len(provider_title(release, name)) for name in release.providers)
    for provider, entry in release.providers.items():
        first, last = ((seen or "?")[:10] for seen in (entry.observed_from, entry.observed_to))
        age = f"seen {first} to {last}"
        kept = f", kept from release {entry.kept_from}" if entry.status == "kept" else ""
        sheet = sheet_seen(entry)
        if sheet is not None:
            age = f"price sheet, read {seen_words(sheet, datetime.now(UTC))}"
        title = provider_title(release, provider)
        notes.append(f"{title:<{width}}{entry.origin}, {age}{kept}")
        notes += [
            Text(f"  {unit.unit} {unit.status}: {unit.reason}", style="yellow")
            for unit in entry.report.troubles[:MAX_ISSUES]
        ]
    unmatched = release.unmatched_accelerators[:MAX_ISSUES]
    if unmatched:
        names = "; ".join(_unmatched(entry) for entry in unmatched)
        notes.append(Text(f"no spec sheet  {names}", style="yellow"))
    return notes


def _unmatched(entry: UnmatchedAccelerator) -> str:
    """Describe an accelerator without a spec sheet, and the machine types that have it."""
    unnamed = "an accelerator its maker's API does not name"
    name = entry.accelerator_id or entry.vendor_name or unnamed
    types = entry.instance_types
    more = f" and {len(types) - 2} more" if len(types) > 2 else ""
    return f"{name} in {entry.provider} {', '.join(types[:2])}{more}"
