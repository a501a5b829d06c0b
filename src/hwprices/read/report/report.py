"""Write the report of a release: a folder of pages, and files for programs.

Each accelerator has a page and a Markdown file; each provider has a Markdown file with its machine
types with accelerators. ``gpu-offers.json`` is small enough to copy into another project: the
cheapest price of each accelerator, provider and purchase option, with its citation.
``gpu-offers.schema.json`` describes its names, which never change (docs/compatibility.md).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

from hwprices.errors import cannot_write
from hwprices.read.citation import cite_all
from hwprices.read.find import search as searching
from hwprices.read.report.files import FOLDER, render
from hwprices.read.report.index import index
from hwprices.read.report.pages import MACHINE, SHEET, Machines, ReportPage, ReportPages, file_name
from hwprices.read.status import provider_title
from hwprices.release import wording
from hwprices.release.release import REAL, Release, is_private_host
from hwprices.release.wording import plain, purchase
from hwprices.storage import layout
from hwprices.units import NUMBER_FORMATS

MACHINE_KEY = ["provider", "instance_type"]

OFFER_KEY = ["accelerator_id", "provider", "community", "purchase_option", "term_months"]
"""Key of a line in gpu-offers.json, besides the currency."""

OFFER_ORDER = ["purchase_option", "term_months", "currency", "each", "provider"]
"""Order of the prices of an accelerator."""

SCHEMA_FILE = "gpu-offers.schema.json"


def files(dataset: Release) -> Iterator[tuple[str, str]]:
    """Make the files one by one: each with its path below the report, and its text."""
    prices = _prices(dataset)
    by_machine = prices.partition_by(MACHINE_KEY, as_dict=True, maintain_order=True)
    sheet = dataset.scan("accelerators").sort("vendor", "name").collect()
    cheapest = _cheapest(prices)
    citations = cite_all(dataset, prices["price_id"].to_list(), set(prices["instance_type"]))
    references = {citation.price_id: citation.reference for citation in citations}
    machines = _machines(dataset)
    titles = {name: provider_title(dataset.release, name) for name in machines}
    common = {"version": dataset.version, "titles": titles, "file_name": file_name}
    devices = sheet.select("accelerator_id", "name").rows()
    text = render("llms.txt", devices=devices, machines=machines, schema=SCHEMA_FILE, **common)
    yield ("llms.txt", text)
    yield ("gpu-offers.json", _gpu_offers(dataset, cheapest, references))
    schema = FOLDER / "templates" / SCHEMA_FILE
    yield (SCHEMA_FILE, schema.read_text(encoding="utf-8"))
    for row in sheet.iter_rows(named=True):
        offers = cheapest.filter(accelerator_id=row["accelerator_id"])
        text = render(
            "accelerator.md",
            row=row,
            offers=_listed(offers.sort(OFFER_ORDER), references),
            facts=[*_facts(SHEET, row), *_rates(row)],
            **common,
        )
        yield (f"accelerators/{file_name(row['accelerator_id'])}.md", text)
    types = {
        (row["provider"], row["instance_type"]): row
        for row in dataset.scan("instance_types").collect().iter_rows(named=True)
    }
    for provider, names in machines.items():
        described = [
            {
                "name": name,
                "devices": _devices(types.get((provider, name), {})),
                "prices": _listed(by_machine.get((provider, name), prices.clear()), references),
                "facts": _facts(MACHINE, types.get((provider, name), {})),
            }
            for name in names
        ]
        text = render("machines.md", title=titles[provider], machines=described, **common)
        yield (f"machines/{file_name(provider)}.md", text)


def _machines(dataset: Release) -> dict[str, list[str]]:
    """List the machine types with accelerators that have an offer, priced or not, by provider."""
    offers = dataset.scan("offers").filter(pl.col("accelerator_count") > 0)
    listed = offers.select(MACHINE_KEY).unique().sort(MACHINE_KEY).collect()
    grouped = listed.group_by("provider", maintain_order=True).agg("instance_type")
    return dict(grouped.iter_rows())


def _prices(dataset: Release) -> pl.DataFrame:
    """Return the real prices of machines with accelerators for Linux on shared hardware.

    The cheapest price of each machine comes first.
    """
    listed = searching.prices(dataset, searching.USUAL).filter(*REAL)
    rows = searching.priced(listed, searching.USUAL).with_columns(
        stale=wording.stale(dataset), community=is_private_host()
    )
    rows = rows.filter(pl.col("accelerator_count") > 0)
    return rows.sort(*MACHINE_KEY, "effective_hourly", "region", "price_id").collect()


def _cheapest(prices: pl.DataFrame) -> pl.DataFrame:
    """Return the cheapest price of one accelerator, for each line of gpu-offers.json."""
    each = pl.col("effective_hourly") / pl.col("accelerator_count").cast(pl.Decimal(38, 10))
    known = prices.filter(pl.col("accelerator_id").is_not_null())
    key = [*OFFER_KEY, "currency"]
    return (
        known.with_columns(each=each)
        .sort(*key, "each", "region", "instance_type", "price_id")
        .unique(key, keep="first", maintain_order=True)
    )


def _gpu_offers(dataset: Release, cheapest: pl.DataFrame, references: Mapping[str, str]) -> str:
    head = {
        "$schema": SCHEMA_FILE,
        "schema_version": 1,
        "release": dataset.version,
        "created_at": dataset.release.created_at,
        "recorded": sorted(n for n, e in dataset.release.providers.items() if e.origin == "sample"),
    }
    lines = [
        json.dumps(_offer(row, references), ensure_ascii=False, separators=(",", ":"))
        for row in cheapest.iter_rows(named=True)
    ]
    start = json.dumps(head, ensure_ascii=False)[:-1]
    return f'{start}, "offers": [\n' + ",\n".join(lines) + "\n]}\n"


def _offer(row: Mapping[str, Any], references: Mapping[str, str]) -> dict[str, Any]:
    values = {
        "accelerator": row["accelerator_id"],
        "provider": row["provider"],
        "option": row["purchase_option"],
        "term_months": row["term_months"] or None,
        "community": row["community"] or None,
        "price": plain(row["each"]),
        "currency": row["currency"],
        "machine": row["instance_type"],
        "accelerators": row["accelerator_count"],
        "region": row["region"],
        "seen": f"{row['observed_at']:%Y-%m-%d}",
        "stale": row["stale"] or None,
        "citation": references[row["price_id"]],
    }
    return {name: value for name, value in values.items() if value is not None}


def _facts(names: Sequence[str], row: Mapping[str, Any]) -> list[tuple[str, object]]:
    return [
        (name, _written(row[name])) for name in names if row.get(name) not in (None, "", "none", 0)
    ]


def _written(value: Any) -> object:
    return plain(Decimal(repr(value))) if isinstance(value, float) else value


def _rates(row: Mapping[str, Any]) -> list[tuple[str, object]]:
    return [
        (f"{name} {'TOPS' if name == 'int8' else 'TFLOPS'} dense", f"{row[column]:g}")
        for name, column in NUMBER_FORMATS.items()
        if row.get(column) is not None
    ]


def _devices(machine: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{plain(device['count'])} x {device['accelerator_id'] or device['vendor_name']}"
        for device in machine.get("accelerators") or []
    )


def _listed(prices: pl.DataFrame, references: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return rows of prices with the texts bought, seen and citation."""
    return [
        {
            **row,
            "bought": purchase(row),
            "seen": f"{row['observed_at']:%Y-%m-%d}" + ", stale" * bool(row["stale"]),
            "citation": references[row["price_id"]],
        }
        for row in prices.iter_rows(named=True)
    ]


