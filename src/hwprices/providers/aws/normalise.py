"""Read AWS's landed pages into tables, prices region by region. Pure: no network, no clock."""

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from hwprices.landing.pages import Page
from hwprices.providers import Pages, Part, aws
from hwprices.providers.aws.instance_types import availability_rows, instance_type_rows
from hwprices.providers.aws.price_list import PriceList, read_price_list
from hwprices.providers.aws.price_rows import component_part
from hwprices.providers.aws.regions import currency_of, region_rows, zone_rows
from hwprices.providers.aws.responses import PriceListFacts
from hwprices.providers.aws.savings_plans import SavingsPlans, read_page, savings_plan_rows
from hwprices.providers.aws.spot import capacity_block_rows, spot_advice, spot_rows
from hwprices.rows import frames
from hwprices.rows.earlier import Source
from hwprices.rows.prices import PriceRows, merge
from hwprices.schemas.tables import Prices, SpotAdvice


def normalise(pages: Pages) -> Iterator[Part]:
    """Yield the parts of a run. Prices come first: their files also describe types and regions."""
    price_lists: list[PriceListFacts] = []
    listed_regions = frozenset(pages.regions(aws.PRICE_LIST))
    for region in sorted(
        {*listed_regions, *pages.regions(aws.SPOT), *pages.regions(aws.CAPACITY_BLOCKS)}
    ):
        # No variable holds the part, so Part.collected can free the lines of the price list before
        # the rows are checked.
        yield _with_facts(pages, _prices(pages, region, listed_regions), price_lists)
        if part := _component_prices(pages, region, listed_regions, price_lists):
            yield part
    for region in pages.regions(aws.OFFERINGS):
        yield Part("availability", availability_rows(pages, region), region)
    yield Part("regions", region_rows(pages, price_lists))
    if pages.of(aws.ZONES):
        yield Part("zones", zone_rows(pages))
    types, impossible = instance_type_rows(pages, price_lists)
    yield Part("instance_types", types, refused=impossible)
    if pages.of(aws.SPOT_ADVISOR):
        yield _spot_advice(pages)


def _with_facts(pages: Pages, part: Part, price_lists: list[PriceListFacts]) -> Part:
    """Add the facts of the part's price list to ``price_lists``, and return the part."""
    if part.facts and part.region is not None:
        [page] = _newest_price_list(pages, part.region)
        price_lists.append(PriceListFacts(part.region, page, **part.facts))
    return part


def _component_prices(
    pages: Pages, region: str, listed_regions: frozenset[str], price_lists: list[PriceListFacts]
) -> Part | None:
    """Read what is billed beside machines in a region; None without a price list."""
    lists = [(facts.page, aws.EC2, facts.parts) for facts in price_lists if facts.region == region]
    counts: Counter[str] = Counter()
    for kind, service in aws.PART_LISTS.items():
        for page in pages.of(kind, region)[-1:]:
            with pages.leave_out(page):
                price_list = read_price_list(
                    pages, page, region, listed_regions, has_machines=False
                )
                lists.append((page, service, price_list.facts.parts))
                counts.update(price_list.prices.counts)
    return component_part(region, lists, counts) if lists else None


def _prices(pages: Pages, region: str, listed_regions: frozenset[str]) -> Part:
    """Read all prices of a region, or take over those of an earlier run.

    ``facts`` are the frames of PriceListFacts, none without a readable price list.
    """
    source = _source(pages, region, listed_regions)
    if (earlier := pages.earlier(source)) is not None:
        return Part.taken_over(source, earlier, frames.empty(Prices))
    with ThreadPoolExecutor(1) as executor:
        # A thread decodes the savings plans while polars reads the price list.
        plans = [
            (page, executor.submit(read_page, pages, page))
            for page in pages.of(aws.SAVINGS_PLANS, region)[-1:]
        ]
        price_list = _price_list(pages, region, listed_regions)
        facts = price_list.facts if price_list else None
        prices = merge(_price_sources(pages, region, price_list, plans))
    return Part(
        "prices",
        prices.rows,
        region,
        refused=prices.refused,
        counts=prices.counts,
        source=source,
        facts={name: getattr(facts, name) for name in ("machines", "places", "parts")}
        if facts
        else {},
    )


def _source(pages: Pages, region: str, listed_regions: frozenset[str]) -> Source:
    """List the pages that the prices of a region are read from."""
    sources = [
        *_newest_price_list(pages, region),
        *pages.of(aws.SAVINGS_PLANS, region)[-1:],
        *pages.of(aws.SPOT, region),
        *pages.of(aws.CAPACITY_BLOCKS, region),
    ]
    return Source("prices", region, tuple(sources), about=tuple(sorted(listed_regions)))


def _newest_price_list(pages: Pages, region: str) -> list[Page]:
    """Return the newest page of a region's price list; empty if the run has none."""
    return pages.of(aws.PRICE_LIST, region)[-1:]


def _price_list(pages: Pages, region: str, listed_regions: frozenset[str]) -> PriceList | None:
    """Read a region's newest price list; None if it is absent or unreadable."""
    for page in _newest_price_list(pages, region):
        with pages.leave_out(page):
            return read_price_list(pages, page, region, listed_regions)
    return None


def _price_sources(
    pages: Pages,
    region: str,
    price_list: PriceList | None,
    plans: Sequence[tuple[Page, Future[SavingsPlans]]],
) -> list[PriceRows]:
    """Read all prices of a region, except units with an unreadable page."""
    sources = [price_list.prices] if price_list else []
    currency = (price_list.currency if price_list else None) or currency_of(region)
    for page, file in plans:
        with pages.leave_out(page):
            sources.append(savings_plan_rows(file.result(), page, region, price_list))
    if quotes := pages.of(aws.SPOT, region):
        listed = price_list.prices.rows if price_list else frames.empty(Prices).lazy()
        with pages.leave_out(*quotes):
            sources.append(spot_rows(pages, region, listed, currency))
    if blocks := pages.of(aws.CAPACITY_BLOCKS, region):
        with pages.leave_out(*blocks):
            sources.append(capacity_block_rows(pages, region, currency))
    return sources


def _spot_advice(pages: Pages) -> Part:
    """Read the newest readable advisor file; no rows without one."""
    for page in reversed(pages.of(aws.SPOT_ADVISOR)):
        with pages.leave_out(page):
            return spot_advice(pages, page)
    return Part("spot_advice", frames.empty(SpotAdvice))
