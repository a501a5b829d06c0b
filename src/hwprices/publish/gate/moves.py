"""Judge moves: that of a price beside those of its machine, type, region and provider."""

from collections.abc import Iterator
from math import log

import polars as pl

from hwprices.publish.gate import compare, limits
from hwprices.publish.gate.candidate import PRICES
from hwprices.publish.gate.compare import IS_LINUX, MOVE, PURCHASE, refuse, times, with_total
from hwprices.publish.gate.differences import Releases
from hwprices.release.real_prices import is_moving

_OF_TYPE = ("instance_type", "os", "software", "license_model", *PURCHASE)
_OWN, _MACHINE, _AROUND = ("region", *_OF_TYPE), ("region", "instance_type"), ("region", *PURCHASE)
_SIZE = MOVE.abs()


def _same_way(value: pl.Expr, *by: str) -> pl.Expr:
    """Compute a value of the prices of a group that moved the same way."""
    return value.over(*by, MOVE > 0)


def _many(total: str, least: float, *by: str) -> pl.Expr:
    """Return whether too many prices of a group, and of several families, moved the same way."""
    count = _same_way(pl.len(), *by)
    return pl.all_horizontal(
        count >= least,
        count / pl.col(total) > limits.COMMON_SHARE,
        _same_way(pl.col("family").n_unique(), *by) >= limits.COMMON_FAMILIES,
    )


def refused_moves(rows: pl.DataFrame, releases: Releases) -> list[pl.DataFrame]:
    """Compare the move of a price with those of its siblings and of its surroundings."""
    changed = rows.filter("is_new", _SIZE > limits.SAME).with_columns(all=pl.lit("all prices"))
    moved = changed.filter(moving=False)
    if moved.is_empty():
        return []
    totals = releases.totals.filter(moving=False)
    found, raised = _regions(moved, changed.filter("moving"), totals)
    return [
        *found,
        *_alone(moved, totals, releases),
        *_common(moved, totals),
        *_rounded(changed),
        _license(moved.join(raised, on="region", how="anti"), releases.machine_totals),
        *_creep(moved, releases),
    ]


def _alone(moved: pl.DataFrame, totals: pl.DataFrame, releases: Releases) -> Iterator[pl.DataFrame]:
    """Find prices that moved while those of the type elsewhere, or the rest of the machine, stayed.

    A vendor reprices a machine, or a purchase option everywhere. A held price that comes again is
    not apart only because the rest of its machine, which moved with it, was published meanwhile.
    """
    known = releases.held.filter(pl.col("reason").is_in(limits.RELEASED), table=PRICES)
    known = known.select("new_value", price_id="row", again=pl.lit(True))
    kind = compare.hashed(_OF_TYPE)
    alike = releases.old.priced.filter(kind.is_in(moved.select(kind).to_series().implode()))
    prices = alike.filter(~is_moving()).group_by(_OWN).agg(total=pl.len()).collect()
    machines = releases.machine_totals.filter(moving=False)
    for name, counts, by in (
        *(("own", prices, _OWN), ("type", prices, _OF_TYPE)),
        *(("machine", machines, _MACHINE), ("around", totals, _AROUND)),
    ):
        moved = with_total(moved, counts, by, name)
    others, same, median = (pl.col(name) for name in ("others", "same", "median"))
    moved = moved.with_columns(
        others=pl.col("type") - pl.col("own"),
        same=_same_way(pl.len(), *_OF_TYPE).cast(pl.Int64) - _same_way(pl.len(), *_OWN),
        median=_same_way(MOVE.median(), *_OF_TYPE),
        stays=_same_way(pl.len(), *_MACHINE) / pl.col("machine") < limits.SIBLINGS_SHARE,
        in_region=_many("around", limits.COMMON_ROWS / 2, *_AROUND),
        new_value=compare.shown(),
    ).join(known, on=["price_id", "new_value"], how="left", maintain_order="left")
    again = pl.col("again").fill_null(False)
    least, share = limits.NEAR
    near = (MOVE - median).abs() <= pl.max_horizontal(least, share * median.abs())
    is_shared = (others == 0) | ((same / others >= limits.SIBLINGS_SHARE) & near)
    text = pl.format("{}; {} of {} prices in other regions moved so", times(), same, others)
    is_apart = pl.col("stays") & MOVE.abs().gt(log(limits.APART)) & ~again
    is_alone = again | pl.col("in_region") | MOVE.abs().gt(log(limits.ALONE))
    for reason, broken in (("apart", is_apart), ("alone", is_alone)):
        yield refuse(moved, reason, ~is_shared & broken, text)


