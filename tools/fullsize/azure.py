"""Answer Azure: Retail Prices by region and price type, sizes and locations of a subscription."""

import gzip
import json
import re
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any
from urllib.parse import urlencode

from hwprices.providers.azure import LICENSES, PRICE_TYPES
from hwprices.providers.azure.retail import PROBE_SIZES, query_of
from hwprices.specs import data_directory, packaged_rows
from tools.fullsize.answers import Answer, Handler, Request, json_answer
from tools.fullsize.environment import AZURE_RETAIL, AZURE_SUBSCRIPTION
from tools.fullsize.sizes import Size

PAGE = 1000
"""Items of a page:
https://learn.microsoft.com/rest/api/cost-management/retail-prices/azure-retail-prices."""

REGIONS = 60

NO_REGIONS = re.compile(r"stg$|euap$|^brazilus$")
"""Locations that customers cannot use as regions."""

PRICES_ONLY = ("usgovvirginia", "usgovarizona", "usgovtexas", "attatlanta1")
"""Regions that have prices but are not locations of a commercial subscription."""

PARTITIONS_AT_ONCE = 32
"""Partitions kept while their pages are sent: 8,000 items take 15 MB."""

TERMS = (("1 Year", 8760, 62), ("3 Years", 26280, 40))
"""Term, its hours, and percent of the on-demand price."""

LICENSED_VCPUS = (1, 2, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 52, 60, 64, 72, 80, 96, 120, 128, 192)
"""Most of the numbers of vCPUs that sizes have."""

Items = list[dict[str, Any]]


