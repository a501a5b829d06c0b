"""Read landed pages into rows of the tables. Pure: no network, no clock."""

from collections.abc import Iterator
from datetime import datetime

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.providers import Pages, Part, check_regions, gcp
from hwprices.providers.gcp import instance_types, price_rows, regions
from hwprices.providers.gcp.classify import named_by_refused
from hwprices.providers.gcp.compose import add_licenses, build_rates, compose
from hwprices.providers.gcp.price_rows import add_flexible, component_price_rows
from hwprices.providers.gcp.sheets import Sheets
from hwprices.providers.gcp.skus import disk_price_rows, read_skus


def normalise(
    pages: Pages, sheets: Sheets | None = None, at: datetime | None = None
) -> Iterator[Part]:
    """Yield the inventory as one part a table, and the prices as one part a table and region.

    ``sheets`` are Google's rules that are data; None loads those of the checkout or package.
    ``at``: use the prices that held then, of pages with those of some time; None for the newest.

    Raises:
        HwpricesError: the SKU catalog has no page, a page is not what it should be, a
            requested region does not exist, or most rows of a page cannot be read.
    """
    _check_catalog(pages)
    sheets = sheets or Sheets.load()
    requested = regions.requested_regions(pages)

    machines = instance_types.read_machines(pages, sheets)
    zones = regions.read_zones(pages, machines)
    listed = regions.read_regions(pages, zones)
    check_regions("gcp", requested or (), {place.region for place in listed})
    region_rows = regions.region_rows(listed, requested, sheets)
    yield Part("regions", region_rows)
    yield Part("zones", regions.zone_rows(zones, region_rows))
    types = instance_types.instance_type_rows(machines, sheets)
    yield Part("instance_types", types, refused=machines.refused)
    yield Part("availability", regions.availability_rows(machines, requested))

    catalog = read_skus(pages, at)
    rates = build_rates(catalog)
    faults = {**named_by_refused(catalog.refused, machines), **machines.faults}
    composed_linux = compose(machines, rates, faults, _unfetched_parts(pages))
    linux = add_flexible(composed_linux, machines, sheets)
    licensed = add_licenses(machines, rates, linux)
    composed = price_rows.composed_prices(linux, licensed, machines)
    prices = price_rows.price_rows(composed)
    ids = composed.select(*price_rows.LICENSED, "region", prices["price_id"])
    parts = [component_price_rows(rates.rates, sheets), disk_price_rows(catalog.disks)]
    refused = price_rows.refused_rows(catalog, licensed, requested)
    yield from price_rows.by_region("prices", prices, requested, refused, catalog.counts)
    yield from price_rows.price_component_parts(ids, linux, licensed, requested)
    yield from price_rows.by_region("component_prices", pl.concat(parts), requested)


def _unfetched_parts(pages: Pages) -> dict[str, str]:
    """List the kinds of parts whose SKU catalog has no page: TPUs have one of their own.

    Each has the reason of a price that is missing because of it.
    """
    return {} if pages.of(gcp.TPU_SKUS) else {"tpu": "tpu_catalog_not_fetched"}


def _check_catalog(pages: Pages) -> None:
    """Refuse a run without the SKU catalog: each machine would look as if nobody sold its parts."""
    if pages.of(gcp.SKUS):
        return
    failed = [result for result in pages.run.results if result.unit.kind == gcp.SKUS]
    reason = f": {failed[0].reason}" if failed and failed[0].reason else ""
    raise HwpricesError(f"gcp: no page of the SKU catalog was landed{reason}")
