"""State which columns of offers the page has, under which headings, and what each means."""

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from hwprices.read.find.words import MONTHS
from hwprices.release import verify
from hwprices.release.release import Release
from hwprices.schemas.vocabulary import COMMITMENT_COLUMNS

PRICE_COLUMN = re.compile(r"^(?!best_)(?P<option>\w+)_usd_per_hour$")
"""A column of offers with the price of one purchase option of the machine."""

LEFT_OUT = (
    "on_demand_price_id",  # 24 random characters a row; the page of the machine type has them
    "spot_price_id",
    "on_demand_usd_per_year",  # on demand × 8760
    "cpu_watts",  # parts of estimated_watts, which is there
    "memory_watts",
    "local_disk_watts",
    "accelerator_watts",
    "cpu_min_watts_per_vcpu",
    "cpu_max_watts_per_vcpu",
    "embodied_lifetime_hours",
    "operational_gco2e_per_hour",  # energy_kwh_per_hour × grid_gco2e_per_kwh
)
"""Columns that would make the page half as large again. They are in the Parquet."""

ACRONYMS = {
    "1y": "1 year",
    "3y": "3 years",
    "5y": "5 years",
    "dws": "DWS",
    "ec2": "EC2",
    "usd": "USD",
    "gib": "GiB",
    "cpu": "CPU",
    "vcpu": "vCPU",
    "vcpus": "vCPUs",
    "rdma": "RDMA",
    "bf16": "BF16",
    "fp16": "FP16",
    "fp8": "FP8",
    "int8": "INT8",
    "pue": "PUE",
    "tdp": "TDP",
    "pflop": "PFLOPS",
    "gco2e": "gCO₂e",
    "kwh": "kWh",
    "gbps": "Gbit/s",
    "gbs": "GB/s",
    "iops": "IOPS",
    "id": "id",
}

with Path(__file__).with_name("headings.csv").open(encoding="utf-8", newline="") as _file:
    HEADINGS = {row["column"]: row for row in csv.DictReader(_file)}
"""Headings of columns of ``offers``, and those of ``sheets`` (accelerators, instance_types) where
they are not the same. A column without a heading has its ``words``."""

GROUPS = (
    ("Power and emissions", ("power", "estimated", "pue", "grid", "gco2e", "embodied", "cpu_util")),
    ("Power and emissions", ("accelerator_util",)),
    ("Prices", ("currency", "on_demand", "spot_discount", "spot_zone", "best_")),
    ("Per accelerator, token or run", ("usd_per_", "spot_usd_per_acc", "minutes_per", "benchmark")),
    ("Accelerators", ("accelerator_", "tflops_")),
    (
        "Machine",
        ("provider", "region", "instance_type", "country", "family", "arch", "cpu_", "vcp"),
    ),
    ("Machine", ("memory_", "local_disk", "network", "rdma", "block_storage")),
    ("Machine", ("flags", "observed")),
)
"""Group, and how the names of its columns begin; the first that fits counts."""


@dataclass(frozen=True)
class PageColumn:
    """A column of offers as the page shows it."""

    name: str
    heading: str
    group: str
    kind: str  # text, number or money (USD)
    unit: str = ""
    description: str = ""
    option: str = ""  # Purchase option of which it is the price; empty for other columns
    months: int = 0  # Length of the commitment
    payment: str = ""  # Payment option of the commitment; empty where every one counts


def words(name: str) -> str:
    """Write the display name of a column: reserved_1y_no_upfront → Reserved 1 year no upfront."""
    parts = [ACRONYMS.get(part, part) for part in name.split("_")]
    text = " ".join(parts)
    return text[:1].upper() + text[1:]


def sheet_heading(name: str) -> str:
    """Write the heading of a column of accelerators or instance_types."""
    headings = HEADINGS.get(name, {})
    return headings.get("sheets") or headings.get("offers") or words(name)


def heading(column: str) -> str:
    """Write the heading of a column of offers; a price has its purchase option's."""
    return HEADINGS.get(column, {}).get("offers") or words(option_of(column) or column)


def option_of(column: str) -> str | None:
    """Return the purchase option whose price a column of offers holds; None for other columns."""
    match = PRICE_COLUMN.match(column)
    return match["option"] if match else None


def sent(offers: pl.DataFrame) -> list[str]:
    """List the columns of offers that the page gets: none that is empty, and none LEFT_OUT."""
    return [
        name
        for name in offers.columns
        if name not in LEFT_OUT and offers[name].null_count() < offers.height
    ]


def describe(dataset: Release, names: Iterable[str], schema: pl.Schema) -> list[dict[str, Any]]:
    """Describe columns of offers, with units and meaning from the release's own descriptor."""
    fields = descriptions(dataset, "offers")
    return [asdict(_column(name, fields.get(name, {}), schema[name])) for name in names]


def _column(name: str, described: Mapping[str, Any], dtype: pl.DataType) -> PageColumn:
    option = option_of(name)
    unit = str(described.get("unit", ""))
    kind = "text"
    if dtype.is_numeric():
        kind = "money" if unit.startswith("USD") else "number"
    code, months, payment = _purchase(option) if option else ("", 0, "")
    return PageColumn(
        name=name,
        heading=heading(name),
        group="Prices" if option else _group(name),
        kind=kind,
        unit=unit,
        description=str(described.get("description", "")),
        option=code,
        months=months,
        payment=payment,
    )


COMMITTED = re.compile(r"(?P<plan>\w+?)_(?P<years>\d)y(?:_(?P<payment>\w+_upfront))?")


def _purchase(option: str) -> tuple[str, int, str]:
    """Return purchase option, months and payment of a column's option: reserved_1y_no_upfront."""
    match = COMMITTED.fullmatch(option)
    if match is None:
        return option, 0, ""
    code, _ = COMMITMENT_COLUMNS[match["plan"]]
    return code, int(match["years"]) * MONTHS, match["payment"] or ""


def _group(name: str) -> str:
    for group, beginnings in GROUPS:
        if name.startswith(beginnings):
            return group
    return "More"


def descriptions(dataset: Release, table: str) -> dict[str, dict[str, Any]]:
    """Read what the release's verify.json says of the columns of a table, by name."""
    package: dict[str, Any] = verify.read_package(dataset, dict[str, Any]) or {}
    for resource in package.get("resources", []):
        if resource.get("name") == table:
            return {field["name"]: field for field in resource["schema"]["fields"]}
    return {}
