"""Read landed pages into rows of the tables. Pure: no network, no clock.

A zone is a region here, because products and prices are listed by zone. Prices are by the hour, in
euros without VAT: https://www.scaleway.com/en/pricing/. ``monthly_price`` is deprecated and
Scaleway's own estimate of a month of 30 days (https://github.com/scaleway/scaleway-sdk-go,
api/instance/v1), not a price that can be bought.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from hwprices.landing.bodies import RefusedItemError, figure, member, money, text, whole
from hwprices.landing.pages import Page
from hwprices.providers import Pages, Part
from hwprices.providers.scaleway import SERVERS, STOCK
from hwprices.rows.prices import LARGEST_PRICE
from hwprices.rows.vendor_rows import NO_ACCELERATORS, VendorRows, gpus
from hwprices.schemas.tables import Availability, InstanceTypes, Prices, Regions, Stock
from hwprices.specs.accelerator_names import Matcher, accelerator_matcher

PLACES = {
    "fr-par": ("FR", "europe", "Paris"),
    "it-mil": ("IT", "europe", "Milan"),
    "nl-ams": ("NL", "europe", "Amsterdam"),
    "pl-waw": ("PL", "europe", "Warsaw"),
}
"""Region: country, continent, city. https://www.scaleway.com/en/docs/account/reference-content/products-availability/"""

MIG_PROFILE = re.compile(r"(\d)g\.\d+gb", re.IGNORECASE)
"""A slice of a GPU: 1g.10gb is one of its seven compute slices, with 10 GB."""

MIG_SLICES = 7  # https://docs.nvidia.com/datacenter/tesla/mig-user-guide/ (A100 and H100)

IN_STOCK = {"available": True, "scarce": True, "shortage": False}
"""https://github.com/scaleway/scaleway-sdk-go (api/instance/v1, ServerTypesAvailability)"""

ARCHITECTURES = {"x86_64": "x86_64", "arm64": "arm64"}


def normalise(pages: Pages) -> Iterator[Part]:
    """Yield the zones, the machines, where each is listed and in stock, and their prices."""
    match = accelerator_matcher("scaleway")
    machines, prices = VendorRows("scaleway", "name"), {}
    for zone in pages.regions(SERVERS):
        prices[zone] = VendorRows("scaleway", "name")
        for page in pages.of(SERVERS, zone):
            with pages.leave_out(page):
                servers = dict(pages.read_json(page)["servers"])
                for name, server in servers.items():
                    item = {"name": name} | server if isinstance(server, dict) else server
                    _read(item, zone, page, match, machines, prices[zone])
    for zone in pages.regions(STOCK):
        for page in pages.of(STOCK, zone):
            with pages.leave_out(page):
                for name, item in dict(pages.read_json(page)["servers"]).items():
                    with machines.reading(page, item, Stock, zone):
                        machines.add(Stock, page, _stock(item, name, zone))
    yield Part("regions", machines.table(Regions))
    types = (
        machines.table(InstanceTypes).unique("instance_type", keep="first").sort("instance_type")
    )
    yield Part("instance_types", types, refused=machines.refused(InstanceTypes))
    yield Part("availability", machines.table(Availability))
    yield Part("stock", machines.table(Stock), refused=machines.refused(Stock))
    for zone, rows in prices.items():
        yield Part("prices", rows.prices(), zone, rows.refused(Prices), rows.counts)


def _read(
    item: Any, zone: str, page: Page, match: Matcher, machines: VendorRows, prices: VendorRows
) -> None:
    """Add the rows of one machine type in one zone."""
    with machines.reading(page, item, InstanceTypes, zone):
        name = text(item, "name")
        machines.add(Regions, page, _region(zone))
        offered = {"region": zone, "instance_type": name, "offered": True}
        machines.add(Availability, page, offered)
        machines.add(InstanceTypes, page, _machine(item, match))
    with prices.reading(page, item, Prices, zone):
        prices.add(Prices, page, _price(item, zone))


def _stock(item: dict[str, Any], name: str, zone: str) -> dict[str, Any]:
    state = text(item, "availability")
    row = {"region": zone, "instance_type": name, "state": state}
    return row | {"available": IN_STOCK.get(state)}


def _region(zone: str) -> dict[str, Any]:
    region, _, number = zone.rpartition("-")
    country, continent, city = PLACES.get(region, (None, None, None))
    return {
        "region": zone,
        "display_name": f"{city} {number}" if city else None,
        "kind": "region",
        "country": country,
        "continent": continent,
    }


def _machine(item: dict[str, Any], match: Matcher) -> dict[str, Any]:
    vcpus, memory = whole(item, "ncpus"), whole(item, "ram")
    network = (item.get("network") or {}).get("sum_internal_bandwidth")
    # bytes, unlike the network: https://github.com/scaleway/scaleway-sdk-go (api/instance/v1)
    storage = item.get("block_bandwidth")
    return {
        "instance_type": item["name"],
        "family": item["name"].split("-")[0],
        "status": "retiring" if item.get("end_of_service") is True else "current",
        "arch": ARCHITECTURES.get(str(member(item, "arch")).lower()),
        "vcpus": vcpus or None,
        "memory_gib": memory / 2**30 if memory else None,
        **_accelerators(item, match),
        "network_gbps_max": _gbps(network, bits=1),
        "block_storage_gbps_max": _gbps(storage, bits=8),
        "spec_source": "api",
    }


def _gbps(bandwidth: Any, bits: int) -> float | None:
    """Convert a bandwidth in units of ``bits`` per second to Gbit/s; None unless it is above 0."""
    return bandwidth * bits / 1e9 if type(bandwidth) is int and bandwidth > 0 else None


def _accelerators(item: dict[str, Any], match: Matcher) -> Mapping[str, Any]:
    """Describe the GPUs of a machine. A slice counts as a fraction; its memory is unknown."""
    listed = whole(item, "gpu")
    if not listed:
        return NO_ACCELERATORS
    info = member(item, "gpu_info") or {}
    name = info.get("gpu_name") if isinstance(info.get("gpu_name"), str) else None
    count, memory = float(listed), figure(info, "gpu_memory")
    sheet = match(name, item["name"])
    if profile := item.get("mig_profile"):
        shape = MIG_PROFILE.fullmatch(str(profile))
        return gpus(name, sheet, count * int(shape[1]) / MIG_SLICES if shape else None, None)
    return gpus(name, sheet, count, memory / 2**30 if memory else None)


def _price(item: dict[str, Any], zone: str) -> dict[str, Any]:
    """Make the row of a price. Types named ``-WIN`` include Windows."""
    name, hourly = text(item, "name"), money(item, "hourly_price", LARGEST_PRICE)
    if not hourly:
        reason = "price_not_a_number" if hourly is None else "price_not_positive"
        raise RefusedItemError(reason, f"hourly_price is {hourly}")
    return {
        "region": zone,
        "instance_type": name,
        "os": "windows" if name.endswith("-WIN") else "linux",
        "purchase_option": "on_demand",
        "hourly": hourly,
        "currency": "EUR",
        "sku_id": name,
    }
