"""Read landed pages into rows of the tables. Pure: no network, no clock.

RunPod sells a number of GPUs of one type; vCPUs and memory depend on the host and are not in the
list. Its regions are two clouds: its own data centers (secure) and other hosts (community). A type
has no price in a cloud that lists it at 0 or null, or says that it lacks the type. Where there is
no spot market, RunPod repeats the on-demand price as the spot price, so only a lower spot price
becomes a row.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

from hwprices.landing.bodies import RefusedItemError, items, member, money, number, text, whole
from hwprices.landing.pages import Page
from hwprices.providers import Pages, Part
from hwprices.providers.runpod import GPU_TYPES, STOCK
from hwprices.rows.prices import LARGEST_PRICE
from hwprices.rows.vendor_rows import VendorRows, gpus
from hwprices.schemas.tables import (
    Availability,
    InstanceTypes,
    PriceComponents,
    Prices,
    Regions,
    Stock,
)
from hwprices.specs.accelerator_names import Matcher, accelerator_matcher

TITLES: Final = {"secure": "Secure Cloud", "community": "Community Cloud"}

OTHER: Final = {"secure": "community", "community": "secure"}

NONE = "none"
IN_STOCK = {"High": True, "Medium": True, "Low": True, NONE: False}
"""RunPod's client takes null as none: https://github.com/runpod/runpodctl (internal/api/gpu.go)"""

MOST_GPUS = 16
"""More GPUs than any host has; a larger number is an error."""

LARGEST_MEMORY = 10_000
"""GB of one GPU. The largest in 2026 has 288."""

PLACEHOLDER = Decimal("0.5")
"""What RunPod lists in a cloud that has no such machine: the MI300X in the Community Cloud, the RTX
A2000 and the RTX PRO 6000 Max-Q in the Secure Cloud (known wrong numbers O1 and O4)."""

PLACEHOLDER_SHARE = Decimal("0.25")
"""In recorded lists of 2026 the Community Cloud costs 0.44 to 0.88 of the Secure Cloud. Below this
share, or above 1, one of the two is a placeholder: the one at 0.50, or else the lower."""

SLICE = re.compile(r"(.+) MIG (\d)g\.\d+gb\b.*", re.IGNORECASE)
"""A slice of a GPU (MIG): the name of the GPU, and the number of its compute slices."""

QUARTERED = ("nvidia-a30", "nvidia-rtx-pro-6000")
SEVENTHS = ("nvidia-a100", "nvidia-h100", "nvidia-h200", "nvidia-b200", "nvidia-b300", "nvidia-gb")
"""GPUs with four compute slices, whose memory is divided equally, and with seven:
https://docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-mig-profiles.html"""


def normalise(pages: Pages) -> Iterator[Part]:
    """Yield regions, machines, prices, availability, stock and price components."""
    rows, match = VendorRows("runpod", "id"), accelerator_matcher("runpod")
    types: dict[str, tuple[Page, list[dict[str, Any]]]] = {}
    for page in pages.of(GPU_TYPES):
        page_types: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        with pages.leave_out(page):
            for item in items(pages.read_json(page)["data"], "gpuTypes"):
                with rows.reading(page, item):
                    if item not in page_types[text(item, "id")]:
                        page_types[item["id"]].append(item)
        # a later page replaces the types of an earlier one
        types |= {name: (page, listings) for name, listings in page_types.items() if listings}
    for _, (page, listings) in sorted(types.items()):
        _read(listings, page, match, rows)
    for page, item in pages.items(STOCK, "data", "gpuTypes"):
        for cloud in TITLES:
            with rows.reading(page, item, Stock, cloud):
                for row in _stock(item, cloud):
                    rows.add(Stock, page, {"region": cloud} | row)
    yield Part("regions", rows.table(Regions))
    yield Part("instance_types", rows.table(InstanceTypes), refused=rows.refused(InstanceTypes))
    yield Part("prices", rows.prices(), refused=rows.refused(Prices), counts=rows.counts)
    for model in (Availability, Stock, PriceComponents):
        if (table := rows.table(model)).height or rows.refused(model).height:
            yield Part(model.name, table, refused=rows.refused(model))


def _read(listings: list[dict[str, Any]], page: Page, match: Matcher, rows: VendorRows) -> None:
    """Add the rows of one GPU type, which has one or more different listings."""
    machines = _machines(listings[0])
    for cloud in TITLES:
        row = {"region": cloud, "display_name": TITLES[cloud], "kind": "platform"}
        rows.add(Regions, page, row)
        rates: defaultdict[str, dict[Decimal, list[str]]] = defaultdict(dict)
        for item in listings:
            with rows.reading(page, item, Prices, cloud):
                for option, per_gpu, flags in _rates(item, cloud, rows):
                    rates[option][per_gpu] = flags
        if max(map(len, rates.values()), default=0) > 1:
            for item in listings:
                problem = f"listed {len(listings)} times at different prices"
                rows.refuse(page, item, RefusedItemError("duplicate_key", problem), region=cloud)
            continue
        for option, by_price in rates.items():
            for per_gpu, flags in by_price.items():
                for count, name in machines:
                    price = _price(listings[0]["id"], count, per_gpu)
                    names = {"region": cloud, "instance_type": name, "purchase_option": option}
                    rows.add(Prices, page, names | price | {"flags": flags})
    with rows.reading(page, listings[0], InstanceTypes):
        for count, name in machines:
            rows.add(InstanceTypes, page, _machine(listings[0], count, match))
            for cloud in TITLES:
                if isinstance(offered := listings[0].get(f"{cloud}Cloud"), bool):
                    place = {"region": cloud, "instance_type": name, "offered": offered}
                    rows.add(Availability, page, place)


