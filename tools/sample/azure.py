"""Write the Azure part of the sample, and the bundled sizes and locations, from recorded answers.

    python -m tools.sample.azure ../shared

Every figure comes from a recording. data/sample/README.md says from which, and what was done to
give it the shape of the vendor's answers. The same recordings give the same files, byte for byte.
"""

import argparse
import csv
import gzip
import hashlib
import io
import json
import re
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hwprices.landing.pages import Landing, Page, Run, Unit, UnitResult
from hwprices.providers import azure

PROJECT = Path(__file__).resolve().parents[2]
SAMPLE = PROJECT / "data" / "sample"
BUNDLED = PROJECT / "data" / "bundled" / "azure"
RETAIL_URL = "https://prices.azure.com/api/retail/prices"
SKUS_URL = (
    "https://management.azure.com/subscriptions/{subscriptionId}/providers/Microsoft.Compute/skus"
)
LOCATIONS_URL = "https://management.azure.com/subscriptions/{subscriptionId}/locations"

# Days on which the recordings were made, as far as they are known: see data/sample/README.md.
METERS_ON = datetime(2026, 8, 20, tzinfo=UTC)
RETAIL_ON = datetime(2026, 10, 31, tzinfo=UTC)
SKUS_ON = datetime(2026, 8, 31, tzinfo=UTC)
LOCATIONS_ON = datetime(2025, 4, 30, tzinfo=UTC)

# Written into pages.json beside the bundled pages.
BUNDLED_SOURCES = {
    azure.LOCATIONS: "Azure Resource Manager, locations of a subscription; the day is not recorded,"
    " it lies before the opening of Malaysia West in May 2025",
    azure.SKUS: "Azure Compute, resource SKUs of 45 regions; one SKU a size with all its locations",
}

METER_REGIONS = ["francecentral", "westeurope"]
ITEMS_A_PAGE = 1000  # the most that Retail Prices sends
PRICE_TYPE_WORDS = {price_type: word for word, price_type in azure.PRICE_TYPES.items()}

# Names in the price list that differ from the size's name by more than spelling. Each of these
# sizes has the same Linux price as the meter in another collector's list, as no other of its
# series has.
ALIASES = [
    (re.compile(r"RTX6kv6$"), "_RTXPRO6000BSE_v6"),
    (re.compile(r"^(NG\d+adm?s)V620$"), r"\1_V620_v1"),
    (re.compile(r"^ND96isflH100v5$"), "ND96is_flex_H100_v5"),
    (re.compile(r"^ND96isnIBH100v5$"), "ND96is_noIB_H100_v5"),
    (re.compile(r"^ND96asrA100v4_NU$"), "ND96asr_v4"),
    (re.compile(r"^NDmr40s v2$"), "ND40s_v2"),
    (re.compile(r"^M416_8_v2$"), "M416s_8_v2"),
    (re.compile(r"^D24ds_v3$"), "DC24ds_v3"),
]
CONSTRAINED = re.compile(r"^(M\d+)-(\d+)([a-z]+)")