def _regions(
    moved: pl.DataFrame, market: pl.DataFrame, totals: pl.DataFrame
) -> tuple[list[pl.DataFrame], pl.DataFrame]:
    """Find regions of which too much moved on one day, and those that the vendor raised or cut.

    That is by one factor. The spot market follows only where a currency is mistaken.
    """
    common, text = _too_much(moved, totals, "region")
    by_one, median = common.filter("by_one"), pl.col("median")
    regions = by_one.group_by("region").agg(median.first())
    follows = (MOVE - median).abs() < limits.COUPLED
    spots = market.join(regions, on="region").filter(
        follows.mean().over("region") > limits.SIBLINGS_SHARE,
        follows.sum().over("region") >= limits.COPIES,
    )
    wrong = compare.is_among("region", spots["region"])
    found = [
        refuse(common, "mixed", ~pl.col("by_one"), text),
        refuse(by_one, "common", wrong, text),
        refuse(spots, "common", True, pl.format("{} as all prices of {}", times(median), "region")),
    ]
    return found, regions.filter(~wrong)


def _common(moved: pl.DataFrame, totals: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Find systems, options and currencies, or all prices, that move by one factor everywhere.

    A small provider changes its list so.
    """
    if totals["total"].sum() < limits.SMALL_LIST:
        return
    is_everywhere = totals["region"].n_unique() == 1
    for by in ("all", "os", "purchase_option", "currency"):
        common, text = _too_much(moved, totals, by)
        of_region = _same_way(pl.len(), by, "region") / _same_way(pl.len(), by)
        wide = is_everywhere | (_same_way(of_region.max(), by) < limits.ONE_REGION)
        yield refuse(common, "common", pl.col("by_one") & wide, text)


def _spread(move: pl.Expr, outer: float = 0.1) -> pl.Expr:
    return move.quantile(1 - outer) - move.quantile(outer)


def _too_much(moved: pl.DataFrame, totals: pl.DataFrame, by: str) -> tuple[pl.DataFrame, pl.Expr]:
    """Select the prices of groups of which many moved one way, and say so.

    ``by_one`` is whether they moved by one factor, ``median`` their median move. Both are of Linux,
    if it moved: where a license stays, a price that includes it moves by less, and never by more.
    """
    own = pl.when(IS_LINUX).then(MOVE)
    median = pl.coalesce(own.median(), MOVE.median())
    spread = pl.coalesce(_spread(own), _spread(MOVE))
    beyond = _SIZE.quantile(0.9) - median.abs()
    group = with_total(moved, totals, [by]).with_columns(
        count=_same_way(pl.len(), by),
        median=_same_way(median, by),
        by_one=_same_way(pl.max_horizontal(spread, beyond), by) < limits.COMMON_SPREAD,
        many=_many("total", limits.COMMON_ROWS, by),
    )
    factor = times(pl.col("median"))
    text = pl.format("{}: {} of {} prices moved by {}", by, "count", "total", factor)
    return group.filter("many", _SIZE > limits.MOVED), text


def _rounded(changed: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Find prices that lost their decimals."""
    price, before = pl.col("price"), pl.col("old_price")
    for places in range(4):
        is_rounded = (price == price.round(places)) & ((before.round(places) - price).abs() < 1e-9)
        many = (is_rounded.sum() >= limits.COMMON_ROWS) & (is_rounded.mean() > limits.ROUNDED)
        text = f"most prices that changed lost all but {places} decimals"
        yield refuse(changed, "mixed", many, text)


def _license(moved: pl.DataFrame, totals: pl.DataFrame) -> pl.DataFrame:
    """Find families of which Linux and Windows move by the same factor in every option.

    A vendor that changes the price of a machine leaves that of the license; a mistaken currency
    changes both.
    """
    as_one = pl.all_horizontal(
        *((pl.col("os") == name).any() for name in ("windows", "linux")),
        pl.len() >= limits.COMMON_ROWS,
        pl.len() > limits.LICENSE_SHARE * pl.col("total").first(),
        _spread(MOVE, 0.05) < limits.COMMON_SPREAD / 4,
    )
    is_cut = MOVE.exp().is_between(*limits.LICENSE_CUT, closed="none")
    is_far = (_SIZE > limits.COMMON_SPREAD) & ~is_cut
    text = pl.format("{}: all systems and options moved by {}", "family", times())
    families = with_total(moved, totals.filter(moving=False), ["family"])
    return refuse(families, "license", as_one.over("family") & is_far, text)


def _creep(moved: pl.DataFrame, releases: Releases) -> Iterator[pl.DataFrame]:
    """Compare a fixed price with that of last week, month and quarter.

    What was held for that before is held until it is back, or accepted.
    """
    is_known = compare.is_among("price_id", releases.held.filter(reason="creep")["row"])
    yield refuse(moved, "creep", is_known, pl.format("{} since it was held", times()))
    last, week = pl.col("old_price").log(), pl.col("before_0")
    for number, prices in enumerate(releases.past):
        if moved.is_empty():
            return
        before = pl.col(f"before_{number}")
        then = prices.filter(compare.is_among("price_id", moved["price_id"]))
        logs = then.select("price_id", compare.PRICE.log().alias(f"before_{number}")).collect()
        moved = moved.join(logs, on="price_id", how="left")
        if number == 0:  # only what moved this way in the last week too can have crept
            moved = moved.filter((last - week).sign() == MOVE.sign())
            continue
        total = pl.col("price").log() - before
        broken = ((week - before).sign() == MOVE.sign()) & (total.abs() > log(1 + limits.CREEP))
        yield refuse(moved, "creep", broken, pl.format("{} within weeks, in steps", times(total)))


GROUPS = (
    ("family", "region"),
    ("family", "purchase_option", "os"),
    ("region", "purchase_option", "os"),
    ("purchase_option", "term_months", "os", "software", "license_model"),
)
"""Groups of prices that one mistake changes together."""


def beside(refused: pl.DataFrame, rows: pl.DataFrame, releases: Releases) -> Iterator[pl.DataFrame]:
    """Refuse the other rows of a group of which more than half of what changed is refused.

    A mistake seldom breaks a limit in every row that it changes: a tenth of the price of one part
    is a small move of a machine that has little of it.
    """
    lasting = refused.filter(pl.col("reason").is_in(limits.LASTING))["price_id"]
    if lasting.is_empty():
        return
    is_hit, median = pl.col("is_hit"), pl.col("median")
    changed = rows.filter("is_new").with_columns(is_hit=compare.is_among("price_id", lasting))
    fixed, market = changed.filter(~pl.col("moving")), changed.filter("moving", ~is_hit)
    hits, text = fixed.filter(is_hit), "most of what changed with it is held"
    many = pl.any_horizontal(limits.most(is_hit, by) for by in GROUPS)
    yield refuse(fixed, "beside", many & ~is_hit, text)
    share = pl.len().over("region") / pl.col("total").fill_null(1)
    of_region = with_total(hits, releases.totals.filter(moving=False), ["region"])
    regions = of_region.filter(share > limits.COMMON_SHARE)["region"]
    yield refuse(market, "beside", compare.is_among("region", regions), text)
    follows = ((MOVE - median).abs() < limits.COUPLED) & (median.abs() > limits.COUPLED)
    for by in ("family", "instance_type"):
        moves = hits.group_by("region", by).agg(median=MOVE.median())
        yield refuse(market.join(moves, on=["region", by]), "beside", follows, text)
