"""Judge what prices are composed of: parts, their rates, and the SKUs that they are taken from."""

from collections.abc import Iterator

import polars as pl

from hwprices.publish.gate import limits
from hwprices.publish.gate.candidate import PRICES
from hwprices.publish.gate.compare import REFUSED, is_among, is_leap, refuse
from hwprices.publish.gate.differences import Releases

SKU = ("region", "sku_id", "component", "purchase_option")
_RATE = pl.col("rate")


def refused(releases: Releases, skus: pl.Series) -> pl.DataFrame:
    """Return the prices whose parts are wrong, changed or not, with the columns of REFUSED.

    ``skus`` are those whose price is held.
    """
    new, old = (_parts(side.table("price_components")) for side in (releases.new, releases.old))
    found = [pl.DataFrame(schema=REFUSED)]
    if new.height:
        text = pl.format("made of {}, which is held", "sku_id")
        found += [_sums(new, releases), *_changes(new, old, releases),
                  refuse(new, "parts", is_among("sku_id", skus), text)]  # fmt: skip
    return pl.concat(found).unique("price_id", keep="first", maintain_order=True)


def _parts(table: pl.LazyFrame) -> pl.DataFrame:
    quantity, rate = pl.col("quantity").cast(pl.Float64), pl.col("unit_price").cast(pl.Float64)
    return table.select("price_id", *SKU, quantity, rate=rate).collect(engine="streaming")


def _sums(parts: pl.DataFrame, releases: Releases) -> pl.DataFrame:
    """Compare composed prices with the sum of their parts."""
    total = pl.col("total")
    sums = parts.group_by("price_id").agg(total=(pl.col("quantity") * _RATE).sum())
    prices = releases.new.table(PRICES).select("price_id", "hourly").drop_nulls()
    both = prices.join(sums.lazy(), on="price_id", how="inner").collect()
    ratio = pl.col("hourly").cast(pl.Float64) / total
    apart = ~((ratio - 1).abs() < limits.PARTS_TOLERANCE)
    return refuse(both, "parts", apart, pl.format("its parts make {}", total.round_sig_figs(4)))


def _changes(new: pl.DataFrame, old: pl.DataFrame, releases: Releases) -> Iterator[pl.DataFrame]:
    """Compare each part with the same one before, and its rate with that of its SKU.

    A part of a new price is compared with what the SKU costs others.
    """
    if old.is_empty() or old.equals(new):
        return
    on, listed = ["region", "sku_id"], pl.col("hourly").cast(pl.Float64).median().alias("listed")
    now, then = (
        side.table("component_prices").group_by(on).agg(listed).collect()
        for side in (releases.new, releases.old)
    )
    moved = (pl.col("listed") / pl.col("listed_was")).alias("moved")
    moves = now.join(then, on=on, suffix="_was").select(*on, moved)
    row = pl.struct("price_id", *SKU, "quantity", "rate").hash().alias("hash")
    new, old = (side.with_columns(row) for side in (new, old))
    has_moved = is_among("sku_id", moves.filter(pl.col("moved") != 1)["sku_id"]).fill_null(False)
    changed = pl.concat(
        one.filter(has_moved | ~is_among("hash", other["hash"]))["price_id"]
        for one, other in ((new, old), (old, new))
    )
    now, then = (side.filter(is_among("price_id", changed)) for side in (new, old))
    key = ["price_id", "component"]
    both = now.join(then, on=key, how="full", coalesce=True, suffix="_was", maintain_order="left")
    quantity, was = pl.col("quantity"), pl.col("quantity_was")
    is_known = is_among("price_id", then["price_id"]) & is_among("price_id", now["price_id"])
    is_other = is_known & (quantity.is_null() | was.is_null())
    text = pl.format("{} is another quantity", "component")
    yield refuse(both, "parts", is_other | is_leap(quantity / was), text)
    rates = old.group_by(SKU).agg(low=_RATE.min(), high=_RATE.max())
    judged = both.filter(_RATE.is_not_null()).join(rates, on=SKU, how="left")
    judged = judged.join(moves, on=on, how="left")
    same_sku = pl.col("sku_id") == pl.col("sku_id_was")
    low, high = (pl.when(same_sku).then("rate_was").otherwise(name) for name in ("low", "high"))
    is_listed, factor = pl.col("moved").is_not_null(), pl.col("moved").fill_null(1)
    loose = 1 + pl.when(is_listed).then(limits.RATE_TOLERANCE).otherwise(limits.LEAP - 1)
    broken = (high * factor * loose < _RATE) | (low * factor / loose > _RATE)
    text = pl.format("{} costs {} for others", "component", (low * factor).round_sig_figs(4))
    yield refuse(judged, "parts", broken, text)
