"""Write the GCP part of the sample: real figures in the form of Google's pages.

    python -m tools.sample.gcp ../shared [--into DIR]

With the default folder data/sample, the bundled machine types in data/bundled/gcp are written too.
Every rate, machine type, zone and region is real. SKU ids that are not known begin with
``SAMPLE-``; rates marked ``split`` in gcp_part_rates, of which only the sum over the machine is
real, begin with ``SAMPLE-SPLIT-``. See data/sample/README.md.
"""

import argparse
import csv
import gzip
import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers import gcp

PROJECT = Path(__file__).resolve().parents[2]
SAMPLE = PROJECT / "data" / "sample"
BUNDLED = PROJECT / "data" / "bundled" / "gcp"
RATES_AS_OF = datetime(2026, 7, 30, tzinfo=UTC)
TYPES_AS_OF = datetime(2026, 8, 17, tzinfo=UTC)
PLACES_AS_OF = datetime(2025, 3, 1, tzinfo=UTC)
DWS_AS_OF = datetime(2025, 8, 16, tzinfo=UTC)
LICENSES_AS_OF = datetime(2026, 11, 21, tzinfo=UTC)
TPU_AS_OF = datetime(2024, 12, 23, tzinfo=UTC)

REGIONS = {
    "us-central1": "Iowa",
    "us-east4": "Northern Virginia",
    "europe-west4": "Netherlands",
    "asia-northeast1": "Tokyo",
}
BILLING = "https://cloudbilling.googleapis.com/v1/services/6F81-5844-456A/skus"
VERTEX = "https://cloudbilling.googleapis.com/v1/services/C7E2-9256-1C43/skus"
COMPUTE = "https://compute.googleapis.com/compute/v1/projects/-"
MACHINE_TYPES_URL = f"{COMPUTE}/aggregated/machineTypes"

WORDS = {
    **{
        s: s.upper()
        for s in (
            "a2",
            "a3",
            "c3",
            "c3d",
            "c4",
            "c4d",
            "c4n",
            "e2",
            "g2",
            "g4",
            "h3",
            "m4",
            "n2",
            "n4",
            "n4a",
            "n4d",
            "z3",
        )
    },
    "a3plus": "A3Plus",
    "c2": "Compute optimized",
    "c2d": "C2D AMD",
    "c4a": "C4A Arm",
    "m1": "Memory-optimized",
    "m3": "M3 Memory-optimized",
    "m4u224": "M4Ultramem224",
    "n1": "N1 Predefined",
    "n2d": "N2D AMD",
    "t2a": "T2A Arm",
    "t2d": "T2D AMD",
}
GPU_WORDS = {
    "a100": "Nvidia Tesla A100 GPU",
    "a100-80gb": "Nvidia Tesla A100 80GB GPU",
    "h100-80gb": "Nvidia H100 80GB GPU",
    "h100-80gb-mega": "Nvidia H100 80GB Mega GPU",
    "l4": "Nvidia L4 GPU",
    "rtx6000": "RTX 6000 96GB",
}
INSTANCE_WORDS = {
    "f1": ("Micro Instance with burstable CPU", "F1Micro"),
    "g1": ("Small Instance with 1 VCPU", "G1Small"),
}
PREMIUM_WORDS = "Memory Optimized Upgrade Premium for Memory-optimized"
USAGE = {"od": "OnDemand", "spot": "Preemptible", "1y": "Commit1Yr", "3y": "Commit3Yr"}
YEARS = {"1y": "1 Year", "3y": "3 Years"}


def sku(
    sku_id: str,
    description: str,
    group: str,
    usage: str,
    regions: list[str],
    price: Decimal,
    unit: str = "h",
    **more: Any,
) -> dict[str, Any]:
    """Make a SKU as services.skus.list gives it; nanos must hold all digits of the price."""
    nanos = price * 10**9
    assert nanos == int(nanos), (description, price)
    rate = {
        "startUsageAmount": 0,
        "unitPrice": {"currencyCode": "USD", "units": str(int(price)), "nanos": int(nanos) % 10**9},
    }
    info = {
        "summary": "",
        "pricingExpression": {"usageUnit": unit, "displayQuantity": 1, "tieredRates": [rate]},
        "currencyConversionRate": 1,
    }
    if when := more.get("effective"):
        info["effectiveTime"] = when
    category = {
        "serviceDisplayName": more.get("service", "Compute Engine"),
        "resourceFamily": more.get("family", "Compute"),
        "resourceGroup": group,
        "usageType": usage,
    }
    return {
        "name": f"services/6F81-5844-456A/skus/{sku_id}",
        "skuId": sku_id,
        "description": description,
        "category": category,
        "serviceRegions": regions,
        "pricingInfo": [info],
        "serviceProviderName": "Google",
        "geoTaxonomy": {
            "type": "REGIONAL" if regions != ["global"] else "GLOBAL",
            "regions": regions if regions != ["global"] else [],
        },
    }


