"""Read Vultr's lists into tables. Pure: no network, no clock.

A plan has one hourly price per purchase option, and different prices in some regions
(``location_cost``). ``monthly_cost`` is a cap. Fields: https://www.vultr.com/api/#tag/plans
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from hwprices.landing.bodies import RefusedItemError, figure, items, member, money, text
from hwprices.landing.pages import Page
from hwprices.providers import Pages, Part
from hwprices.providers.vultr import METAL, PLANS, REGIONS
from hwprices.rows.prices import LARGEST_PRICE
from hwprices.rows.vendor_rows import NO_ACCELERATORS, VendorRows, gpus
from hwprices.schemas.tables import Availability, InstanceTypes, Prices, Regions
from hwprices.specs.accelerator_names import Matcher, accelerator_matcher

CONTINENTS = {
    "Africa": "africa",
    "Asia": "asia",
    "Australia": "oceania",
    "Europe": "europe",
    "North America": "north_america",
    "South America": "south_america",
}

ARCHITECTURES = {"intel": "x86_64", "amd": "x86_64", "nvidia": "arm64"}
"""Vendor of the CPU → instruction set. NVIDIA's CPU is Grace."""

OPTIONS = {
    "on_demand": ("deploy_ondemand", "hourly_cost"),
    "spot": ("deploy_preemptible", "hourly_cost_preemptible"),
}
"""Purchase option → member that says whether it is offered, and member with its price."""


def normalise(pages: Pages) -> Iterator[Part]:
    """Yield regions, machines, where each is offered, and prices."""
    rows, match = VendorRows("vultr", "id"), accelerator_matcher("vultr")
    for page, item in pages.items(REGIONS, REGIONS):
        with rows.reading(page, item, Regions):
            rows.add(Regions, page, _region(item))
    for kind in (PLANS, METAL):
        for page, item in pages.items(kind, kind):
            with rows.reading(page, item, InstanceTypes):
                machine = _machine(item, match) | {"bare_metal": kind == METAL}
                rows.add(InstanceTypes, page, machine)
            with rows.reading(page, item, Prices):
                _add_prices(item, page, rows)
    yield Part("regions", rows.table(Regions), refused=rows.refused(Regions))
    yield Part("instance_types", rows.table(InstanceTypes), refused=rows.refused(InstanceTypes))
    yield Part("availability", rows.table(Availability))
    yield Part("prices", rows.prices(), refused=rows.refused(Prices), counts=rows.counts)


def _region(item: dict[str, Any]) -> dict[str, Any]:
    return {
        "region": text(item, "id"),
        "display_name": text(item, "city"),
        "kind": "region",
        "country": text(item, "country"),
        "continent": CONTINENTS.get(text(item, "continent")),
    }


def _machine(item: dict[str, Any], match: Matcher) -> dict[str, Any]:
    """Describe a plan. On bare metal, a vCPU is a thread of the CPUs."""
    name, memory = text(item, "id"), figure(item, "ram")
    vcpus = figure(item, "vcpu_count") or figure(item, "cpu_threads")
    maker = item.get("cpu_vendor") or item.get("cpu_manufacturer")
    return {
        "instance_type": name,
        "family": name.split("-")[0],
        "arch": ARCHITECTURES.get(str(maker).lower()),
        "cpu_vendor": maker if isinstance(maker, str) else None,
        "vcpus": int(vcpus) if vcpus else None,
        "memory_gib": memory / 1024 if memory else None,
        **_accelerators(item, match),
        **_disks(item),
        "spec_source": "api",
    }


def _disks(item: dict[str, Any]) -> dict[str, Any]:
    """Return the local disks; ``disk`` is the size of one in GB."""
    if item.get("storage_type") == "block_storage":
        return {"local_disk_gib": 0.0, "local_disk_count": 0}
    size, count = figure(item, "disk"), figure(item, "disk_count") or 1
    if not size:
        return {}
    return {"local_disk_gib": size * count * 1e9 / 2**30, "local_disk_count": int(count)}


def _accelerators(item: dict[str, Any], match: Matcher) -> Mapping[str, Any]:
    """Describe the GPUs. A fraction of a GPU has a count such as 1/4, and the fraction's memory.

    Plans of dedicated GPUs (``vdm``) and older bare-metal plans name no GPU: a rule for the plan's
    name identifies it, or else the count is unknown.
    """
    name, plan = item.get("gpu_type") or None, text(item, "id")
    sheet = match(name, "" if name else plan)
    if not (name or sheet):
        is_gpu_plan = plan.startswith("vcg-") or plan.endswith("-gpu")
        brand = item.get("gpu_brand") or "none"
        if brand == "none" and not is_gpu_plan:
            return NO_ACCELERATORS
        return gpus(None if brand == "none" else brand, None, None, None)
    listed, memory = item.get("gpu_count"), figure(item, "gpu_vram_gb")
    count = float(Fraction(str(listed))) if listed else sheet.count if sheet else None
    if not (memory and count):
        return gpus(name or plan, sheet, count, sheet.memory_gib if sheet else None)
    return gpus(name, sheet, count, memory / count)


def _add_prices(item: dict[str, Any], page: Page, rows: VendorRows) -> None:
    """Add a price for each region and purchase option of the plan."""
    name, regional = text(item, "id"), item.get("location_cost") or {}
    sold = {name: amount for name, (flag, amount) in OPTIONS.items() if _is_sold(item, flag)}
    places = [place for place in items(item, "locations") if place]
    if not places or not sold:
        rows.counts[f"out_of_scope:{'locations' if sold else 'deploy'}=none"] += 1
    for region in places if sold else ():
        offered = {"region": region, "instance_type": name, "offered": True}
        rows.add(Availability, page, offered)
        for option, amount in sold.items():
            hourly = money(regional.get(region) or item, amount, LARGEST_PRICE)
            row = {
                "region": region,
                "instance_type": name,
                "purchase_option": option,
                "hourly": hourly or None,
                "price_reason": None if hourly else "listed_at_zero",
                "currency": "USD",
                "sku_id": name,
            }
            rows.add(Prices, page, row)


def _is_sold(item: dict[str, Any], flag: str) -> bool:
    is_sold = member(item, flag)
    if not isinstance(is_sold, bool):
        raise RefusedItemError("unknown_option", f"{flag} is {is_sold!r:.100}")
    return is_sold
