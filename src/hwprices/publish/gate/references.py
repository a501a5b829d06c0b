"""Judge levels: a value beside the range that its siblings have."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from hwprices.publish.gate import limits
from hwprices.publish.gate.candidate import PRICES, Candidate
from hwprices.publish.gate.differences import PURCHASE, Releases
from hwprices.publish.gate.prices import PLACE, PRICE, REFUSED, SYSTEM, refuse

IS_PLAIN = pl.all_horizontal(
    pl.col("os") == "linux",
    pl.col("purchase_option") == "on_demand",
    pl.col("tenancy") == "shared",
    pl.col("software") == "none",
    pl.col("license_model") == "included",
)
"""The price that represents a machine; the others are ordered with it."""


@dataclass(frozen=True)
class Reference:
    """Siblings of a value: the rows with the same ``group`` that differ in ``apart``.

    A value stays between ``band`` times the least and the most of them, of which there are at least
    ``least``. It is judged where ``applies`` is true.
    """

    reason: str
    value: pl.Expr
    group: Sequence[str]
    apart: str
    band: tuple[float, float]
    applies: pl.Expr | None = None
    least: int = limits.LEAST_SIBLINGS

    def refused(self, rows: pl.DataFrame, base: pl.DataFrame) -> pl.DataFrame:
        """Return the ``rows`` out of the range of ``base``, with the columns of REFUSED.

        ``rows`` have price_id, is_old and move. A value that was out of the range before passes,
        and one that has moved less than news does.
        """
        judged = rows if self.applies is None else rows.filter(self.applies)
        judged = judged.with_columns(value=self.value).filter(pl.col("value").is_finite())
        if judged.is_empty():
            return pl.DataFrame(schema=REFUSED)
        wanted = judged.select(self.group).unique()
        members = (
            base.join(wanted, on=self.group, how="semi")
            .with_columns(value=self.value)
            .filter(pl.col("value").is_finite())
            .group_by(*self.group, self.apart)
            .agg(low=pl.col("value").min(), high=pl.col("value").max())
        )
        ranges = members.group_by(self.group).agg(
            lows=pl.col("low").bottom_k(2).sort(),
            highs=pl.col("high").top_k(2).sort(descending=True),
            members=pl.len(),
        )
        judged = (
            judged.join(ranges, on=self.group, how="inner")
            .join(members, on=[*self.group, self.apart], how="left")
            .with_columns(least=_without("lows", "low"), most=_without("highs", "high"))
        )
        others = pl.col("members") - pl.col("low").is_not_null().cast(pl.Int32)
        low, high = self.band
        value, least, most = (pl.col(name) for name in ("value", "least", "most"))
        was = value / pl.col("move").exp()
        is_news = ~pl.col("move").exp().is_between(*limits.LEVEL_MOVE)
        was_within = was.is_between(least * low, most * high) & is_news
        broken = ~value.is_between(least * low, most * high) & was_within.fill_null(True)
        figures = (pl.col(name).round_sig_figs(3) for name in ("value", "least", "most"))
        of = " ".join(name for name in self.group if name != "currency") or "the provider"
        text = pl.format(f"{{}}, others of {of} {{}} to {{}}", *figures)
        return refuse(judged, self.reason, broken & (others >= self.least), text)


def _without(ends: str, own: str) -> pl.Expr:
    """Take the end of a range without the row's own member, which may be that end."""
    first, second = (pl.col(ends).list.get(n, null_on_oob=True) for n in (0, 1))
    return pl.when(first == pl.col(own)).then(second).otherwise(first)


