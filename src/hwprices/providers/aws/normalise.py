"""Landed pages → tables. Pure: no network, no clock; one region's prices in memory at a time."""

from collections import Counter
from collections.abc import Iterator

import polars as pl

from hwprices.landing.pages import Page
from hwprices.providers import Pages, Part
from hwprices.providers.aws.inventory import instance_types, regions
from hwprices.providers.aws.kinds import (
    CAPACITY_BLOCKS,
    INSTANCE_TYPES,
    NO_ANSWER,
    OFFERINGS,
    PRICE_LIST,
    REGIONS,
    SAVINGS_PLANS,
    SPOT,
    SPOT_ADVISOR,
    ZONES,
)
from hwprices.providers.aws.prices import capacity_blocks, price_list, savings_plans, spot
from hwprices.rows import frames
from hwprices.schemas.price import Prices


def normalise(pages: Pages) -> Iterator[Part]:
    """Parts of a run: prices by region first, for what they tell of types and regions goes into the tables that follow.

    Raises:
        HwpricesError: a landed page is altered, or its format is not the vendor's any more.
    """
    catalogue, known = instance_types.Catalogue(), regions.Places()
    for region in pages.regions(INSTANCE_TYPES):
        for page in pages.of(INSTANCE_TYPES, region):
            catalogue.add_answer(region, pages.read(page), page.retrieved_at, page.sha256)
    for region in sorted(
        {*pages.regions(PRICE_LIST), *pages.regions(SPOT), *pages.regions(CAPACITY_BLOCKS)}
    ):
        yield from _prices(pages, region, catalogue, known)
    for region in pages.regions(OFFERINGS):
        yield Part("availability", regions.availability(pages, pages.of(OFFERINGS, region)), region)
    yield from _whole(pages, catalogue, known)


def _whole(
    pages: Pages, catalogue: instance_types.Catalogue, known: regions.Places
) -> Iterator[Part]:
    """Tables that are not divided by region."""
    for page in pages.of(REGIONS):
        known.add_regions(pages, page)
    for result in pages.run.results:
        if result.unit.kind == INSTANCE_TYPES and result.cause == NO_ANSWER:
            known.add_unreachable(result.unit.region)
    yield Part("regions", known.frame())
    if pages.of(ZONES):
        yield Part("zones", regions.zones(pages, pages.of(ZONES)))
    yield Part("instance_types", catalogue.frame())
    if advised := pages.of(SPOT_ADVISOR):
        yield Part("spot_advice", spot.advice(pages, advised[-1]))


def _prices(
    pages: Pages, region: str, catalogue: instance_types.Catalogue, known: regions.Places
) -> Iterator[Part]:
    """All prices of one region as one part."""
    listed = pages.of(PRICE_LIST, region)
    if not listed:
        yield _joined(pages, region, None)
        return
    page = listed[-1]
    found = price_list.read(pages, page, region, frozenset(pages.regions(PRICE_LIST)))
    catalogue.add_attributes(region, found.attributes, page.retrieved_at, page.sha256)
    known.add_listed(found.places, page.retrieved_at, page.sha256)
    yield _joined(pages, region, found)


def _joined(pages: Pages, region: str, listed: price_list.PriceList | None) -> Part:
    rows = [listed.prices] if listed else []
    refused = [listed.refused] if listed else []
    counts = Counter(listed.counts if listed else {})
    for page in _newest(pages.of(SAVINGS_PLANS, region)):
        plans = savings_plans.read(pages, page, region, listed.skus if listed else None)
        rows, refused = [*rows, plans.prices], [*refused, plans.refused]
        counts.update(plans.counts)
    compared = listed.prices if listed else frames.empty(Prices).lazy()
    if quotes := pages.of(SPOT, region):
        rows, refused, counts = _added(rows, refused, counts, spot.prices(pages, quotes, compared))
    if blocks := pages.of(CAPACITY_BLOCKS, region):
        rows, refused, counts = _added(rows, refused, counts, capacity_blocks.prices(pages, blocks))
    return Part("prices", pl.concat(rows), region, refused=pl.concat(refused), counts=dict(counts))


def _added(
    rows: list[pl.LazyFrame],
    refused: list[pl.DataFrame],
    counts: Counter[str],
    more: tuple[pl.LazyFrame, pl.DataFrame, dict[str, int]],
) -> tuple[list[pl.LazyFrame], list[pl.DataFrame], Counter[str]]:
    return [*rows, more[0]], [*refused, more[1]], counts + Counter(more[2])


def _newest(landed: list[Page]) -> list[Page]:
    """A unit has one such page; were there two, the later one counts."""
    return landed[-1:]
