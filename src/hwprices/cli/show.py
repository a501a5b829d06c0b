"""The command ``hwprices show``: a release in a screenful."""

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import Any

import polars as pl
from rich.console import Group, RenderableType
from rich.text import Text

from hwprices.cli.common import (
    LATEST,
    ReleaseArgument,
    call,
    open_dataset,
    print_frame,
    print_json,
    shares,
)
from hwprices.cli.tables import PRIVATE, codes, money, table
from hwprices.hidden_characters import escaped
from hwprices.read import summary
from hwprices.read.summary import COUNTED, cheapest_per_accelerator, provider_title
from hwprices.release import notes as release_notes
from hwprices.release.age import seen_words, sheet_seen
from hwprices.release.manifest import ReleaseManifest, UnmatchedAccelerator
from hwprices.release.release import Release as OpenRelease
from hwprices.release.root import SAMPLE, root_option


@shares("root", "version", "json", "csv")
def show(version: ReleaseArgument = LATEST) -> None:
    """Summarize a release in a screenful.

    Prints the rows of each table by provider, the cheapest hour of an H100 in each cloud, when the
    figures were fetched, and commands to try next. --csv gives a line for each provider. `hwprices
    show releases` lists the releases and `hwprices show coverage` the regions with prices.
    `--root sample` is the small release that comes with the program: real prices, but old ones and
    of a few regions.

    Examples:

        hwprices show

        hwprices show --root sample
    """
    dataset = open_dataset(version)
    if call().as_json:
        print_json(summary.to_json(dataset))
        return
    print_frame(summary.providers(dataset), lambda _: render_summary(dataset))


MAX_ISSUES = 5  # failed units, and accelerators without a sheet; the manifest has all of them
GPU_HEADINGS = ["", "cheapest", "option", "device", "machine", "region", "on demand from"]


def render_summary(
    dataset: OpenRelease, *, new: bool | None = None, notices: Sequence[str] | None = None
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
        render_next_steps(dataset, gpus),
    ]
    if _shown_root(dataset.store.root) == SAMPLE:
        parts.append("\nThis is a sample: real prices, but old ones and of a few regions.")
    return Group(*parts)


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


def _news(dataset: OpenRelease) -> list[RenderableType]:
    """Describe what is new against the release before, in a few lines."""
    notes = release_notes.read(dataset)
    if notes is None:
        return []
    before = f" since release {notes.previous}" if notes.previous else ""
    lines = [Text(f"  {line}") for line in release_notes.lines(notes)]
    more = [Text("  hwprices show diff lists the prices.")] if notes.previous else []
    return ["", Text(f"What is new{before}", style="bold"), *lines, *more, ""]


def _gpus(dataset: OpenRelease, prices: pl.DataFrame) -> RenderableType:
    """Show the cheapest and the on-demand price of one H100, by provider.

    ``prices`` are those of ``cheapest_per_accelerator``.
    """
    rows, without = [], []
    for provider in dataset.release.providers:
        title = provider_title(dataset.release, provider)
        of_provider = prices.filter(provider=provider)
        if of_provider.is_empty():
            without.append(title)
        for is_private, name in ((False, title), (True, f"{title}, {PRIVATE}")):
            own = of_provider.filter(private_host=is_private)
            if own.height:
                rows.append([name, *_gpu(own)])
    return table(
        GPU_HEADINGS,
        rows,
        title="\nOne H100 for an hour",
        right=["cheapest", "on demand from"],
        caption=f"no H100 price from {', '.join(without)}" if without else "",
    )


def _gpu(prices: pl.DataFrame) -> list[str]:
    """Write the cells of one provider: its cheapest price, and its cheapest on-demand price."""
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
    option = codes(row["purchase_option"])
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


@dataclass(frozen=True)
class Example:
    """A machine type with H100s and a region where it has a price.

    ``provider`` is "" where no other provider has a machine type of the same name.
    """

    name: str
    region: str
    provider: str = ""

    @property
    def provider_option(self) -> str:
        """The option of a command that tells it from machine types of the same name."""
        return f" --provider {self.provider}" if self.provider else ""


WELL_KNOWN = Example("p5.48xlarge", "us-east-1")
"""For the examples of a release that has a price of it."""

WELL_KNOWN_COMPOSED = Example("a3-highgpu-8g", "us-central1")
"""The same for SQL: its price is composed of parts."""

PLAIN_NAME = re.compile(r"[\w. -]+")
"""The name of a machine type or region that may be in quotes, in a shell and in SQL."""


def render_next_steps(dataset: OpenRelease, gpus: pl.DataFrame) -> RenderableType:
    """List commands to copy, with machines that the release has; they are never broken into lines.

    ``gpus`` are prices of H100s: provider, private_host, instance_type and region, the first of
    which is the example where no well-known machine has a price.
    """
    root = dataset.store.root
    command = _command()
    at = root_option(root)
    steps = {"offers": f"{command} find 8xH100 europe{at}"}
    if example := _example(dataset, gpus, WELL_KNOWN):
        name = quote(example.name) + example.provider_option
        steps["one machine"] = f"{command} price {name}{at}"
        where = f"{name} --region {quote(example.region)}"
        steps["one price"] = f"{command} explain {where}{at}   (back to the vendor's line)"
    steps |= {
        "one device": f"{command} device h100-sxm{at}",
        "which machine": f"{command} recommend llama-3.3-70b{at}",
        "what is in it": f"{command} show coverage{at}",
    }
    if example := _example(dataset, gpus, WELL_KNOWN_COMPOSED):
        sql = "select region, min(effective_hourly) as usd from prices "
        sql += f"where instance_type = '{example.name}' group by region"
        steps["SQL"] = f'{command} query "{sql}"{at}'
    steps |= {
        "files": f"{root}/releases/{dataset.version}/  (Parquet; manifest.json has the checksums)",
        "Python": f"import hwprices; hwprices.open({_shown_root(root)!r}).find('8xH100')",
    }
    if Path("Makefile").is_file():
        steps["live figures"] = "make live"
    lines = [
        Text(f"{purpose:<15}{step}", no_wrap=True, overflow="ignore")
        for purpose, step in steps.items()
    ]
    return Group(Text("\nWhat next", style="bold"), *lines)


def _example(dataset: OpenRelease, gpus: pl.DataFrame, preferred: Example) -> Example | None:
    """Return the example that is preferred if the release has a price of it, else another.

    None if the release has none with plain names. ``gpus`` as in ``render``.
    """
    prices = dataset.scan("prices")
    priced = prices.filter(instance_type=preferred.name, region=preferred.region)
    if priced.head(1).select("region").collect().height:
        return preferred
    others = gpus.filter(~pl.col("private_host")).select("instance_type", "region", "provider")
    plain = (row for row in others.iter_rows() if all(map(PLAIN_NAME.fullmatch, row)))
    return next((Example(*row) for row in plain), None)


def _shown_root(root: str) -> str:
    """Return the display name of a root: the built-in release is "sample"."""
    return SAMPLE if root_option(root) == f" --root {SAMPLE}" else root


def _command() -> str:
    """Return the command to call from here: .venv/bin/hwprices in a checkout."""
    script = Path(sys.executable).with_name("hwprices")
    if script.is_file() and script.is_relative_to(Path.cwd()):
        return quote(str(script.relative_to(Path.cwd())))
    return "hwprices"