class Subscription:
    """The sizes, regions and prices that are served."""

    def __init__(self, size: Size) -> None:
        self.size = size
        skus = _bundled("skus")
        probes = [sku for sku in skus if sku["name"] in PROBE_SIZES]
        others = [sku for sku in skus if sku["name"] not in PROBE_SIZES]
        self.skus = [*probes, *size.share(others)]
        self.locations = {location["name"]: location for location in _bundled("locations")}
        self.sizes = {region: self._sizes(region) for region in self._regions(skus)}

    def _regions(self, skus: Items) -> list[str]:
        """List regions, those with the most sizes first, and then those whose sizes are unknown."""
        counts: dict[str, int] = {}
        for sku in skus:
            for region in sku["locations"]:
                counts[region] = counts.get(region, 0) + 1
        self._smallest = min(counts, key=lambda region: counts[region])
        listed = sorted(counts, key=lambda region: (-counts[region], region))
        others = [
            name
            for name, location in self.locations.items()
            if location["metadata"]["regionType"] == "Physical"
            and name not in counts
            and not NO_REGIONS.search(name)
        ]
        return self.size.nearest([*listed, *others, *PRICES_ONLY][:REGIONS])

    def _sizes(self, region: str) -> Items:
        """List the sizes of a region; one whose sizes are unknown has those of the smallest."""
        own = [sku for sku in self.skus if region in sku["locations"]]
        return (
            own or [sku for sku in self.skus if self._smallest in sku["locations"]] or self.skus[:1]
        )

    def items(self, region: str, price_type: str) -> Items:
        """List the retail items of a partition; without a region those of licenses."""
        if not region:
            return list(_licenses())
        return [item for sku in self.sizes[region] for item in self._items(region, sku, price_type)]

    def _items(self, region: str, sku: dict[str, Any], price_type: str) -> Iterator[dict[str, Any]]:
        """Yield the items of a size."""
        facts = {entry["name"]: entry["value"] for entry in sku["capabilities"]}
        vcpus, gib = float(facts.get("vCPUs", 2)), float(facts.get("MemoryGB", 8))
        draw = self.size.draw(1000, region, sku["name"])
        hourly = round(vcpus * 0.036 + gib * 0.0045 + draw / 1e5, 6)
        linux = self._item(region, sku, "", hourly, price_type)
        windows = self._item(region, sku, " Windows", round(hourly + vcpus * 0.046, 6), price_type)
        if price_type == "Reservation":
            for term, hours, percent in TERMS:
                price = float(round(hourly * hours * percent / 100))
                yield linux | {"reservationTerm": term, "retailPrice": price, "unitPrice": price}
            return
        if price_type == "DevTestConsumption":
            yield windows | {"retailPrice": hourly, "unitPrice": hourly}
            return
        yield linux | {"savingsPlan": [_plan(term, hourly, p + 8) for term, _, p in TERMS]}
        yield windows
        if facts.get("LowPriorityCapable") != "True":
            return
        for word, percent in (("Spot", 20), ("Low Priority", 30)):
            for item in (linux, windows):
                name, price = (
                    f"{item['skuName']} {word}",
                    round(item["retailPrice"] * percent / 100, 6),
                )
                meter = f"{item['meterId'][:-3]}{word[:3].lower()}"
                yield item | {
                    "skuName": name,
                    "meterName": name,
                    "meterId": meter,
                    "skuId": f"{item['skuId']}{word[0]}",
                    "retailPrice": price,
                    "unitPrice": price,
                }

    def _item(
        self, region: str, sku: dict[str, Any], system: str, price: float, price_type: str
    ) -> dict[str, Any]:
        """Make an item in the vendor's shape."""
        name = sku["size"].replace("_", " ")
        family = sku["family"].removeprefix("standard").removesuffix("Family")
        number = self.size.draw(1 << 32, region, sku["name"], system, price_type)
        product = f"DZH318Z0{number % 9973:04X}"
        return {
            "currencyCode": "USD",
            "tierMinimumUnits": 0.0,
            "retailPrice": price,
            "unitPrice": price,
            "armRegionName": region,
            "location": region.title(),
            "effectiveStartDate": "2024-02-01T00:00:00Z",
            "meterId": f"{number:08x}-bd38-4d2b-a18c-{number * 7919 % (1 << 48):012x}",
            "meterName": name,
            "productId": product,
            "skuId": f"{product}/{number % 65521:04X}",
            "productName": f"Virtual Machines {family} Series{system}",
            "skuName": name,
            "serviceName": "Virtual Machines",
            "serviceId": "DZH313Z7MMC8",
            "serviceFamily": "Compute",
            "unitOfMeasure": "1 Hour",
            "type": price_type,
            "isPrimaryMeterRegion": True,
            "armSkuName": sku["name"],
        }


def _licenses() -> Iterator[dict[str, Any]]:
    """Yield a license of each product for each number of vCPUs."""
    for row in packaged_rows("azure_licenses"):
        product = row["product"]
        if row["system"] and row["software"]:
            continue
        for vcpus in LICENSED_VCPUS:
            yield {
                "currencyCode": "USD",
                "tierMinimumUnits": 0.0,
                "retailPrice": round(vcpus * 0.01, 4),
                "unitPrice": round(vcpus * 0.01, 4),
                "armRegionName": "",
                "location": "",
                "effectiveStartDate": "2017-08-01T00:00:00Z",
                "meterId": f"{product} {vcpus}",
                "meterName": f"{vcpus} vCPU VM License",
                "productId": product,
                "skuId": f"{product}/{vcpus:04X}",
                "productName": product,
                "skuName": f"{vcpus} vCPU VM",
                "serviceName": LICENSES,
                "serviceId": "DZH317WPTGV0",
                "serviceFamily": "Compute",
                "unitOfMeasure": "1 Hour",
                "type": "Consumption",
                "isPrimaryMeterRegion": True,
                "armSkuName": "",
            }


def _plan(term: str, hourly: float, percent: int) -> dict[str, Any]:
    price = round(hourly * percent / 100, 6)
    return {"unitPrice": price, "retailPrice": price, "term": term}


def _bundled(name: str) -> Items:
    gzipped = data_directory() / "bundled" / "azure" / f"{name}.json.gz"
    listed: Items = json.loads(gzip.decompress(gzipped.read_bytes()))["value"]
    return listed


