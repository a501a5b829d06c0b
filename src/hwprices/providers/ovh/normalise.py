"""Read landed pages into rows of the tables. Pure: no network, no clock.

A plan (``addons`` of the catalog) is one purchase option of a flavor: by the hour
(``b3-8.consumption``), by the month (``b3-8.monthly.postpaid``), in another kind of zone
(``b3-8.consumption.3AZ``, ``b3-8.consumption.LZ.EU``), with Windows (``win-b3-8.consumption``).
Only the code says this: the unit of a price is "none" in the US catalog.

The kinds of zones are the regions here, because all regions of a kind have the same prices.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from hwprices.landing.bodies import RefusedItemError, figure, items, member, text, whole
from hwprices.landing.pages import Page
from hwprices.providers import Pages, Part
from hwprices.providers.ovh import BUNDLED, CATALOG
from hwprices.rows.vendor_rows import NO_ACCELERATORS, VendorRows, gpus
from hwprices.schemas.tables import InstanceTypes, Prices, Regions
from hwprices.specs.accelerator_names import Matcher, accelerator_matcher

PRODUCT = "publiccloud-instance"
"""The product of machines. Managed AI services have GPUs too, and prices by the minute."""

HOURLY = re.compile(r"(.+?)\.consumption(?:\.(.+))?", re.IGNORECASE)
MONTHLY = re.compile(r".+\.monthly(\..+)?", re.IGNORECASE)

ZONES = re.compile(r"3AZ|LZ(\.[A-Z]+)?", re.IGNORECASE)
"""Kinds of zones that a code names: three zones, and local zones of a place."""

WINDOWS_PREFIX = "win-"
STANDARD = "standard"  # The kind of zone if the code names none
DISPLAY_NAMES = {STANDARD: "Regions with one zone", "3az": "Regions with three zones"}
UNITS_PER_CURRENCY = 10**8  # Prices are whole numbers of 1e-8 of the currency
UNITS = ("hour", "none")
LARGEST_PRICE = 10**5 * UNITS_PER_CURRENCY  # More than any machine costs in an hour

GIB = {"GiB": 1.0, "GB": 10**9 / 2**30, "TB": 10**12 / 2**30}
"""Unit of a disk's capacity → GiB in one."""


def normalise(pages: Pages) -> Iterator[Part]:
    """Yield the kinds of zones, the machines and their prices."""
    if not pages.of(CATALOG):
        return
    rows, plans = VendorRows("ovh", "planCode"), list[tuple[Page, dict[str, Any], Any]]()
    for page in pages.of(CATALOG):
        with pages.parsing(page):
            content = pages.read_json(page)
            currency = {"currency": text(content["locale"], "currencyCode")}
            for item in items(content, "addons"):
                with rows.reading(page, item):
                    if price := _price(item, page, rows):
                        plans.append((page, price | currency, item))
    _add(plans, rows)
    yield Part("regions", rows.table(Regions).sort("region"))
    machines = rows.table(InstanceTypes).sort("instance_type")
    yield Part("instance_types", machines, refused=rows.refused(InstanceTypes))
    prices, refused, counts = rows.prices(), rows.refused(Prices), dict(rows.counts)
    for region in sorted({STANDARD, *prices["region"]}):
        yield Part("prices", prices.filter(region=region), region, refused, counts)
        refused, counts = refused.clear(), {}


def _price(item: Any, page: Page, rows: VendorRows) -> dict[str, Any] | None:
    """Make the row of a plan's price; None where it is counted as out of scope."""
    product = text(item, "product")
    if product != PRODUCT and product.startswith(PRODUCT):
        raise RefusedItemError("unknown_product", f"the product is {product}", product)
    if product != PRODUCT:
        rows.counts["out_of_scope:product=not an instance"] += 1
        return None
    code = text(item, "planCode")
    hourly = HOURLY.fullmatch(code)
    if hourly is None and MONTHLY.fullmatch(code):
        rows.counts["out_of_scope:planCode=not hourly"] += 1
        return None
    if hourly is None:
        word = code[code.find(".") :]
        raise RefusedItemError("unknown_option", f"{word} is an unknown purchase option", word)
    flavor, zone = hourly[1], hourly[2] or STANDARD
    if zone != STANDARD and ZONES.fullmatch(zone) is None:
        raise RefusedItemError("unknown_location", f"{zone} is an unknown kind of zone", zone)
    blobs = item.get("blobs") or {}
    technical = blobs.get("technical") or {}
    if not technical.get("cpu") or not technical.get("memory"):
        members = {*item, *blobs, *technical}
        needed = ("blobs", "technical", "cpu", "memory")
        missing = next((name for name in needed if name not in members), None)
        raise RefusedItemError("unknown_product", "the plan describes no machine", missing)
    price = _hourly(item, page, rows)
    return {
        "instance_type": flavor.removeprefix(WINDOWS_PREFIX),
        "region": zone.lower().replace(".", "-"),
        "os": "windows" if flavor.startswith(WINDOWS_PREFIX) else "linux",
        "purchase_option": "on_demand",
        "hourly": price,
        "price_reason": None if price else "listed_at_zero",
        "sku_id": code,
        "flags": ["availability_unknown"],
    }


