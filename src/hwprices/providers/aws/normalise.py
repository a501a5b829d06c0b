"""Read AWS's landed pages into tables. No network and no clock; one region's prices at a time."""

from collections.abc import Iterator

from hwprices.providers import Pages, Part
from hwprices.providers.aws import kinds
from hwprices.providers.aws.inventory.availability import availability_rows
from hwprices.providers.aws.inventory.instance_types import instance_type_rows
from hwprices.providers.aws.inventory.price_list_facts import PriceListFacts
from hwprices.providers.aws.inventory.regions import region_rows, zone_rows
from hwprices.providers.aws.inventory.spot_advice import spot_advice_rows
from hwprices.providers.aws.prices.capacity_blocks import capacity_block_rows
from hwprices.providers.aws.prices.price_list import PriceList, read_price_list
from hwprices.providers.aws.prices.savings_plans import savings_plan_rows
from hwprices.providers.aws.prices.spot import spot_rows
from hwprices.rows import frames
from hwprices.rows.prices import PriceRows, merge
from hwprices.schemas.price import Prices


def normalise(pages: Pages) -> Iterator[Part]:
    """Yield the parts of a run. Prices come first: their files also describe types and regions.

    Raises:
        HwpricesError: a landed page is altered, or has not the vendor's format any more.
    """
    price_lists: list[PriceListFacts] = []
    own_files = frozenset(pages.regions(kinds.PRICE_LIST))
    for region in sorted(
        {*own_files, *pages.regions(kinds.SPOT), *pages.regions(kinds.CAPACITY_BLOCKS)}
    ):
        listed = pages.of(kinds.PRICE_LIST, region)
        price_list = read_price_list(pages, listed[-1], region, own_files) if listed else None
        if price_list:
            price_lists.append(price_list.facts)
        prices = merge(_price_sources(pages, region, price_list))
        yield Part("prices", prices.rows, region, refused=prices.refused, counts=prices.counts)
    for region in pages.regions(kinds.OFFERINGS):
        yield Part("availability", availability_rows(pages, region), region)
    yield Part("regions", region_rows(pages, price_lists))
    if pages.of(kinds.ZONES):
        yield Part("zones", zone_rows(pages))
    yield Part("instance_types", instance_type_rows(pages, price_lists))
    if pages.of(kinds.SPOT_ADVISOR):
        yield Part("spot_advice", spot_advice_rows(pages))


def _price_sources(pages: Pages, region: str, price_list: PriceList | None) -> list[PriceRows]:
    sources = [price_list.prices] if price_list else []
    if plans := pages.of(kinds.SAVINGS_PLANS, region):
        skus = price_list.skus if price_list else None
        sources.append(savings_plan_rows(pages, plans[-1], region, skus))
    if pages.of(kinds.SPOT, region):
        listed = price_list.prices.rows if price_list else frames.empty(Prices).lazy()
        sources.append(spot_rows(pages, region, listed))
    if pages.of(kinds.CAPACITY_BLOCKS, region):
        sources.append(capacity_block_rows(pages, region))
    return sources