def part_rates(research: Path) -> Iterator[dict[str, Any]]:
    """Make the SKUs of truth/gcp_part_rates: cores, memory, GPUs, disks, shared-core machines."""
    for row in csv.DictReader((research / "truth" / "gcp_part_rates_2026-07-30.csv").open()):
        series, region, mode, part = row["series"], row["region"], row["mode"], row["part"]
        # f1 and g1 have no commitment: those figures are the sustained-use price. M2 is M1 and a
        # premium, below.
        if (series in INSTANCE_WORDS and mode in YEARS) or series == "m2":
            continue
        kind = part if part in ("core", "ram") else "gpu"
        split = (
            "SPLIT-"
            if "split" in row["how"] and not row["how"].startswith(f"{kind} solved")
            else ""
        )
        sku_id = f"SAMPLE-{split}{series}-{part}-{mode}-{region}".upper()
        description, group = describe(series, part, mode, REGIONS[region])
        unit = {"GiB": "GiBy.h", "GiB-month": "GiBy.mo"}.get(row["unit"], "h")
        family = "Storage" if series == "generic" else "Compute"
        yield sku(
            sku_id,
            description,
            group,
            USAGE[mode],
            [region],
            Decimal(row["usd_per_unit_hour"]),
            unit,
            family=family,
        )


def describe(series: str, part: str, mode: str, place: str) -> tuple[str, str]:
    """Write description and resource group in Google's words."""
    spot = "Spot Preemptible " if mode == "spot" else ""
    if series in INSTANCE_WORDS:
        words, group = INSTANCE_WORDS[series]
        return f"{spot}{words} running in {place}", group
    if part == "local_ssd":
        return local_ssd(series, mode, place), "LocalSSD"
    if part in GPU_WORDS:
        gpu = GPU_WORDS[part]
        if mode in YEARS:
            return f"Commitment v1: {gpu} running in {place} for {YEARS[mode]}", "GPU"
        return (
            f"{gpu} {'attached to Spot Preemptible VMs running' if spot else 'running'} in {place}",
            "GPU",
        )
    group = (
        "N1Standard"
        if series == "n1" and mode in ("od", "spot")
        else {"core": "CPU", "ram": "RAM"}[part]
    )
    if mode in YEARS:
        what = {"n1": "", "c2": "Compute optimized "}.get(series, f"{WORDS[series]} ")
        version = "" if series == "c2" else " v1"
        unit = "Cpu" if part == "core" else "Ram"
        return (
            f"Commitment{version}: {what}{unit} in {place} for {YEARS[mode]}",
            group,
        )
    instance = "" if series == "c2" else " Instance"
    return (
        f"{spot}{WORDS[series]}{instance} {'Core' if part == 'core' else 'Ram'} running in {place}",
        group,
    )


def local_ssd(series: str, mode: str, place: str) -> str:
    """Return the description of a SKU of local SSD, as the catalog words it."""
    if series == "generic":
        if mode in YEARS:
            return f"Commitment v1: Local SSD in {place} for {YEARS[mode]}"
        attached = " attached to Spot Preemptible VMs" if mode == "spot" else ""
        return f"SSD backed Local Storage{attached} in {place}"
    if mode in YEARS:
        return f"Commitment v1: {series.upper()} Local SSD in {place} for {YEARS[mode]}"
    spot = "Spot Preemptible " if mode == "spot" else ""
    return f"{spot}{series.upper()} Instance Local SSD running in {place}"