def _hourly(item: dict[str, Any], page: Page, rows: VendorRows) -> Decimal | None:
    """Return the hourly price, net of tax; None for 0, which is not a price."""
    prices, unknown = set(), []
    for pricing in items(item, "pricings"):
        unit, interval = str(pricing.get("intervalUnit", "none")), pricing.get("interval", 1)
        word = unit if str(interval) in ("0", "1") else f"{interval} {unit}"
        if word.lower().removesuffix("s") not in UNITS:
            unknown.append(RefusedItemError("unknown_unit", f"priced per {word}", word))
        elif (price := whole(pricing, "price", LARGEST_PRICE)) is not None:
            prices.add(price)
    if unknown and not prices:
        raise unknown[0]
    for refusal in unknown:
        rows.refuse(page, item, refusal)
    if len(prices) != 1:
        reason = "tiered_price" if prices else "no_price"
        raise RefusedItemError(reason, f"the plan has {len(prices)} prices")
    return Decimal(prices.pop()) / UNITS_PER_CURRENCY or None


def _add(plans: list[tuple[Page, dict[str, Any], Any]], rows: VendorRows) -> None:
    """Add the rows of the plans. Refuse flavors whose plans describe different machines."""
    match = accelerator_matcher("ovh")
    machines: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for page, price, item in plans:
        with rows.reading(page, item, InstanceTypes):
            machine = _machine(page, price["instance_type"], item["blobs"], match)
            if machine not in machines[machine["instance_type"]]:
                machines[machine["instance_type"]].append(machine)
    flavors = {price["instance_type"] for _, price, _ in plans}
    for page, price, item in plans:
        prefix, _, base = price["instance_type"].partition("-")
        described = machines[price["instance_type"]]
        with rows.reading(page, item):
            if base in flavors:
                problem = f"{prefix} is an unknown system or license of {base}"
                raise RefusedItemError("unknown_platform", problem, prefix)
            if len(described) > 1:
                problem = "the flavor's plans describe different machines"
                raise RefusedItemError("duplicate_key", problem)
            rows.add(Regions, page, _region(price["region"]))
            rows.add(Prices, page, price)
            with rows.reading(page, item, InstanceTypes):
                for machine in described:
                    rows.add(InstanceTypes, page, machine)


def _region(region: str) -> dict[str, Any]:
    kind = "local_zone" if region.startswith("lz") else "region"
    return {"region": region, "display_name": DISPLAY_NAMES.get(region), "kind": kind}


def _machine(page: Page, flavor: str, blobs: dict[str, Any], match: Matcher) -> dict[str, Any]:
    """Make the row of the machine that a plan describes."""
    technical = blobs["technical"]
    tags = {str(tag).lower() for tag in blobs.get("tags") or ()}
    bandwidth = figure(technical.get("bandwidth"), "level")
    # a flavor that is coming soon has a price, but no status
    status = "previous" if "legacy" in tags else "current" if "active" in tags else None
    return {
        "instance_type": flavor,
        **dict.fromkeys(("family", "series"), re.sub(r"-\d+$", "", flavor)),
        "status": status,
        # all are Intel or AMD: https://www.ovhcloud.com/en/public-cloud/compute/
        "arch": "x86_64",
        **_cpu_columns(technical["cpu"]),
        "memory_gib": figure(technical["memory"], "size"),
        **_accelerator_columns(blobs, flavor, match),
        **_disk_columns(technical.get("storage")),
        "network_gbps_baseline": bandwidth / 1000 if bandwidth else None,
        "spec_source": "bundled" if page.params.get("source") == BUNDLED else "api",
    }


def _cpu_columns(cpu: Mapping[str, Any]) -> dict[str, Any]:
    """Return vCPUs and cores. A vCore is one of a core's two threads; bare metal lists both."""
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


def _accelerator_columns(blobs: Any, flavor: str, match: Matcher) -> Mapping[str, Any]:
    """Return the GPUs; ``memory.size`` is per GPU."""
    if (blobs.get("commercial") or {}).get("brick") == "gpu":
        member(blobs["technical"], "gpu")
    if not (gpu := blobs["technical"].get("gpu")):
        return NO_ACCELERATORS
    sheet = match(text(gpu, "model"), flavor)
    memory = figure(gpu.get("memory"), "size") or (sheet.memory_gib if sheet else None)
    return gpus(gpu["model"], sheet, figure(gpu, "number"), memory)


def _disk_columns(storage: Any) -> dict[str, Any]:
    """Return the local disks; their size only if the catalog has its unit."""
    disks = (storage or {}).get("disks") or []
    if not disks:
        return {}
    counts = [_whole(disk, "number") or 1 for disk in disks]
    sizes = [(figure(d, "capacity") or 0) * GIB.get(str(d.get("sizeUnit")), 0) for d in disks]
    technologies = {str(disk.get("technology") or "").upper() for disk in disks}
    kind = {"NVME": "nvme_ssd", "SSD": "ssd"}.get(technologies.pop())
    total = sum(count * size for count, size in zip(counts, sizes, strict=True))
    return {
        "local_disk_gib": total if all(sizes) else None,
        "local_disk_count": sum(counts),
        "local_disk_kind": kind if not technologies else None,
    }


def _whole(item: Mapping[str, Any], name: str) -> int | None:
    return (whole(item, name) or None) if name in item else None
