"""SKUs → what one unit of a part costs in a region. One key, one price: two SKUs for one thing are decided by rule or refused."""

from dataclasses import dataclass

import polars as pl

from hwprices.providers.gcp import sheets
from hwprices.providers.gcp.prices.skus import Catalog

KEY = ["region", "series", "part", "option", "term_months"]


@dataclass(frozen=True)
class Rates:
    """``rates``: KEY, price, per, sku_id, currency, effective_from and source columns, one row a key. ``ambiguous``: keys that two
    SKUs price differently (those SKUs are in ``refused``). ``licenses``: licence SKUs, which are the same everywhere."""

    rates: pl.DataFrame
    ambiguous: pl.DataFrame
    licenses: pl.DataFrame
    refused: pl.DataFrame


def build(catalog: Catalog) -> Rates:
    """One price for each (region, series, part, purchase option, term).

    Rules, in this order: a SKU of the region's own name goes before one of an older name (data/specs/gcp_places.csv); SKUs that
    agree on the price are one. What is left ambiguous is refused, both SKUs, and the key has no price.
    """
    licenses = catalog.parts.filter(pl.col("series") == "license")
    parts = (
        catalog.parts.filter(pl.col("series") != "license")
        .explode("regions")
        .rename({"regions": "region"})
    )
    parts = _prefer(parts)
    prices = pl.col("price").n_unique().over(KEY)
    ambiguous = parts.filter(prices > 1)
    single = parts.filter(prices == 1).sort("sku_id").unique(KEY, keep="first", maintain_order=True)
    return Rates(
        single,
        ambiguous.select(KEY).unique(),
        licenses,
        ambiguous.with_columns(refused=pl.lit("ambiguous_sku")),
    )


def _prefer(parts: pl.DataFrame) -> pl.DataFrame:
    """Drop a SKU of the name that is not preferred, where one of the preferred name exists for the same key."""
    rule = pl.DataFrame(
        [(r["region"], r["over"], r["preferred"]) for r in sheets.preferred_places()],
        schema={"region": pl.String, "place": pl.String, "preferred": pl.String},
        orient="row",
    )
    named = parts.select(*KEY, preferred="place").unique().with_columns(found=pl.lit(True))
    kept = parts.join(rule, on=["region", "place"], how="left").join(
        named, on=[*KEY, "preferred"], how="left"
    )
    return kept.filter(pl.col("found").is_null()).drop("preferred", "found")
