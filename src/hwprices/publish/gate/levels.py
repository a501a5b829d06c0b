"""Judge levels: a value beside the range that its siblings have."""

from collections.abc import Iterator

import polars as pl

from hwprices.publish.gate import compare, limits
from hwprices.publish.gate.candidate import PRICES, Candidate
from hwprices.publish.gate.compare import PLACE, PLAN, PRICE, PURCHASE, SYSTEM, Spread
from hwprices.publish.gate.differences import Releases

IS_PLAIN = pl.all_horizontal(
    compare.IS_LINUX, pl.col("purchase_option") == "on_demand", pl.col("tenancy") == "shared"
)
"""The price that represents a machine; the others are ordered with it."""

_PRICE, _OLD = pl.col("price"), pl.col("is_old")
_PER_VCPU, _PER_GIB = _PRICE / pl.col("vcpus"), _PRICE / pl.col("memory_gib")
_PER_DEVICE, _PER_DEVICE_GIB = (
    _PRICE / pl.when(pl.col(name) > 0).then(name) for name in ("devices", "accelerator_memory_gib")
)
_IS_BURSTABLE = pl.col("burstable").fill_null(False)
_IS_CPU = (pl.col("devices") == 0) & ~_IS_BURSTABLE & (pl.col("vcpus") > 1)
_NEW = {name: ~pl.col(f"known_{name}") for name in ("instance_type", "family", "accelerator")}
_JUDGED, _HERE = _OLD | _NEW["instance_type"], ("region", "currency")

REGIONS = Spread("regions", _PRICE, ("instance_type", "currency"), "region", limits.REGION_RANGE)
PUBLISHED = (
    Spread("series", _PER_VCPU, (*_HERE, "family", "is_cpu"), "instance_type", limits.SERIES_RANGE,
          _JUDGED & _IS_CPU),
    Spread("series", _PER_VCPU, (*_HERE, "is_cpu"), "family", limits.PROVIDER_RANGE,
          _JUDGED & _IS_CPU & _NEW["family"]),
    Spread("series", _PER_VCPU, _HERE, "family", limits.FLOOR_RANGE,
          _NEW["instance_type"] & ~_IS_BURSTABLE),
    Spread("series", _PER_GIB, _HERE, "family", limits.FLOOR_RANGE, _NEW["instance_type"]),
    Spread("device", _PER_DEVICE, ("accelerator", "currency"), "instance_type", limits.DEVICE_RANGE,
          _JUDGED, least=1),
    Spread("device", _PER_DEVICE_GIB, ("currency",), "accelerator", limits.PROVIDER_RANGE,
          _JUDGED & _NEW["accelerator"]),
)  # fmt: skip
"""What a plain price is compared with among those published."""

CLOUDS = Spread("device", _PRICE / pl.col("devices"), ("accelerator",), "provider",
               limits.CLOUDS_RANGE,
               _JUDGED & ~pl.col("moving") & (pl.col("currency") == "USD"))  # fmt: skip


def refused_levels(rows: pl.DataFrame, releases: Releases) -> list[pl.DataFrame]:
    """Compare fixed prices with other regions, types and clouds, and new ones with what is known.

    Prices of a new machine whose plain price is refused are refused with it.
    """
    judged = rows.filter("is_new", _PRICE.is_not_null())
    plain, new = judged.filter(IS_PLAIN), judged.filter(~_OLD)
    found: list[pl.DataFrame] = []
    if plain.height:
        now, before = (_plain_prices(side, releases) for side in (releases.new, releases.old))
        known = (compare.is_among(n, before[n].drop_nulls()).alias(f"known_{n}") for n in _NEW)
        plain = plain.with_columns(*known, is_cpu=_IS_CPU)
        found += [REGIONS.refused(plain, now), *(one.refused(plain, before) for one in PUBLISHED)]
        found.append(_twins(plain, now, before))
        if releases.peers is not None:
            peers = releases.peers.filter(pl.col("provider") != releases.new.provider).collect()
            found.append(CLOUDS.refused(plain, peers))
    if new.is_empty():
        return found
    found += _new_prices(new, releases)
    new = new.with_columns(is_refused=compare.is_among("price_id", pl.concat(found)["price_id"]))
    held = pl.col("is_refused") & IS_PLAIN
    share = held.sum().over("region") / pl.max_horizontal(1, IS_PLAIN.sum().over("region"))
    is_known = compare.is_among("region", releases.totals["region"])
    depends = held.any().over(PLACE) | (~is_known & (share > limits.COMMON_SHARE))
    text = "its on-demand price, or those of its region, are held"
    return [*found, compare.refuse(new, "on_demand", depends & ~pl.col("is_refused"), text)]


