"""Read the product list: what one unit of each part costs for an hour.

https://apexapps.oracle.com/pls/apex/cetools/api/v1/products/ lists everything Oracle sells. Parts
of machines are in four categories, and told from licenses and from hardware in customers'
buildings, which have the same unit. A part is known by its number: its name changes.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import polars as pl

from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.providers.oracle import kinds
from hwprices.providers.oracle.kinds import CURRENCY
from hwprices.providers.oracle.members import exact
from hwprices.providers.oracle.sheets import Sheets
from hwprices.rows import quarantine
from hwprices.rows.members import RefusedItemError, text
from hwprices.rows.origin import origin

CATEGORIES = (
    "Compute - Bare Metal",
    "Compute - GPU",
    "Compute - GPU - Other",
    "Compute - Virtual Machine",
)
"""serviceCategory of the parts of machines."""

COMPUTE = "Compute"
"""How the categories begin that are counted one by one. There are 80 others, such as databases."""

WINDOWS = "B88318"
"""Part number of the license of Windows Server, for one OCPU."""

LICENSE_WORDS = "ai enterprise"
"""NVIDIA's license for software has the category and the unit of the GPU it is for."""

UNITS = {
    "ocpu per hour": "core",
    "gigabyte per hour": "ram",
    "gigabyte(s) per hour": "ram",
    "gpu per hour": "slice",
    "nvme terabyte per hour": "local_ssd",
}
"""metricName → kind of component. The price of a GPU is that of the cores, memory and disks of its
host, too: a machine with GPUs has no other part."""

PAY_AS_YOU_GO = "PAY_AS_YOU_GO"

LARGEST_RATE = 10_000
"""Above this a figure is no hourly price of one part. The dearest part is a GPU at 18 dollars."""


@dataclass(frozen=True)
class Rate:
    """The price of one unit of a part for an hour; 0 for a part that is Always Free."""

    part_number: str
    name: str
    kind: str
    price: Decimal
    page: Page


@dataclass(frozen=True)
class Products:
    """The rates by part number.

    ``ambiguous`` has part numbers that come with two prices and so have none. ``refused`` are
    quarantine rows, ``counts`` what was left out on purpose.
    """

    rates: Mapping[str, Rate]
    ambiguous: frozenset[str]
    refused: pl.DataFrame
    counts: Mapping[str, int]

    def gpu_name(self, part_number: str, sheets: Sheets) -> str | None:
        """Name the GPU behind a part: by the sheet, or else by the product list's words."""
        rate = self.rates.get(part_number)
        return sheets.gpus.get(part_number) or (rate.name if rate else None)


def read_products(pages: Pages) -> Products:
    """Read every part of a machine from the product list.

    Of a part that several pages have at one price, the last page is named.

    Raises:
        UnreadablePageError: a page is not a list of products. Without it there are no prices.
    """
    rates: dict[str, Rate] = {}
    ambiguous: set[str] = set()
    refused: list[pl.DataFrame] = []
    counts: Counter[str] = Counter()
    for page in pages.of(kinds.PRODUCTS):
        with pages.parsing(page):
            for item in pages.read_json(page)["items"]:
                if reason := _out_of_scope(item):
                    counts[reason] += 1
                    continue
                try:
                    rate = _rate(item, page)
                except RefusedItemError as refusal:
                    refused.append(_refused(item, refusal, page))
                    continue
                earlier = rates.get(rate.part_number, rate)
                if earlier.price != rate.price:
                    ambiguous.add(rate.part_number)
                    both = f"{earlier.price} and {rate.price}"
                    refused.append(_refused(item, RefusedItemError("ambiguous_sku", both), page))
                rates[rate.part_number] = rate
    kept = {number: rate for number, rate in rates.items() if number not in ambiguous}
    return Products(
        kept, frozenset(ambiguous), quarantine.merge_refused(refused), dict(sorted(counts.items()))
    )


def _out_of_scope(item: dict[str, Any]) -> str | None:
    """Say why a product is no part of a machine, None where it is one."""
    category = text(item, "serviceCategory")
    if LICENSE_WORDS in text(item, "displayName").lower():
        return "out_of_scope:displayName=NVIDIA AI Enterprise"
    if category in CATEGORIES or item["partNumber"] == WINDOWS:
        return None
    known = category if category.startswith(COMPUTE) else "not Compute"
    return f"out_of_scope:serviceCategory={known}"


def _rate(item: dict[str, Any], page: Page) -> Rate:
    """Read the rate of one part.

    Raises:
        RefusedItemError: unit, currency, model or tiers are not those of a part's price.
    """
    metric = " ".join(text(item, "metricName").split())
    kind = UNITS.get(metric.lower())
    if kind is None:
        raise RefusedItemError("unknown_unit", f"priced per {metric}")
    prices = [
        price
        for localization in item["currencyCodeLocalizations"]
        if localization["currencyCode"] == CURRENCY
        for price in localization["prices"]
    ]
    if not prices:
        raise RefusedItemError("not_usd", f"there is no price in {CURRENCY}")
    return Rate(
        part_number=text(item, "partNumber"),
        name=" ".join(text(item, "displayName").split()),
        kind="license" if item["partNumber"] == WINDOWS else kind,
        price=_price(prices),
        page=page,
    )


def _price(prices: list[dict[str, Any]]) -> Decimal:
    """Return the price by which a further hour is billed.

    The first OCPU hours of A1 are free each month. How much of them is left is not known, so the
    price is that of the last range. Ranges with different prices above 0 are not understood.

    Raises:
        RefusedItemError: the model is not pay as you go, or there are several prices.
        ValueError: a price is no number, negative or too large.
    """
    if models := sorted({str(price["model"]) for price in prices} - {PAY_AS_YOU_GO}):
        raise RefusedItemError("unknown_price_type", f"sold as {', '.join(models)}")
    values = [_money(price["value"]) for price in sorted(prices, key=_range_start)]
    paid = [value for value in values if value]
    if len(set(paid)) > 1 or (paid and not values[-1]):
        raise RefusedItemError("tiered_price", f"{len(values)} ranges with different prices")
    return values[-1]


def _range_start(price: dict[str, Any]) -> Decimal:
    return Decimal(price.get("rangeMin") or 0)


def _money(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise ValueError(f"{value!r} is no price")
    if not 0 <= value <= LARGEST_RATE:
        raise ValueError(f"{value} is no price of a part")
    return exact(Decimal(value))


def _refused(item: dict[str, Any], refusal: RefusedItemError, page: Page) -> pl.DataFrame:
    words = {name: text(item, name) for name in ("partNumber", "displayName", "metricName")}
    frame = pl.LazyFrame([{"provider": "oracle", "region": "commercial", **words}])
    return quarantine.refused(
        frame.with_columns(*origin(page)),
        table="prices",
        reason=refusal.reason,
        message=f"{words['partNumber']} {words['displayName']}: {refusal.message}",
    ).collect()
