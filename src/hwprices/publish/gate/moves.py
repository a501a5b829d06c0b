"""Judge moves: that of a price beside those of its machine, type, region and provider."""

import math
from collections.abc import Iterator

import polars as pl

from hwprices.publish.gate import limits
from hwprices.publish.gate.differences import PURCHASE, Releases
from hwprices.publish.gate.prices import PRICE, REFUSED, refuse, times


def refused_moves(rows: pl.DataFrame, releases: Releases) -> list[pl.DataFrame]:
    """Compare the move of a price with those of its siblings and of its surroundings."""
    changed = rows.filter("is_new", pl.col("move").abs() > limits.SAME)
    changed = changed.with_columns(up=pl.col("move") > 0)
    moved = changed.filter(~pl.col("moving"))
    if moved.is_empty():
        return []
    places, types = (t.filter(~pl.col("moving")) for t in (releases.by_place, releases.by_type))
    own = releases.by_place_and_type(moved["instance_type"].unique()).filter(~pl.col("moving"))
    found, raised = _regions(moved, changed.filter("moving"), places)
    return [
        *found,
        *_alone(moved, own, places, types),
        *_common(moved, places),
        *_rounded(changed),
        _license(moved.join(raised, on="region", how="anti"), types),
        *_creep(moved, releases),
    ]


def _alone(
    moved: pl.DataFrame, own: pl.DataFrame, places: pl.DataFrame, types: pl.DataFrame
) -> Iterator[pl.DataFrame]:
    """Find prices that moved while those of the type elsewhere, or the rest of the machine, stayed.

    A vendor reprices a machine, or a purchase option everywhere.
    """
    for level, totals, keys in (
        ("own", own, ("region", "instance_type", "os", *PURCHASE)),
        ("machine", own, ("region", "instance_type")),
        ("around", places, ("region", *PURCHASE)),
        ("type", types, ("instance_type", "os", *PURCHASE)),
    ):
        moved = _with_share(moved, totals, keys, level)
    others, same = pl.col("type_total") - pl.col("own_total"), pl.col("type") - pl.col("own")
    median, move = pl.col("type_median"), pl.col("move")
    least, share = limits.NEAR
    near = (move - median).abs() <= pl.max_horizontal(least, share * median.abs())
    is_shared = (others == 0) | ((same / others >= limits.SIBLINGS_SHARE) & near)
    in_region = (
        (pl.col("around") >= limits.COMMON_ROWS / 2)
        & (pl.col("around") / pl.col("around_total") > limits.COMMON_SHARE)
        & (pl.col("around_families") >= limits.COMMON_FAMILIES)
    )
    stays = pl.col("machine") / pl.col("machine_total") < limits.SIBLINGS_SHARE
    text = pl.format("{}; {} of {} prices in other regions moved so", times(move), same, others)
    is_apart = ~is_shared & stays & (move.abs() > math.log(limits.APART))
    yield refuse(moved, "apart", is_apart, text)
    far = move.abs() > math.log(limits.ALONE)
    yield refuse(moved, "alone", ~is_shared & (far | in_region), text)


def _regions(
    moved: pl.DataFrame, market: pl.DataFrame, places: pl.DataFrame
) -> tuple[list[pl.DataFrame], pl.DataFrame]:
    """Find regions of which too much moved on one day, and those that the vendor raised or cut.

    That is by one factor. The spot market follows only where a currency is mistaken.
    """
    common, text = _too_much(moved, places, ("region",))
    is_one = pl.col("all_spread") < limits.COMMON_SPREAD
    by_one = common.filter(is_one)
    regions = by_one.group_by("region").agg(median=pl.col("all_median").first())
    follows = (pl.col("move") - pl.col("median")).abs() < limits.COUPLED
    spots = market.join(regions, on="region").filter(
        follows.mean().over("region") > limits.SIBLINGS_SHARE,
        follows.sum().over("region") >= limits.COPIES,
    )
    wrong = by_one.join(spots, on="region", how="semi")
    also = pl.format("{} as all prices of {}", times(pl.col("median")), "region")
    every = pl.col("price_id").is_not_null()
    found = [
        refuse(common.filter(~is_one), "mixed", every, text),
        refuse(wrong, "common", every, text),
        refuse(spots, "common", every, also),
    ]
    return found, regions.join(spots, on="region", how="anti")


