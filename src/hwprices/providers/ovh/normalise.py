"""Read landed pages into rows of the tables. Pure: no network, no clock.

A plan (``addons`` of the catalog) is one way to buy one flavor: by the hour
(``b3-8.consumption``), by the month (``b3-8.monthly.postpaid``), in another kind of zone
(``b3-8.consumption.3AZ``, ``b3-8.consumption.LZ.EU``), with Windows (``win-b3-8.consumption``).
What a plan is, its code says: the unit of its price is "none" in the catalog of the US.

Kinds of zones are the regions: ``standard`` for regions with one zone, ``3az`` for regions with
three, ``lz-eu`` and the like for local zones. Inside a kind all regions have the same prices.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from hwprices.landing.pages import Page
from hwprices.providers import Pages, Part
from hwprices.providers.ovh.fetch import BUNDLED, CATALOG
from hwprices.rows.members import RefusedItemError, items, money, number, text, whole
from hwprices.rows.vendor_rows import VendorRows
from hwprices.schemas.inventory import InstanceTypes, Regions
from hwprices.schemas.price import Prices
from hwprices.specs.accelerator_names import Matcher, accelerator_matcher

PRODUCT = "publiccloud-instance"
"""The product that machines are. Managed AI services have GPUs too, and prices by the minute."""

HOURLY = re.compile(r"(.+?)\.consumption(?:\.(.+))?", re.IGNORECASE)
MONTHLY = re.compile(r".+\.monthly(\..+)?", re.IGNORECASE)

ZONES = re.compile(r"3AZ|LZ(\.[A-Z]+)?", re.IGNORECASE)
"""Kinds of zones that a code names: three zones, and local zones of a place."""

WINDOWS_PREFIX = "win-"

STANDARD = "standard"
"""The region of plans without a kind of zone in their code: regions with one zone."""

DISPLAY_NAMES = {STANDARD: "Regions with one zone", "3az": "Regions with three zones"}

UNITS_PER_CURRENCY = 10**8
"""Prices are whole numbers of 1e-8 of the currency."""

LARGEST_PRICE = 10**5 * UNITS_PER_CURRENCY
"""Above this a figure is no price of an hour."""

UNITS = ("hour", "none")

GIB = {"GiB": 1.0, "GB": 10**9 / 2**30, "TB": 10**12 / 2**30}
"""Unit of a disk's capacity → GiB in one."""

LARGEST_FIGURE = 10**9
"""Of anything in a machine: cores, GB, Mbit/s."""


@dataclass(frozen=True)
class Plan:
    """One hourly plan: a flavor in a kind of zone with an operating system, and its price."""

    flavor: str
    region: str
    os: str
    hourly: Decimal | None
    currency: str
    item: Mapping[str, Any]
    page: Page


def normalise(pages: Pages) -> Iterator[Part]:
    """Yield the kinds of zones, the machines, and the prices by kind of zone.

    There is no part of availability: the hourly plans do not say where a machine is offered.

    Raises:
        UnreadablePageError: the catalog cannot be read.
    """
    if not pages.of(CATALOG):
        return
    rows, plans = VendorRows("ovh", "planCode"), list[Plan]()
    for page in pages.of(CATALOG):
        with pages.parsing(page):
            content = pages.read_json(page)
            currency = text(content["locale"], "currencyCode")
            for item in items(content, "addons"):
                with rows.reading(page, item):
                    plans += _plan(item, currency, page, rows)
    _read(plans, rows)
    yield Part("regions", rows.table(Regions).sort("region"))
    machines = rows.table(InstanceTypes).sort("instance_type")
    yield Part("instance_types", machines, refused=rows.refused(InstanceTypes))
    prices, refused, counts = rows.prices(), rows.refused(Prices), dict(rows.counts)
    for region in sorted({STANDARD, *prices["region"]}):
        yield Part("prices", prices.filter(region=region), region, refused, counts)
        refused, counts = refused.clear(), {}


