"""Judge what prices are composed of: parts, their rates, and the SKUs that they are taken from."""

from collections.abc import Iterator

import polars as pl

from hwprices.publish.gate import limits
from hwprices.publish.gate.candidate import PRICES
from hwprices.publish.gate.differences import Releases
from hwprices.publish.gate.prices import is_leap

FOUND = ("price_id", "reference")


def refused(releases: Releases, skus: pl.Series) -> pl.DataFrame:
    """Return price_id and reference of the prices whose parts are wrong, changed or not.

    ``skus`` are those whose price is held.
    """
    now, then = (side.table("price_components") for side in (releases.new, releases.old))
    new = _parts(now).collect(engine="streaming")
    if new.is_empty():
        return pl.DataFrame(schema=dict.fromkeys(FOUND, pl.String))
    return pl.concat(
        [*_sums(new, releases), *_changes(new, _parts(then).collect(engine="streaming"), releases),
         _of_skus(new, skus)]
    ).unique("price_id", keep="first", maintain_order=True)  # fmt: skip


def _parts(table: pl.LazyFrame) -> pl.LazyFrame:
    return table.select(
        *("price_id", "component", "region", "sku_id", "purchase_option"),
        quantity=pl.col("quantity").cast(pl.Float64),
        rate=pl.col("unit_price").cast(pl.Float64),
    )


def _refuse(rows: pl.DataFrame, broken: pl.Expr, reference: pl.Expr) -> pl.DataFrame:
    return rows.filter(broken.fill_null(False)).select("price_id", reference=reference)


def _sums(parts: pl.DataFrame, releases: Releases) -> Iterator[pl.DataFrame]:
    """Compare composed prices with the sum of their parts."""
    sums = parts.group_by("price_id").agg(total=(pl.col("quantity") * pl.col("rate")).sum())
    prices = releases.new.table(PRICES).select("price_id", "hourly").drop_nulls()
    both = prices.join(sums.lazy(), on="price_id", how="inner").collect()
    ratio = pl.col("hourly").cast(pl.Float64) / pl.col("total")
    apart = ~((ratio - 1).abs() < limits.PARTS_TOLERANCE)
    yield _refuse(both, apart, pl.format("its parts make {}", pl.col("total").round_sig_figs(4)))


def _changes(new: pl.DataFrame, old: pl.DataFrame, releases: Releases) -> Iterator[pl.DataFrame]:
    """Compare each part with the same one before, and its rate with that of its SKU.

    A part of a new price is compared with what the SKU costs others.
    """
    if old.is_empty() or old.equals(new):
        return
    on = ["price_id", "component"]
    both = new.join(old, on=on, how="full", coalesce=True, suffix="_was", maintain_order="left")
    known = old.select("price_id").unique().join(new.select("price_id").unique(), on="price_id")
    both = both.join(known.with_columns(is_known=pl.lit(True)), on="price_id", how="left")
    is_other = pl.col("quantity").is_null() | pl.col("quantity_was").is_null()
    amount = is_leap(pl.col("quantity") / pl.col("quantity_was"))
    is_known = pl.col("is_known").fill_null(False)
    yield _refuse(both, is_known & (is_other | amount), pl.format(
        "{} is another quantity", "component"))  # fmt: skip
    sku = ["region", "sku_id", "component", "purchase_option"]
    rates = old.group_by(sku).agg(low=pl.col("rate").min(), high=pl.col("rate").max())
    prices = (
        side.table("component_prices").group_by("region", "sku_id")
        .agg(listed=pl.col("hourly").cast(pl.Float64).median()).collect()
        for side in (releases.new, releases.old)
    )  # fmt: skip
    listed, was = prices
    moves = listed.join(was, on=["region", "sku_id"], suffix="_was").select(
        "region", "sku_id", moved=pl.col("listed") / pl.col("listed_was")
    )
    judged = both.filter(pl.col("rate").is_not_null()).join(rates, on=sku, how="left")
    judged = judged.join(moves, on=["region", "sku_id"], how="left")
    rate, was_rate = pl.col("rate"), pl.col("rate_was")
    same_sku = pl.col("sku_id") == pl.col("sku_id_was")
    low, high = (pl.when(same_sku).then(was_rate).otherwise(name) for name in ("low", "high"))
    loose = pl.when(pl.col("moved").is_not_null()).then(limits.RATE_TOLERANCE).otherwise(
        limits.LEAP - 1
    )  # fmt: skip
    moved = pl.col("moved").fill_null(1)
    broken = (rate > high * moved * (1 + loose)) | (rate < low * moved / (1 + loose))
    text = pl.format("{} costs {} for others", "component", (low * moved).round_sig_figs(4))
    yield _refuse(judged, broken, text)


def _of_skus(parts: pl.DataFrame, skus: pl.Series) -> pl.DataFrame:
    """Find the prices that are made of SKUs whose own price is held."""
    text = pl.format("made of {}, which is held", "sku_id")
    return _refuse(parts, pl.col("sku_id").is_in(skus.implode()), text)
