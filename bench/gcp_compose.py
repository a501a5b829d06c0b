"""Measure GCP at full size: 40,000 SKUs and 36,000 pairs of type and zone, read and composed.

Prices are made up; sizes and formats are real. Each step is compared with a plain JSON decode of
the same pages.
"""

import gzip
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from bench import measure
from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers import gcp
from hwprices.providers.gcp import grammar
from hwprices.providers.gcp.compose import add_licenses, build_rates, compose
from hwprices.providers.gcp.instance_types import read_machines
from hwprices.providers.gcp.normalise import add_flexible, normalise
from hwprices.providers.gcp.sheets import Sheets
from hwprices.providers.gcp.skus import read_skus
from hwprices.specs import data_directory

measure.load_pandera()

SKUS = 40_000  # of the real catalog
SMALL = 1_000
GOAL = measure.Goal(seconds=1.5)
PAGE = 5_000
AT = datetime(2026, 11, 21, tzinfo=UTC)


def sku(
    number: int,
    description: str,
    group: str,
    usage: str,
    region: str,
    unit: str,
    family: str = "Compute",
) -> dict[str, Any]:
    """Make a SKU in the shape of the Cloud Billing Catalog; its price depends on its number."""
    price = {
        "currencyCode": "USD",
        "units": str(number % 3),
        "nanos": 1_000_000 + number * 7_919 % 900_000_000,
    }
    return {
        "name": f"services/6F81-5844-456A/skus/{number:04X}",
        "skuId": f"{number:04X}",
        "description": description,
        "category": {
            "serviceDisplayName": "Compute Engine",
            "resourceFamily": family,
            "resourceGroup": group,
            "usageType": usage,
        },
        "serviceRegions": [region],
        "pricingInfo": [
            {
                "summary": "",
                "pricingExpression": {
                    "usageUnit": unit,
                    "displayQuantity": 1,
                    "tieredRates": [{"startUsageAmount": 0, "unitPrice": price}],
                    "baseUnit": "s",
                },
                "currencyConversionRate": 1,
                "effectiveTime": "2026-11-01T00:00:00Z",
            }
        ],
        "serviceProviderName": "Google",
        "geoTaxonomy": {"type": "REGIONAL", "regions": [region]},
    }


Line = tuple[str, str, str, str, str, str]
"""description, resource group, usage type, region, unit and resource family of one SKU."""


def catalog(regions: list[str], count: int) -> list[dict[str, Any]]:
    """Make SKUs of all series, modes, regions, GPUs, disks, licenses; network SKUs fill up."""
    lines = [line for region in regions for line in region_lines(region)]
    lines += license_lines()
    lines += network_lines(regions, count - len(lines))
    return [sku(number, *line) for number, line in enumerate(lines[:count])]


def region_lines(region: str) -> Iterator[Line]:
    """Yield the SKUs of one region."""
    series_words = {series: words for words, series in reversed(grammar.SERIES.items())}
    for series, words in series_words.items():
        yield from series_lines(series, words, region)
    gpu_words = {gpu: words for words, gpu in reversed(grammar.GPUS.items())}
    for words in gpu_words.values():
        yield from gpu_lines(words, region)
    yield from disk_lines(region)


def series_lines(series: str, words: str, region: str) -> Iterator[Line]:
    """Yield core and memory of one series: on demand, spot, scheduled, committed, sole tenancy."""
    modes = {
        "": "OnDemand",
        "Spot Preemptible ": "Preemptible",
        "DWS Calendar Mode ": "OnDemand",
        "DWS Defined Duration ": "OnDemand",
    }
    for part, commitment_part, group, unit in (
        ("Core", "Cpu", "CPU", "h"),
        ("Ram", "Ram", "RAM", "GiBy.h"),
    ):
        n1_group = "N1Standard" if series == "n1" else group
        for mode, usage in modes.items():
            text = f"{mode}{words} Instance {part} running in {region}"
            yield text, n1_group, usage, region, unit, "Compute"
        series_words = "" if series == "n1" else f"{words} "
        for years in (1, 3):
            text = f"Commitment v1: {series_words}{commitment_part} in {region} for {years} Year"
            yield text, group, f"Commit{years}Yr", region, unit, "Compute"
        text = f"{words} Sole Tenancy Instance {part} running in {region}"
        yield text, n1_group, "OnDemand", region, unit, "Compute"


def gpu_lines(words: str, region: str) -> Iterator[Line]:
    """Yield the SKUs of one GPU: on demand, spot, scheduled, committed."""
    for text, usage in (
        (f"{words} GPU running in {region}", "OnDemand"),
        (f"{words} GPU attached to Spot Preemptible VMs running in {region}", "Preemptible"),
        (f"{words} GPU attached to DWS Defined Duration VMs running in {region}", "OnDemand"),
        (f"Commitment v1: {words} GPU in {region} for 1 Year", "Commit1Yr"),
        (f"Commitment v1: {words} GPU in {region} for 3 Year", "Commit3Yr"),
    ):
        yield text, "GPU", usage, region, "h", "Compute"


