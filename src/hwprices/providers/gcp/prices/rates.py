"""Find what one unit of a component costs in a region: one price for each key, or none."""

from dataclasses import dataclass

import polars as pl

from hwprices.providers.gcp.prices.skus import SkuCatalog
from hwprices.providers.gcp.sheets import Sheets

RATE_KEY = ["region", "series", "component_id", "purchase_option", "term_months"]

PRICE = ["price", "per", "sku_units"]
"""What SKUs must agree on: 0.03 for an hour is not 0.03 for a month."""


@dataclass(frozen=True)
class Rates:
    """What components cost.

    ``rates`` has one row for each ``RATE_KEY``, with the other columns of ``skus.SkuCatalog``.
    ``ambiguous`` has the keys that two SKUs price differently; those SKUs are in ``refused``.
    ``licenses`` has the license SKUs, which are the same in every region.
    """

    rates: pl.DataFrame
    ambiguous: pl.DataFrame
    licenses: pl.DataFrame
    refused: pl.DataFrame


def build_rates(catalog: SkuCatalog, sheets: Sheets) -> Rates:
    """Choose one SKU for each region, series, component, purchase option and term.

    Rules, in this order: a SKU of the region's own name goes before one of an older name
    (data/specs/gcp_places.csv); SKUs that agree on the price and on what it is for are one. What is
    ambiguous after that is refused: both SKUs are, and the key has no price.
    """
    is_license = pl.col("series") == "license"
    components = catalog.components.filter(~is_license)
    components = components.explode("regions").rename({"regions": "region"})
    components = _drop_older_names(components, sheets.preferred_places)
    prices = pl.struct(PRICE).n_unique().over(RATE_KEY)
    unambiguous = components.filter(prices == 1).sort("sku_id")
    ambiguous = components.filter(prices > 1)
    return Rates(
        rates=unambiguous.unique(RATE_KEY, keep="first", maintain_order=True),
        ambiguous=ambiguous.select(RATE_KEY).unique(),
        licenses=catalog.components.filter(is_license),
        refused=ambiguous.with_columns(refused=pl.lit("ambiguous_sku")),
    )


def _drop_older_names(components: pl.DataFrame, preferred_places: pl.DataFrame) -> pl.DataFrame:
    """Drop a SKU of an older place name where one of the preferred name exists for the same key."""
    older_names = preferred_places.rename({"over": "place"})
    of_place = components.select(*RATE_KEY, preferred="place").unique()
    of_place = of_place.with_columns(has_preferred=pl.lit(True))
    joined = components.join(older_names, on=["region", "place"], how="left")
    joined = joined.join(of_place, on=[*RATE_KEY, "preferred"], how="left")
    kept = joined.filter(pl.col("has_preferred").is_null())
    return kept.drop("preferred", "has_preferred")
