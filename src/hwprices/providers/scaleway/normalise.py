"""Read landed pages into rows of the tables. Pure: no network, no clock."""

from collections.abc import Iterator

from hwprices.providers import Pages, Part
from hwprices.providers.scaleway import kinds
from hwprices.providers.scaleway.inventory.servers import (
    availability_rows,
    instance_type_rows,
    read_servers,
    region_rows,
)
from hwprices.providers.scaleway.prices.rows import read_prices
from hwprices.specs.accelerator_names import accelerator_matcher


def normalise(pages: Pages) -> Iterator[Part]:
    """Yield the zones, the machines, where each is listed, and their prices.

    Raises:
        HwpricesError: a page was altered.
    """
    servers = read_servers(pages)
    yield Part("regions", region_rows(servers))
    types, refused = instance_type_rows(servers, accelerator_matcher("scaleway"))
    yield Part("instance_types", types, refused=refused)
    yield Part("availability", availability_rows(servers))
    for zone in pages.regions(kinds.SERVERS):
        prices = read_prices(servers, zone)
        yield Part("prices", prices.rows, zone, refused=prices.refused)
