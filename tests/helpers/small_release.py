"""A small release with real list prices of July 2026, joined with rows of the spec sheets."""

from datetime import date
from decimal import Decimal
from functools import cache

import polars as pl

from hwprices.publish import join
from hwprices.specs.sheets import load
from tests.helpers import cases
from tests.helpers.cases import number, optional
from tests.helpers.releases import machine, price, region, rows, tables

FIGURES = ("count", "gib", "memory_gib", "local_disk_gib")
TEXTS = ("device", "arch", "rdma")
TYPES = [
    machine(**row)
    for row in cases.rows(
        "small_release/machines",
        vcpus=int,
        **dict.fromkeys(FIGURES, number),
        **dict.fromkeys(TEXTS, optional),
    )
]
PRICES = [
    price(**row)
    for row in cases.rows("small_release/prices", amount=optional, price_reason=optional)
]
REGIONS = [
    region("aws", "us-east-1", country="US"),
    region("gcp", "us-central1", country="US"),
    region("azure", "eastus", country="US"),
]

SYSTEMS = [
    "Cisco/1xC885A_M8-8xH200-SXM-141GB",
    "Supermicro/SYS_421GE_TNHR2_LCC_H100_SXM_80GBx8_TRT",
]
OF_SHEETS = {
    "power_coefficients": pl.col("microarchitecture").is_in(["average", "any"])
    | (
        (pl.col("provider") == "aws")
        & pl.col("microarchitecture").is_in(["Cascade Lake", "Neoverse V1"])
    ),
    "cpus": pl.col("cpu_id").is_in(["intel-xeon-platinum-8252c", "aws-graviton3"]),
    "cpu_families": (pl.col("provider") == "aws") & pl.col("family").is_in(["m5zn", "m7g"]),
    "region_footprint": pl.concat_str("provider", "region", separator=" ").is_in(
        ["aws us-east-1", "gcp us-central1", "azure eastus"]
    ),
    "benchmarks": pl.col("system").is_in(SYSTEMS)
    & pl.col("model").is_in(["llama2_70b_lora", "llama2-70b-99"])
    & pl.col("scenario").is_in(["training", "Offline"]),
}
"""The rows of the project's sheets that the release is joined with."""

DEVICE = ("device_id", "name", "kind", "accelerator_id", "accelerator_count")
FIGURES_OF_DEVICE = ("accelerator_memory_gb", "max_power_w", "price")
RTX, H100 = "nvidia-rtx-4090", "nvidia-h100-sxm5-80gb"
LOCAL = [  # made up
    ("pc-rtx-4090", "PC with an RTX 4090", "desktop", RTX, 1.0, 24.0, 650.0, Decimal(3000)),
    ("dgx-h100", "DGX H100", "server", H100, 8.0, 640.0, 10_200.0, Decimal(269_000)),
    ("rtx-4090-card", "RTX 4090", "card", RTX, 1.0, 24.0, 450.0, Decimal(1599)),
]


def vendor() -> dict[str, pl.DataFrame]:
    """Return the tables of the prices and machines above."""
    return tables(PRICES, TYPES, REGIONS)


@cache
def build() -> join.Joined:
    """Join them with the sheets. Read only."""
    return join.build({name: frame.lazy() for name, frame in vendor().items()}, sheets())


def sheets() -> dict[str, pl.DataFrame]:
    """Return the spec sheets: all accelerators, some rows of others, and the devices above."""
    devices = [
        {
            **dict(zip((*DEVICE, *FIGURES_OF_DEVICE), row, strict=True)),
            "vendor": "somebody",
            "complete": row[2] != "card",
            "unified_memory": False,
            "price_currency": "USD",
            "price_date": date(2026, 1, 1),
            "price_kind": "street",
            "price_source": "a shop",
        }
        for row in LOCAL
    ]
    return {
        "accelerators": load("accelerators"),
        **{name: load(name).filter(rule) for name, rule in OF_SHEETS.items()},
        "local_hardware": rows("local_hardware", *devices),
    }
