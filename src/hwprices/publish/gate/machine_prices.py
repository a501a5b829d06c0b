"""Compare a price with its own past, with others of its machine, and with its parts."""

from collections.abc import Iterator, Sequence

import polars as pl

from hwprices.publish.gate import compare
from hwprices.publish.gate.candidate import PRICES, Releases, is_out_of_time
from hwprices.publish.gate.compare import (
    IS_LINUX,
    MACHINE,
    MOVE,
    PLACE,
    PLAN,
    PRICE,
    PURCHASE,
    REFUSED,
    is_among,
    is_leap,
    refuse,
)
from hwprices.release.release import MOVING_OPTIONS
from hwprices.units import HOURS_PER_YEAR

# flags that explain why a spot price is not below on-demand
SAYS_NOT_BELOW = ("spot_equals_on_demand", "spot_above_on_demand", "placeholder")

_UPFRONT = pl.col("upfront").cast(pl.Float64) / (pl.col("term_months") * (HOURS_PER_YEAR / 12))
_TOTAL = pl.sum_horizontal(pl.col("hourly").cast(pl.Float64), _UPFRONT)
_IS_STATED = pl.any_horizontal(pl.col("hourly", "upfront").is_not_null())

_LOST_ID = (pl.col("price") == pl.col("old_price")) & pl.any_horizontal(
    pl.col(name).is_null() & pl.col(f"old_{name}").is_not_null()
    for name in ("sku_id", "sku_price_id", "hourly")
)
_RATIO = MOVE.exp()
_IS_FAR = ~_RATIO.is_between(
    pl.when("moving").then(1 / compare.SPOT_RANGE).otherwise(compare.SHARED_CUT),
    pl.when("moving").then(compare.SPOT_RANGE).otherwise(compare.SHARED_RISE),
)

LIMITS = (
    ("sum", _IS_STATED & ((_TOTAL / pl.col("price") - 1).abs() > compare.SUM_TOLERANCE),
     pl.format("hourly and upfront make {}", _TOTAL.round_sig_figs(4))),
    ("unit", pl.any_horizontal(pl.col(name) != pl.col(f"old_{name}")
                               for name in ("currency", "billing_unit")),
     pl.format("was {} {}", "old_currency", "old_billing_unit")),
    ("basis", _LOST_ID | (pl.col("basis") != pl.col("old_basis")),
     pl.format("was {}", "old_basis")),
    ("leap", _IS_FAR & compare.is_leap(_RATIO), compare.times()),
    ("jump", _IS_FAR, compare.times()),
)  # fmt: skip
"""Reason, limit and reference. Only the first does not need the price that was published."""
_OPTION, _MONTHS = pl.col("purchase_option"), pl.col("term_months")
_IS_FIXED, _ON_DEMAND = ~_OPTION.is_in(MOVING_OPTIONS), _OPTION == "on_demand"
_OF_PLAN = (*PLACE, "tenancy", "purchase_option", *PLAN, "zone")
Rule = tuple[str, pl.Expr, pl.Expr, Sequence[str]]
ORDER: Sequence[Rule] = (
    ("spot", _OPTION == "spot", _ON_DEMAND, MACHINE),
    ("commitment", _MONTHS > 0, _ON_DEMAND, MACHINE),
    ("linux", _IS_FIXED & IS_LINUX, _IS_FIXED & ~IS_LINUX, (*_OF_PLAN, "term_months")),
    ("36 months", _MONTHS == 36, _MONTHS == 12, (*_OF_PLAN, "os", "software", "license_model")),
)
"""Name, the lower prices of a machine, the upper ones, and the columns in which both agree."""
_ORDERED = {*MACHINE, *_OF_PLAN, *PURCHASE}


def refused_rows(rows: pl.DataFrame, prices: pl.DataFrame, releases: Releases) -> pl.DataFrame:
    """Judge rows of ``Releases.differences``: REFUSED, one row for each limit that is broken.

    ``prices`` has the new prices of their machines.
    """
    known, strange = rows.filter("is_new", "is_old"), rows.filter("is_new")
    strange = strange.join(releases.suspects.select("price_id", "reference"), on="price_id")
    dates = pl.format("began {}, seen {}", "old_effective_from", "old_observed_at")
    found = [
        refuse(strange, "page", True, pl.col("reference")),
        refuse(known, "older", is_out_of_time(releases.now), dates),
    ]
    judged = rows.filter("is_new", pl.col("price").is_not_null())
    found += [refuse(judged, *limit) for limit in LIMITS]
    if judged.height:
        found += _order(judged, ORDER[: 1 if releases.is_first else None], prices)
    return pl.concat(found)


