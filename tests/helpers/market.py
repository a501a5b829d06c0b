"""A small dataset of three clouds with what people ask about: GPUs, Arm, Windows, euros, a gap.

Prices are list prices of July 2026 (../shared/truth, the bundled sample); those of the "hidden"
machines are made up.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from hwprices.publish import release
from hwprices.storage.store import Store
from tests.helpers import make
from tests.helpers.offer_rows import machine, price, prices, region, rows

VERSION = "20260801T000000Z"

H100 = {"device": "nvidia-h100-sxm5-80gb", "count": 8, "gib": 80, "arch": "x86_64"}
L4 = {"device": "nvidia-l4", "count": 1, "gib": 24, "vcpus": 4, "memory_gib": 16.0}
SMALL = {"vcpus": 4, "memory_gib": 16.0, "arch": "x86_64"}

REGIONS = [
    region("aws", "us-east-1", country="US", continent="north_america"),
    region(
        "aws",
        "eu-central-1",
        country="DE",
        continent="europe",
        display_name="Europe (Frankfurt)",
    ),
    region("aws", "us-gov-east-1", country="US", continent="north_america", kind="gov"),
    region("gcp", "us-east4", country="US", continent="north_america", display_name="Ashburn"),
    region("gcp", "europe-west4", country="NL", continent="europe"),
    region("azure", "eastus", country="US", continent="north_america"),
    region("azure", "westeurope", country="NL", continent="europe"),
]

TYPES = [
    machine("aws", "p5.48xlarge", **H100, vcpus=192, memory_gib=2048.0),
    machine("aws", "p5en.48xlarge", device="nvidia-h200-sxm", count=8, gib=141),
    machine("aws", "g6.xlarge", **L4, arch="x86_64"),
    machine("aws", "trn2.48xlarge", device="aws-trainium2", count=16, gib=96),
    machine("aws", "m7g.large", vcpus=2, memory_gib=8.0, arch="arm64"),
    machine("gcp", "a3-highgpu-8g", **H100, vcpus=208, memory_gib=1872.0),
    machine("gcp", "g2-standard-4", **L4, arch="x86_64"),
    machine("gcp", "g2-standard-8", **{**L4, "vcpus": 8, "memory_gib": 32.0}, arch="x86_64"),
    machine("azure", "Standard_D4s_v5", **SMALL),
    machine("azure", "Standard_D4s_v6", **SMALL),
    machine("azure", "Standard_ND96isr_H100_v5", **H100, vcpus=96, memory_gib=1900.0),
]


def _at(where: str, name: str, amount: str | None, **more: Any) -> dict[str, Any]:
    provider, _, place = where.partition(" ")
    return price(provider, place, name, amount, **more)


COMMITTED = {"purchase_option": "committed_use", "commitment_plan": "resource", "term_months": 12}

PRICES = [
    _at("aws us-east-1", "p5.48xlarge", "55.04"),
    _at("aws us-east-1", "p5.48xlarge", "31.464", purchase_option="spot", zone="us-east-1a"),
    _at("aws us-east-1", "p5en.48xlarge", "63.296"),
    _at("aws us-east-1", "g6.xlarge", "0.8048"),
    _at("aws us-east-1", "m7g.large", "0.0816"),
    _at("aws us-east-1", "m7g.large", "0.1736", os="windows"),
    _at("gcp us-east4", "a3-highgpu-8g", "88.4899999026"),
    _at("gcp europe-west4", "a3-highgpu-8g", "90.1"),
    _at("gcp europe-west4", "a3-highgpu-8g", "62.5", **COMMITTED),
    _at("gcp europe-west4", "g2-standard-4", "0.77"),
    _at("gcp europe-west4", "g2-standard-8", "0.93"),
    _at("azure westeurope", "Standard_D4s_v5", "0.23"),
    _at("azure westeurope", "Standard_D4s_v5", "0.414", os="windows"),
    _at("azure westeurope", "Standard_D4s_v6", "0.2", currency="EUR"),
    _at(
        "azure westeurope",
        "Standard_ND96isr_H100_v5",
        None,
        price_reason="listed_at_zero",
    ),
]

OFFERED = [
    ("aws", "us-east-1", "p5.48xlarge"),
    ("aws", "us-east-1", "m7g.large"),
    ("azure", "eastus", "Standard_ND96isr_H100_v5"),
]

REFUSED = {
    "provider": "aws",
    "table": "prices",
    "row_hash": "0" * 24,
    "region": "us-east-1",
    "reason": "unknown_unit",
    "message": "=2+5 is a unit nobody knows",
    "row": "{}",
    "occurrences": 3,
    "observed_at": make.AT,
    "source_url": "https://vendor.example/prices",
    "raw_sha256": "0" * 64,
}


def tables() -> dict[str, pl.DataFrame]:
    """Return the vendors' tables."""
    availability = [
        {
            "provider": provider,
            "region": place,
            "instance_type": name,
            "offered": True,
            "observed_at": make.AT,
            "raw_sha256": "0" * 64,
        }
        for provider, place, name in OFFERED
    ]
    return {
        "regions": rows("regions", *REGIONS),
        "instance_types": rows("instance_types", *TYPES),
        "availability": make.table("availability", availability),
        "prices": prices(*PRICES).collect(),
        "quarantine": make.table("quarantine", [REFUSED]),
    }


def publish(folder: Path) -> Path:
    """Publish a release of these tables, one staging for each cloud. Gives the folder back."""
    store = Store(folder)
    for provider in ("aws", "azure", "gcp"):
        own = {name: frame.filter(provider=provider) for name, frame in tables().items()}
        filled = {name: frame for name, frame in own.items() if frame.height}
        make.stage_frames(store, f"run-{provider}", filled, provider=provider, origin="sample")
    release.publish(store, now=lambda: datetime(2026, 8, 1, tzinfo=UTC))
    return folder