def premiums(research: Path) -> Iterator[dict[str, Any]]:
    """Make M2's upgrade premium: what its on-demand rates are above those of M1."""
    rows = list(csv.DictReader((research / "truth" / "gcp_part_rates_2026-07-30.csv").open()))
    rate = {
        (r["series"], r["region"], r["part"]): Decimal(r["usd_per_unit_hour"])
        for r in rows
        if r["mode"] == "od"
    }
    for region, place in REGIONS.items():
        for part, word, group, unit in (
            ("core", "Core", "CPU", "h"),
            ("ram", "Ram", "RAM", "GiBy.h"),
        ):
            price = rate[("m2", region, part)] - rate[("m1", region, part)]
            words = f"{PREMIUM_WORDS} Instance {word} running in {place}"
            yield sku(
                f"SAMPLE-M2-PREMIUM-{part}-{region}".upper(),
                words,
                group,
                "OnDemand",
                [region],
                price,
                unit,
            )


def custom(research: Path) -> Iterator[dict[str, Any]]:
    """Make N1 custom cores and memory, solved from two machines: c + 7.5 r and 2 c + 10 r."""
    prices = {(r["instance_type"], r["region"]): r for r in machine_prices(research)}
    for region, place in REGIONS.items():
        for mode, column in (("od", "on_demand_usd_per_hour"), ("spot", "spot_usd_per_hour")):
            one, two = (
                Decimal(prices[(name, region)][column])
                for name in ("custom-1-7680-ext", "custom-2-10240-ext")
            )
            ram = (2 * one - two) / 5
            spot = "Spot Preemptible " if mode == "spot" else ""
            for part, word, group, unit, price in (
                ("core", "Core", "CPU", "h", one - Decimal("7.5") * ram),
                ("ram", "Ram", "RAM", "GiBy.h", ram),
            ):
                words = f"{spot}Custom Instance {word} running in {place}"
                yield sku(
                    f"SAMPLE-N1-CUSTOM-{part}-{mode}-{region}".upper(),
                    words,
                    group,
                    USAGE[mode],
                    [region],
                    price,
                    unit,
                )


def machine_prices(research: Path) -> list[dict[str, str]]:
    """Read the recorded prices of whole machines."""
    with gzip.open(research / "truth" / "gcp_machine_prices_2026-07-30.csv.gz", "rt") as file:
        return list(csv.DictReader(file))


def b200() -> Iterator[dict[str, Any]]:
    """Make the SKUs of a B200 slice by six purchase options in us-central1 on 2026-07-30."""
    name = "A4 Nvidia B200 (1 gpu slice)"
    for words, usage, price in (
        (f"{name} running in Iowa", "OnDemand", "16.11"),
        (f"DWS Calendar Mode {name} in Iowa", "OnDemand", "11.277"),
        (f"DWS Defined Duration {name} running in Iowa", "OnDemand", "8.055"),
        (f"Commitment v1: {name} in Iowa for 1 Year", "Commit1Yr", "11.1159"),
        (f"Commitment v1: {name} in Iowa for 3 Years", "Commit3Yr", "7.0884"),
        (f"Spot Preemptible {name} running in Iowa", "OnDemand", "4.9542"),
    ):
        mode = words.replace(name, "").split(" in Iowa")[0].strip(" :").replace(
            " ", "-"
        ) + words.rpartition("Iowa")[2].replace(" ", "-")
        yield sku(
            f"SAMPLE-B200-{mode}".upper(), words, "GPU", usage, ["us-central1"], Decimal(price)
        )


def vertex() -> Iterator[dict[str, Any]]:
    """Make Vertex AI's prices of A3 High for prediction, with the SKU ids of the same bills."""
    for sku_id, words, price in (
        ("AE9C-DB60-DF46", "Nvidia H100 80gb GPU running in Iowa", "11.2660332"),
        ("A002-4323-D900", "A3 Predefined Instance Core running in Iowa", "0.0293227"),
        ("2424-9F04-82A8", "A3 Predefined Instance Ram running in Iowa", "0.0025534"),
        ("1797-967A-274D", "management fee on NVIDIA H100 80GB in Iowa", "1.4694826"),
        ("5692-009D-2057", "management fee on A3 Instance RAM in Iowa", "0.0003331"),
    ):
        made = sku(
            sku_id,
            f"Vertex AI: Online/Batch Prediction {words}",
            "Prediction",
            "OnDemand",
            ["us-central1"],
            Decimal(price),
            "GiBy.h" if "ram" in words.lower() else "h",
            family="ApplicationServices",
            service="Vertex AI",
        )
        yield made | {"name": f"services/C7E2-9256-1C43/skus/{sku_id}"}


