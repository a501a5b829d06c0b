"""GCP at full size: 40,000 SKUs and 36,000 type-zone pairs, read from landed pages and composed.

    python bench/gcp_compose.py

Prices are made up; sizes and shapes are not. Times the steps one by one and in all; the aim is 3 s for composing on 2 cores.
"""

import json
import random
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from hwprices import providers
from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers import Pages
from hwprices.providers.gcp.inventory import instance_types
from hwprices.providers.gcp.prices import compose, licenses, rates, skus, vocabulary

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


def catalog(regions: list[str]) -> list[dict[str, Any]]:
    """Every series by every mode in every region, GPUs, disks, licences, and storage SKUs up to the number."""
    found: list[dict[str, Any]] = []

    def add(
        description: str,
        group: str,
        usage: str,
        region: str,
        unit: str = "h",
        family: str = "Compute",
    ) -> None:
        found.append(sku(len(found), description, group, usage, region, unit, family))

    series = {meaning: word for word, meaning in reversed(vocabulary.SERIES.items())}
    gpus = {meaning: word for word, meaning in reversed(vocabulary.GPUS.items())}
    for region in regions:
        for meaning, word in series.items():
            for part, group, unit in (
                ("Core", "N1Standard" if meaning == "n1" else "CPU", "h"),
                ("Ram", "N1Standard" if meaning == "n1" else "RAM", "GiBy.h"),
            ):
                for mode, usage in (
                    ("", "OnDemand"),
                    ("Spot Preemptible ", "Preemptible"),
                    ("DWS Calendar Mode ", "OnDemand"),
                    ("DWS Defined Duration ", "OnDemand"),
                ):
                    add(
                        f"{mode}{word} Instance {part} running in {region}",
                        group,
                        usage,
                        region,
                        unit,
                    )
                what = "" if meaning == "n1" else f"{word} "
                for years in (1, 3):
                    commit = {"Core": "Cpu", "Ram": "Ram"}[part]
                    add(
                        f"Commitment v1: {what}{commit} in {region} for {years} Year",
                        {"Core": "CPU", "Ram": "RAM"}[part],
                        f"Commit{years}Yr",
                        region,
                        unit,
                    )
                add(
                    f"{word} Sole Tenancy Instance {part} running in {region}",
                    group,
                    "OnDemand",
                    region,
                    unit,
                )
        for word in gpus.values():
            add(f"{word} GPU running in {region}", "GPU", "OnDemand", region)
            add(
                f"{word} GPU attached to Spot Preemptible VMs running in {region}",
                "GPU",
                "Preemptible",
                region,
            )
            add(
                f"{word} GPU attached to DWS Defined Duration VMs running in {region}",
                "GPU",
                "OnDemand",
                region,
            )
            for years in (1, 3):
                add(
                    f"Commitment v1: {word} GPU in {region} for {years} Year",
                    "GPU",
                    f"Commit{years}Yr",
                    region,
                )
        for word in (
            "SSD backed Local Storage",
            "C4 Instance Local SSD running",
            "C4A Instance Local SSD running",
            "C4D Instance Local SSD running",
        ):
            add(f"{word} in {region}", "LocalSSD", "OnDemand", region, "GiBy.mo")
        add(
            f"SSD backed Local Storage attached to Spot Preemptible VMs in {region}",
            "LocalSSD",
            "Preemptible",
            region,
            "GiBy.mo",
        )
    add(
        "Licensing Fee for Windows Server 2025 Datacenter Edition on VM",
        "Google",
        "OnDemand",
        "global",
        family="License",
    )
    add(
        "Licensing Fee for SUSE Linux Enterprise Server 15 (CPU cost)",
        "Google",
        "OnDemand",
        "global",
        family="License",
    )
    for band in ("up to 8 VCPU", "9 to 127 VCPU", "128 VCPU or more"):
        add(
            f"Licensing Fee for Red Hat Enterprise Linux 9 on VM with {band}",
            "Google",
            "OnDemand",
            "global",
            family="License",
        )
    while len(found) < SKUS:
        add(
            f"Network Inter Region Data Transfer Out number {len(found)}",
            "InterregionEgress",
            "OnDemand",
            random.Random(len(found)).choice(regions),
            "GiBy",
            "Network",
        )
    return found[:SKUS]


def land(root: Path) -> Pages:
    """Full-size pages in wire shape; the machine types are the bundled table's, up to the number of pairs."""
    import gzip

    landing = Landing(root)
    bundled = next(
        f for f in Path(str(sheets.sheet_directory())).glob("gcp_machine_types_*.json.gz")
    )
    types = json.loads(gzip.decompress(bundled.read_bytes()))
    regions = sorted({zone.removeprefix("zones/").rpartition("-")[0] for zone in types["items"]})
    everything = catalog(regions)
    bodies = [{"skus": everything[i : i + PAGE]} for i in range(0, SKUS, PAGE)]
    results = []
    for kind, listed in (("skus", bodies), ("machine_types", [types])):
        unit = Unit("gcp", kind)
        pages = tuple(
            landing.land_bytes(
                unit, json.dumps(body).encode(), url="https://bench.example", retrieved_at=AT
            )
            for body in listed
        )
        results.append(UnitResult(unit, "ok", pages))
    return Pages(Run("bench", "gcp", "live", AT, "bench", tuple(results)), landing)


def timed(what: str, work: Callable[[], T]) -> T:
    started = time.perf_counter()
    done = work()
    print(f"{what:<44}{time.perf_counter() - started:7.2f} s")
    return done


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        pages = land(Path(folder))
        found = timed("read machine types", lambda: instance_types.read(pages))
        read = timed("read and parse SKUs", lambda: skus.read(pages))
        print(
            f"{SKUS} SKUs, {found.offers.height} type-zone pairs, {read.parts.height} priced parts"
        )
        assert found.offers.height >= PAIRS

        def work() -> tuple[compose.Composed, licenses.Licensed]:
            priced = rates.build(read)
            linux = compose.compose(found, priced)
            return linux, licenses.license(found, priced, linux)

        linux, licensed = timed("COMPOSE: rates, machines, licences (aim 3 s)", work)
        print(
            f"{linux.prices.height} Linux prices, {licensed.prices.height} with a licence, {linux.components.height} components"
        )
        parts = timed(
            "everything: landed pages to all tables",
            lambda: list(providers.get("gcp").normalise(pages)),
        )
        tables = sorted({p.table for p in parts})
        print({t: sum(p.frame.height for p in parts if p.table == t) for t in tables})  # type: ignore[union-attr]


if __name__ == "__main__":
    main()