def _plan(item: Any, currency: str, page: Page, rows: VendorRows) -> list[Plan]:
    """Read a plan; none where it is not of a machine or not by the hour, which is counted.

    Raises:
        RefusedItemError: it has an unknown word, describes no machine, or has not one price.
    """
    product = text(item, "product")
    if product != PRODUCT:
        if product.startswith(PRODUCT):
            raise RefusedItemError("unknown_product", f"the product is {product}", product)
        rows.counts["out_of_scope:product=not an instance"] += 1
        return []
    code = text(item, "planCode")
    hourly = HOURLY.fullmatch(code)
    if hourly is None:
        if MONTHLY.fullmatch(code) is None:
            word = code[code.find(".") :]
            raise RefusedItemError("unknown_option", f"{word} is an unknown way to buy", word)
        rows.counts["out_of_scope:planCode=not hourly"] += 1
        return []
    flavor, zone = hourly[1], hourly[2] or STANDARD
    if zone != STANDARD and ZONES.fullmatch(zone) is None:
        raise RefusedItemError("unknown_location", f"{zone} is an unknown kind of zone", zone)
    technical = (item.get("blobs") or {}).get("technical") or {}
    if not technical.get("cpu") or not technical.get("memory"):
        raise RefusedItemError("unknown_product", "the plan describes no machine")
    windows = flavor.startswith(WINDOWS_PREFIX)
    return [
        Plan(
            flavor=flavor.removeprefix(WINDOWS_PREFIX),
            region=zone.lower().replace(".", "-"),
            os="windows" if windows else "linux",
            hourly=_hourly(item, page, rows),
            currency=currency,
            item=item,
            page=page,
        )
    ]


def _hourly(item: dict[str, Any], page: Page, rows: VendorRows) -> Decimal | None:
    """Return the price of an hour, net of tax; None for 0, which is no price.

    Raises:
        RefusedItemError: there is none, or there are several.
    """
    prices, unknown = set(), []
    for pricing in items(item, "pricings"):
        unit, interval = str(pricing.get("intervalUnit", "none")), pricing.get("interval", 1)
        if unit.lower().removesuffix("s") not in UNITS or str(interval) not in ("0", "1"):
            word = unit if str(interval) in ("0", "1") else f"{interval} {unit}"
            unknown.append(RefusedItemError("unknown_unit", f"priced per {word}", word))
            continue
        price = money(pricing, "price", LARGEST_PRICE)
        if price is None or price != int(price):
            raise RefusedItemError("price_not_a_number", f"{price} is not in units of 1e-8")
        prices.add(price)
    if unknown and not prices:
        raise unknown[0]
    for refusal in unknown:
        rows.refuse(page, item, refusal)
    if not prices:
        raise RefusedItemError("no_price", "the plan has no price")
    if len(prices) > 1:
        raise RefusedItemError("tiered_price", f"the plan has {len(prices)} prices")
    return prices.pop() / UNITS_PER_CURRENCY or None


def _read(plans: list[Plan], rows: VendorRows) -> None:
    """Add the rows of the plans. Refuse the flavors whose plans describe different machines."""
    match = accelerator_matcher("ovh")
    machines: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for plan in plans:
        with rows.reading(plan.page, plan.item, InstanceTypes):
            machine = _machine(plan, match)
            if machine not in machines[plan.flavor]:
                machines[plan.flavor].append(machine)
    flavors = {plan.flavor for plan in plans}
    added = set()
    for plan in plans:
        prefix, _, base = plan.flavor.partition("-")
        with rows.reading(plan.page, plan.item):
            if base in flavors:
                problem = f"{prefix} is an unknown system or license of {base}"
                raise RefusedItemError("unknown_platform", problem, prefix)
            if len(machines[plan.flavor]) > 1:
                problem = "the flavor's plans describe different machines"
                raise RefusedItemError("duplicate_key", problem)
            rows.add(Regions, plan.page, _region(plan.region))
            rows.add(Prices, plan.page, _price(plan))
        with rows.reading(plan.page, plan.item, InstanceTypes):
            if plan.flavor not in added and len(machines[plan.flavor]) == 1 and base not in flavors:
                added.add(plan.flavor)
                rows.add(InstanceTypes, plan.page, machines[plan.flavor][0])


def _region(region: str) -> dict[str, Any]:
    return {
        "region": region,
        "display_name": DISPLAY_NAMES.get(region),
        "kind": "local_zone" if region.split("-", maxsplit=1)[0] == "lz" else "region",
    }