def _stock(item: dict[str, Any], cloud: str) -> Iterator[dict[str, Any]]:
    """Yield a GPU type's stock by number of GPUs; RunPod's word is for ``availableGpuCounts``."""
    offer = member(item, cloud) or {"stockStatus": None}
    word = None if member(offer, "stockStatus") is None else text(offer, "stockStatus")
    counts = {int(count) for count in items(offer, "availableGpuCounts")} if word else ()
    for count, name in _machines(item):
        state = word if word and count in counts else NONE
        yield {"instance_type": name, "state": state, "available": IN_STOCK.get(state)}


def _machines(item: dict[str, Any]) -> list[tuple[int, str]]:
    """List the numbers of GPUs that are sold together, with the name of the machine."""
    try:
        most = whole(item, "maxGpuCount", MOST_GPUS) or 1
    except RefusedItemError:
        most = 1
    return [(count, f"{count}x {item['id']}") for count in range(1, most + 1)]


def _machine(item: dict[str, Any], count: int, match: Matcher) -> dict[str, Any]:
    """Describe ``count`` GPUs, or slices, which count as fractions of a GPU."""
    name, memory = item["id"], number(item, "memoryInGb", LARGEST_MEMORY)
    part = SLICE.fullmatch(name)
    sheet = match(part[1] if part else name, "")
    share, gpu_memory = 1.0, float(memory) if memory else None
    if part:
        accelerator_id = sheet.accelerator_id if sheet else ""
        is_quartered = accelerator_id.startswith(QUARTERED)
        slices = 4 if is_quartered else 7 if accelerator_id.startswith(SEVENTHS) else 0
        share = int(part[2]) / slices if slices else 0
        gpu_memory = gpu_memory / share if gpu_memory and is_quartered else None
    return {
        "instance_type": f"{count}x {name}",
        "family": name,
        **gpus(name, sheet, share * count or None, gpu_memory),
        "spec_source": "api",
    }


def _rates(
    item: dict[str, Any], cloud: str, rows: VendorRows
) -> Iterator[tuple[str, Decimal, list[str]]]:
    """Yield purchase option, rate per GPU and flags; count what is left out.

    Raises:
        RefusedItemError: a price of the cloud cannot be read.
    """
    on_demand = _listed(item, cloud, "Price")
    has_no_machine = item.get(f"{cloud}Cloud") is False
    if has_no_machine or not on_demand:
        rows.counts[f"out_of_scope:not_in_cloud={cloud}"] += 1
    if has_no_machine:
        return
    flags = ["placeholder"] if on_demand and _is_placeholder(item, cloud, on_demand) else []
    if on_demand:
        yield "on_demand", on_demand, flags
    spot = _listed(item, cloud, "SpotPrice")
    if spot and on_demand and spot >= on_demand:
        rows.counts["out_of_scope:spot=not_below_on_demand"] += 1
    elif spot:
        yield "spot", spot, flags


def _listed(item: dict[str, Any], cloud: str, kind: str) -> Decimal | None:
    """Return a price of a cloud; None if it is 0 or null.

    RunPod's API has all four prices. The sample comes from other collectors, who leave out missing
    prices (data/sample/README.md). A missing member is an error if the item has a similar one,
    because RunPod may have renamed it.
    """
    name, similar = f"{cloud}{kind}", OTHER[cloud] if kind == "SpotPrice" else cloud
    is_similar = (n.lower().startswith(similar) and kind.lower() in n.lower() for n in item)
    if name not in item and not any(is_similar):
        return None
    return money(item, name, LARGEST_PRICE) or None


def _is_placeholder(item: dict[str, Any], cloud: str, price: Decimal) -> bool:
    """Check whether the prices of the two clouds are too far apart and this one is wrong."""
    try:
        other = _listed(item, OTHER[cloud], "Price")
    except RefusedItemError:
        return False
    if not other:
        return False
    secure, community = (price, other) if cloud == "secure" else (other, price)
    if PLACEHOLDER_SHARE * secure <= community <= secure:
        return False
    if PLACEHOLDER in (price, other):
        return price == PLACEHOLDER
    return price < PLACEHOLDER_SHARE * other


def _price(sku_id: str, count: int, per_gpu: Decimal) -> dict[str, Any]:
    """Price ``count`` GPUs; more than one are composed of the price per GPU."""
    part = {
        "component": "gpu",
        "quantity": Decimal(count),
        "unit": "gpu",
        "unit_price": per_gpu,
        "sku_id": sku_id,
    }
    return {
        "hourly": per_gpu * count,
        "currency": "USD",
        "basis": "listed" if count == 1 else "composed",
        "sku_id": sku_id,
        "parts": [part] if count > 1 else [],
    }