LOCATIONS = f"/subscriptions/{AZURE_SUBSCRIPTION}/locations"
SKUS = f"/subscriptions/{AZURE_SUBSCRIPTION}/providers/Microsoft.Compute/skus"


def requests(subscription: Subscription) -> Iterator[Request]:
    """Yield the requests of a refresh for prices in dollars and for sizes, page by page."""
    for region in subscription.sizes:
        yield Request(SKUS, {"$filter": f"location eq '{region}'"}, {}, {})
        for price_type in PRICE_TYPES.values():
            first = query_of(region, price_type, "USD")
            for skip in range(0, len(subscription.items(region, price_type)) or 1, PAGE):
                query = {**first, "$skip": str(skip)} if skip else first
                yield Request(AZURE_RETAIL, query, {}, {})
    yield Request(AZURE_RETAIL, query_of("", "Consumption", "USD", service=LICENSES), {}, {})


def handlers(subscription: Subscription, url: str) -> dict[str, Handler]:
    """Return what Azure answers, by path."""

    @lru_cache(maxsize=PARTITIONS_AT_ONCE)
    def items(region: str, price_type: str) -> Items:
        return subscription.items(region, price_type)

    def retail(request: Request) -> Answer:
        skip = int(request.query.get("$skip", 0))
        expression = request.query["$filter"]
        listed = items(
            _filter_value(expression, "armRegionName"), _filter_value(expression, "priceType")
        )
        return _retail_page(request, url, listed, skip)

    def probes(request: Request) -> Answer:
        named = {sku["name"]: sku for sku in subscription.skus if sku["name"] in PROBE_SIZES}
        listed = [
            item
            for region in subscription.sizes
            for sku in named.values()
            for item in subscription._items(region, sku, "Consumption")
        ]
        return _retail_page(request, url, listed, int(request.query.get("$skip", 0)))

    def prices(request: Request) -> Answer:
        has_region = "armRegionName eq" in request.query["$filter"]
        return retail(request) if has_region else probes(request)

    return {
        AZURE_RETAIL: prices,
        LOCATIONS: partial(_locations, subscription),
        SKUS: partial(_skus, subscription),
    }


def _filter_value(expression: str, member: str) -> str:
    """Return the value that a filter compares a member with; empty where it does not."""
    match = re.search(rf"{member} eq '([^']*)'", expression)
    return match[1] if match else ""


def _retail_page(request: Request, url: str, items: Items, skip: int) -> Answer:
    page = items[skip : skip + PAGE]
    following = None
    if skip + PAGE < len(items):
        following = f"{url}{AZURE_RETAIL}?{urlencode({**request.query, '$skip': str(skip + PAGE)})}"
    return json_answer(
        {
            "BillingCurrency": "USD",
            "CustomerEntityId": "Default",
            "CustomerEntityType": "Retail",
            "Items": page,
            "NextPageLink": following,
            "Count": len(page),
        },
        compresses=True,
    )


def _locations(subscription: Subscription, _request: Request) -> Answer:
    pattern = subscription.locations["eastus"]
    listed = [
        subscription.locations.get(name)
        or pattern
        | {"name": name, "displayName": name.title(), "regionalDisplayName": name.title()}
        for name in subscription.sizes
        if name not in PRICES_ONLY
    ]
    return json_answer({"value": listed}, compresses=True)


def _skus(subscription: Subscription, request: Request) -> Answer:
    """Answer the sizes of the region that the filter names."""
    region = _filter_value(request.query.get("$filter", ""), "location")
    listed = []
    for sku in subscription.sizes.get(region, []):
        own = [info for info in sku["locationInfo"] if info["location"] == region]
        info = own or [{"location": region, "zones": [], "zoneDetails": []}]
        listed.append(sku | {"locations": [region], "locationInfo": info})
    return json_answer({"value": listed}, compresses=True)
