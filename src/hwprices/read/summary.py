"""A release in a screenful: rows, what was refused, what an H100 hour costs, where the files are, what to do next."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import polars as pl
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hwprices.read.dataset import Dataset

WIDE = 110  # columns of the widest table here
SHOWN_GPU = "nvidia-h100"
PROVIDER_NAMES = {"aws": "AWS", "azure": "Azure", "gcp": "Google Cloud"}


def cheapest_per_accelerator(dataset: Dataset, prefix: str = SHOWN_GPU) -> pl.DataFrame:
    """The cheapest ways to rent one accelerator for an hour.

    Returns one row per provider and purchase option: provider, accelerator_id, purchase_option, term_months, region,
    instance_type, usd_per_accelerator_hour. Linux, shared tenancy, USD, licence included, known and unflagged prices only.
    """
    machine = pl.col("accelerators").list.first().struct
    machines = (
        dataset.scan("instance_types")
        .filter(pl.col("accelerators").list.len() == 1)
        .select("provider", "instance_type", machine.field("accelerator_id"), "accelerator_count")
        .filter(pl.col("accelerator_id").str.starts_with(prefix), pl.col("accelerator_count") > 0)
    )
    plain = [
        pl.col("os") == "linux",
        pl.col("software") == "none",
        pl.col("license_model") == "included",
        pl.col("tenancy") == "shared",
        pl.col("currency") == "USD",
    ]
    per_device = pl.col("effective_hourly") / pl.col("accelerator_count").cast(pl.Decimal(20, 10))
    return (
        dataset.scan("prices")
        .filter(*plain, pl.col("effective_hourly").is_not_null(), pl.col("flags").list.len() == 0)
        .join(machines, on=["provider", "instance_type"])
        .with_columns(per_device.alias("usd_per_accelerator_hour"))
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


def render(dataset: Dataset, *, new: bool | None = None) -> RenderableType:
    """The summary for a terminal. ``new`` says whether the release was made just now, or nothing new was found."""
    headline = {True: "New release", False: "Nothing new: still release", None: "Release"}[new]
    parts: list[RenderableType] = [
        "",
        Text.assemble(
            (f"{headline} ", "bold"), (dataset.version, "bold green"), f"  in {dataset.store.root}"
        ),
        _rows(dataset.manifest),
        _gpus(dataset),
        *_notes(dataset.manifest),
        _next(dataset),
    ]
    return Group(*parts)


def _rows(manifest: Mapping[str, Any]) -> Table:
    table = Table(
        title="Rows",
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
    )
    table.add_column("table")
    providers = list(manifest["providers"])
    for provider in providers:
        table.add_column(PROVIDER_NAMES.get(provider, provider), justify="right")
    table.add_column("total", justify="right")
    for name, entry in manifest["tables"].items():
        by_provider = [manifest["providers"][p]["rows"].get(name) for p in providers]
        cells = [
            f"{n:,}" if n is not None else ("" if any(by_provider) else "·") for n in by_provider
        ]
        style = "yellow" if name == "quarantine" else None
        table.add_row(
            name if name != "quarantine" else "quarantine (refused, with reasons)",
            *cells,
            f"{entry['rows']:,}",
            style=style,
        )
    return table


def _gpus(dataset: Dataset) -> Table:
    table = Table(
        title="\nOne H100 for an hour",
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
    )
    for heading in ("", "cheapest", "how", "device", "machine", "region", "on demand from"):
        table.add_column(
            heading,
            justify="right" if heading in ("cheapest", "on demand from") else "left",
            no_wrap=True,
        )
    found = cheapest_per_accelerator(dataset)
    for provider in dataset.manifest["providers"]:
        rows = found.filter(provider=provider)
        on_demand = rows.filter(purchase_option="on_demand")
        name = PROVIDER_NAMES.get(provider, provider)
        if rows.is_empty():
            table.add_row(name, "not sold in these regions")
            continue
        best = rows.row(0, named=True)
        listed = _money(on_demand["usd_per_accelerator_hour"][0]) if on_demand.height else "-"
        device = str(best["accelerator_id"]).removeprefix("nvidia-")
        table.add_row(
            name,
            _money(best["usd_per_accelerator_hour"]),
            _how(best),
            device,
            best["instance_type"],
            best["region"],
            listed,
        )
    return table


def _how(row: Mapping[str, Any]) -> str:
    words = str(row["purchase_option"]).replace("_", " ")
    return f"{words}, {row['term_months'] // 12} y" if row["term_months"] else words


def _money(value: Decimal) -> str:
    return f"${value:,.4f}"


def _notes(manifest: Mapping[str, Any]) -> list[RenderableType]:
    """How old each provider's figures are, and what a reader should know of them."""
    notes: list[RenderableType] = [Text("\nHow fresh", style="bold")]
    for name, entry in manifest["providers"].items():
        age = f"seen {entry['observed_from'][:10]} to {entry['observed_to'][:10]}"
        kept = f", kept from release {entry['kept_from']}" if entry["status"] == "kept" else ""
        notes.append(f"{PROVIDER_NAMES.get(name, name):<14}{entry['origin']}, {age}{kept}")
        notes += [
            Text(f"  {t['unit']} {t['status']}: {t['reason']}", style="yellow")
            for t in entry["report"]["troubles"][:5]
        ]
    if manifest["unmatched_accelerators"]:
        notes.append(
            Text(
                f"no spec sheet  {'; '.join(_unmatched(entry) for entry in manifest['unmatched_accelerators'][:5])}",
                style="yellow",
            )
        )
    return notes


def _unmatched(entry: Mapping[str, Any]) -> str:
    name = (
        entry["accelerator_id"]
        or entry["vendor_name"]
        or "an accelerator its maker's API does not name"
    )
    types = entry["instance_types"]
    return f"{name} in {entry['provider']} {', '.join(types[:2])}" + (
        f" and {len(types) - 2} more" if len(types) > 2 else ""
    )


def _next(dataset: Dataset) -> RenderableType:
    root = dataset.store.root
    files = f"{root}/releases/{dataset.version}"
    lines = [
        ("files", f"{files}/  (Parquet; manifest.json has the checksums)"),
        (
            "SQL",
            ".venv/bin/hwprices query \"select region, effective_hourly from prices where instance_type = 'a3-highgpu-8g'\"",
        ),
        (
            "one price",
            ".venv/bin/hwprices explain p5.48xlarge --region us-east-1   (back to the vendor's line)",
        ),
        ("one device", ".venv/bin/hwprices device h100-sxm"),
        ("which machine", ".venv/bin/hwprices recommend --parameters 70e9 --workload inference"),
        ("Python", f"import hwprices; hwprices.open({root!r}).offers"),
        ("live figures", "make live"),
    ]
    # commands are copied: they must not be broken into lines
    texts = [Text(f"{what:<15}{how}", no_wrap=True, overflow="ignore") for what, how in lines]
    return Group(Text("\nWhat next", style="bold"), *texts)