def _price(plan: Plan) -> dict[str, Any]:
    return {
        "instance_type": plan.flavor,
        "region": plan.region,
        "os": plan.os,
        "purchase_option": "on_demand",
        "hourly": plan.hourly,
        "currency": plan.currency,
        "price_reason": None if plan.hourly else "listed_at_zero",
        "sku_id": plan.item["planCode"],
        "flags": ["availability_unknown"],
    }


def _machine(plan: Plan, match: Matcher) -> dict[str, Any]:
    """Make the row of the machine that a plan describes."""
    blobs = plan.item["blobs"]
    technical = blobs["technical"]
    tags = {str(tag).lower() for tag in blobs.get("tags") or ()}
    bandwidth = _figure(technical.get("bandwidth"), "level")
    family = re.sub(r"-\d+$", "", plan.flavor)
    # a flavor that is coming soon has no status yet, though it has a price
    status = "previous" if "legacy" in tags else "current" if "active" in tags else None
    return {
        "instance_type": plan.flavor,
        "family": family,
        "series": family,
        "status": status,
        # all are Intel or AMD: https://www.ovhcloud.com/en/public-cloud/compute/
        "arch": "x86_64",
        **_cpu_columns(technical["cpu"]),
        "memory_gib": _figure(technical["memory"], "size"),
        **_accelerator_columns(technical.get("gpu"), plan.flavor, match),
        **_disk_columns(technical.get("storage")),
        "network_gbps_baseline": bandwidth / 1000 if bandwidth else None,
        "spec_source": "bundled" if plan.page.params.get("source") == BUNDLED else "api",
    }


def _cpu_columns(cpu: Mapping[str, Any]) -> dict[str, Any]:
    """Return vCPUs and cores.

    A vCore is a thread, two to a core. Of bare metal (type ``core``) the catalog has both.
    """
    cores, threads = _whole(cpu, "cores"), _whole(cpu, "threads")
    model, is_metal = cpu.get("model"), cpu.get("type") == "core"
    half = cores // 2 if cores and cores % 2 == 0 else None
    vcpus, physical = (threads, cores) if is_metal else (cores, half)
    return {
        "cpu_models": [model] if isinstance(model, str) and model not in ("", "vCore") else None,
        "vcpus": vcpus,
        "physical_cores": physical,
        "threads_per_core": vcpus // physical if vcpus and physical else None,
        "bare_metal": is_metal,
    }


def _accelerator_columns(gpu: Any, flavor: str, match: Matcher) -> dict[str, Any]:
    """Name the GPU. ``memory.size`` is that of one."""
    if not gpu:
        return {"accelerators": [], "accelerator_kind": "none"}
    model = text(gpu, "model")
    sheet = match(model, flavor)
    memory = _figure(gpu.get("memory"), "size")
    accelerator = {
        "accelerator_id": sheet.accelerator_id if sheet else None,
        "vendor_name": model,
        "count": _figure(gpu, "number"),
        "memory_gib": memory or (sheet.memory_gib if sheet else None),
    }
    return {"accelerators": [accelerator], "accelerator_kind": "gpu"}


def _disk_columns(storage: Any) -> dict[str, Any]:
    """Return the local disks; their size only where the catalog has a unit."""
    disks = (storage or {}).get("disks") or []
    if not disks:
        return {}
    counts = [_whole(disk, "number") or 1 for disk in disks]
    sizes = [(_figure(d, "capacity") or 0) * GIB.get(str(d.get("sizeUnit")), 0) for d in disks]
    technologies = {str(disk.get("technology") or "").upper() for disk in disks}
    kind = {"NVME": "nvme_ssd", "SSD": "ssd"}.get(technologies.pop())
    total = sum(count * size for count, size in zip(counts, sizes, strict=True))
    return {
        "local_disk_gib": total if all(sizes) else None,
        "local_disk_count": sum(counts),
        "local_disk_kind": kind if not technologies else None,
    }


def _figure(item: Mapping[str, Any] | None, name: str) -> float | None:
    """Return a number above 0, None where there is none."""
    if not item or name not in item:
        return None
    figure = number(item, name, LARGEST_FIGURE)
    return float(figure) if figure else None


def _whole(item: Mapping[str, Any], name: str) -> int | None:
    return (whole(item, name, LARGEST_FIGURE) or None) if name in item else None