def _plain_prices(side: Candidate, releases: Releases) -> pl.DataFrame:
    """Return the plain prices of a release with the figures of their machines."""
    plain = side.priced.filter(IS_PLAIN).select(*PLACE, price=PRICE).collect(engine="streaming")
    figures = plain.join(releases.types, on="instance_type", how="left")
    return figures.with_columns(is_cpu=_IS_CPU)


def per_accelerator(prices: pl.LazyFrame, types: pl.LazyFrame) -> pl.LazyFrame:
    """List what clouds ask on demand for machines with accelerators, in USD.

    Columns: provider, accelerator, devices, price.
    """
    first = pl.col("accelerators").list.first().struct.field("accelerator_id")
    machines = types.filter(pl.col("accelerators").list.len() == 1).select(
        "provider", "instance_type", accelerator=first, devices="accelerator_count"
    )
    asked = prices.filter(IS_PLAIN, currency="USD").select("provider", "instance_type", price=PRICE)
    return asked.join(machines, on=["provider", "instance_type"], how="inner")


def _new_prices(new: pl.DataFrame, releases: Releases) -> Iterator[pl.DataFrame]:
    """Compare new prices with the dollar price and with the plain price of their machine."""
    types = compare.is_among("instance_type", new["instance_type"])
    base = releases.new.table(PRICES).filter(types)
    known = releases.totals["currency"].unique().to_list()
    for currency in new["currency"].unique().to_list():
        if currency in known or currency not in limits.RATES:
            continue
        on = ["region", "zone", "instance_type", *SYSTEM, *PURCHASE, *PLAN]
        dollars = base.filter(currency="USD").select(*on, dollars=PRICE).collect()
        both = new.filter(currency=currency).join(dollars, on=on, nulls_equal=True)
        rate = _PRICE / pl.col("dollars") / limits.RATES[currency]
        text = pl.format("{} times the dollar price", rate.round_sig_figs(3))
        yield compare.refuse(both, "unit", ~rate.is_between(*limits.RATE_RANGE), text)
    plain = base.filter(IS_PLAIN).sort("price_id").select(*PLACE, plain=PRICE).collect()
    fixed = new.filter(~IS_PLAIN, ~pl.col("moving"), pl.col("term_months") == 0)
    judged = fixed.join(plain.unique(PLACE, keep="first"), on=PLACE, how="inner")
    ratio, shares = _PRICE / pl.col("plain"), limits.LEAST_OF_PLAIN
    is_on_demand = pl.col("purchase_option") == "on_demand"
    least = pl.when(is_on_demand).then(shares["on_demand"]).otherwise(shares["other"])
    text = pl.format("{} of its plain price", ratio.round_sig_figs(3))
    yield compare.refuse(judged, "order", ratio < least, text)


def _twins(rows: pl.DataFrame, now: pl.DataFrame, before: pl.DataFrame) -> pl.DataFrame:
    """Compare shared bare metal with the virtual machine of its size, as the type usually does.

    Another widely used table has the dedicated-tenancy price there, 6 to 10 % above
    (docs/known-wrong-numbers.md, A13).
    """
    usual, current = (_metal_ratios(machines) for machines in (before, now))
    ratio = pl.col("ratio")
    of_type, of_family = (
        usual.group_by(by).agg(ratio.median().alias(f"usual_{by}"))
        for by in ("instance_type", "family")
    )
    metal = (
        rows.filter("bare_metal")
        .select("price_id", *PLACE)
        .join(current, on=PLACE, how="inner")
        .join(of_type, on="instance_type", how="left")
        .join(of_family, on="family", how="left")
    )
    expected = pl.coalesce("usual_instance_type", "usual_family", 1.0)
    apart = (ratio / expected - 1).abs() > limits.TWIN_TOLERANCE
    return compare.refuse(
        metal, "twin", apart, pl.format("{} of its virtual twin", ratio.round_sig_figs(3))
    )


def _metal_ratios(machines: pl.DataFrame) -> pl.DataFrame:
    """Divide the prices of bare-metal machines by those of their virtual twins."""
    size = ["region", "currency", "family", "vcpus", "local_disk_gib"]
    virtual = machines.filter(~pl.col("bare_metal")).group_by(size).agg(twin=_PRICE.max())
    metal = machines.filter("bare_metal").join(virtual, on=size, how="inner", nulls_equal=True)
    return metal.with_columns(ratio=_PRICE / pl.col("twin"))
