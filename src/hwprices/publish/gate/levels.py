"""Compare prices with the range of their siblings."""

from collections.abc import Iterator

import polars as pl

from hwprices.publish.gate import compare
from hwprices.publish.gate.candidate import PRICES, Candidate, Releases
from hwprices.publish.gate.compare import PLACE, PLAN, PRICE, PURCHASE, SYSTEM

IS_PLAIN = pl.all_horizontal(
    compare.IS_LINUX, pl.col("purchase_option") == "on_demand", pl.col("tenancy") == "shared"
)
"""The price that represents a machine; the others are ordered with it."""

NAMES = {"type": "instance_type", "family": "family", "accelerator": "accelerator"}
_PRICE = pl.col("price")
_IS_CPU = pl.sql_expr("devices = 0 AND vcpus > 1 AND NOT COALESCE(burstable, FALSE)")


def refused_levels(rows: pl.DataFrame, releases: Releases) -> list[pl.DataFrame]:
    """Compare fixed prices with other regions, types and clouds.

    If the plain price of a new machine is refused, its other prices are refused too.
    """
    judged = rows.filter("is_new", _PRICE.is_not_null())
    plain, new = judged.filter(IS_PLAIN), judged.filter(~pl.col("is_old"))
    found: list[pl.DataFrame] = []
    # a known price that moved by less passes, wherever it is
    far = plain.filter(~compare.MOVE.exp().is_between(*compare.LEVEL_MOVE).fill_null(False))
    metal = plain.filter("bare_metal")
    if far.height or metal.height:
        families = releases.types.filter(compare.is_among("family", metal["family"]))
        is_needed = compare.is_among("instance_type", families["instance_type"])
        now, before = (
            _plain_prices(side, releases, True if far.height else is_needed)
            for side in (releases.new, releases.old)
        )
        found.append(_twins(metal, now, before))
        is_new = {
            f"new_{name}": ~compare.is_among(column, before[column].drop_nulls())
            for name, column in NAMES.items()
        }
        far = far.with_columns(**is_new, is_cpu=_IS_CPU)
        found += [one.refused(far, now) for one in compare.spreads("new")]
        found += [one.refused(far, before) for one in compare.spreads("old")]
    if far.height and releases.peers is not None:
        peers = releases.peers.filter(pl.col("provider") != releases.new.provider).collect()
        found += [one.refused(far, peers) for one in compare.spreads("clouds")]
    if new.is_empty():
        return found
    found += _new_prices(new, releases)
    wrong = IS_PLAIN & compare.is_among("price_id", pl.concat(found)["price_id"])
    share = wrong.sum().over("region") / pl.max_horizontal(1, IS_PLAIN.sum().over("region"))
    is_known = compare.is_among("region", releases.totals["region"])
    depends = wrong.any().over(PLACE) | (~is_known & (share > compare.COMMON_SHARE))
    text = "its on-demand price, or those of its region, are held"
    return [*found, compare.refuse(new, "on_demand", depends, text)]


def _plain_prices(side: Candidate, releases: Releases, is_needed: pl.Expr | bool) -> pl.DataFrame:
    """Return the plain prices of a release that are needed, with the figures of their machines."""
    prices = side.priced.filter(is_needed, IS_PLAIN).select(*PLACE, price=PRICE)
    plain: pl.DataFrame = prices.collect(engine="streaming")
    figures = plain.join(releases.types, on="instance_type", how="left")
    return figures.with_columns(is_cpu=_IS_CPU)


def per_accelerator(prices: pl.LazyFrame, types: pl.LazyFrame) -> pl.LazyFrame:
    """List on-demand prices of machines with accelerators, in USD.

    Columns: provider, accelerator, devices, price.
    """
    on = ["provider", "instance_type"]
    first = pl.col("accelerators").list.first().struct.field("accelerator_id")
    machines = types.filter(pl.col("accelerators").list.len() == 1)
    machines = machines.select(*on, accelerator=first, devices="accelerator_count")
    asked = prices.filter(IS_PLAIN, currency="USD").select(*on, price=PRICE)
    return asked.join(machines, on=on, how="inner")


def _new_prices(new: pl.DataFrame, releases: Releases) -> Iterator[pl.DataFrame]:
    """Compare new prices with the price in dollars and with the plain price of their machine."""
    base = releases.new.table(PRICES).filter(
        compare.is_among("instance_type", new["instance_type"])
    )
    known = releases.totals["currency"].unique()
    on = ["region", "zone", "instance_type", *SYSTEM, *PURCHASE, *PLAN]
    for currency in set(new["currency"]) & compare.RATES.keys() - set(known):
        dollars = base.filter(currency="USD").select(*on, dollars=PRICE).collect()
        both = new.filter(currency=currency).join(dollars, on=on, nulls_equal=True)
        rate = _PRICE / pl.col("dollars") / compare.RATES[currency]
        broken = ~rate.is_between(*compare.RATE_RANGE)
        yield compare.refuse(
            both, "unit", broken, compare.figures("{} times the dollar price", rate)
        )
    plain = base.filter(IS_PLAIN).sort("price_id").select(*PLACE, plain=PRICE).collect()
    fixed = new.filter(~IS_PLAIN, ~pl.col("moving"), pl.col("term_months") == 0)
    judged = fixed.join(plain.unique(PLACE, keep="first"), on=PLACE, how="inner")
    ratio, shares = _PRICE / pl.col("plain"), compare.LEAST_OF_PLAIN
    is_on_demand = pl.col("purchase_option") == "on_demand"
    least = pl.when(is_on_demand).then(shares["on_demand"]).otherwise(shares["other"])
    yield compare.refuse(
        judged, "order", ratio < least, compare.figures("{} of its plain price", ratio)
    )


def _twins(metal: pl.DataFrame, now: pl.DataFrame, before: pl.DataFrame) -> pl.DataFrame:
    """Compare shared bare metal with the virtual machine of its size, by their usual ratio.

    Dedicated tenancy, which other tables take for it, costs 6 to 10 % more
    (docs/known-wrong-numbers.md, A13).
    """
    usual, current = (_metal_ratios(machines) for machines in (before, now))
    metal = metal.select("price_id", *PLACE).join(current, on=PLACE)
    ratio = pl.col("ratio")
    for by in ("instance_type", "family"):
        median = usual.group_by(by).agg(ratio.median().alias(f"usual_{by}"))
        metal = metal.join(median, on=by, how="left")
    expected = pl.coalesce("usual_instance_type", "usual_family", 1.0)
    apart = (ratio / expected - 1).abs() > compare.TWIN_TOLERANCE
    return compare.refuse(metal, "twin", apart, compare.figures("{} of its virtual twin", ratio))


def _metal_ratios(machines: pl.DataFrame) -> pl.DataFrame:
    """Divide the prices of bare-metal machines by those of their virtual twins."""
    size = ["region", "currency", "family", "vcpus", "local_disk_gib"]
    virtual = machines.filter(~pl.col("bare_metal")).group_by(size).agg(twin=_PRICE.max())
    metal = machines.filter("bare_metal").join(virtual, on=size, how="inner", nulls_equal=True)
    return metal.with_columns(ratio=_PRICE / pl.col("twin"))