def main() -> None:
    """Write the sample's folder of Azure anew, and the bundled pages."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("research", type=Path, help="folder that holds recordings/azure")
    parser.add_argument("--into", type=Path, default=SAMPLE, help="landing directory to write to")
    parser.add_argument("--bundled", type=Path, default=BUNDLED, help="folder of bundled pages")
    arguments = parser.parse_args()
    research: Path = arguments.research
    recordings = research / "recordings" / "azure"
    shutil.rmtree(arguments.into / "azure", ignore_errors=True)
    landing = Landing(arguments.into)
    skus = read(recordings / "azure_skus_45regions_2026-08.json.gz")["value"]
    results = [
        land(
            landing,
            azure.LOCATIONS,
            "global",
            [(recordings / "locations_with_zones.json").read_bytes()],
            LOCATIONS_URL,
            LOCATIONS_ON,
        ),
        land(
            landing,
            azure.SKUS,
            "global",
            [compact({"value": list(merged(skus))})],
            SKUS_URL,
            SKUS_ON,
            {azure.BUNDLED: SKUS_ON.date().isoformat()},
        ),
        *retail(landing, recordings, known_names(research, skus)),
        licenses(landing),
    ]
    run = Run(
        "20261031T000000.000000Z",
        "azure",
        "sample",
        RETAIL_ON,
        "sample",
        tuple(sorted(results, key=lambda r: r.unit.name)),
    )
    landing.write_run(run)
    bundle(landing, results[:2], arguments.bundled)
    print(f"{len(results)} units, {sum(p.bytes for r in results for p in r.pages):,} bytes")


def bundle(landing: Landing, results: list[UnitResult], folder: Path) -> None:
    """Copy pages of the sample into the folder that live runs without an account read."""
    folder.mkdir(parents=True, exist_ok=True)
    entries = []
    for result in results:
        (page,) = result.pages
        name = f"{result.unit.kind}.json.gz"
        stored = packed(landing.read(page))
        (folder / name).write_bytes(stored)
        entries.append(
            {
                "kind": result.unit.kind,
                "file": name,
                "sha256": hashlib.sha256(stored).hexdigest(),
                "url": page.url,
                "retrieved_at": page.retrieved_at.isoformat(),
                "params": dict(page.params),
                "source": BUNDLED_SOURCES[result.unit.kind],
            }
        )
    text = json.dumps({"pages": entries}, indent=1) + "\n"
    (folder / "pages.json").write_text(text, encoding="utf-8")


def packed(content: bytes) -> bytes:
    """Pack with gzip so that equal content gives equal bytes: no time and no system is named."""
    buffer = io.BytesIO()
    with gzip.GzipFile("", "wb", 6, buffer, mtime=0) as file:
        file.write(content)
    return buffer.getvalue()


def land(
    landing: Landing,
    kind: str,
    region: str,
    bodies: Iterable[bytes],
    url: str,
    when: datetime,
    params: dict[str, str] | None = None,
) -> UnitResult:
    """Land answers as the pages of one unit."""
    unit = Unit("azure", kind, region)
    pages: list[Page] = [
        landing.land_bytes(unit, body, url=url, retrieved_at=when, params=params) for body in bodies
    ]
    return UnitResult(unit, "ok", tuple(pages))


def retail(landing: Landing, recordings: Path, sizes: set[str]) -> Iterator[UnitResult]:
    """Land one unit for each region × price type × source."""
    groups: dict[tuple[str, str, datetime], list[dict[str, Any]]] = defaultdict(list)
    for region in METER_REGIONS:
        groups["Consumption", region, METERS_ON] = list(
            meters(recordings / "radar" / f"vm-{region}.json.gz", sizes)
        )
    for item in recorded(recordings / "retail"):
        groups[item["type"], item["armRegionName"].lower(), RETAIL_ON].append(item)
    for (price_type, region, when), items in sorted(groups.items()):
        query = (
            f"serviceName eq 'Virtual Machines' and armRegionName eq '{region}'"
            f" and priceType eq '{price_type}'"
        )
        params = {"api-version": "2023-01-01-preview", "currencyCode": "'USD'", "$filter": query}
        kind = azure.retail_kind(PRICE_TYPE_WORDS[price_type], "USD")
        yield land(landing, kind, region, bodies(items), RETAIL_URL, when, params)


def licenses(landing: Landing) -> UnitResult:
    """Land the licenses of tools/sample/sources, whose SKUs have no recorded ids."""
    with (PROJECT / "tools/sample/sources/azure_licenses_2026.csv").open(encoding="utf-8") as file:
        items = [
            {
                "currencyCode": "USD",
                "retailPrice": float(row["hourly"]),
                "armRegionName": "",
                "meterName": row["meter"],
                "skuId": f"{row['product']} - {row['meter']}",
                "productName": row["product"],
                "serviceName": azure.LICENSES,
                "unitOfMeasure": "1 Hour",
                "type": "Consumption",
            }
            for row in csv.DictReader(file)
        ]
    params = {"$filter": f"serviceName eq '{azure.LICENSES}' and armRegionName eq ''"}
    return land(
        landing, azure.licenses_kind("USD"), "global", bodies(items), RETAIL_URL, RETAIL_ON, params
    )


def known_names(research: Path, skus: list[dict[str, Any]]) -> set[str]:
    """List the names of sizes as the APIs spell them.

    They come from both lists of sizes and from the keys of another collector's price list.
    """
    older = read(
        research / "recordings" / "azure" / "compute_skus_westus_24-Oct-2024.wire.json.gz"
    )["value"]
    priced = read(research / "truth" / "azure_ondemand_by_region_2026-06.json.gz")
    return {sku["name"] for sku in [*skus, *older]}.union(*priced.values())


def meters(path: Path, sizes: set[str]) -> Iterator[dict[str, Any]]:
    """Make the items of a region from its list of meters, keyed skuId|meterId|type|term."""
    names = {squeeze(size): size for size in sorted(sizes)}
    for key, meter in sorted(read(path).items()):
        sku_id, meter_id, kind, _ = key.split("|")
        item = {
            "currencyCode": "USD",
            "retailPrice": meter["retailPrice"],
            "unitPrice": meter["unitPrice"],
            "armRegionName": meter["armRegionName"],
        }
        item |= {
            "meterId": meter_id,
            "meterName": meter["meterName"],
            "skuId": sku_id,
            "productName": meter["productName"],
            "skuName": meter["skuName"],
        }
        item |= {
            "serviceName": "Virtual Machines",
            "unitOfMeasure": meter["unitOfMeasure"],
            "type": kind,
        }
        size = size_name(meter["productName"], meter["skuName"], names)
        yield item | ({"armSkuName": size} if size else {})


def size_name(product: str, sku: str, names: dict[str, str]) -> str | None:
    """Find the size a meter is for, as the list of sizes spells it.

    None where no rule of data/sample/README.md gives one.
    """
    base = re.sub(r" (Spot|Low Priority)$", "", " ".join(sku.split()))
    if re.search("dedicated ?host", product, re.IGNORECASE):
        host = re.sub("^type ?", f"{product.split(maxsplit=1)[0]}_Type", base, flags=re.IGNORECASE)
        return names.get(squeeze(host), host)
    tier = "Basic_" if " Basic" in product else "Standard_"
    name = re.sub("^standard_", "", base, flags=re.IGNORECASE)
    for pattern, replacement in ALIASES:
        name = pattern.sub(replacement, name)
    promo = "_Promo" if re.search(r"\bpromo\b", product, re.IGNORECASE) else ""
    reordered = CONSTRAINED.sub(r"\1\3-\2", name)  # M12-6ds_v3 and M12ds-6_v3 are one size
    for candidate in (name + promo, reordered + promo, name):
        if size := names.get(squeeze(tier + candidate)):
            return size
    return base if base.startswith("Standard_") else None


def squeeze(name: str) -> str:
    """Drop case, spaces, underscores and hyphens from a name: the price list varies them."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def recorded(folder: Path) -> Iterator[dict[str, Any]]:
    """Read the items of the recorded answers about virtual machines, each once.

    Where several answers have an item, the one with the savings plans counts.
    """
    every = [item for path in sorted(folder.glob("*.json")) for item in read(path).get("Items", [])]
    best: dict[tuple[Any, ...], dict[str, Any]] = {}
    for item in every:
        key = tuple(
            item.get(name)
            for name in ("skuId", "meterId", "type", "reservationTerm", "armRegionName")
        )
        if item["serviceName"] == "Virtual Machines" and len(item) > len(best.get(key, {})):
            best[key] = item
    yield from (best[key] for key in sorted(best, key=str))


