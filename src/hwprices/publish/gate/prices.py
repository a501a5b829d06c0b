"""Judge prices that came or changed by what should be near them.

``_itself``, ``_order`` and ``_copied`` look at the price and its machine, ``references`` at levels
and ``moves`` at what else moved. Each returns the rows that it refuses: price_id, reason and
reference. Prices are floats here: they are compared, and never published.
"""

import math
from collections.abc import Iterator

import polars as pl

from hwprices.publish.gate import limits
from hwprices.publish.gate.candidate import PRICES
from hwprices.publish.gate.differences import (
    MOVING_OPTIONS,
    PAGE,
    PURCHASE,
    Releases,
    is_out_of_time,
)
from hwprices.units import HOURS_PER_YEAR

PLACE = ("region", "instance_type", "currency")
SYSTEM = ("os", "software", "license_model", "tenancy")
MACHINE = (*PLACE, *SYSTEM)
PLAN = (*MACHINE, "purchase_option", "commitment_plan", "payment_option")

SAYS_NOT_BELOW = ("spot_equals_on_demand", "spot_above_on_demand", "placeholder")
"""Flags that say why a spot price is not below on-demand. Others, such as availability_unknown on
every price of Oracle and OVHcloud, say nothing about the price."""

PRICE = pl.col("effective_hourly").cast(pl.Float64)

REFUSED = {"price_id": pl.String, "reason": pl.String, "reference": pl.String}


def refused_in_a_region(rows: pl.DataFrame, releases: Releases) -> pl.DataFrame:
    """Judge the prices of some regions by themselves and by the others of their machine.

    ``rows`` are those of ``Releases.differences``. Returns price_id, reason and reference; a row
    that several references refuse is returned once for each.
    """
    judged = rows.filter("is_new", pl.col("price").is_not_null())
    found = [pl.DataFrame(schema=REFUSED)]
    if judged.height:
        machines = _machine_prices(judged, releases)
        found += [*_itself(judged), *_order(judged, machines, releases.is_first)]
        if not releases.is_first:
            found += _copied(judged, machines)
    known = rows.filter("is_new", "is_old")
    page = pl.struct(PAGE).is_in(releases.wrong_pages.select(pl.struct(PAGE)).to_series().implode())
    if releases.wrong_pages.height:
        found.append(refuse(known, "page", page, pl.format("{} is another's", "source_url")))
    dates = pl.format("began {}, seen {}", "old_effective_from", "old_observed_at")
    return pl.concat([*found, refuse(known, "older", is_out_of_time(releases.now), dates)])


def refuse(rows: pl.DataFrame, reason: str, broken: pl.Expr, reference: pl.Expr) -> pl.DataFrame:
    """Return the rows that break a limit, with the columns of REFUSED."""
    return rows.filter(broken.fill_null(False)).select(
        "price_id", reason=pl.lit(reason), reference=reference.fill_null("nothing")
    )


def times(move: pl.Expr) -> pl.Expr:
    """Write a factor, given as a logarithm: ×0.56."""
    return pl.format("×{}", move.exp().round_sig_figs(3))


def is_factor(ratio: pl.Expr, factors: tuple[float, ...] = limits.FACTORS) -> pl.Expr:
    """Return whether a ratio is one that a mistaken unit makes."""
    logs = (math.log(factor) for factor in factors)
    near = ((ratio.log().abs() - log).abs() < limits.FACTOR_TOLERANCE for log in logs)
    return pl.any_horizontal(*near)


def is_leap(ratio: pl.Expr) -> pl.Expr:
    """Return whether a value is so far from the published one that only a person can release it."""
    return ~ratio.is_between(1 / limits.LEAP, limits.LEAP, closed="none")


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
    ratio, move = pl.col("move").exp(), pl.col("move")
    fixed = pl.when("moving").then(1 / limits.SPOT_RANGE).otherwise(limits.SHARED_CUT)
    rise = pl.when("moving").then(limits.SPOT_RANGE).otherwise(limits.SHARED_RISE)
    far = ~ratio.is_between(fixed, rise)
    return [
        refuse(known, "unit", unit, pl.format("was {} {}", "old_currency", "old_billing_unit")),
        refuse(
            rows,
            "sum",
            stated & ((total / pl.col("price") - 1).abs() > limits.SUM_TOLERANCE),
            pl.format("hourly and upfront make {}", total.round_sig_figs(4)),
        ),
        refuse(known, "factor", is_factor(ratio), times(move)),
        refuse(
            known,
            "basis",
            lost | (pl.col("basis") != pl.col("old_basis")),
            pl.format("was {}", "old_basis"),
        ),
        refuse(known, "leap", far & is_leap(ratio), times(move)),
        refuse(known, "jump", far, times(move)),
    ]


