"""A small release with real list prices of July 2026, joined with the accelerator sheet.

Coefficients, PUE and grids are those of the project's sheets; tests/docs compares them.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import polars as pl

from hwprices.publish import join
from hwprices.release.release import NAMES
from hwprices.specs.sheets import load
from tests.helpers.offer_rows import machine, price, prices, region, rows

SOURCED = {
    "source_url": "https://example.org/",
    "as_of": date(2026, 11, 21),
    "confidence": "high",
    "verified": False,
}

# the coefficients of Cloud Carbon Footprint, https://www.cloudcarbonfootprint.org/docs/methodology/
POWER = [
    {
        "provider": "aws",
        "component": "vcpu",
        "microarchitecture": "average",
        "min_watts": 0.74,
        "max_watts": 3.5,
        "unit": "vcpu",
    },
    {
        "provider": "gcp",
        "component": "vcpu",
        "microarchitecture": "average",
        "min_watts": 0.71,
        "max_watts": 4.26,
        "unit": "vcpu",
    },
    {
        "provider": "azure",
        "component": "vcpu",
        "microarchitecture": "average",
        "min_watts": 0.78,
        "max_watts": 3.76,
        "unit": "vcpu",
    },
    {
        "provider": "aws",
        "component": "vcpu",
        "microarchitecture": "Cascade Lake",
        "min_watts": 0.690298,
        "max_watts": 4.063194,
        "unit": "vcpu",
    },
    {
        "provider": "aws",
        "component": "vcpu",
        "microarchitecture": "Neoverse V1",
        "min_watts": 0.474262,
        "max_watts": 1.692962,
        "unit": "vcpu",
    },
    {
        "provider": "any",
        "component": "memory",
        "microarchitecture": "any",
        "min_watts": 0.392,
        "max_watts": 0.392,
        "unit": "gb",
    },
    {
        "provider": "any",
        "component": "ssd",
        "microarchitecture": "any",
        "min_watts": 1.2,
        "max_watts": 1.2,
        "unit": "tb",
    },
]
CPUS = [
    {
        "cpu_id": "intel-xeon-8252c",
        "name": "Xeon Platinum 8252C",
        "vendor": "Intel",
        "microarchitecture": "Cascade Lake",
        "arch": "x86_64",
    },
    {
        "cpu_id": "aws-graviton3",
        "name": "Graviton3",
        "vendor": "AWS",
        "microarchitecture": "Neoverse V1",
        "arch": "arm64",
    },
]
FAMILIES = [
    {"provider": "aws", "family": "m5zn", "cpu_id": "intel-xeon-8252c", "only": True},
    {"provider": "aws", "family": "m7g", "cpu_id": "aws-graviton3", "only": True},
]
FOOTPRINTS = [
    {
        "provider": "aws",
        "region": "us-east-1",
        "kind": "region",
        "country": "US",
        "grid_gco2e_per_kwh": 323.05,
        "pue": 1.15,
    },
    {
        "provider": "gcp",
        "region": "us-central1",
        "kind": "region",
        "country": "US",
        "grid_gco2e_per_kwh": 412.72,
        "pue": 1.1,
    },
    {
        "provider": "azure",
        "region": "eastus",
        "kind": "region",
        "country": "US",
        "grid_gco2e_per_kwh": 323.05,
        "pue": 1.14,
    },
]
TYPES = [
    machine(
        "aws",
        "p5.48xlarge",
        device="nvidia-h100-sxm5-80gb",
        count=8,
        gib=80,
        vcpus=192,
        memory_gib=2048.0,
        local_disk_gib=28_312.0,
        rdma="efa",
    ),
    machine(
        "aws",
        "p5en.48xlarge",
        device="nvidia-h200-sxm",
        count=8,
        gib=141,
        vcpus=192,
        memory_gib=2048.0,
        local_disk_gib=28_312.0,
        rdma="efa",
    ),
    machine(
        "aws",
        "p4d.24xlarge",
        device="nvidia-a100-sxm4-40gb",
        count=8,
        gib=40,
        vcpus=96,
        memory_gib=1152.0,
        local_disk_gib=7450.0,
        rdma="efa",
    ),
    machine(
        "aws",
        "p4de.24xlarge",
        device="nvidia-a100-sxm4-80gb",
        count=8,
        gib=80,
        vcpus=96,
        memory_gib=1152.0,
        local_disk_gib=7450.0,
        rdma="efa",
    ),
    machine(
        "aws",
        "g6.xlarge",
        device="nvidia-l4",
        count=1,
        gib=24,
        vcpus=4,
        memory_gib=16.0,
        local_disk_gib=232.8306436538696,
    ),
    machine("aws", "g5.xlarge", device="nvidia-a10g", count=1, gib=24, vcpus=4, memory_gib=16.0),
    machine("aws", "g4dn.xlarge", device="nvidia-t4", count=1, gib=16, vcpus=4, memory_gib=16.0),
    machine(
        "aws", "g6e.12xlarge", device="nvidia-l40s", count=4, gib=48, vcpus=48, memory_gib=384.0
    ),
    machine(
        "aws",
        "trn2.48xlarge",
        device="aws-trainium2",
        count=16,
        gib=96,
        vcpus=192,
        memory_gib=2048.0,
        accelerator_kind="neuron",
        rdma="efa",
    ),
    machine(
        "aws",
        "inf2.48xlarge",
        device="aws-inferentia2",
        count=12,
        gib=32,
        vcpus=192,
        memory_gib=768.0,
        accelerator_kind="neuron",
    ),
    machine("aws", "m5zn.xlarge", vcpus=4, memory_gib=16.0, arch="x86_64"),
    machine("aws", "m7g.xlarge", vcpus=4, memory_gib=16.0, arch="arm64"),
    machine(
        "gcp",
        "a3-highgpu-8g",
        device="nvidia-h100-sxm5-80gb",
        count=8,
        gib=80,
        vcpus=208,
        memory_gib=1872.0,
        local_disk_gib=6000.0,
        rdma="gpudirect_tcpx",
    ),
    machine(
        "gcp",
        "ct6e-standard-4t",
        device="google-tpu-v6e",
        count=4,
        gib=32,
        vcpus=180,
        memory_gib=720.0,
        accelerator_kind="tpu",
    ),
    machine(
        "azure",
        "Standard_ND96isr_H100_v5",
        device="nvidia-h100-sxm5-80gb",
        count=8,
        gib=80,
        vcpus=96,
        memory_gib=1900.0,
        rdma="infiniband",
    ),
    machine(
        "azure",
        "Standard_NV6ads_A10_v5",
        device="nvidia-a10",
        count=1 / 6,
        gib=24,
        vcpus=6,
        memory_gib=55.0,
    ),
]
REGIONS = [
    region("aws", "us-east-1", country="US"),
    region("gcp", "us-central1", country="US"),
    region("azure", "eastus", country="US"),
]
PRICES = [
    price("aws", "us-east-1", "p5.48xlarge", "55.04"),
    price("aws", "us-east-1", "p5en.48xlarge", "63.296"),
    price("aws", "us-east-1", "p4d.24xlarge", "21.957642"),
    price("aws", "us-east-1", "p4de.24xlarge", "27.44705"),
    price("aws", "us-east-1", "g6.xlarge", "0.8048"),
    price("aws", "us-east-1", "g5.xlarge", "1.006"),
    price("aws", "us-east-1", "g4dn.xlarge", "0.526"),
    price("aws", "us-east-1", "g6e.12xlarge", "10.49264"),
    price(
        "aws", "us-east-1", "trn2.48xlarge", None, price_reason="capacity_block_priced_by_offering"
    ),
    price("aws", "us-east-1", "inf2.48xlarge", "12.98127"),
    price("aws", "us-east-1", "m5zn.xlarge", "0.3303"),
    price("aws", "us-east-1", "m7g.xlarge", "0.1632"),
    price("gcp", "us-central1", "a3-highgpu-8g", "88.4899999026"),
    price("gcp", "us-central1", "a3-highgpu-8g", "50.6095408219", purchase_option="spot"),
    price("gcp", "us-central1", "ct6e-standard-4t", "10.8"),
    price("azure", "eastus", "Standard_ND96isr_H100_v5", "98.32"),
    price("azure", "eastus", "Standard_NV6ads_A10_v5", "0.454"),
]
BENCHMARKS = [  # two rows of the sheet, as MLCommons publishes them
    {
        "accelerator_id": "nvidia-h200-sxm",
        "suite": "mlperf_training",
        "model": "llama2_70b_lora",
        "scenario": "training",
        "round": "v5.1",
        "system": "Cisco/1xC885A_M8-8xH200-SXM-141GB",
        "accelerator_count": 8,
        "result": 23.193,
        "result_unit": "minutes",
        "accelerator_hours": 3.0924,
    },
    {
        "accelerator_id": "nvidia-h100-sxm5-80gb",
        "suite": "mlperf_inference",
        "model": "llama2-70b-99",
        "scenario": "Offline",
        "round": "v4.1",
        "system": "Supermicro/SYS_421GE_TNHR2_LCC_H100_SXM_80GBx8_TRT",
        "accelerator_count": 8,
        "result": 24180.6,
        "result_unit": "Tokens/s",
        "per_accelerator": 3022.575,
    },
]
LOCAL = [
    {
        "device_id": "pc-rtx-4090",
        "name": "PC with an RTX 4090",
        "vendor": "somebody",
        "kind": "desktop",
        "complete": True,
        "accelerator_id": "nvidia-rtx-4090",
        "accelerator_count": 1.0,
        "accelerator_memory_gb": 24.0,
        "unified_memory": False,
        "max_power_w": 650.0,
        "price": Decimal(3000),
    },
    {
        "device_id": "dgx-h100",
        "name": "DGX H100",
        "vendor": "NVIDIA",
        "kind": "server",
        "complete": True,
        "accelerator_id": "nvidia-h100-sxm5-80gb",
        "accelerator_count": 8.0,
        "accelerator_memory_gb": 640.0,
        "unified_memory": False,
        "max_power_w": 10_200.0,
        "price": Decimal(269_000),
    },
    {
        "device_id": "rtx-4090-card",
        "name": "RTX 4090",
        "vendor": "NVIDIA",
        "kind": "card",
        "complete": False,
        "accelerator_id": "nvidia-rtx-4090",
        "accelerator_count": 1.0,
        "accelerator_memory_gb": 24.0,
        "unified_memory": False,
        "max_power_w": 450.0,
        "price": Decimal(1599),
    },
]

YEARS = {
    "grid_year": 2024,
    "grid_source": "https://example.org/grid",
    "pue_year": 2024,
    "pue_source": "https://example.org/pue",
}

BENCHMARK = {"system_count": 1, "derived": True, "official": True}

STREET_PRICE = {
    "price_currency": "USD",
    "price_date": date(2026, 1, 1),
    "price_kind": "street",
    "price_source": "a shop",
}

CPU_FEATURES = (
    "amx_int8",
    "amx_bf16",
    "amx_fp16",
    "avx512",
    "avx512_vnni",
    "avx512_bf16",
    "avx512_fp16",
    "avx_vnni",
    "avx2",
    "dotprod",
    "i8mm",
    "arm_bf16",
    "sve",
    "sve2",
    "sme",
    "sme2",
)

CPU = dict.fromkeys(CPU_FEATURES, "unknown") | {"software_stack": []}


class Release:
    """The tables of a release, as the answers need them (``hwprices.release.release.Tables``)."""

    def __init__(self, tables: Mapping[str, pl.DataFrame]) -> None:
        self.tables = tables

    def scan(self, table: str) -> pl.LazyFrame:
        """Give a table as a lazy frame."""
        return self.tables[table].lazy()

    @property
    def names(self) -> pl.DataFrame | None:
        """The names that a release has in a file, where there is a history."""
        if "price_history" not in self.tables:
            return None
        priced = (pl.col("state") == "current").any()
        return self.tables["price_history"].group_by(NAMES).agg(priced=priced)


def with_private_hosts(release: Release, machines: list[str]) -> Release:
    """Give the release in which these machine types are rented out by community hosts."""
    private = pl.col("instance_type").is_in(machines)
    offers = release.tables["offers"].with_columns(
        provider=pl.when(private).then(pl.lit("runpod")).otherwise("provider"),
        region=pl.when(private).then(pl.lit("community")).otherwise("region"),
    )
    place = rows("regions", region("runpod", "community"))
    regions = pl.concat([release.tables["regions"], place], how="diagonal")
    return Release({**release.tables, "offers": offers, "regions": regions})


def build() -> join.Joined:
    """Join the prices and machines above with the sheets."""
    vendor = {
        "regions": rows("regions", *REGIONS).lazy(),
        "instance_types": rows("instance_types", *TYPES).lazy(),
        "prices": prices(*PRICES),
    }
    return join.build(vendor, sheets())


def sheets() -> dict[str, pl.DataFrame]:
    """Return the spec sheets: the project's for accelerators, for the others the rows above."""
    return {
        "accelerators": load("accelerators"),
        "power_coefficients": sheet("power_coefficients", POWER),
        "cpus": sheet("cpus", CPUS, CPU),
        "cpu_families": sheet("cpu_families", FAMILIES),
        "region_footprint": sheet("region_footprint", FOOTPRINTS, YEARS),
        "benchmarks": sheet("benchmarks", BENCHMARKS, BENCHMARK),
        "local_hardware": sheet("local_hardware", LOCAL, STREET_PRICE),
    }


def sheet(
    name: str, values: Sequence[Mapping[str, Any]], defaults: Mapping[str, Any] | None = None
) -> pl.DataFrame:
    """Make a spec sheet: each row is SOURCED, the defaults and its own values."""
    return rows(name, *({**SOURCED, **(defaults or {}), **row} for row in values))