def dws_a3() -> Iterator[dict[str, Any]]:
    """Make the scheduler's (DWS) prices of A3 High, with the SKU ids of a bill of that day."""
    for sku_id, words, group, price, unit in (
        (
            "341A-49A5-0C07",
            "Nvidia H100 80GB GPU attached to DWS Defined Duration VMs running in Americas",
            "GPU",
            "4.200761",
            "h",
        ),
        (
            "9A32-36B2-7FBC",
            "DWS Defined Duration A3 Core running in Americas",
            "CPU",
            "0.010934",
            "h",
        ),
        (
            "ED19-A584-4A84",
            "DWS Defined Duration A3 Ram running in Americas",
            "RAM",
            "0.000952",
            "GiBy.h",
        ),
        (
            "2303-1D6A-9C08",
            "DWS Defined Duration SSD backed Local Storage running in Americas",
            "LocalSSD",
            "0.08",
            "GiBy.mo",
        ),
    ):
        family = "Storage" if group == "LocalSSD" else "Compute"
        yield sku(
            sku_id, words, group, "OnDemand", ["us-central1"], Decimal(price), unit, family=family
        )


def licenses() -> Iterator[dict[str, Any]]:
    """Make the SKUs of licenses, which cost the same everywhere.

    https://cloud.google.com/compute/disks-image-pricing#premiumimages
    """
    for sku_id, words, price in (
        (
            "SAMPLE-WINDOWS-2025",
            "Licensing Fee for Windows Server 2025 Datacenter Edition on VM",
            "0.046",
        ),
        ("SAMPLE-SLES-15", "Licensing Fee for SUSE Linux Enterprise Server 15 (CPU cost)", "0.11"),
        (
            "SAMPLE-SLES-15-F1",
            "Licensing Fee for SUSE Linux Enterprise Server 15 on f1-micro",
            "0.02",
        ),
        (
            "SAMPLE-SLES-15-G1",
            "Licensing Fee for SUSE Linux Enterprise Server 15 on g1-small",
            "0.02",
        ),
    ):
        yield sku(sku_id, words, "Google", "OnDemand", ["global"], Decimal(price), family="License")


def tpu() -> Iterator[dict[str, Any]]:
    """Make the SKUs of TPU v5e per chip, https://cloud.google.com/tpu/pricing."""
    for region, place, od, one, three, spot in (
        ("us-central1", "Iowa", "1.2", "0.84", "0.54", "0.6"),
        ("europe-west4", "Netherlands", "1.56", "1.092", "0.702", "0.78"),
    ):
        for mode, words, price in (
            ("od", f"TpuV5e running in {place}", od),
            ("spot", f"TpuV5e attached to Spot Preemptible VMs running in {place}", spot),
            ("1y", f"Commitment v1: TpuV5e running in {place} for 1 Year", one),
            ("3y", f"Commitment v1: TpuV5e running in {place} for 3 Years", three),
        ):
            yield sku(
                f"SAMPLE-TPUV5E-{mode}-{region}".upper(),
                words,
                "TPU",
                USAGE[mode],
                [region],
                Decimal(price),
            )


def machine_types(research: Path) -> dict[str, Any]:
    """Read the aggregated list of machine types, without its id and links; keys untouched."""
    with gzip.open(
        research / "recordings" / "gcp" / "gcp_machineTypes_aggregatedList_2026-08-17.json.gz"
    ) as file:
        body = json.load(file)
    body = {k: v for k, v in body.items() if k not in ("id", "selfLink")}
    body["items"] = {
        z: {"machineTypes": [slim(t) for t in listed.get("machineTypes", ())]}
        for z, listed in body["items"].items()
    }
    return body


def slim(raw: dict[str, Any]) -> dict[str, Any]:
    """Drop constants that nobody reads, and the link, which names the project of the listing."""
    return {
        k: v
        for k, v in raw.items()
        if k
        not in (
            "selfLink",
            "kind",
            "imageSpaceGb",
            "maximumPersistentDisks",
            "maximumPersistentDisksSizeGb",
            "zone",
        )
    }


def in_sample(zone: str) -> bool:
    """Check whether a zone lies in a region of the sample."""
    return zone.removeprefix("zones/").rpartition("-")[0] in REGIONS