def _references(before: pl.DataFrame) -> Iterator[Reference]:
    """List what a plain price is compared with among the ones published."""
    price = pl.col("price")
    known = {n: pl.col(n).is_in(before[n].drop_nulls().unique().implode())
             for n in ("instance_type", "family", "accelerator")}  # fmt: skip
    is_new_type = ~known["instance_type"]
    judged = pl.col("is_old") | is_new_type
    is_cpu = judged & IS_CPU
    per_vcpu, per_gib = price / pl.col("vcpus"), price / pl.col("memory_gib")
    place = ("region", "currency")
    per_device, per_device_gib = (
        price / pl.when(pl.col(name) > 0).then(name)
        for name in ("devices", "accelerator_memory_gib")
    )
    by_device = ("accelerator", "currency")
    yield from (
        Reference("series", per_vcpu, (*place, "family", "is_cpu"), "instance_type",
                  limits.SERIES_RANGE, is_cpu),
        Reference("series", per_vcpu, (*place, "is_cpu"), "family", limits.PROVIDER_RANGE,
                  is_cpu & ~known["family"]),
        Reference("device", per_device, by_device, "instance_type", limits.DEVICE_RANGE, judged,
                  least=1),
        Reference("device", per_device_gib, ("currency",), "accelerator", limits.PROVIDER_RANGE,
                  judged & ~known["accelerator"]),
    )  # fmt: skip
    for value, applies in ((per_vcpu, ~pl.col("burstable").fill_null(False)), (per_gib, True)):
        yield Reference("series", value, place, "family", limits.FLOOR_RANGE, is_new_type & applies)


IS_CPU = (pl.col("devices") == 0) & ~pl.col("burstable").fill_null(False) & (pl.col("vcpus") > 1)


def refused_levels(rows: pl.DataFrame, releases: Releases) -> list[pl.DataFrame]:
    """Compare fixed prices with other regions, types and clouds, and new ones with what is known.

    Prices of a new machine whose plain price is refused are refused with it.
    """
    judged = rows.filter("is_new", pl.col("price").is_not_null())
    plain = judged.filter(IS_PLAIN)
    new = judged.filter(~pl.col("is_old"))
    found: list[pl.DataFrame] = []
    if plain.height:
        now, before = (plain_prices(side, releases) for side in (releases.new, releases.old))
        plain = plain.with_columns(is_cpu=IS_CPU)
        regions = Reference("regions", pl.col("price"), ("instance_type", "currency"), "region",
                            limits.REGION_RANGE)  # fmt: skip
        found.append(regions.refused(plain, now))
        found += [one.refused(plain, before) for one in _references(before)]
        found += [_twins(plain, now, before), *_clouds(plain, before, releases)]
    if new.is_empty():
        return found
    found += _new_prices(new, releases)
    ids = pl.concat(found)["price_id"].unique() if found else pl.Series([], dtype=pl.String)
    new = new.with_columns(is_refused=pl.col("price_id").is_in(ids.implode()))
    known = releases.by_place["region"].unique().implode()
    is_plain = IS_PLAIN.sum().over("region")
    share = (pl.col("is_refused") & IS_PLAIN).sum().over("region") / pl.max_horizontal(1, is_plain)
    depends = (pl.col("is_refused") & IS_PLAIN).any().over(PLACE) | (
        ~pl.col("region").is_in(known) & (share > limits.COMMON_SHARE)
    )
    text = pl.lit("its on-demand price, or those of its region, are held")
    return [*found, refuse(new, "on_demand", depends & ~pl.col("is_refused"), text)]


def plain_prices(side: Candidate, releases: Releases) -> pl.DataFrame:
    """Return the plain prices of a release with the figures of their machines."""
    return (
        side.table(PRICES)
        .filter(IS_PLAIN, pl.col("effective_hourly").is_not_null())
        .select(*PLACE, price=PRICE)
        .collect(engine="streaming")
        .join(releases.types, on="instance_type", how="left")
        .with_columns(is_cpu=IS_CPU)
    )


