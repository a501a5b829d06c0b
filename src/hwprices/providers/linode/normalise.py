"""Read Linode's lists into tables. Pure: no network, no clock.

A plan has one hourly price, and different prices in some regions:
https://techdocs.akamai.com/linode-api/reference/get-linode-types. ``monthly`` is a cap: a month
costs no more, however many hours it has.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hwprices.landing.bodies import RefusedItemError, figure, items, member, money, text, whole
from hwprices.landing.pages import Page
from hwprices.providers import Pages, Part
from hwprices.providers.linode import AVAILABILITY, REGIONS, TYPES
from hwprices.rows.prices import LARGEST_PRICE
from hwprices.rows.vendor_rows import NO_ACCELERATORS, VendorRows, gpus
from hwprices.schemas.tables import Availability, InstanceTypes, Prices, Regions
from hwprices.specs.accelerator_names import Matcher, accelerator_matcher

MACHINES = "Linodes"  # Capability of a region that sells virtual machines

STATUSES = {"ok": "available", "outage": "unreachable"}
"""https://techdocs.akamai.com/linode-api/reference/get-regions"""


def normalise(pages: Pages) -> Iterator[Part]:
    """Yield regions, machines, where each is offered, and prices."""
    rows, match = VendorRows("linode", "id", "plan"), accelerator_matcher("linode")
    for page, item in pages.items(REGIONS, "data"):
        with rows.reading(page, item, Regions):
            rows.add(Regions, page, _region(item))
    places = _places(pages)
    limited: dict[str, set[str]] = {}
    for page, item in pages.items(AVAILABILITY, "data"):
        with rows.reading(page, item, Availability):
            _add_availability(item, page, limited, rows)
    for page, item in _plans(pages, rows):
        with rows.reading(page, item, InstanceTypes):
            rows.add(InstanceTypes, page, _machine(item, match))
        with rows.reading(page, item, Prices):
            _add_prices(item, page, places, limited, rows)
    yield Part("regions", rows.table(Regions), refused=rows.refused(Regions))
    yield Part("instance_types", rows.table(InstanceTypes), refused=rows.refused(InstanceTypes))
    yield Part("availability", rows.table(Availability), refused=rows.refused(Availability))
    yield Part("prices", rows.prices(), refused=rows.refused(Prices), counts=rows.counts)


def _plans(pages: Pages, rows: VendorRows) -> Iterator[tuple[Page, Any]]:
    """Yield each plan once. Refuse conflicting listings, and a listing at 0 beside a priced one."""
    plans: dict[str, list[tuple[Page, Any]]] = {}
    for page, item in pages.items(TYPES, "data"):
        with rows.reading(page, item, Prices):
            versions = plans.setdefault(text(item, "id"), [])
            if item not in [version for _, version in versions]:
                versions.append((page, item))
    for versions in plans.values():
        priced = [(page, item) for page, item in versions if not _is_zero(item)] or versions
        if len(priced) == 1:
            yield priced[0]
        for page, item in versions:
            if (page, item) not in priced:
                refusal = RefusedItemError("zero_price", "is listed at 0 and at a price")
                rows.refuse(page, item, refusal)
            elif len(priced) > 1:
                problem = f"is listed in {len(priced)} ways"
                rows.refuse(page, item, RefusedItemError("duplicate_key", problem))


def _is_zero(item: dict[str, Any]) -> bool:
    price = item.get("price")
    return isinstance(price, Mapping) and not price.get("hourly")


def _region(item: dict[str, Any]) -> dict[str, Any]:
    return {
        "region": text(item, "id"),
        "display_name": text(item, "label"),
        "kind": "region",
        "status": STATUSES.get(text(item, "status")),
        "country": text(item, "country").upper(),
    }


def _places(pages: Pages) -> set[str]:
    """Return the regions that sell machines."""
    return {
        item["id"]
        for _, item in pages.items(REGIONS, "data")
        if isinstance(item, Mapping) and MACHINES in item.get("capabilities", ())
    }


def _add_availability(
    item: dict[str, Any], page: Page, limited: dict[str, set[str]], rows: VendorRows
) -> None:
    """Add a row, and record in ``limited`` the regions that have the plan."""
    plan, region, offered = text(item, "plan"), text(item, "region"), member(item, "available")
    if not isinstance(offered, bool):
        raise RefusedItemError("unreadable_line", f"available is {offered!r:.100}")
    limited.setdefault(plan, set()).update([region] if offered else [])
    row = {"region": region, "instance_type": plan, "offered": offered}
    rows.add(Availability, page, row)


def _machine(item: dict[str, Any], match: Matcher) -> dict[str, Any]:
    memory, disk, network = (figure(item, name) for name in ("memory", "disk", "network_out"))
    return {
        "instance_type": text(item, "id"),
        "family": text(item, "class"),
        "status": "previous" if item.get("successor") else "current",
        "arch": "x86_64",
        "vcpus": whole(item, "vcpus") or None,
        "memory_gib": memory / 1024 if memory else None,
        **_accelerators(item, match),
        "local_disk_gib": disk / 1024 if disk else None,
        "local_disk_kind": "ssd" if disk else None,
        "network_gbps_max": network / 1000 if network else None,
        "spec_source": "api",
    }


def _accelerators(item: dict[str, Any], match: Matcher) -> Mapping[str, Any]:
    """Describe GPUs or video cards. Only the plan's name and label say which ones."""
    name, label = text(item, "id"), text(item, "label")
    if whole(item, "gpus"):
        sheet = match(None, name)
        return gpus(label, sheet, figure(item, "gpus"), sheet.memory_gib if sheet else None)
    if cards := figure(item, "accelerated_devices"):
        return gpus(label, match(None, name), cards, None) | {"accelerator_kind": "media"}
    return NO_ACCELERATORS


def _add_prices(
    item: dict[str, Any],
    page: Page,
    places: set[str],
    limited: Mapping[str, set[str]],
    rows: VendorRows,
) -> None:
    """Add the price in each region that has the plan; ``limited`` says where a limited plan is."""
    name = text(item, "id")
    default = _hourly(member(item, "price"))
    regional = {text(p, "id"): _hourly(p) for p in items(item, "region_prices")}
    if unknown := sorted(set(regional) - places):
        raise RefusedItemError(
            "unknown_location", f"priced in {unknown[0]}, which is not listed", unknown[0]
        )
    for region in sorted(places):
        if name in limited and region not in limited[name]:
            rows.counts["out_of_scope:available=false"] += 1
            continue
        row = {
            "region": region,
            "instance_type": name,
            "purchase_option": "on_demand",
            **regional.get(region, default),
            "currency": "USD",
            "sku_id": name,
        }
        rows.add(Prices, page, row)
        if name not in limited:
            offered = {"region": region, "instance_type": name, "offered": True}
            rows.add(Availability, page, offered)


def _hourly(price: dict[str, Any]) -> dict[str, Any]:
    """Return the price, or why there is none: GPU plans are also listed at 0."""
    hourly = money(price, "hourly", LARGEST_PRICE)
    if hourly is None:
        raise RefusedItemError("price_not_a_number", "hourly is null")
    return {"hourly": hourly or None, "price_reason": None if hourly else "listed_at_zero"}