def listed(research: Path, name: str) -> dict[str, Any]:
    """Read a recorded list of regions or zones, cut to the sample's regions."""
    path = research / "recordings" / "gcp" / name
    body = json.loads(
        gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    )
    keep = ("name", "description", "status", "region", "availableCpuPlatforms")
    items = [{k: item[k] for k in keep if k in item} for item in body["items"]]
    return {
        "kind": body["kind"],
        "items": [i for i in items if (i.get("region") or i["name"]).rpartition("/")[2] in REGIONS],
    }


def main(research: Path, into: Path) -> None:
    """Write the folder ``into``/gcp anew, and data/bundled/gcp with the default folder."""
    types = machine_types(research)
    if into.resolve() == SAMPLE:
        write_bundled(types)
    shutil.rmtree(into / "gcp", ignore_errors=True)
    landing = Landing(into)
    results = []
    for kind, listed_pages in pages(research, types).items():
        unit = Unit("gcp", kind)
        params = {"source": "bundled"} if kind == gcp.MACHINE_TYPES else {}
        landed = [
            landing.land_bytes(
                unit, dumps(page.body), url=page.url, retrieved_at=page.as_of, params=params
            )
            for page in listed_pages
        ]
        results.append(UnitResult(unit, "ok", tuple(landed)))
    landing.write_run(
        Run("20260817T000000.000000Z", "gcp", "sample", TYPES_AS_OF, "sample", tuple(results))
    )


@dataclass(frozen=True)
class SamplePage:
    """One page of the sample, and the day on which its figures held."""

    body: dict[str, Any]
    url: str
    as_of: datetime


def pages(research: Path, types: dict[str, Any]) -> dict[str, list[SamplePage]]:
    """Return the pages of each kind, with the machine types of the sample's regions."""
    catalog = [*part_rates(research), *premiums(research), *custom(research), *b200()]
    zones = {zone: value for zone, value in types["items"].items() if in_sample(zone)}
    sample_types = {**types, "items": zones}
    regions_2025 = listed(research, "regions_2025-03.json.gz")
    zones_2025 = listed(research, "zones_2025-03.json")
    return {
        gcp.SKUS: [
            SamplePage({"skus": catalog}, BILLING, RATES_AS_OF),
            SamplePage({"skus": list(dws_a3())}, BILLING, DWS_AS_OF),
            SamplePage({"skus": list(licenses())}, BILLING, LICENSES_AS_OF),
            SamplePage({"skus": list(tpu())}, BILLING, TPU_AS_OF),
        ],
        gcp.VERTEX_SKUS: [SamplePage({"skus": list(vertex())}, VERTEX, DWS_AS_OF)],
        gcp.MACHINE_TYPES: [SamplePage(sample_types, MACHINE_TYPES_URL, TYPES_AS_OF)],
        gcp.REGIONS: [SamplePage(regions_2025, f"{COMPUTE}/regions", PLACES_AS_OF)],
        gcp.ZONES: [SamplePage(zones_2025, f"{COMPUTE}/zones", PLACES_AS_OF)],
    }


def write_bundled(types: dict[str, Any]) -> None:
    """Write data/bundled/gcp: the machine types of all zones, and pages.json about them."""
    packed = gzip.compress(dumps(types), 9, mtime=0)
    file = BUNDLED / "machine_types.json.gz"
    file.write_bytes(packed)
    described = {
        "kind": gcp.MACHINE_TYPES,
        "file": file.name,
        "sha256": hashlib.sha256(packed).hexdigest(),
        "url": MACHINE_TYPES_URL,
        "retrieved_at": TYPES_AS_OF.isoformat(),
        "params": {"source": "bundled", "as_of": f"{TYPES_AS_OF:%Y-%m-%d}"},
        "source": "Compute Engine, machineTypes.aggregatedList of all zones, without links, "
        "disk limits and constants",
    }
    (BUNDLED / "pages.json").write_text(json.dumps({"pages": [described]}, indent=1) + "\n")


def dumps(body: Any) -> bytes:
    """Write JSON as the sample's pages have it."""
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("research", type=Path, help="the folder with truth/ and recordings/")
    parser.add_argument("--into", type=Path, default=SAMPLE, help="landing folder to write")
    arguments = parser.parse_args()
    main(arguments.research, arguments.into)
