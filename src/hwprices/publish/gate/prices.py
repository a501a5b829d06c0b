"""Judge prices that came or changed by what should be near them.

A reference is a set of rows that a price is compared with: its own past, the same type in other
regions, the other types of its family or accelerator, and the prices that it is composed of or
ordered with. Each reference returns the rows that it refuses: price_id, reason and reference.
Prices are floats here: they are compared, and never published.
"""

import math

import polars as pl

from hwprices.publish.gate import limits
from hwprices.publish.gate.candidate import PRICES
from hwprices.publish.gate.differences import MOVING_OPTIONS, PURCHASE, Releases
from hwprices.units import HOURS_PER_YEAR

MACHINE = ("region", "instance_type", "os", "software", "license_model", "tenancy", "currency")
PLAN = (*MACHINE, "purchase_option", "commitment_plan", "payment_option")

SAYS_NOT_BELOW = ("spot_equals_on_demand", "spot_above_on_demand", "placeholder")
"""Flags that say why a spot price is not below on-demand. Others, such as availability_unknown on
every price of Oracle and OVHcloud, say nothing about the price."""

PRICE = pl.col("effective_hourly").cast(pl.Float64)

IS_PLAIN = pl.all_horizontal(
    pl.col("os") == "linux",
    pl.col("purchase_option") == "on_demand",
    pl.col("tenancy") == "shared",
    pl.col("software") == "none",
    pl.col("license_model") == "included",
)
"""The price that represents a machine; the others are ordered with it."""

REFUSED = {"price_id": pl.String, "reason": pl.String, "reference": pl.String}


def refused_in_a_region(rows: pl.DataFrame, releases: Releases) -> pl.DataFrame:
    """Judge the prices of some regions by themselves and by the others of their machine.

    ``rows`` are those of ``Releases.differences``. Returns price_id, reason and reference; a row
    that several references refuse is returned once for each.
    """
    judged = rows.filter("is_new", pl.col("price").is_not_null())
    if judged.is_empty():
        return pl.DataFrame(schema=REFUSED)
    found = [*_itself(judged), *_order(judged, releases)]
    if not releases.is_first:
        found += _components(judged, releases)
    return pl.concat([pl.DataFrame(schema=REFUSED), *found])


def refused_everywhere(rows: pl.DataFrame, releases: Releases) -> pl.DataFrame:
    """Judge fixed prices by other regions, other types and older releases."""
    judged = rows.filter("is_new", ~pl.col("moving"), pl.col("price").is_not_null())
    found = [pl.DataFrame(schema=REFUSED)]
    for reference in (_levels, _moves, _creep):
        found += reference(judged, releases)
    return pl.concat(found)


