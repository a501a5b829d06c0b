"""Read Voltage Park's lists into tables. Pure: no network, no clock.

A preset costs the sum of two hourly rates, for the machine and for its disk. A location has a price
per GPU for each network; a machine there is one node with all its GPUs. Prices are in USD
(https://www.voltagepark.com/pricing); the lists name no currency.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hwprices.landing.bodies import RefusedItemError, figure, items, member, money, text, whole
from hwprices.landing.pages import Page
from hwprices.providers import Pages, Part
from hwprices.providers.voltagepark import LOCATIONS, PRESETS
from hwprices.rows.prices import LARGEST_PRICE
from hwprices.rows.vendor_rows import VendorRows, gpus
from hwprices.schemas.tables import InstanceTypes, PriceComponents, Prices, Regions, Stock
from hwprices.specs.accelerator_names import Matcher, accelerator_matcher

PLACE = {"region": "global", "display_name": "All locations", "kind": "anywhere"}
"""The region of presets, which have the same price in every location."""

RATES = {"instance": "compute_rate_hourly", "local_ssd": "storage_rate_hourly"}
"""Component of a preset's price → member with its rate."""

NETWORKS = ("ethernet", "infiniband")
LINUX = "TensorML"  # Prefix of images with Ubuntu: TensorML 24 Everything
MOST_GPUS = 1000


def normalise(pages: Pages) -> Iterator[Part]:
    """Yield regions, machines, stock, prices and price components."""
    rows, match = VendorRows("voltagepark", "id"), accelerator_matcher("voltagepark")
    for page in pages.of(PRESETS):
        with pages.leave_out(page):
            rows.add(Regions, page, PLACE)
            for item in list(pages.read_json(page)):
                with rows.reading(page, item, Prices, PLACE["region"]):
                    _add_preset(item, page, match, rows)
    for page, item in pages.items(LOCATIONS, "results"):
        with rows.reading(page, item, Prices):
            _add_location(item, page, match, rows)
    yield Part("regions", rows.table(Regions))
    types = rows.table(InstanceTypes).unique("instance_type", keep="first").sort("instance_type")
    yield Part("instance_types", types, refused=rows.refused(InstanceTypes))
    yield Part("stock", rows.table(Stock))
    yield Part("prices", rows.prices(), refused=rows.refused(Prices), counts=rows.counts)
    yield Part("price_components", rows.table(PriceComponents))


def _add_preset(item: dict[str, Any], page: Page, match: Matcher, rows: VendorRows) -> None:
    resources, system = member(item, "resources"), text(item, "operating_system")
    if not system.startswith(LINUX):
        raise RefusedItemError("unknown_platform", f"operating_system is {system}", system)
    listed = dict(member(resources, "gpus"))
    if len(listed) != 1:
        raise RefusedItemError("unreadable_line", f"has {len(listed)} kinds of GPU")
    ((gpu, amount),) = listed.items()
    count = _count(amount, "count")
    name = f"{count}x {gpu}"
    rows.add(InstanceTypes, page, _machine(name, gpu, count, resources, match))
    parts = [
        {
            "component": component,
            "quantity": 1,
            "unit": "instance",
            "unit_price": _price(item, rate),
            "sku_id": text(item, "id"),
        }
        for component, rate in RATES.items()
    ]
    rows.add(Prices, page, _price_row(PLACE["region"], name, parts))
    stocked = items(item, "location_ids_with_availability")
    for place in stocked or [PLACE["region"]]:
        row = {"region": place, "instance_type": name, "available": bool(stocked)}
        rows.add(Stock, page, row | {"state": f"{len(stocked)} locations"})


def _add_location(item: dict[str, Any], page: Page, match: Matcher, rows: VendorRows) -> None:
    node, place = member(item, "specs_per_node"), text(item, "id")
    gpu, count = text(node, "gpu_model"), _count(node, "gpu_count")
    cpu = node.get("cpu_model")
    row = {
        "bare_metal": True,
        "cpu_models": [cpu] if isinstance(cpu, str) else None,
        "physical_cores": whole(node, "cpu_count") or None,
    }
    rows.add(Regions, page, {"region": place, "kind": "region"})
    for network in NETWORKS:
        name = f"{count}x {gpu} {network}"
        machine = _machine(name, gpu, count, node, match) | row
        rows.add(
            InstanceTypes,
            page,
            machine | {"rdma": "infiniband" if network == "infiniband" else None},
        )
        part = {
            "component": "gpu",
            "quantity": count,
            "unit": "gpu",
            "unit_price": _price(item, f"gpu_price_{network}"),
            "sku_id": f"{gpu} {network}",
        }
        rows.add(Prices, page, _price_row(place, name, [part]))
        free = whole(item, f"gpu_count_{network}")
        stock = {"region": place, "instance_type": name, "state": f"{free} GPUs", "gpus": free}
        rows.add(Stock, page, stock | {"available": None if free is None else free >= count})


def _machine(
    name: str, gpu: str, count: int, figures: Mapping[str, Any], match: Matcher
) -> dict[str, Any]:
    sheet, disk = match(gpu, ""), figure(figures, "storage_gb")
    return {
        "instance_type": name,
        "family": gpu,
        "arch": "x86_64",
        "vcpus": whole(figures, "vcpu_count") if "vcpu_count" in figures else None,
        "memory_gib": figure(figures, "ram_gb"),
        **gpus(gpu, sheet, float(count), sheet.memory_gib if sheet else None),
        "local_disk_gib": disk * 1e9 / 2**30 if disk else None,
        "spec_source": "api",
    }


def _count(item: dict[str, Any], name: str) -> int:
    count = whole(item, name, MOST_GPUS)
    if not count:
        raise RefusedItemError("unreadable_line", f"{name} is {count}")
    return count


def _price(item: dict[str, Any], name: str) -> Any:
    price = money(item, name, LARGEST_PRICE)
    if not price:
        raise RefusedItemError("price_not_positive", f"{name} is {price}")
    return price


def _price_row(region: str, name: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "region": region,
        "instance_type": name,
        "purchase_option": "on_demand",
        "hourly": sum(part["quantity"] * part["unit_price"] for part in parts),
        "currency": "USD",
        "basis": "composed",
        "sku_id": parts[0]["sku_id"],
        "parts": parts,
    }
