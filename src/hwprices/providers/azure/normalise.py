"""Read landed pages into tables: no network, no clock.

Prices are read for the whole provider at once: 200,000 items are one frame, and what is derived
from them (hybrid benefit, flags) joins them with themselves.
"""

from collections.abc import Iterator

import polars as pl

from hwprices.providers import Pages, Part
from hwprices.providers.azure.inventory.accelerators import read_accelerator_sheet
from hwprices.providers.azure.inventory.availability import availability_rows
from hwprices.providers.azure.inventory.instance_types import instance_type_rows, read_skus
from hwprices.providers.azure.inventory.regions import (
    is_public,
    read_locations,
    region_rows,
    zone_rows,
)
from hwprices.providers.azure.prices.items import Items, read_items
from hwprices.providers.azure.prices.rows import rows_of_items
from hwprices.specs import sheets


def normalise(pages: Pages) -> Iterator[Part]:
    """Read regions, zones, instance_types, availability and prices of a run, in this order.

    Raises:
        HwpricesError: a landed page is altered or is not what its endpoint answers.
    """
    locations = read_locations(pages)
    skus = read_skus(pages)
    items = read_items(pages)
    availability = availability_rows(skus.machines)
    others = locations.filter(~is_public()).height
    counts = {"out_of_scope:logical_or_test_location": others} if others else {}
    yield Part("regions", region_rows(locations, _regions_of(availability, items)), counts=counts)
    yield Part("zones", zone_rows(locations))
    types, impossible = instance_type_rows(
        skus.machines, read_accelerator_sheet(), sheets.load("azure_network")
    )
    refused = pl.concat([skus.refused, impossible])
    yield Part("instance_types", types, refused=refused, counts=skus.counts)
    yield Part("availability", availability)
    prices = rows_of_items(items, availability)
    yield Part("prices", prices.rows, refused=prices.refused, counts=prices.counts)


def _regions_of(availability: pl.DataFrame, items: Items) -> pl.DataFrame:
    """Return region, observed_at and raw_sha256 of pages whose sizes or prices name a region."""
    columns = ["region", "observed_at", "raw_sha256"]
    named = items.rows.select("armRegionName", "page").unique()
    priced = named.join(items.pages, on="page").select(
        pl.col("armRegionName").str.strip_chars().str.to_lowercase().alias("region"),
        "observed_at",
        "raw_sha256",
    )
    return pl.concat([availability.select(columns).unique(), priced.unique()])