def _order(
    rows: pl.DataFrame, rules: Sequence[Rule], prices: pl.DataFrame
) -> Iterator[pl.DataFrame]:
    """Compare prices of a machine by the rules of ORDER."""
    keys = {name: compare.hashed(on) for name, _, _, on in rules}
    changed = rows.select("price_id", "old_price", judged=pl.lit(True), **keys)
    is_near = pl.any_horizontal(is_among(name, changed[name].unique()) for name in keys)
    flags = pl.col("flags")
    near = (
        prices.select("price_id", "flags", "effective_hourly", *_ORDERED)
        .filter(is_among("instance_type", rows["instance_type"].unique()))
        .with_columns(**keys)
        .filter(is_near, pl.col("effective_hourly").is_not_null())
        .join(changed.drop(keys), on="price_id", how="left", maintain_order="left")
        .with_columns(
            pl.col("judged").fill_null(False),
            price=PRICE,
            was=pl.when("judged").then("old_price").otherwise(PRICE),
            excused=pl.any_horizontal(flags.list.contains(flag) for flag in SAYS_NOT_BELOW),
        )
    )
    columns = ("price_id", "price", "was", "judged", "excused")
    for name, lower, upper, _ in rules:
        below, above = (
            near.select(*columns, key=name).filter(near.select(side).to_series())
            for side in (lower, upper)
        )
        pairs = below.join(above, on="key", suffix="_above", maintain_order="left_right")
        price, other = pl.col("price"), pl.col("price_above")
        if name == "spot":  # never published, whatever was before
            broken = (price >= other) & ~pl.col("excused")
        else:
            broken = (price > other) & (pl.col("was") <= pl.col("was_above")).fill_null(True)
        if name in ("spot", "commitment"):
            broken |= price < compare.LEAST_OF_OTHER * other
        words = pl.format(f"{name} {{}}, above it {{}}", price, other)
        wrong = pairs.filter(broken)
        for side in ("", "_above") if wrong.height else ():
            found = wrong.with_columns(price_id=f"price_id{side}")
            yield refuse(found, "order", pl.col(f"judged{side}"), words)


SKU = ("region", "sku_id", "component", "purchase_option")
_RATE = pl.col("rate")


def refused(releases: Releases, skus: pl.Series) -> pl.DataFrame:
    """Return the prices, changed or not, whose parts are wrong or are one of ``skus``: REFUSED."""
    new, old = (_parts(side.table("price_components")) for side in (releases.new, releases.old))
    found = [pl.DataFrame(schema=REFUSED)]
    if new.height:
        text = pl.format("made of {}, which is held", "sku_id")
        found += [_sums(new, releases), *_changes(new, old, releases),
                  refuse(new, "parts", is_among("sku_id", skus), text)]  # fmt: skip
    return pl.concat(found).unique("price_id", keep="first", maintain_order=True)


def made_of(refused: pl.DataFrame, rows: pl.DataFrame, releases: Releases) -> pl.DataFrame:
    """Refuse the composed prices that have a part refused for good: columns of REFUSED."""
    lasting = refused.filter(pl.col("reason").is_in(compare.LASTING))["price_id"]
    on = ["region", "sku_id", "purchase_option"]
    wrong = rows.filter("is_new", is_among("price_id", lasting)).select(on)
    every = releases.new.table("price_components").select("price_id", *on)
    parts = every.join(wrong.lazy(), on=on, how="semi")
    made = parts.filter(~is_among("price_id", lasting)).collect(engine="streaming")
    return refuse(made, "parts", True, pl.format("made of {}, which is held", "sku_id"))


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
    apart = ~((ratio - 1).abs() < compare.PARTS_TOLERANCE)
    return refuse(both, "parts", apart, pl.format("its parts make {}", total.round_sig_figs(4)))


def _changes(new: pl.DataFrame, old: pl.DataFrame, releases: Releases) -> Iterator[pl.DataFrame]:
    """Compare each part with itself before, and its rate with the move of its SKU.

    A part with another SKU, or of a new price, is compared with what the SKU costs others.
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
    unlisted = pl.when(_IS_FIXED).then(compare.LEAP).otherwise(compare.SPOT_RANGE)
    loose = pl.when(is_listed).then(1 + compare.RATE_TOLERANCE).otherwise(unlisted)
    broken = (high * factor * loose < _RATE) | (low * factor / loose > _RATE)
    text = pl.format("{} costs {} for others", "component", (low * factor).round_sig_figs(4))
    yield refuse(judged, "parts", broken, text)
