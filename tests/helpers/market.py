"""A small dataset of three clouds with what people ask about: GPUs, Arm, Windows, euros, a gap.

Prices are list prices of July 2026 (../shared/truth, the bundled sample); those of the "hidden"
machines are made up.
"""

from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from tests.helpers import releases
from tests.helpers.releases import machine, price, region

VERSION = "20260801T000000Z"

H100 = {"device": "nvidia-h100-sxm5-80gb", "count": 8, "gib": 80, "arch": "x86_64"}
L4 = {"device": "nvidia-l4", "count": 1, "gib": 24, "vcpus": 4, "memory_gib": 16.0}
SMALL = {"vcpus": 4, "memory_gib": 16.0, "arch": "x86_64"}

REGIONS = [
    region("aws", "us-east-1", country="US", continent="north_america"),
    region(
        "aws", "eu-central-1", country="DE", continent="europe", display_name="Europe (Frankfurt)"
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


COMMITTED = {"purchase_option": "committed_use", "commitment_plan": "resource", "term_months": 12}

PRICES = [
    price("aws", "us-east-1", "p5.48xlarge", "55.04"),
    price("aws", "us-east-1", "p5.48xlarge", "31.464", purchase_option="spot", zone="us-east-1a"),
    price("aws", "us-east-1", "p5en.48xlarge", "63.296"),
    price("aws", "us-east-1", "g6.xlarge", "0.8048"),
    price("aws", "us-east-1", "m7g.large", "0.0816"),
    price("aws", "us-east-1", "m7g.large", "0.1736", os="windows"),
    price("gcp", "us-east4", "a3-highgpu-8g", "88.4899999026"),
    price("gcp", "europe-west4", "a3-highgpu-8g", "90.1"),
    price("gcp", "europe-west4", "a3-highgpu-8g", "62.5", **COMMITTED),
    price("gcp", "europe-west4", "g2-standard-4", "0.77"),
    price("gcp", "europe-west4", "g2-standard-8", "0.93"),
    price("azure", "westeurope", "Standard_D4s_v5", "0.23"),
    price("azure", "westeurope", "Standard_D4s_v5", "0.414", os="windows"),
    price("azure", "westeurope", "Standard_D4s_v6", "0.2", currency="EUR"),
    price("azure", "westeurope", "Standard_ND96isr_H100_v5", None, price_reason="listed_at_zero"),
]

PLACE = ("provider", "region", "instance_type")
OFFERED = [
    dict(zip(PLACE, place, strict=True), offered=True)
    for place in (
        ("aws", "us-east-1", "p5.48xlarge"),
        ("aws", "us-east-1", "m7g.large"),
        ("azure", "eastus", "Standard_ND96isr_H100_v5"),
    )
]

REFUSED = {
    "table": "prices",
    "row_hash": "0" * 24,
    "region": "us-east-1",
    "reason": "unknown_unit",
    "message": "=2+5 is a unit nobody knows",
    "row": "{}",
    "occurrences": 3,
}


def tables() -> dict[str, pl.DataFrame]:
    """Return the vendors' tables."""
    more = {"availability": OFFERED, "quarantine": [REFUSED]}
    return releases.tables(PRICES, TYPES, REGIONS, **more)


def publish(folder: Path) -> None:
    """Publish a release of these tables."""
    at = datetime(2026, 8, 1, tzinfo=UTC)
    releases.publish(folder, tables(), origin="sample", at=at)
