"""Decode landed pages of SKUs, as ``services.skus.list`` of the Cloud Billing Catalog sends them.

https://cloud.google.com/billing/docs/reference/rest/v1/services.skus/list
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
import polars as pl
from msgspec import UNSET, UnsetType

from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.providers.gcp.listings import Listing, decode_rows

LARGEST_PRICE = 10_000
"""Dollars for an hour or a month of one vCPU, GiB or GPU above which an amount is not a price.
Products with the parts of a machine (32,768 GiB) stay within Money."""

NANOS = 10**9  # Nanos in one unit of the currency (Money in the reference above)

SKU_COLUMNS: Final[dict[str, Any]] = {
    "sku_id": pl.String,
    "description": pl.String,
    "family": pl.String,
    "group": pl.String,
    "usage": pl.String,
    "regions": pl.List(pl.String),
}
"""What every row of a SKU has of its page; the three words are those of ``Category``."""


class Category(msgspec.Struct, gc=False, omit_defaults=True, rename="camel"):
    """What a SKU is a price of, in three words."""

    resource_family: str = ""
    resource_group: str = ""
    usage_type: str = ""
    service_display_name: Any = UNSET


class GeoTaxonomy(msgspec.Struct, gc=False, omit_defaults=True):
    """Where a SKU is sold."""

    regions: list[str] = []
    type: Any = UNSET


def _integer(value: object) -> int | None:
    """Read a number that Google may send in quotes; None where it is not a whole number."""
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


_INTEGER = re.compile(r"-?[0-9]{1,19}")  # What a 64-bit integer in quotes looks like


class Amount(
    msgspec.Struct, gc=False, omit_defaults=True, rename="camel", forbid_unknown_fields=True
):
    """An amount; members that are zero are left out.

    They may be anything in the page: one strange amount must not cost the whole catalog. A member
    that is not known is refused, because nanos under another name would be read as 0.
    """

    currency_code: str | None = None
    units: Any = UNSET
    nanos: Any = UNSET

    @property
    def figures(self) -> tuple[int | None, int | None]:
        """Units and nanos, None where one is not a whole number."""
        units = 0 if self.units is UNSET else _integer(self.units)
        return units, 0 if self.nanos is UNSET else _integer(self.nanos)


class TieredRate(msgspec.Struct, gc=False, omit_defaults=True, rename="camel"):
    """A price from an amount of use on, in usage units."""

    start_usage_amount: float = 0
    unit_price: Amount | None = None

    @property
    def is_paid(self) -> bool:
        """Whether it is more than a free allowance."""
        return self.unit_price is not None and self.unit_price.figures != (0, 0)


class Expression(msgspec.Struct, gc=False, omit_defaults=True, rename="camel"):
    """A price by tiers; ``usage_unit`` is in UCUM, https://ucum.org."""

    usage_unit: str = ""
    tiered_rates: list[TieredRate] = []
    usage_unit_description: Any = UNSET
    display_quantity: Any = UNSET
    base_unit: Any = UNSET
    base_unit_description: Any = UNSET
    base_unit_conversion_factor: Any = UNSET


class PricingInfo(msgspec.Struct, gc=False, omit_defaults=True, rename="camel"):
    """A price and when it began to hold."""

    effective_time: str | None = None
    pricing_expression: Expression | UnsetType = UNSET
    summary: Any = UNSET
    currency_conversion_rate: Any = UNSET
    aggregation_info: Any = UNSET

    @property
    def tier_interval(self) -> str | None:
        """DAILY or MONTHLY: over which time use is summed for the tiers; None where not stated."""
        info = self.aggregation_info
        return info.get("aggregationInterval") if isinstance(info, dict) else None


class Sku(msgspec.Struct, gc=False, omit_defaults=True, rename="camel"):
    """A SKU. Members that nobody reads are declared to be counted.

    See ``strict_json.refuse_repeated_names``.
    """

    sku_id: str | None = None
    description: str = ""
    category: Category | UnsetType = UNSET
    service_regions: list[str] = []
    geo_taxonomy: GeoTaxonomy | UnsetType = UNSET
    pricing_info: list[PricingInfo] = []
    name: Any = UNSET
    service_provider_name: Any = UNSET

    @property
    def regions(self) -> list[str]:
        """Where it is sold. A few SKUs leave serviceRegions out and say it in geoTaxonomy."""
        elsewhere = [] if self.geo_taxonomy is UNSET else self.geo_taxonomy.regions
        return self.service_regions or elsewhere


class SkuList(msgspec.Struct, gc=False, omit_defaults=True, rename="camel"):
    """One page of the catalog."""

    skus: list[Sku] = []
    next_page_token: Any = UNSET


def decode(pages: Pages, page: Page) -> Listing[SkuList]:
    """Decode one page, without the rows that do not have the shape of a SKU.

    Raises:
        UnreadablePageError: the page is not a list of SKUs.
    """
    return decode_rows(
        pages,
        page,
        SkuList,
        what="a list of SKUs",
        setting="HWPRICES_GCP_BILLING_URL",
        rows=lambda document: [_without_extras(document["skus"])],
        row_type=Sku,
    )


def at_day(skus: Sequence[Sku], day: datetime) -> list[Sku]:
    """Return the SKUs with the one price that held on a day, without those that had none yet."""
    found = []
    for sku in skus:
        before = [price for price in sku.pricing_info if price_day(price) <= day]
        if before:
            newest = max(before, key=lambda price: price.effective_time or "")
            found.append(msgspec.structs.replace(sku, pricing_info=[newest]))
    return found


def price_day(price: PricingInfo) -> datetime:
    """Return the day (UTC) on which a price began to hold."""
    at = datetime.fromisoformat(price.effective_time or "").astimezone(UTC)
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def newest_price(prices: list[PricingInfo]) -> PricingInfo | None:
    """Return the price that began last; None where there is none."""
    if len(prices) == 1:
        return prices[0]
    return max(prices, key=lambda info: info.effective_time or "", default=None)


def read_time(times: pl.Expr) -> pl.Expr:
    """Read effectiveTime; null where it is not a time."""
    return times.str.to_datetime("%+", time_zone="UTC", time_unit="us", strict=False)


def is_in_range(units: int | None, nanos: int | None) -> bool:
    """Return whether it can be a price: not negative, and not above LARGEST_PRICE."""
    if units is None or nanos is None:
        return False
    return 0 <= units <= LARGEST_PRICE and 0 <= nanos < NANOS


_MONEY = {"currencyCode", "units", "nanos"}


def _without_extras(skus: list[Any]) -> list[Any]:
    """Drop further members of amounts that have all that an amount needs.

    Where one is missing, a further member may be the same under a new name.
    """
    for sku in skus:
        for amount in _amounts(sku):
            if amount.keys() > _MONEY:
                for name in amount.keys() - _MONEY:
                    del amount[name]
    return skus


def _amounts(sku: Any) -> Iterator[dict[str, Any]]:
    """Yield every unitPrice in the JSON of a SKU."""
    if isinstance(sku, list):
        for element in sku:
            yield from _amounts(element)
    elif isinstance(sku, dict):
        for name, value in sku.items():
            if name == "unitPrice" and isinstance(value, dict):
                yield value
            else:
                yield from _amounts(value)
