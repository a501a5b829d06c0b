"""Read Toy Cloud's landed pages into tables. Pure: no network, no clock."""

from collections.abc import Iterator
from typing import Any

from hwprices.landing.bodies import RefusedItemError, figure, items, money, text, whole
from hwprices.landing.pages import Page
from hwprices.providers import Pages, Part
from hwprices.providers.toycloud.fetch import INVENTORY, PRICE_LIST
from hwprices.rows.prices import LARGEST_PRICE
from hwprices.rows.vendor_rows import NO_ACCELERATORS, VendorRows, gpus
from hwprices.schemas.tables import Availability, InstanceTypes, Prices, Regions
from hwprices.specs.accelerator_names import Matcher, accelerator_matcher

PURCHASE_OPTIONS = {"payg": "on_demand", "spare": "spot"}
"""Toy Cloud's billing modes, and what this project calls them."""

OTHER_PRODUCTS = ("volume", "address")
"""Products that are not machines."""


def normalise(pages: Pages) -> Iterator[Part]:
    """Yield regions, instance_types, availability and prices.

    Raises:
        HwpricesError: a page was altered.
    """
    rows, match = VendorRows("toycloud", "name"), accelerator_matcher("toycloud")
    for page in pages.of(INVENTORY):
        with pages.leave_out(page):
            content = pages.read_json(page)
            for item in items(content, "regions"):
                with rows.reading(page, item, Regions):
                    rows.add(Regions, page, _region(item))
            for item in items(content, "machines"):
                with rows.reading(page, item, InstanceTypes):
                    _add_machine(item, page, match, rows)
    yield Part("regions", rows.table(Regions), refused=rows.refused(Regions))
    yield Part("instance_types", rows.table(InstanceTypes), refused=rows.refused(InstanceTypes))
    yield Part("availability", rows.table(Availability))
    for region in pages.regions(PRICE_LIST):
        lines = VendorRows("toycloud", "sku")
        for page in pages.of(PRICE_LIST, region):
            with pages.leave_out(page):
                for item in items(pages.read_json(page), "lines"):
                    with lines.reading(page, item, Prices, region):
                        _add_price(item, page, region, lines)
        yield Part("prices", lines.prices(), region, lines.refused(Prices), lines.counts)


def _region(item: dict[str, Any]) -> dict[str, Any]:
    return {
        "region": text(item, "name"),
        "display_name": text(item, "title"),
        "kind": "region",
        "country": text(item, "country"),
    }


def _add_machine(item: dict[str, Any], page: Page, match: Matcher, rows: VendorRows) -> None:
    name = text(item, "name")
    count = whole(item, "gpus")
    sheet = match(text(item, "gpu"), name) if count else None
    memory = sheet.memory_gib if sheet else None
    row = {
        "instance_type": name,
        "family": name.split("-")[0],
        "arch": "x86_64",
        "vcpus": whole(item, "vcpus"),
        "memory_gib": figure(item, "memory_gib"),
        **(gpus(item["gpu"], sheet, float(count), memory) if count else NO_ACCELERATORS),
        "spec_source": "api",
    }
    rows.add(InstanceTypes, page, row)
    for region in items(item, "regions"):
        offered = {"region": region, "instance_type": name, "offered": True}
        rows.add(Availability, page, offered)


def _add_price(item: dict[str, Any], page: Page, region: str, rows: VendorRows) -> None:
    """Add a price; count other products, and refuse what is not understood by its word."""
    product = text(item, "product")
    if product in OTHER_PRODUCTS:
        rows.counts[f"out_of_scope:product={product}"] += 1
        return
    if product != "machine":
        raise RefusedItemError("unknown_product", f"product is {product}", product)
    billing = text(item, "billing")
    if billing not in PURCHASE_OPTIONS:
        raise RefusedItemError("unknown_price_type", f"billing is {billing}", billing)
    hourly = money(item, "usd", LARGEST_PRICE)
    if not hourly:
        raise RefusedItemError("price_not_positive", f"usd is {hourly}")
    row = {
        "region": region,
        "instance_type": text(item, "machine"),
        "purchase_option": PURCHASE_OPTIONS[billing],
        "hourly": hourly,
        "currency": "USD",
        "sku_id": text(item, "sku"),
    }
    rows.add(Prices, page, row)
