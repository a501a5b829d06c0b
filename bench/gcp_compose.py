"""Measure GCP at full size: 40,000 SKUs and 36,000 pairs of type and zone, read and composed.

    python bench/gcp_compose.py

Prices are made up; sizes and forms are not. Prints the processor time of each step as a multiple of
a plain json decode of the same pages in the same run, so that figures of different machines
compare.
"""

import gzip
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers import Pages
from hwprices.providers.gcp import kinds
from hwprices.providers.gcp.inventory.instance_types import read_machines
from hwprices.providers.gcp.normalise import normalise
from hwprices.providers.gcp.prices import vocabulary
from hwprices.providers.gcp.prices.compose import MachinePrices, compose
from hwprices.providers.gcp.prices.licenses import LicensedPrices, add_licenses
from hwprices.providers.gcp.prices.rates import build_rates
from hwprices.providers.gcp.prices.skus import read_skus
from hwprices.providers.gcp.sheets import Sheets
from hwprices.specs import data_directory

SKUS = 40_000
PAIRS = 36_000
PAGE = 5_000
AT = datetime(2026, 11, 21, tzinfo=UTC)
T = TypeVar("T")


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


def catalog(regions: list[str]) -> list[dict[str, Any]]:
    """Make all series by all modes in all regions, GPUs, disks, licenses; network SKUs fill up."""
    lines = [line for region in regions for line in region_lines(region)]
    lines += license_lines()
    lines += network_lines(regions, SKUS - len(lines))
    return [sku(number, *line) for number, line in enumerate(lines[:SKUS])]


def region_lines(region: str) -> Iterator[Line]:
    """Yield the SKUs of one region."""
    words_of_series = {series: words for words, series in reversed(vocabulary.SERIES.items())}
    for series, words in words_of_series.items():
        yield from series_lines(series, words, region)
    words_of_gpus = {gpu: words for words, gpu in reversed(vocabulary.GPUS.items())}
    for words in words_of_gpus.values():
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
    """Yield local SSD of any series, and of those that have a SKU of their own."""
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
    """Yield SKUs that are no machine's, to reach the size of the real catalog."""
    choice = random.Random(1)
    for number in range(count):
        text = f"Network Inter Region Data Transfer Out number {number}"
        yield text, "InterregionEgress", "OnDemand", choice.choice(regions), "GiBy", "Network"


def land(root: Path) -> Pages:
    """Land full-size pages: the catalog above, and the bundled machine types of all zones."""
    landing = Landing(root)
    bundled = data_directory() / "bundled" / "gcp" / "machine_types.json.gz"
    types = json.loads(gzip.decompress(bundled.read_bytes()))
    regions = sorted({zone.removeprefix("zones/").rpartition("-")[0] for zone in types["items"]})
    skus = catalog(regions)
    bodies = [{"skus": skus[i : i + PAGE]} for i in range(0, SKUS, PAGE)]
    results = []
    for kind, listed in ((kinds.SKUS, bodies), (kinds.MACHINE_TYPES, [types])):
        unit = Unit("gcp", kind)
        pages = tuple(
            landing.land_bytes(
                unit, json.dumps(body).encode(), url="https://bench.example", retrieved_at=AT
            )
            for body in listed
        )
        results.append(UnitResult(unit, "ok", pages))
    return Pages(Run("bench", "gcp", "live", AT, "bench", tuple(results)), landing)


def decode_json(pages: Pages) -> int:
    """Read and decode every page with the standard library: the yardstick of this bench."""
    kinds_of_run = (kinds.SKUS, kinds.MACHINE_TYPES)
    bodies = [json.loads(pages.read(page)) for kind in kinds_of_run for page in pages.of(kind)]
    return len(bodies)


@dataclass
class Stopwatch:
    """Times steps in processor seconds, and prints each as a multiple of the yardstick."""

    yardstick: float

    def time(self, what: str, work: Callable[[], T]) -> T:
        """Time one step, print the result beside ``what``, and return what the step returns."""
        started = time.process_time()
        result = work()
        ratio = (time.process_time() - started) / self.yardstick
        print(f"{what:<44}{ratio:7.2f} × a plain json decode of the pages")
        return result


def fastest(work: Callable[[], object], rounds: int = 3) -> float:
    """Measure the processor seconds of the fastest of some rounds."""
    seconds = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    return min(seconds)


def main() -> None:
    """Land a catalog of full size, then time each step from its pages to the tables."""
    with tempfile.TemporaryDirectory() as folder:
        pages = land(Path(folder))
        watch = Stopwatch(fastest(lambda: decode_json(pages)))
        sheets = watch.time("load the sheets", Sheets.load)
        machines = watch.time("read machine types", lambda: read_machines(pages, sheets))
        sku_catalog = watch.time("read and classify SKUs", lambda: read_skus(pages))
        print(
            f"{SKUS} SKUs, {machines.offers.height} pairs of type and zone, "
            f"{sku_catalog.components.height} priced components"
        )
        assert machines.offers.height >= PAIRS

        def compose_all() -> tuple[MachinePrices, LicensedPrices]:
            rates = build_rates(sku_catalog, sheets)
            linux = compose(machines, rates)
            return linux, add_licenses(machines, rates, linux)

        linux, licensed = watch.time("compose: rates, machines, licenses", compose_all)
        print(
            f"{linux.prices.height} Linux prices, {licensed.prices.height} with a license, "
            f"{linux.components.height} components"
        )
        watch.time("all: landed pages to all tables", lambda: list(normalise(pages, sheets)))


if __name__ == "__main__":
    main()
