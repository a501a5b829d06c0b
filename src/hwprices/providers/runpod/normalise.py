"""Read landed pages into rows of the tables. Pure: no network, no clock."""

from collections.abc import Iterator

from hwprices.providers import Pages, Part
from hwprices.providers.runpod.inventory.gpu_types import (
    availability_rows,
    instance_type_rows,
    read_gpu_types,
    region_rows,
)
from hwprices.providers.runpod.prices.rows import read_prices
from hwprices.specs.accelerator_names import accelerator_matcher


def normalise(pages: Pages) -> Iterator[Part]:
    """Yield the two clouds, the machines, where they are, their prices and what these are made of.

    Raises:
        HwpricesError: a page was altered.
    """
    types = read_gpu_types(pages)
    yield Part("regions", region_rows(types))
    yield Part("instance_types", instance_type_rows(types, accelerator_matcher("runpod")))
    availability = availability_rows(types)
    if availability.height:
        yield Part("availability", availability)
    prices, components = read_prices(types)
    yield Part("prices", prices.rows, refused=prices.refused, counts=prices.counts)
    if components.height:
        yield Part("price_components", components)