@dataclass(frozen=True)
class Written:
    """The written report: the page to open, and the number and size of its files."""

    index: Path
    files: int
    bytes: int


def write(dataset: Release, folder: Path) -> Written:
    """Write the complete report of a release into a folder, which is created if it is missing.

    Replaces files of an older report; other files are not touched.

    Raises:
        HwpricesError: a file cannot be written.
    """
    files = size = 0
    for page in pages(dataset):
        target = folder / page.path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            size += target.write_bytes(page.content)
        except OSError as error:
            raise cannot_write(target, error) from None
        files += 1
    return Written(folder / "index.html", files, size)


def write_into_release(dataset: Release) -> int:
    """Write a report beside the tables of its release, and return the number of files.

    It has pages only of machine types with accelerators, because all would be thousands of files in
    each release. ``write`` can write them at any time.

    Raises:
        HwpricesError: the root cannot be written.
    """
    files = 0
    for page in pages(dataset, "accelerators"):
        dataset.store.put(layout.release_report(dataset.version, page.path), page.content)
        files += 1
    return files


def pages(dataset: Release, machines: Machines = "all") -> Iterator[ReportPage]:
    """Yield the files of a report one by one, to bound memory."""
    offers = dataset.scan("offers").collect()
    for name in ("page.css", "og.png", "LICENSES.txt"):
        yield ReportPage(name, (FOLDER / "bundle" / name).read_bytes())
    # takes seconds; a full disk is noticed at the small files before it
    yield ReportPage("index.html", index(dataset, offers, machines))
    single = ReportPages(dataset, offers)
    yield from single.accelerators()
    yield from single.machines(machines)
    for path, text in files(dataset):
        yield ReportPage(path, text)
