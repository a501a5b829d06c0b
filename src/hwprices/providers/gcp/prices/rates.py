"""Find what one unit of a component costs in a region: one price for each key."""

from dataclasses import dataclass

import polars as pl

from hwprices.providers.gcp.prices.skus import SkuCatalog
from hwprices.providers.gcp.prices.vocabulary import CONTINENTS
from hwprices.units import HOURS_PER_MONTH, Money

RATE_KEY = ["region", "series", "component_id", "purchase_option", "term_months"]


@dataclass(frozen=True)
class Rates:
    """What components cost.

    ``rates`` has one row for each ``RATE_KEY``, with the other columns of ``skus.SkuCatalog`` and
    ``is_highest``: whether other SKUs of the same rank have a lower price. ``licenses`` has the
    license SKUs, which are the same in every region.
    """

    rates: pl.DataFrame
    licenses: pl.DataFrame


def build_rates(catalog: SkuCatalog) -> Rates:
    """Choose one SKU for each region, series, component, purchase option and term.

    A SKU of the region goes before one of a continent or of several regions. Of SKUs that disagree
    after that, Google bills the most expensive: in us-east4 M1 is listed under Virginia and
    Northern Virginia, https://github.com/vantage-sh/ec2instances.info/pull/964.
    """
    is_license = pl.col("series") == "license"
    of_several = (pl.col("regions").list.len() > 1) | pl.col("place").is_in(CONTINENTS)
    components = catalog.components.filter(~is_license).with_columns(of_several=of_several)
    components = components.explode("regions").rename({"regions": "region"})
    first = pl.col("of_several") == pl.col("of_several").min().over(RATE_KEY)
    rates = highest(components.filter(first).drop("of_several"), RATE_KEY)
    return Rates(rates, catalog.components.filter(is_license))


def highest(skus: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Keep the most expensive SKU of each key, and add ``is_highest``: another costs less.

    Prices of different units are compared by the hour and by our unit: 0.03 for an hour is more
    than 0.03 for a month of 730 hours.
    """
    hours = pl.when(pl.col("per") == "month").then(HOURS_PER_MONTH).otherwise(1)
    hourly = (pl.col("price") * pl.col("sku_units") / hours.cast(Money)).cast(Money)
    ranked = skus.with_columns(hourly=hourly).sort(["hourly", "sku_id"], descending=[True, False])
    ranked = ranked.with_columns(is_highest=pl.col("hourly").n_unique().over(key) > 1)
    return ranked.unique(key, keep="first", maintain_order=True).drop("hourly")