def _clouds(rows: pl.DataFrame, before: pl.DataFrame, releases: Releases) -> Iterator[pl.DataFrame]:
    """Compare the price of one accelerator with what other clouds ask for it."""
    is_known = pl.col("instance_type").is_in(before["instance_type"].unique().implode())
    judged = rows.filter(
        pl.col("devices") > 0, ~pl.col("moving"), pl.col("is_old") | ~is_known, currency="USD"
    )
    if judged.is_empty() or releases.peers is None:
        return
    peers = releases.peers.filter(pl.col("provider") != releases.new.provider).collect()
    value = pl.col("price") / pl.col("devices")
    clouds = Reference("device", value, ("accelerator",), "provider", limits.CLOUDS_RANGE)
    yield clouds.refused(judged, peers)


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
    """Compare new prices with the plain one of their machine: as others of their kind are to it."""
    types = pl.col("instance_type").is_in(new["instance_type"].unique().implode())
    kind = (*SYSTEM, *PURCHASE, "commitment_plan", "payment_option", "currency")
    usd = (
        releases.new.table(PRICES).filter(types, IS_PLAIN).sort("price_id")
        .select(*PLACE, plain=PRICE).collect().unique(PLACE, keep="first")
    )  # fmt: skip
    known = releases.by_place["currency"].unique().to_list()
    for currency in new["currency"].unique().to_list():
        if currency in known or currency not in limits.RATES:
            continue
        same = [name for name in kind if name != "currency"]
        base = releases.new.table(PRICES).filter(types, currency="USD")
        on = ["region", "zone", "instance_type", *same]
        dollars = base.select(*on, dollars=PRICE).collect()
        both = new.filter(currency=currency).join(dollars, on=on, nulls_equal=True)
        rate = pl.col("price") / pl.col("dollars") / limits.RATES[currency]
        low, high = limits.RATE_RANGE
        text = pl.format("{} times the dollar price", rate.round_sig_figs(3))
        yield refuse(both, "unit", ~rate.is_between(low, high), text)
    fixed = new.filter(~IS_PLAIN, ~pl.col("moving"), pl.col("term_months") == 0)
    judged = fixed.join(usd, on=PLACE, how="inner")
    ratio = pl.col("price") / pl.col("plain")
    is_on_demand, shares = pl.col("purchase_option") == "on_demand", limits.LEAST_OF_PLAIN
    least = pl.when(is_on_demand).then(shares["on_demand"]).otherwise(shares["other"])
    text = pl.format("{} of its plain price", ratio.round_sig_figs(3))
    yield refuse(judged, "order", ratio < least, text)


def _twins(rows: pl.DataFrame, now: pl.DataFrame, before: pl.DataFrame) -> pl.DataFrame:
    """Compare shared bare metal with the virtual machine of its size, as the type usually does.

    Another widely used table has the dedicated-tenancy price there, 6 to 10 % above
    (docs/known-wrong-numbers.md, A13).
    """
    on = ["region", "currency", "family", "vcpus", "local_disk_gib"]
    usual, current = (_metal_ratios(machines, on) for machines in (before, now))
    families = usual.group_by("family").agg(of_family=pl.col("ratio").median())
    usual = usual.group_by("instance_type").agg(usual=pl.col("ratio").median())
    ids = rows.filter("bare_metal").select("price_id", "region", "currency", "instance_type")
    metal = ids.join(current, on=["region", "currency", "instance_type"], how="inner").join(
        usual, on="instance_type", how="left"
    )
    metal = metal.join(families, on="family", how="left")
    ratio, expected = pl.col("ratio"), pl.coalesce("usual", "of_family", 1.0)
    apart = (ratio / expected - 1).abs() > limits.TWIN_TOLERANCE
    text = pl.format("{} of its virtual twin", ratio.round_sig_figs(3))
    return refuse(metal, "twin", apart, text)


def _metal_ratios(machines: pl.DataFrame, on: list[str]) -> pl.DataFrame:
    """Divide the prices of bare-metal machines by those of their virtual twins."""
    virtual = machines.filter(~pl.col("bare_metal")).group_by(on).agg(twin=pl.col("price").max())
    metal = machines.filter("bare_metal").join(virtual, on=on, how="inner", nulls_equal=True)
    return metal.with_columns(ratio=pl.col("price") / pl.col("twin"))
