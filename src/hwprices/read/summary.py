"""Summarize a release for a terminal: rows, refused rows, an H100's price, age of the figures."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hwprices.read.dataset import Dataset
from hwprices.read.terminal.tables import money, table
from hwprices.units import Money

SHOWN_GPU = "nvidia-h100"  # every provider rents it out

MAX_ISSUES = 5  # failed units, and accelerators without a sheet; the manifest has all of them

ACRONYM_LETTERS = 3  # a provider's id of so few letters is an acronym: aws, gcp

GPU_HEADINGS = ["", "cheapest", "how", "device", "machine", "region", "on demand from"]


def cheapest_per_accelerator(dataset: Dataset, prefix: str = SHOWN_GPU) -> pl.DataFrame:
    """Find the cheapest prices of one accelerator for an hour.

    Returns one row per provider and purchase option: provider, accelerator_id, purchase_option,
    term_months, region, instance_type, usd_per_accelerator_hour. Only Linux, shared tenancy, USD,
    license included, and prices that are known and have no flag.
    """
    accelerator = pl.col("accelerators").list.first().struct
    machines = (
        dataset.scan("instance_types")
        .filter(pl.col("accelerators").list.len() == 1)
        .select(
            "provider", "instance_type", accelerator.field("accelerator_id"), "accelerator_count"
        )
        .filter(pl.col("accelerator_id").str.starts_with(prefix), pl.col("accelerator_count") > 0)
    )
    price = pl.col("effective_hourly") / pl.col("accelerator_count").cast(Money)
    return (
        dataset.scan("prices")
        .filter(
            pl.col("os") == "linux",
            pl.col("software") == "none",
            pl.col("license_model") == "included",
            pl.col("tenancy") == "shared",
            pl.col("currency") == "USD",
            pl.col("effective_hourly").is_not_null(),
            pl.col("flags").list.len() == 0,
        )
        .join(machines, on=["provider", "instance_type"])
        .with_columns(usd_per_accelerator_hour=price)
        .sort("usd_per_accelerator_hour", "region", "instance_type")
        .group_by("provider", "purchase_option", "term_months", maintain_order=True)
        .first()
        .select(
            "provider",
            "accelerator_id",
            "purchase_option",
            "term_months",
            "region",
            "instance_type",
            "usd_per_accelerator_hour",
        )
        .sort("provider", "usd_per_accelerator_hour", "purchase_option", "term_months")
        .collect()
    )


def render(
    dataset: Dataset, *, new: bool | None = None, held_back: Mapping[str, str] | None = None
) -> RenderableType:
    """Draw the summary.

    Args:
        dataset: the release.
        new: it was made just now, or (False) nothing had changed; None for neither.
        held_back: the providers whose new tables the gate stopped, with the reason. They come
            first: without them "nothing new" would hide that a provider stands still.
    """
    held = held_back or {}
    unchanged = "Still release" if held else "Nothing new: still release"
    headline = {True: "New release", False: unchanged, None: "Release"}[new]
    title = Text.assemble(
        (f"{headline} ", "bold"), (dataset.version, "bold green"), f"  in {dataset.store.root}"
    )
    parts: list[RenderableType] = [
        "",
        *(Text(f"held back: {name} ({why})", "bold yellow") for name, why in held.items()),
        title,
        _rows(dataset.manifest),
        _gpus(dataset),
        *_notes(dataset.manifest),
        _next_steps(dataset),
    ]
    return Group(*parts)


def provider_title(manifest: Mapping[str, Any], provider: str) -> str:
    """Name a provider for people: the title in the manifest, else the id in suitable case."""
    default = provider.upper() if len(provider) <= ACRONYM_LETTERS else provider.title()
    return str(manifest["providers"][provider].get("title") or default)


def _rows(manifest: Mapping[str, Any]) -> Table:
    """Count the rows of each table by provider. A dot: the table is not by provider."""
    providers = list(manifest["providers"])
    titles = [provider_title(manifest, provider) for provider in providers]
    rows = [
        _row_counts(name, entry["rows"], [manifest["providers"][p]["rows"] for p in providers])
        for name, entry in manifest["tables"].items()
    ]
    return table(["table", *titles, "total"], rows, title="Rows", right=[*titles, "total"])


def _row_counts(name: str, total: int, by_provider: list[Mapping[str, int]]) -> list[Text]:
    counts = [rows.get(name) for rows in by_provider]
    no_count = "" if any(counts) else "·"
    cells = [f"{count:,}" if count is not None else no_count for count in counts]
    refused = name == "quarantine"
    heading = "quarantine (refused, with reasons)" if refused else name
    return [Text(cell, "yellow" if refused else "") for cell in (heading, *cells, f"{total:,}")]


def _gpus(dataset: Dataset) -> Table:
    """Show the cheapest and the on-demand price of one H100, by provider."""
    prices = cheapest_per_accelerator(dataset)
    rows = [
        [provider_title(dataset.manifest, provider), *_gpu(prices.filter(provider=provider))]
        for provider in dataset.manifest["providers"]
    ]
    return table(
        GPU_HEADINGS,
        rows,
        title="\nOne H100 for an hour",
        right=["cheapest", "on demand from"],
    )


def _gpu(prices: pl.DataFrame) -> list[str]:
    """Write the cells of one provider: its cheapest price, and its cheapest on-demand price."""
    if prices.is_empty():
        return ["not sold in these regions"]
    cheapest = prices.row(0, named=True)
    on_demand = prices.filter(purchase_option="on_demand")["usd_per_accelerator_hour"]
    return [
        f"${money(cheapest['usd_per_accelerator_hour'])}",
        _purchase(cheapest),
        str(cheapest["accelerator_id"]).removeprefix("nvidia-"),
        cheapest["instance_type"],
        cheapest["region"],
        f"${money(on_demand[0])}" if on_demand.len() else "-",
    ]


def _purchase(row: Mapping[str, Any]) -> str:
    option = str(row["purchase_option"]).replace("_", " ")
    return f"{option}, {row['term_months'] // 12} y" if row["term_months"] else option


def _notes(manifest: Mapping[str, Any]) -> list[RenderableType]:
    """Say how old each provider's figures are, and which units or spec sheets are missing."""
    notes: list[RenderableType] = [Text("\nHow fresh", style="bold")]
    for provider, entry in manifest["providers"].items():
        first, last = ((entry[name] or "?")[:10] for name in ("observed_from", "observed_to"))
        age = f"seen {first} to {last}"
        kept = f", kept from release {entry['kept_from']}" if entry["status"] == "kept" else ""
        title = provider_title(manifest, provider)
        notes.append(f"{title:<14}{entry['origin']}, {age}{kept}")
        notes += [
            Text(f"  {unit['unit']} {unit['status']}: {unit['reason']}", style="yellow")
            for unit in entry["report"]["troubles"][:MAX_ISSUES]
        ]
    unmatched = manifest["unmatched_accelerators"][:MAX_ISSUES]
    if unmatched:
        names = "; ".join(_unmatched(entry) for entry in unmatched)
        notes.append(Text(f"no spec sheet  {names}", style="yellow"))
    return notes


