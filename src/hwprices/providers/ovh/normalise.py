"""Read landed pages into rows of the tables. Pure: no network, no clock."""

from collections.abc import Iterator

from hwprices.providers import Pages, Part
from hwprices.providers.ovh import kinds
from hwprices.providers.ovh.inventory.instance_types import instance_type_rows
from hwprices.providers.ovh.inventory.regions import region_rows
from hwprices.providers.ovh.plans import STANDARD, read_catalog
from hwprices.providers.ovh.prices.rows import price_rows
from hwprices.specs.accelerator_names import accelerator_matcher


def normalise(pages: Pages) -> Iterator[Part]:
    """Yield the kinds of zones, the machines, and the prices by kind of zone.

    There is no part of availability: the hourly plans do not say where a machine is offered.

    Raises:
        UnreadablePageError: the catalog cannot be read.
    """
    catalog = read_catalog(pages)
    if not catalog.plans and not catalog.counts and catalog.refused.is_empty():
        return
    match = accelerator_matcher("ovh")
    with pages.parsing(pages.of(kinds.CATALOG)[0]):
        machines = instance_type_rows(catalog.plans, match)
    yield Part("regions", region_rows(catalog.plans))
    yield Part("instance_types", machines)
    prices = price_rows(catalog.plans)
    refused, counts = catalog.refused, dict(catalog.counts)
    for region in sorted({STANDARD, *prices["region"]}):
        yield Part("prices", prices.filter(region=region), region, refused, counts)
        refused, counts = refused.clear(), {}
