"""Read Vast.ai's offers into daily quantiles. Pure: no network, no clock.

``dph_base`` is the price of all GPUs of an offer for an hour in USD, without storage and traffic.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

from hwprices.landing.bodies import RefusedItemError, items, money, text, whole
from hwprices.landing.pages import Page
from hwprices.providers import Pages, Part
from hwprices.providers.vast import MOST_OFFERS, OFFERS
from hwprices.rows.prices import LARGEST_PRICE
from hwprices.rows.vendor_rows import VendorRows
from hwprices.schemas.tables import MarketQuantiles
from hwprices.specs.accelerator_names import Matcher, accelerator_matcher

QUANTILES: Final = {"p10": 10, "p25": 25, "median": 50, "p75": 75, "p90": 90}

LEAST_OFFERS: Final = 8
"""Fewer offers have no quantiles: each would be one host's price."""

LARGEST_MEMORY: Final = 10**6
"""MB of one GPU. The largest in 2026 has 288 GB."""

Key = tuple[str, int, str]


def normalise(pages: Pages) -> Iterator[Part]:
    """Yield the quantiles of the day on which the pages were fetched."""
    rows, match = VendorRows("vast", "id", "gpu_name"), accelerator_matcher("vast")
    for page in pages.of(OFFERS):
        with pages.leave_out(page):
            _add_page(items(pages.read_json(page), OFFERS), page, match, rows)
    first = min((page.retrieved_at for page in pages.of(OFFERS)), default=None)
    yield Part(
        "market_quantiles",
        rows.table(MarketQuantiles),
        refused=rows.refused(MarketQuantiles),
        counts=rows.counts,
        holds_until=first and datetime.combine(first + timedelta(days=1), time(), first.tzinfo),
    )


def _add_page(listed: list[Any], page: Page, match: Matcher, rows: VendorRows) -> None:
    """Add the rows of one search, one for each verification status of the hosts."""
    offers: defaultdict[Key, list[Decimal]] = defaultdict(list)
    for item in listed:
        with rows.reading(page, item, MarketQuantiles):
            if item.get("is_bid"):
                rows.counts["out_of_scope:interruptible"] += 1
                continue
            key, price = _offer(item, match)
            offers[key].append(price)
    is_complete = len(listed) < MOST_OFFERS
    for (accelerator_id, gpus, verification), prices in offers.items():
        row = {
            "day": page.retrieved_at.date(),
            "accelerator_id": accelerator_id,
            "gpus": gpus,
            "verification": verification,
            "offers": len(prices),
            "is_complete": is_complete,
            "min_usd": min(prices),
        }
        if is_complete and len(prices) >= LEAST_OFFERS:
            row |= {f"{name}_usd": _quantile(prices, share) for name, share in QUANTILES.items()}
        rows.add(MarketQuantiles, page, row)


def _offer(item: dict[str, Any], match: Matcher) -> tuple[Key, Decimal]:
    """Return the key of an offer and its price per GPU.

    Raises:
        RefusedItemError: the GPU is not in the sheet of names, or a member cannot be read.
    """
    name, memory = text(item, "gpu_name"), whole(item, "gpu_ram", LARGEST_MEMORY)
    device = match(name, str(memory))
    if device is None:
        raise RefusedItemError("unknown_product", f"no rule for it with {memory} MB", name)
    gpus, price = whole(item, "num_gpus"), money(item, "dph_base", LARGEST_PRICE)
    if not gpus or not price:
        raise RefusedItemError("price_not_positive", f"dph_base is {price} for {gpus} GPUs")
    key = (device.accelerator_id, gpus, text(item, "verification"))
    return key, round(price / gpus, 10)


def _quantile(prices: Sequence[Decimal], percent: int) -> Decimal:
    """Return the nearest-rank percentile: the price of an offer, without interpolation."""
    return sorted(prices)[-(-len(prices) * percent // 100) - 1]
