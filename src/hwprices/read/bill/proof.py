"""Cite the prices that lines were compared with."""

import polars as pl

from hwprices.read.citation import Citation
from hwprices.read.explain import sources_of
from hwprices.release.release import Release
from hwprices.schemas.keys import PRICE_KEY
from hwprices.units import Money


def proofs(dataset: Release, tiles: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    """Return price_id and citation of each tile that has a price.

    A citation names the vendor's SKU, the landed page and the release in which the price was valid;
    ``hwprices recheck`` takes it. That of a part names SKU, page and release.
    """
    known = tiles.filter(pl.col("low").is_not_null())
    ids = known["price_id"].unique().drop_nulls().implode()
    prices = {
        row["price_id"]: row
        for row in dataset.scan("prices").filter(pl.col("price_id").is_in(ids)).collect().to_dicts()
    }
    history = dataset.scan("price_history").filter(pl.col("price_id").is_in(ids))
    periods = history.select(
        *("price_id", *PRICE_KEY, "effective_hourly", "valid_from", "valid_to", "last_release"),
        *("raw_sha256", "observed_last"),
    ).collect()
    components = {
        key[0]: frame
        for key, frame in dataset.scan("price_components")
        .filter(pl.col("price_id").is_in(ids))
        .collect()
        .group_by("price_id")
    }
    citations = {}
    for row in periods.iter_rows(named=True):
        price = prices.get(row["price_id"], {})
        composed = components.get(row["price_id"], pl.DataFrame())
        one = {"sku_price_id": None, "sku_id": None, **price, "raw_sha256": row["raw_sha256"]}
        citation = Citation(
            **{name: row[name] for name in PRICE_KEY},
            amount=row["effective_hourly"],
            valid_from=row["valid_from"],
            valid_to=row["valid_to"],
            release=row["last_release"],
            price_id=row["price_id"],
            sources=tuple(sources_of(one, composed) or [("not stated", row["raw_sha256"])]),
            url=price.get("source_url", "a page that is no longer listed"),
            fetched_at=row["observed_last"],
        )
        citations[row["price_id"], row["last_release"], row["effective_hourly"]] = str(citation)
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