def _common(moved: pl.DataFrame, places: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Find systems, options and currencies, or all prices, that move by one factor everywhere.

    A small provider changes its list so.
    """
    if places["total"].sum() < limits.SMALL_LIST:
        return
    is_everywhere = places["region"].n_unique() == 1
    for by in ((), ("os",), ("purchase_option",), ("currency",)):
        common, text = _too_much(moved, places, by)
        of_region = pl.len().over([*by, "up", "region"]) / pl.len().over([*by, "up"])
        wide = is_everywhere | (of_region.max().over([*by, "up"]) < limits.ONE_REGION)
        yield refuse(common, "common", wide & (pl.col("all_spread") < limits.COMMON_SPREAD), text)


def _too_much(
    moved: pl.DataFrame, places: pl.DataFrame, by: tuple[str, ...]
) -> tuple[pl.DataFrame, pl.Expr]:
    """Select the prices of groups of which many moved one way, and say so."""
    group = _with_share(moved, places, by, "all")
    name = pl.concat_str(*by, separator=" ") if by else pl.lit("all prices")
    median = times(pl.col("all_median"))
    text = pl.format("{}: {} of {} prices moved by {}", name, "all", "all_total", median)
    return group.filter(
        pl.col("all") >= limits.COMMON_ROWS,
        pl.col("all") / pl.col("all_total") > limits.COMMON_SHARE,
        pl.col("all_families") >= limits.COMMON_FAMILIES,
        pl.col("move").abs() > limits.MOVED,
    ), text


def _rounded(changed: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Find prices that lost their decimals."""
    price, before = pl.col("price"), pl.col("old_price")
    for places in range(4):
        is_rounded = (price == price.round(places)) & ((before.round(places) - price).abs() < 1e-9)
        many = (is_rounded.sum() >= limits.COMMON_ROWS) & (is_rounded.mean() > limits.ROUNDED)
        text = pl.lit(f"most prices that changed lost all but {places} decimals")
        yield refuse(changed, "mixed", many, text)


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
        & pl.col("move").exp().is_between(*limits.LICENSE_CUT, closed="none").not_()
    )
    text = pl.format("{}: all systems and options moved by {}", "family", times(pl.col("move")))
    return refuse(both, "license", by_one_factor, text)


def _creep(moved: pl.DataFrame, releases: Releases) -> Iterator[pl.DataFrame]:
    """Compare a fixed price, and its family, with those of last week, month and quarter.

    What was held for that before is held until it is back, or accepted.
    """
    if releases.held is not None:
        known = releases.held.filter(reason="creep")["row"].implode()
        text = pl.format("{} since it was held", times(pl.col("move")))
        yield refuse(moved, "creep", pl.col("price_id").is_in(known), text)
    if len(releases.past) < 2:
        return
    is_moved = pl.col("price_id").is_in(moved["price_id"].implode())
    for number, prices in enumerate(releases.past):
        then = prices.filter(is_moved).select("price_id", (PRICE.log()).alias(f"log_{number}"))
        moved = moved.join(then.collect(), on="price_id", how="left")
    last, week = pl.col("old_price").log(), pl.col("log_0")
    for number in range(1, len(releases.past)):
        before = pl.col(f"log_{number}")
        total = pl.col("price").log() - before
        one_way = ((last - week).sign() == pl.col("move").sign()) & (
            (week - before).sign() == pl.col("move").sign()
        )
        is_far = total.abs() > math.log(1 + limits.CREEP)
        text = pl.format("{} within weeks, in steps", times(total))
        yield refuse(moved, "creep", one_way & is_far, text)


def beside(refused: pl.DataFrame, rows: pl.DataFrame, releases: Releases) -> list[pl.DataFrame]:
    """Refuse the other rows of a group of which more than half of what changed is refused.

    A mistake seldom breaks a limit in every row that it changes: a tenth of the price of one part
    is a small move of a machine that has little of it.
    """
    lasting = refused.filter(pl.col("reason").is_in(limits.LASTING))
    hit = lasting.select("price_id").unique().with_columns(hit=pl.lit(True))
    if hit.is_empty():
        return [pl.DataFrame(schema=REFUSED)]
    changed = rows.filter("is_new").join(hit, on="price_id", how="left")
    changed = changed.with_columns(pl.col("hit").fill_null(False), pl.col("family").fill_null(""))
    fixed, market = changed.filter(~pl.col("moving")), changed.filter("moving")
    many = pl.any_horizontal(
        (pl.col("hit").mean().over(*group) > limits.BESIDE)
        & (pl.col("hit").sum().over(*group) >= limits.BESIDE_ROWS)
        for group in limits.GROUPS
    )
    text = pl.lit("most of what changed with it is held")
    found = [refuse(fixed, "beside", ~pl.col("hit") & many, text)]
    totals = releases.by_place.filter(~pl.col("moving")).group_by("region").agg(
        pl.col("total").sum()
    )  # fmt: skip
    hits = fixed.filter("hit")
    regions = hits.group_by("region").len().join(totals, on="region", how="left").filter(
        pl.col("len") > limits.COMMON_SHARE * pl.col("total").fill_null(1)
    )  # fmt: skip
    of_region = pl.col("region").is_in(regions["region"].implode())
    found.append(refuse(market, "beside", ~pl.col("hit") & of_region, text))
    families = hits.group_by("region", "family").agg(median=pl.col("move").median())
    pairs = market.join(families, on=["region", "family"])
    same = (pl.col("move") - pl.col("median")).abs() < limits.COUPLED
    both = pl.col("median").abs() > limits.COUPLED
    found.append(refuse(pairs, "beside", ~pl.col("hit") & same & both, text))
    return found