def _machine_prices(rows: pl.DataFrame, releases: Releases) -> pl.DataFrame:
    """Read, once for all comparisons, every price of the machines of these rows.

    ``judged`` is whether it is one of the rows, ``excused`` whether it says why it is not below.
    """
    excused = pl.col("flags").list.eval(pl.element().is_in(SAYS_NOT_BELOW)).list.any()
    published = rows.lazy().select("price_id", "old_price", judged=pl.lit(True))
    return (
        releases.new.table(PRICES)
        .filter(
            pl.col("instance_type").is_in(rows["instance_type"].unique().implode()),
            pl.col("effective_hourly").is_not_null(),
        )
        .select("price_id", *PLAN, "term_months", "zone", price=PRICE, excused=excused)
        .join(published, on="price_id", how="left", maintain_order="left")
        .with_columns(
            pl.col("judged").fill_null(False),
            was=pl.when("judged").then("old_price").otherwise("price"),
        )
        .collect()
    )


def _order(rows: pl.DataFrame, machines: pl.DataFrame, is_first: bool) -> Iterator[pl.DataFrame]:
    """Compare prices of one machine that have an order: spot, Linux and longer terms are lower."""
    option, months = pl.col("purchase_option"), pl.col("term_months")
    of_system = ("os", "software", "license_model")
    plain_linux = [name for name in (*PLAN, "term_months", "zone") if name not in of_system]
    fixed = ~option.is_in(MOVING_OPTIONS)
    is_linux = pl.struct(of_system) == pl.struct(
        os=pl.lit("linux"), software=pl.lit("none"), license_model=pl.lit("included")
    )
    on_demand = option == "on_demand"
    relations = (
        ("spot", option == "spot", on_demand, [*MACHINE]),
        ("commitment", months > 0, on_demand, [*MACHINE]),
        ("linux", fixed & is_linux, fixed & ~is_linux, plain_linux),
        ("36 months", months == 36, months == 12, [*PLAN, "zone"]),
    )  # fmt: skip
    for name, lower, upper, on in relations[: 1 if is_first else None]:
        involved = rows.filter(lower | upper)
        if involved.is_empty():
            continue
        types = pl.col("instance_type").is_in(involved["instance_type"].unique().implode())
        prices = machines.filter(types, lower | upper).with_columns(key=pl.struct(on).hash())
        plain = ("key", "price_id", "price", "was", "judged")
        below, above = prices.filter(lower), prices.filter(upper)
        pairs = below.select(*plain, "excused").join(
            above.select(plain), on="key", how="inner", suffix="_above"
        )
        touched = pl.col("judged") | pl.col("judged_above")
        price, other = pl.col("price"), pl.col("price_above")
        if name == "spot":  # never published, whatever was before
            broken = (price >= other) & ~pl.col("excused")
        else:
            broken = (price > other) & (pl.col("was") <= pl.col("was_above")).fill_null(True)
        if name in ("spot", "commitment"):
            broken |= price < limits.LEAST_OF_OTHER * other
        wrong = pairs.filter(touched & broken)
        words = pl.format(f"{name} {{}}, above it {{}}", price, other)
        for side in ("", "_above"):
            yield wrong.filter(f"judged{side}").select(
                price_id=f"price_id{side}", reason=pl.lit("order"), reference=words
            )


def _copied(rows: pl.DataFrame, machines: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Find prices that now equal another of their machine, or the old one of another machine.

    They did not before, and there are several: the line, column or page of something else was read.
    """
    moved = rows.filter("is_old", pl.col("move").abs() > limits.MOVED)
    if moved.is_empty():
        return
    same = pl.struct(*PLACE, "price").hash()
    equal = moved.with_columns(key=same)
    others = machines.select(
        "price_id", other=pl.concat_str(*SYSTEM, *PURCHASE, separator=" "), key=same
    ).join(equal.select("key").unique(), on="key", how="semi")
    others = others.join(moved.select("price_id", "old_price"), on="price_id", how="left")
    own = equal.with_columns(own=pl.concat_str(*SYSTEM, *PURCHASE, separator=" "))
    pairs = own.join(others, on="key", suffix="_other").filter(
        pl.col("own") != pl.col("other"),
        pl.col("old_price") != pl.col("old_price_other").fill_null(pl.col("price")),
    )
    groups = ("region", "family", "purchase_option", "os")
    many = pl.col("price_id").n_unique().over(groups) >= limits.COPIES
    text = pl.format("equals {}", "other")
    yield refuse(pairs.unique("price_id", keep="first", maintain_order=True), "copied", many, text)
    line = ("region", *SYSTEM, *PURCHASE, "commitment_plan", "payment_option", "currency")
    fixed = moved.filter(~pl.col("moving"))
    before = fixed.select(*line, "instance_type", price="old_price", is_copy=pl.lit(True))
    before = before.unique((*line, "price"), keep="first", maintain_order=True)
    slipped = fixed.join(before, on=[*line, "price"], how="left", nulls_equal=True, suffix="_was")
    is_copy = pl.col("is_copy") & (pl.col("instance_type") != pl.col("instance_type_was"))
    copies = is_copy.fill_null(False).sum().over(line)
    most = (copies >= limits.LEAST_SIBLINGS) & (copies >= limits.COMMON_SHARE * pl.len().over(line))
    yield refuse(slipped, "copied", most, pl.format("{} of its line is another's", copies))