def _unmatched(entry: Mapping[str, Any]) -> str:
    """Name an accelerator without a spec sheet, and the machine types that have it."""
    unnamed = "an accelerator its maker's API does not name"
    name = entry["accelerator_id"] or entry["vendor_name"] or unnamed
    types = entry["instance_types"]
    more = f" and {len(types) - 2} more" if len(types) > 2 else ""
    return f"{name} in {entry['provider']} {', '.join(types[:2])}{more}"


def _next_steps(dataset: Dataset) -> RenderableType:
    """List commands to copy; they are never broken into lines."""
    root = dataset.store.root
    command = _command()
    sql = "select region, effective_hourly from prices where instance_type = 'a3-highgpu-8g'"
    steps = {
        "files": f"{root}/releases/{dataset.version}/  (Parquet; manifest.json has the checksums)",
        "SQL": f'{command} query "{sql}"',
        "one price": f"{command} explain p5.48xlarge --region us-east-1"
        "   (back to the vendor's line)",
        "one device": f"{command} device h100-sxm",
        "which machine": f"{command} recommend --model-parameters 70e9 --workload inference",
        "Python": f"import hwprices; hwprices.open({root!r}).offers",
    }
    if Path("Makefile").is_file():
        steps["live figures"] = "make live"
    lines = [
        Text(f"{purpose:<15}{step}", no_wrap=True, overflow="ignore")
        for purpose, step in steps.items()
    ]
    return Group(Text("\nWhat next", style="bold"), *lines)


def _command() -> str:
    """Say how to call hwprices from the working directory: .venv/bin/hwprices in a checkout."""
    script = Path(sys.executable).with_name("hwprices")
    if script.is_file() and script.is_relative_to(Path.cwd()):
        return str(script.relative_to(Path.cwd()))
    return "hwprices"
