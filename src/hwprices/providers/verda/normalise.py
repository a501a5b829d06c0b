"""Read Verda's machine types into tables. Pure: no network, no clock.

Prices are for a complete machine, as text: https://api.verda.com/v1/docs. The list names no
locations, so they hold in all of them.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from hwprices.landing.bodies import RefusedItemError, figure, member, money, text, whole
from hwprices.providers import Pages, Part
from hwprices.providers.verda import TYPES
from hwprices.rows.prices import LARGEST_PRICE
from hwprices.rows.vendor_rows import NO_ACCELERATORS, VendorRows, gpus
from hwprices.schemas.tables import InstanceTypes, Prices, Regions
from hwprices.specs.accelerator_names import Matcher, accelerator_matcher

PLACE = {"region": "global", "display_name": "All locations", "kind": "anywhere"}

PRICES = {"on_demand": "price_per_hour", "spot": "spot_price", "serverless": "serverless_price"}
"""Purchase option → member with its price. Machines without serverless containers lack the last
one, or have it at 0."""

CURRENCIES = {"usd": "USD", "eur": "EUR"}

SUPERCHIP = re.compile(r"G[BH]\d")
"""A GPU on a module with Grace, an Arm CPU: GB300."""

LARGEST_CORES = 10**4


def normalise(pages: Pages) -> Iterator[Part]:
    """Yield the one place, the machines and their prices."""
    rows, match = VendorRows("verda", "instance_type"), accelerator_matcher("verda")
    for page in pages.of(TYPES):
        with pages.leave_out(page):
            rows.add(Regions, page, PLACE)
            for item in list(pages.read_json(page)):
                with rows.reading(page, item, InstanceTypes):
                    rows.add(InstanceTypes, page, _machine(item, match))
                with rows.reading(page, item, Prices):
                    for row in _prices(item, rows):
                        rows.add(Prices, page, row)
    yield Part("regions", rows.table(Regions))
    yield Part("instance_types", rows.table(InstanceTypes), refused=rows.refused(InstanceTypes))
    yield Part("prices", rows.prices(), refused=rows.refused(Prices), counts=rows.counts)


def _machine(item: dict[str, Any], match: Matcher) -> dict[str, Any]:
    return {
        "instance_type": text(item, "instance_type"),
        "family": text(item, "model"),
        "vcpus": whole(member(item, "cpu"), "number_of_cores", LARGEST_CORES) or None,
        "memory_gib": figure(item.get("memory"), "size_in_gigabytes"),
        **_accelerators(item, match),
        "spec_source": "api",
    }


def _accelerators(item: dict[str, Any], match: Matcher) -> Mapping[str, Any]:
    """Describe the GPUs; ``gpu_memory`` is the total of all of them."""
    count = whole(member(item, "gpu"), "number_of_gpus")
    if not count:
        return NO_ACCELERATORS
    name, memory = text(item, "name"), figure(item.get("gpu_memory"), "size_in_gigabytes")
    described = gpus(name, match(name, ""), float(count), memory / count if memory else None)
    return described | {"arch": "arm64"} if SUPERCHIP.match(name) else described


def _prices(item: dict[str, Any], rows: VendorRows) -> Iterator[dict[str, Any]]:
    name, currency = text(item, "instance_type"), text(item, "currency")
    if currency.lower() not in CURRENCIES:
        raise RefusedItemError("unknown_currency", f"currency is {currency}", currency)
    for option, listed in PRICES.items():
        is_optional = option == "serverless"
        is_listed = listed in item or not is_optional
        hourly = money(item, listed, LARGEST_PRICE) if is_listed else None
        if is_optional and not hourly:
            rows.counts["out_of_scope:serverless=not_listed"] += 1
            continue
        yield {
            "region": PLACE["region"],
            "instance_type": name,
            "purchase_option": option,
            "hourly": hourly or None,
            "price_reason": None if hourly else "listed_at_zero",
            "currency": CURRENCIES[currency.lower()],
            "sku_id": name,
        }
