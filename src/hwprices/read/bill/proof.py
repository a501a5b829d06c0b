"""Cite the prices that lines were compared with."""

import polars as pl

from hwprices.read.citation import of_price
from hwprices.release.release import Release
from hwprices.units import Money

GONE = {
    "sku_price_id": None,
    "sku_id": None,
    "source_url": "a page that is no longer listed",
}
"""Of a price that the release does not list any more."""


def proofs(dataset: Release, tiles: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    """Return price_id and citation of each tile that has a price.

    A citation names the vendor's SKU, the landed page and the release in which the price was valid;
    ``hwprices recheck`` takes it. That of a part names SKU, page and release.
    """
    known = tiles.filter(pl.col("low").is_not_null())
    wanted = pl.col("price_id").is_in(known["price_id"].unique().drop_nulls().implode())
    of_prices = dataset.scan("prices").filter(wanted).collect()
    prices = {row["price_id"]: row for row in of_prices.iter_rows(named=True)}
    composed = dataset.scan("price_components").filter(wanted).collect()
    components = {key: rows for (key,), rows in composed.group_by("price_id")}
    citations = {}
    for row in dataset.scan("price_history").filter(wanted).collect().iter_rows(named=True):
        price = GONE | prices.get(row["price_id"], {}) | row | {"observed_at": row["observed_last"]}
        parts_of_price = components.get(row["price_id"], composed.clear())
        since, until, release = row["valid_from"], row["valid_to"], row["last_release"]
        if row["effective_hourly"] is not None:
            citations[row["price_id"], release, row["effective_hourly"]] = str(
                of_price(release, price, parts_of_price, since, until)
            )
    skus = {row["part"]: row for row in parts.iter_rows(named=True)}
    texts = []
    for tile, price_id, release, low, part in known.select(
        "tile", "price_id", "release", pl.col("low").cast(Money), "part"
    ).iter_rows():
        text = citations.get((price_id, release, low))
        if part is not None:
            sku = skus[part]
            text = (
                f"hwprices {release}: SKU {sku['sku_id']}, {low.normalize():f}"
                f" per {sku['unit']} and {sku['per']}; page SHA-256 {sku['page']}"
            )
        texts.append((tile, price_id, text))
    schema = {"tile": pl.Int64, "price_id": pl.String, "citation": pl.String}
    return pl.DataFrame(texts, schema=schema, orient="row").unique("tile", maintain_order=True)