def bodies(items: list[dict[str, Any]]) -> Iterator[bytes]:
    """Write pages of at most 1,000 items, as Retail Prices answers them."""
    for start in range(0, len(items), ITEMS_A_PAGE):
        page = items[start : start + ITEMS_A_PAGE]
        more = start + ITEMS_A_PAGE < len(items)
        link = (
            f"https://prices.azure.com:443/api/retail/prices?$skip={start + ITEMS_A_PAGE}"
            if more
            else None
        )
        yield compact(
            {
                "BillingCurrency": "USD",
                "CustomerEntityId": "Default",
                "CustomerEntityType": "Retail",
                "Items": page,
                "NextPageLink": link,
                "Count": len(page),
            }
        )


def merged(skus: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Merge the SKUs of one size in many locations into one SKU with many locations.

    Sizes whose capabilities differ between locations stay apart.
    """
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for sku in skus:
        same = {
            name: sku[name]
            for name in ("resourceType", "name", "tier", "size", "family", "capabilities")
        }
        groups[sku["name"], json.dumps(same)].append(sku)
    for _, same in sorted(groups.items()):
        each = sorted(same, key=lambda sku: sku["locations"])
        yield each[0] | {
            name: [value for sku in each for value in sku[name]]
            for name in ("locations", "locationInfo", "restrictions")
        }


def read(path: Path) -> Any:
    """Read a JSON file, gzipped or not."""
    raw = path.read_bytes()
    return json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)


def compact(value: Any) -> bytes:
    """Encode a value as JSON without spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


if __name__ == "__main__":
    main()