def disk_lines(region: str) -> Iterator[Line]:
    """Yield local SSD of any series, and of series with a separate SKU."""
    shared_disk = "SSD backed Local Storage"
    for text, usage in (
        (f"{shared_disk} in {region}", "OnDemand"),
        (f"{shared_disk} attached to Spot Preemptible VMs in {region}", "Preemptible"),
        (f"C4 Instance Local SSD running in {region}", "OnDemand"),
        (f"C4A Instance Local SSD running in {region}", "OnDemand"),
        (f"C4D Instance Local SSD running in {region}", "OnDemand"),
    ):
        yield text, "LocalSSD", usage, region, "GiBy.mo", "Compute"


def license_lines() -> Iterator[Line]:
    """Yield the SKUs of Windows, SLES and RHEL."""
    rhel = "Red Hat Enterprise Linux 9 on VM with"
    for system in (
        "Windows Server 2025 Datacenter Edition on VM",
        "SUSE Linux Enterprise Server 15 (CPU cost)",
        f"{rhel} up to 8 VCPU",
        f"{rhel} 9 to 127 VCPU",
        f"{rhel} 128 VCPU or more",
    ):
        yield f"Licensing Fee for {system}", "Google", "OnDemand", "global", "h", "License"


def network_lines(regions: list[str], count: int) -> Iterator[Line]:
    """Yield SKUs of other products, to reach the size of the real catalog."""
    choice = random.Random(1)
    for number in range(count):
        text = f"Network Inter Region Data Transfer Out number {number}"
        yield text, "InterregionEgress", "OnDemand", choice.choice(regions), "GiBy", "Network"


def land(folder: str, count: int) -> int:
    """Land the catalog and the bundled machine types; return the number of type and zone pairs.

    A small catalog has a few zones only.
    """
    landing = Landing(folder)
    bundled = data_directory() / "bundled" / "gcp" / "machine_types.json.gz"
    types = json.loads(gzip.decompress(bundled.read_bytes()))
    if count < SKUS:
        types["items"] = dict(list(types["items"].items())[:3])
    regions = sorted({zone.removeprefix("zones/").rpartition("-")[0] for zone in types["items"]})
    skus = catalog(regions, count)
    bodies = [{"skus": skus[i : i + PAGE]} for i in range(0, count, PAGE)]
    results = []
    for kind, listed in ((gcp.SKUS, bodies), (gcp.MACHINE_TYPES, [types])):
        unit = Unit("gcp", kind)
        pages = tuple(
            landing.land_bytes(
                unit, json.dumps(body).encode(), url="https://bench.example", retrieved_at=AT
            )
            for body in listed
        )
        results.append(UnitResult(unit, "ok", pages))
    landing.write_run(Run("bench", "gcp", "live", AT, "bench", tuple(results)))
    return sum(len(zone.get("machineTypes", [])) for zone in types["items"].values())


def rows(is_small: bool) -> Iterator[measure.Row]:
    """Measure the provider, and its steps."""
    with tempfile.TemporaryDirectory(prefix="hwprices-bench-") as folder:
        pairs = land(folder, SMALL if is_small else SKUS)
        costs = measure.compare(
            {
                "decode": (decode_json, folder),
                "SKUs": (read_all_skus, folder),
                "compose": (compose_all, folder),
                "all": (normalise_all, folder),
            },
            in_process=is_small,
        )
    size = f"{SMALL if is_small else SKUS:,} SKUs, {pairs:,} pairs"
    steps = {
        "read and classify Google's SKUs": ("SKUs", None),
        "read SKUs and machines, and compose": ("compose", None),
        "normalise Google's pages": ("all", GOAL),
    }
    for name, (step, goal) in steps.items():
        yield measure.make_row(
            name,
            size,
            costs[step],
            baseline=costs["decode"],
            baseline_name="plain json decode",
            goal=goal,
            is_small=is_small,
        )


def decode_json(folder: str) -> int:
    """Read and decode every page with the standard library."""
    pages = measure.landed(folder, "gcp")
    kinds = (gcp.SKUS, gcp.MACHINE_TYPES)
    return len([json.loads(pages.read(page)) for kind in kinds for page in pages.of(kind)])


def read_all_skus(folder: str) -> int:
    """Read and classify the SKUs; return the number of priced components."""
    return read_skus(measure.landed(folder, "gcp")).components.height


def compose_all(folder: str) -> int:
    """Compose the prices of all machines, without and with a license; return their number."""
    pages, sheets = measure.landed(folder, "gcp"), Sheets.load()
    machines = read_machines(pages, sheets)
    rates = build_rates(read_skus(pages))
    linux = add_flexible(compose(machines, rates, machines.faults), machines, sheets)
    return linux.prices.height + add_licenses(machines, rates, linux).prices.height


def normalise_all(folder: str) -> int:
    """Read the pages into all tables; return the number of their parts."""
    parts = normalise(measure.landed(folder, "gcp"), Sheets.load())
    return len([part.frame.lazy().collect() for part in parts])


if __name__ == "__main__":
    sys.exit(measure.run_script(rows))