def beside(refused: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Refuse the other rows of a group of which more than half of what changed is refused.

    A mistake seldom breaks a limit in every row that it changes: a tenth of the price of one part
    is a small move of a machine that has little of it.
    """
    hit = refused.select("price_id").unique().with_columns(hit=pl.lit(True))
    changed = rows.filter("is_new").join(hit, on="price_id", how="left")
    changed = changed.with_columns(pl.col("hit").fill_null(False), pl.col("family").fill_null(""))
    many = pl.any_horizontal(
        (pl.col("hit").mean().over(*group) > limits.BESIDE)
        & (pl.col("hit").sum().over(*group) >= limits.BESIDE_ROWS)
        for group in limits.GROUPS
    )
    broken = ~pl.col("hit") & many
    return _refuse(changed, "beside", broken, pl.lit("most of what changed with it is held"))


def _refuse(rows: pl.DataFrame, reason: str, broken: pl.Expr, reference: pl.Expr) -> pl.DataFrame:
    return rows.filter(broken.fill_null(False)).select(
        "price_id", reason=pl.lit(reason), reference=reference
    )


def _times(move: pl.Expr) -> pl.Expr:
    """Write a factor, given as a logarithm: ×0.56."""
    return pl.format("×{}", move.exp().round_sig_figs(3))


def is_factor(ratio: pl.Expr) -> pl.Expr:
    """Return whether a ratio is one that a mistaken unit makes."""
    logs = (math.log(factor) for factor in limits.FACTORS)
    near = ((ratio.log().abs() - log).abs() < limits.FACTOR_TOLERANCE for log in logs)
    return pl.any_horizontal(*near)


def _itself(rows: pl.DataFrame) -> list[pl.DataFrame]:
    """Compare a price with its parts, its own past, and the factors that units make."""
    known = rows.filter("is_old")
    hours = pl.col("term_months").cast(pl.Float64) * (HOURS_PER_YEAR / 12)
    hourly, upfront = (pl.col(name).cast(pl.Float64) for name in ("hourly", "upfront"))
    total = hourly.fill_null(0) + pl.when(upfront.is_not_null()).then(upfront / hours).otherwise(0)
    stated = hourly.is_not_null() | upfront.is_not_null()
    unit = pl.any_horizontal(
        pl.col(name) != pl.col(f"old_{name}") for name in ("currency", "billing_unit")
    )
    ids = ("sku_id", "sku_price_id", "hourly")
    lost = pl.any_horizontal(
        pl.col(n).is_null() & pl.col(f"old_{n}").is_not_null() for n in ids
    ) & (pl.col("price") == pl.col("old_price"))
    earlier = pl.col("effective_from") < pl.col("old_effective_from")
    low, high = math.log(limits.SHARED_CUT), math.log(limits.SHARED_RISE)
    spot = math.log(limits.SPOT_RANGE)
    far = pl.when("moving").then(~pl.col("move").is_between(-spot, spot))
    jump = far.otherwise(~pl.col("move").is_between(low, high))
    return [
        _refuse(known, "unit", unit, pl.format("was {} {}", "old_currency", "old_billing_unit")),
        _refuse(
            rows,
            "sum",
            stated & ((total / pl.col("price") - 1).abs() > limits.SUM_TOLERANCE),
            pl.format("hourly and upfront make {}", total.round_sig_figs(4)),
        ),
        _refuse(known, "factor", is_factor(pl.col("move").exp()), _times(pl.col("move"))),
        _refuse(known, "older", earlier, pl.format("began {}", "old_effective_from")),
        _refuse(
            known,
            "basis",
            lost | (pl.col("basis") != pl.col("old_basis")),
            pl.format("was {}", "old_basis"),
        ),
        _refuse(known, "jump", jump, _times(pl.col("move"))),
    ]


def _components(rows: pl.DataFrame, releases: Releases) -> list[pl.DataFrame]:
    """Compare composed prices with the sum of their parts."""
    composed = rows.filter(pl.col("basis") != "listed", ~pl.col("moving"))
    if composed.is_empty():
        return []
    parts = releases.new.table("price_components").join(
        composed.lazy().select("price_id"), on="price_id", how="semi"
    )
    part = pl.col("quantity").cast(pl.Float64) * pl.col("unit_price").cast(pl.Float64)
    sums = parts.group_by("price_id").agg(total=part.sum()).collect(engine="streaming")
    both = composed.join(sums, on="price_id", how="inner")
    hourly = pl.col("hourly").cast(pl.Float64)
    apart = (hourly / pl.col("total") - 1).abs() > limits.PARTS_TOLERANCE
    text = pl.format("its parts make {}", pl.col("total").round_sig_figs(4))
    return [_refuse(both, "parts", apart, text)]


def _order(rows: pl.DataFrame, releases: Releases) -> list[pl.DataFrame]:
    """Compare prices of one machine that have an order: spot, Linux and longer terms are lower."""
    option, months = pl.col("purchase_option"), pl.col("term_months")
    included = pl.col("license_model") == "included"
    excused = pl.col("flags").list.eval(pl.element().is_in(SAYS_NOT_BELOW)).list.any()
    without_os = [name for name in (*PLAN, "term_months", "zone") if name != "os"]
    fixed = included & ~option.is_in(MOVING_OPTIONS)
    relations = (
        ("spot", option == "spot", option == "on_demand", [*MACHINE]),
        ("linux", fixed & (pl.col("os") == "linux"), fixed & (pl.col("os") == "windows"),
         without_os),
        ("36 months", months == 36, months == 12, [*PLAN, "zone"]),
    )  # fmt: skip
    found = []
    for name, lower, upper, on in relations[: 1 if releases.is_first else None]:
        involved = rows.filter(lower | upper)
        if involved.is_empty():
            continue
        published = involved.lazy().select("price_id", "old_price", judged=pl.lit(True))
        families = releases.types.lazy().select("instance_type", "family")
        types = involved["instance_type"].unique().implode()
        prices = (
            releases.new.table(PRICES)
            .filter(
                lower | upper,
                pl.col("effective_hourly").is_not_null(),
                pl.col("instance_type").is_in(types),
            )
            .select("price_id", *dict.fromkeys((*on, *PLAN, "term_months", "zone")),
                    price=PRICE, excused=excused)
            .join(published, on="price_id", how="left")
            .join(families, on="instance_type", how="left")
            .with_columns(
                pl.col("judged").fill_null(False),
                was=pl.when("judged").then("old_price").otherwise("price"),
            )
            .with_columns(key=pl.struct(on).hash())
            .collect()
        )  # fmt: skip
        below, above = (
            prices.filter(side).select("key", "price_id", "price", "was", "judged", *more)
            for side, more in ((lower, ["family", "excused"]), (upper, []))
        )
        pairs = below.join(above, on="key", how="inner", suffix="_above")
        touched = pl.col("judged") | pl.col("judged_above")
        was_below = (pl.col("was") < pl.col("was_above")).fill_null(True)
        if name == "spot":  # never published, whatever was before
            broken = (pl.col("price") >= pl.col("price_above")) & ~pl.col("excused")
        else:
            broken = (pl.col("price") > pl.col("price_above")) & (
                pl.col("was") <= pl.col("was_above")
            ).fill_null(True)
        equal = (pl.col("price") == pl.col("price_above")) & was_below & touched
        if name == "36 months":
            equal = pl.lit(False)
        many = (equal.sum() >= limits.COMMON_ROWS) & (equal.mean() > limits.SIBLINGS_SHARE)
        wrong = pairs.filter(touched & (broken | (equal & many.over("family"))))
        words = pl.format(f"{name} {{}}, above it {{}}", pl.col("price"), pl.col("price_above"))
        for side in ("", "_above"):
            found.append(
                wrong.filter(f"judged{side}").select(
                    price_id=f"price_id{side}", reason=pl.lit("order"), reference=words
                )
            )
    return found


def _levels(rows: pl.DataFrame, releases: Releases) -> list[pl.DataFrame]:
    """Compare plain prices with other regions, and per vCPU and accelerator with other types.

    Prices of a new machine whose plain price is refused are refused with it.
    """
    plain = rows.filter(IS_PLAIN)
    if plain.is_empty():
        return []
    now, before = (
        side.table(PRICES)
        .filter(IS_PLAIN, pl.col("effective_hourly").is_not_null())
        .select("region", "instance_type", "currency", price=PRICE)
        .collect(engine="streaming")
        .join(releases.types, on="instance_type", how="left")
        for side in (releases.new, releases.old)
    )
    price, currency = pl.col("price"), "currency"
    is_cpu = (pl.col("devices") == 0) & ~pl.col("burstable").fill_null(False)
    cpus = before.filter(is_cpu, pl.col("vcpus") > 1)
    known = {n: pl.col(n).is_in(before[n].drop_nulls().unique().implode())
             for n in ("instance_type", "family", "accelerator")}  # fmt: skip
    is_new_type = ~known["instance_type"]
    per_vcpu, per_gib = price / pl.col("vcpus"), price / pl.col("memory_gib")
    place = ("region", currency)
    levels = (
        ("series", cpus, is_cpu, per_vcpu, (*place, "family"), "instance_type",
         limits.SERIES_RANGE),
        ("series", cpus, is_cpu & ~known["family"], per_vcpu, place, "family",
         limits.PROVIDER_RANGE),
        ("series", cpus, is_new_type, per_vcpu, place, "family", limits.FLOOR_RANGE),
        ("series", cpus, is_new_type, per_gib, place, "family", limits.FLOOR_RANGE),
        ("device", before.filter(pl.col("devices") > 0), pl.col("devices") > 0,
         price / pl.col("devices"), ("accelerator", currency), "instance_type",
         limits.DEVICE_RANGE),
        ("device", before, ~known["accelerator"], price / pl.col("accelerator_memory_gib"),
         (currency,), "accelerator", limits.PROVIDER_RANGE),
    )  # fmt: skip
    found = [out_of_range(plain, "regions", now, price, ("instance_type", currency), "region",
                    limits.REGION_RANGE)]  # fmt: skip
    for reason, base, applies, value, group, apart, allowed in levels:
        judged = plain.filter(pl.col("is_old") | is_new_type, applies)
        found.append(out_of_range(judged, reason, base, value, group, apart, allowed))
    found += [_twins(plain, now, before)]
    new = rows.filter(~pl.col("is_old")).with_columns(
        is_plain=IS_PLAIN,
        is_refused=pl.col("price_id").is_in(pl.concat(found)["price_id"].implode()),
    )
    machine = ("region", "instance_type", "currency")
    is_new_region = ~pl.col("region").is_in(before["region"].unique().implode())
    plain_prices = pl.col("is_plain").sum().over("region")
    share = pl.col("is_refused").sum().over("region") / pl.max_horizontal(1, plain_prices)
    depends = pl.col("is_refused").any().over(machine) | (
        is_new_region & (share > limits.COMMON_SHARE)
    )
    text = pl.lit("its on-demand price, or those of its region, are held")
    return [*found, _refuse(new, "on_demand", depends & ~pl.col("is_refused"), text)]


def out_of_range(
    rows: pl.DataFrame,
    reason: str,
    base: pl.DataFrame,
    value: pl.Expr,
    group: tuple[str, ...],
    apart: str,
    allowed: tuple[float, float],
) -> pl.DataFrame:
    """Compare a value with its range among the rows of a group that differ in column ``apart``.

    ``rows`` have price_id, is_old, price and old_price, with which a value that was out of the
    range before passes. Returns the columns of REFUSED.
    """
    by_member = (
        base.with_columns(value=value)
        .filter(pl.col("value").is_not_null(), *(pl.col(name).is_not_null() for name in group))
        .group_by(*group, apart)
        .agg(low=pl.col("value").min(), high=pl.col("value").max())
    )
    ranges = by_member.group_by(group).agg(
        lows=pl.col("low").bottom_k(2).sort(),
        highs=pl.col("high").top_k(2).sort(descending=True),
        members=pl.len(),
    )
    judged = (
        rows.with_columns(value=value)
        .filter(pl.col("value").is_not_null())
        .join(ranges, on=group, how="inner")
        .join(by_member, on=[*group, apart], how="left")
        .with_columns(
            _without("lows", "low").alias("least"), _without("highs", "high").alias("most")
        )
    )
    others = pl.col("members") - pl.col("low").is_not_null().cast(pl.Int32)
    low, high = allowed
    value, least, most = (pl.col(name) for name in ("value", "least", "most"))
    published = value * (pl.col("old_price") / pl.col("price")).fill_null(1.0)
    was_within = ~pl.col("is_old") | published.is_between(least * low, most * high)
    broken = ~value.is_between(least * low, most * high) & was_within
    figures = (pl.col(name).round_sig_figs(3) for name in ("value", "least", "most"))
    of = " ".join(name for name in group if name != "currency") or "the provider"
    text = pl.format(f"{{}}, others of {of} {{}} to {{}}", *figures)
    return _refuse(judged, reason, broken & (others >= limits.LEAST_SIBLINGS), text)


def _without(ends: str, own: str) -> pl.Expr:
    """Take the end of a range without the row's own member, which may be that end."""
    first, second = (pl.col(ends).list.get(n, null_on_oob=True) for n in (0, 1))
    return pl.when(first == pl.col(own)).then(second).otherwise(first)


def _twins(rows: pl.DataFrame, now: pl.DataFrame, before: pl.DataFrame) -> pl.DataFrame:
    """Compare shared bare metal with the virtual machine of its size, as the type usually does.

    Another widely used table has the dedicated-tenancy price there, 6 to 10 % above
    (docs/known-wrong-numbers.md, A13).
    """
    on = ["region", "currency", "family", "vcpus", "local_disk_gib"]
    usual, current = (_metal_ratios(machines, on) for machines in (before, now))
    usual = usual.group_by("instance_type").agg(usual=pl.col("ratio").median())
    ids = rows.filter("bare_metal").select("price_id", "region", "currency", "instance_type")
    metal = ids.join(current, on=["region", "currency", "instance_type"], how="inner").join(
        usual, on="instance_type", how="left"
    )
    ratio, expected = pl.col("ratio"), pl.col("usual").fill_null(1.0)
    apart = (ratio / expected - 1).abs() > limits.TWIN_TOLERANCE
    text = pl.format("{} of its virtual twin", ratio.round_sig_figs(3))
    return _refuse(metal, "twin", apart, text)


def _metal_ratios(machines: pl.DataFrame, on: list[str]) -> pl.DataFrame:
    """Divide the prices of bare-metal machines by those of their virtual twins."""
    virtual = machines.filter(~pl.col("bare_metal")).group_by(on).agg(twin=pl.col("price").max())
    metal = machines.filter("bare_metal").join(virtual, on=on, how="inner", nulls_equal=True)
    return metal.with_columns(ratio=pl.col("price") / pl.col("twin"))


def _moves(rows: pl.DataFrame, releases: Releases) -> list[pl.DataFrame]:
    """Compare the move of a price with those of its type elsewhere and of its surroundings."""
    moved = rows.filter(pl.col("move").abs() > 1e-9).with_columns(up=pl.col("move") > 0)
    if moved.is_empty():
        return []
    places, types = (t.filter(~pl.col("moving")) for t in (releases.by_place, releases.by_type))
    own = releases.by_place_and_type(moved["instance_type"].unique())
    for level, totals, keys in (
        ("own", own, ("region", "instance_type", *PURCHASE)),
        ("around", places, ("region", *PURCHASE)),
        ("type", types, ("instance_type", *PURCHASE)),
    ):
        moved = _with_share(moved, totals, keys, level)
    others, same = pl.col("type_total") - pl.col("own_total"), pl.col("type") - pl.col("own")
    median = pl.col("type_median")
    near = (pl.col("move") - median).abs() <= pl.max_horizontal(0.1, 0.3 * median.abs())
    is_shared = (others == 0) | ((same / others >= limits.SIBLINGS_SHARE) & near)
    in_region = (
        (pl.col("around") >= limits.COMMON_ROWS / 2)
        & (pl.col("around") / pl.col("around_total") > limits.COMMON_SHARE)
        & (pl.col("around_families") >= limits.COMMON_FAMILIES)
    )
    far = pl.col("move").abs() > math.log(limits.ALONE)
    text = pl.format(
        "{}; {} of {} prices in other regions moved so", _times(pl.col("move")), same, others
    )
    found = [_refuse(moved, "alone", ~is_shared & (far | in_region), text)]
    for by in ((), ("os",), ("purchase_option",), ("currency",)):
        group = _with_share(moved, places, by, "all")
        is_common = (
            (pl.col("all") >= limits.COMMON_ROWS)
            & (pl.col("all") / pl.col("all_total") > limits.COMMON_SHARE)
            & (pl.col("all_families") >= limits.COMMON_FAMILIES)
            & (pl.col("all_spread") < limits.COMMON_SPREAD)
            & (pl.col("move").abs() > limits.MOVED)
        )
        group_name = pl.concat_str(*by, separator=" ") if by else pl.lit("all prices")
        text = pl.format(
            "{}: {} of {} prices moved by {}",
            *(group_name, "all", "all_total", _times(pl.col("all_median"))),
        )
        found.append(_refuse(group, "common", is_common, text))
    return [*found, _license(moved, types)]


def _with_share(
    moved: pl.DataFrame, totals: pl.DataFrame, by: tuple[str, ...], name: str
) -> pl.DataFrame:
    """Add what the group of each row did.

    ``name`` is how many prices moved its way; <name>_total is how many there are; <name>_median,
    _spread and _families describe those that moved.
    """
    on = [*by, "up"]
    stats = moved.group_by(on).agg(
        pl.len().cast(pl.Int64).alias(name),
        pl.col("move").median().alias(f"{name}_median"),
        (pl.col("move").quantile(0.9) - pl.col("move").quantile(0.1)).alias(f"{name}_spread"),
        pl.col("family").n_unique().alias(f"{name}_families"),
    )
    joined = moved.join(stats, on=on, how="left", maintain_order="left")
    total = pl.col("total").sum().cast(pl.Int64).alias(f"{name}_total")
    if not by:
        return joined.with_columns(pl.lit(totals["total"].sum()).alias(f"{name}_total"))
    counts = totals.group_by(by).agg(total)
    return joined.join(counts, on=list(by), how="left", maintain_order="left", nulls_equal=True)


def _license(moved: pl.DataFrame, totals: pl.DataFrame) -> pl.DataFrame:
    """Find families of which Linux and Windows move by the same factor in every option.

    A vendor that changes the price of a machine leaves that of the license; a mistaken currency
    changes both.
    """
    stats = moved.group_by("family").agg(
        low=pl.col("move").quantile(0.05),
        high=pl.col("move").quantile(0.95),
        systems=(pl.col("os") == "windows").any() & (pl.col("os") == "linux").any(),
        moved=pl.len(),
    )
    counts = totals.group_by("family").agg(pl.col("total").sum())
    both = moved.join(stats, on="family").join(counts, on="family", how="left")
    by_one_factor = (
        pl.col("systems")
        & (pl.col("moved") >= limits.COMMON_ROWS)
        & (pl.col("moved") > limits.LICENSE_SHARE * pl.col("total"))
        & (pl.col("high") - pl.col("low") < limits.COMMON_SPREAD / 4)
        & (pl.col("move").abs() > limits.COMMON_SPREAD)
    )
    text = pl.format("{}: all systems and options moved by {}", "family", _times(pl.col("move")))
    return _refuse(both, "license", by_one_factor, text)


def _creep(rows: pl.DataFrame, releases: Releases) -> list[pl.DataFrame]:
    """Compare a fixed price with those of last week and last month: it moves in one direction.

    What was held for that before is held until it is back, or accepted.
    """
    moved = rows.filter(pl.col("move").abs() > 1e-9)
    if moved.is_empty():
        return []
    found = []
    if releases.held is not None:
        known = releases.held.filter(reason="creep")["row"].implode()
        text = pl.format("{} since it was held", _times(pl.col("move")))
        found.append(_refuse(moved, "creep", pl.col("price_id").is_in(known), text))
    if len(releases.past) < 2:
        return found
    for number, prices in enumerate(releases.past):
        then = prices.select("price_id", (PRICE.log()).alias(f"log_{number}"))
        is_moved = pl.col("price_id").is_in(moved["price_id"].implode())
        moved = moved.join(then.filter(is_moved).collect(), on="price_id", how="left")
    last = pl.col("old_price").log()
    week, month = last - pl.col("log_0"), pl.col("log_0") - pl.col("log_1")
    one_way = (week.sign() == pl.col("move").sign()) & (month.sign() == week.sign())
    total = pl.col("price").log() - pl.col("log_1")
    is_far = total.abs() > math.log(1 + limits.CREEP)
    text = pl.format("{} within a month, in steps", _times(total))
    return [*found, _refuse(moved, "creep", one_way & is_far, text)]
