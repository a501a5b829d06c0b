"""Compare the moves of prices with each other, and judge lost and added prices."""

from collections.abc import Iterator
from itertools import product
from math import log

import polars as pl

from hwprices.publish.gate import compare
from hwprices.publish.gate.candidate import Releases
from hwprices.publish.gate.compare import (
    IS_LINUX,
    MOVE,
    PLAN,
    PURCHASE,
    SYSTEM,
    is_among,
    refuse,
    times,
    with_total,
)
from hwprices.release.release import is_moving
from hwprices.schemas import PRICE_KEY

_OF_TYPE = ("instance_type", "os", "software", "license_model", *PURCHASE)
_MACHINE = ("region", "instance_type")
_SIZE = MOVE.abs()
APART = {"option": [*SYSTEM, *PURCHASE, *PLAN], "type": ["instance_type"], "region": ["region"]}
"""What differs between two prices of which one may be copied from the other."""


def _alike(name: str) -> list[str]:
    """List the columns of the key in which such prices agree; the zone may differ."""
    return [one for one in PRICE_KEY if one not in ("provider", "zone", *APART[name])]


def _same_way(value: pl.Expr, *by: str) -> pl.Expr:
    """Compute a value over the prices of a group that moved in the same direction."""
    return value.over(*by, MOVE > 0)


def refused_moves(rows: pl.DataFrame, releases: Releases) -> list[pl.DataFrame]:
    """Compare the moves of prices with each other: frames with the columns of REFUSED."""
    changed = rows.filter("is_new", _SIZE > compare.SAME)
    if changed.is_empty():
        return []
    moved = changed.filter(moving=False)
    copied = [*_copied(changed, releases), *_exchanged(changed.filter("is_old"))]
    if moved.is_empty():
        return copied
    totals = releases.totals.filter(moving=False)
    return [
        *_regions(moved, changed.filter("moving"), totals),
        _jumps(moved, releases),
        *_common(moved, totals),
        *_rounded(changed),
        *_creep(moved, releases),
        *copied,
    ]


def _jumps(moved: pl.DataFrame, releases: Releases) -> pl.DataFrame:
    """Find prices that moved far while those of the type in most regions stayed.

    A vendor reprices a machine, or a purchase option everywhere. A move is more suspicious if most
    of the machine's prices also stayed.
    """
    far = moved.filter(log(compare.FAR) < _SIZE)
    if far.is_empty():
        return pl.DataFrame(schema=compare.REFUSED)
    kind = compare.hashed(_OF_TYPE)
    alike = releases.old.priced.filter(kind.is_in(far.select(kind).to_series().implode()))
    prices = alike.filter(~is_moving()).group_by(_OF_TYPE).agg(total=pl.len()).collect()
    machines = releases.machine_totals.filter(moving=False)
    moved = with_total(with_total(moved, prices, _OF_TYPE), machines, _MACHINE, "machine")
    count, total = pl.col("count"), pl.col("total")
    moved = moved.with_columns(
        count=_same_way(pl.len(), *_OF_TYPE),
        median=_same_way(MOVE.median(), *_OF_TYPE),
        stays=_same_way(pl.len(), *_MACHINE) < compare.SIBLINGS_SHARE * pl.col("machine"),
    )
    near = (MOVE - pl.col("median")).abs() <= compare.NEAR
    is_shared = near & (count > compare.SIBLINGS_SHARE * total)
    reason = pl.when("stays").then(pl.lit("apart")).otherwise(pl.lit("jump"))
    text = pl.format("{}; {} of {} prices of all regions moved so", times(), count, total)
    return refuse(moved, reason, ~is_shared & (log(compare.FAR) < _SIZE), text)


def _regions(
    moved: pl.DataFrame, market: pl.DataFrame, totals: pl.DataFrame
) -> Iterator[pl.DataFrame]:
    """Find regions of which much moved: by several factors, with the spot market, or far.

    A vendor seldom reprices a region, and then by one factor. The spot market follows only if a
    currency is wrong.
    """
    common, text = _too_much(moved, totals, "region")
    by_one, median = common.filter("by_one"), pl.col("median")
    regions = by_one.group_by("region").agg(median.first())
    follows = (MOVE - median).abs() < compare.COUPLED
    spots = market.join(regions, on="region").filter(
        follows.mean().over("region") > compare.SIBLINGS_SHARE,
        follows.sum().over("region") >= compare.COPIES,
    )
    wrong = is_among("region", spots["region"])
    yield refuse(common, "mixed", ~pl.col("by_one"), text)
    reason = pl.when(wrong).then(pl.lit("common")).otherwise(pl.lit("jump"))
    yield refuse(by_one, reason, wrong | (median.abs() > log(compare.REGION_MOVE)), text)
    yield refuse(
        spots, "common", True, pl.format("{} as all prices of {}", times(median), "region")
    )


def _copied(changed: pl.DataFrame, releases: Releases) -> Iterator[pl.DataFrame]:
    """Find prices that now equal what was published of another option, type or region.

    Refused only if most prices that moved in the region, or in the family there, do so.
    """
    every = changed.filter("is_old", _SIZE > compare.MOVED)
    if every.is_empty():
        return
    hashes = {f"own_{name}": compare.hashed(apart) for name, apart in APART.items()}
    for name in APART:
        hashes[f"same_{name}"] = compare.hashed([*_alike(name), "effective_hourly"])
    is_cost = is_among("effective_hourly", every["effective_hourly"])
    id_hash = pl.col("price_id").hash().alias("id")
    prices = releases.old.priced.filter(is_cost).select(id_hash, **hashes)
    moves = changed.select(id_hash, others="move")
    others = prices.collect(engine="streaming").join(moves, on="id", how="left")
    others = others.with_columns(pl.col("others").fill_null(0))
    every = every.with_columns(**hashes)
    region, family = ("region", "moving"), ("region", "moving", "family")
    for name, moved, groups in (
        ("option", every, (region, family)),
        ("type", every.filter(moving=False), (region, family)),
        ("region", every, (region,)),
    ):
        same, own = f"same_{name}", f"own_{name}"
        pairs = moved.join(others.select(same, own, "others").unique(), on=same, suffix="_copied")
        is_other = pl.col(own) != pl.col(f"{own}_copied")
        is_apart = (MOVE - pl.col("others")).abs() > compare.COUPLED
        is_copy = is_among("price_id", pairs.filter(is_other, is_apart)["price_id"])
        many = pl.any_horizontal(
            (is_copy.sum().over(by) >= compare.COPIES)
            & (is_copy.mean().over(by) > compare.SIBLINGS_SHARE)
            for by in groups
        )
        yield refuse(moved, "copied", is_copy & many, f"is what another {name} cost")


def _exchanged(changed: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Find prices that have each other's values now.

    One pair is enough, except of market prices, which meet by chance: most in the region do so.
    """
    prices = ("effective_hourly", "old_effective_hourly")
    for name in APART:
        move, reverse = (compare.hashed([*_alike(name), *p]) for p in (prices, prices[::-1]))
        reverses = changed.select(reverse).to_series().implode()
        pairs = changed.with_columns(is_exchanged=move.is_in(reverses))
        many = compare.most(pl.col("is_exchanged"), ("region", "moving"))
        text = f"is what another {name} cost, and the reverse"
        yield refuse(pairs, "copied", pl.col("is_exchanged") & (many | ~pl.col("moving")), text)


def _common(moved: pl.DataFrame, totals: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Find systems and options that move by one factor everywhere, unless the list is short."""
    if totals["total"].sum() < compare.SMALL_LIST:
        return
    is_everywhere = totals["region"].n_unique() == 1
    for by in ("os", "purchase_option"):
        common, text = _too_much(moved, totals, by)
        of_region = _same_way(pl.len(), by, "region") / _same_way(pl.len(), by)
        wide = is_everywhere | (_same_way(of_region.max(), by) < compare.ONE_REGION)
        yield refuse(common, "common", pl.col("by_one") & wide, text)


def _spread(move: pl.Expr) -> pl.Expr:
    return move.quantile(0.9) - move.quantile(0.1)


def _too_much(moved: pl.DataFrame, totals: pl.DataFrame, by: str) -> tuple[pl.DataFrame, pl.Expr]:
    """Select the prices of groups of which many moved in one direction, and describe the group.

    Adds ``by_one`` (they moved by one factor) and ``median`` (their move), both of Linux if it
    moved: a price with a license moves by less if the license stays, and never by more.
    """
    own, count = pl.when(IS_LINUX).then(MOVE), _same_way(pl.len(), by)
    median = pl.coalesce(own.median(), MOVE.median())
    spread = pl.coalesce(_spread(own), _spread(MOVE))
    beyond = _SIZE.quantile(0.9) - median.abs()
    group = with_total(moved, totals, [by]).with_columns(
        count=count,
        median=_same_way(median, by),
        by_one=_same_way(pl.max_horizontal(spread, beyond), by) < compare.COMMON_SPREAD,
        many=(count >= compare.COMMON_ROWS)
        & (count > compare.COMMON_SHARE * pl.col("total"))
        & (_same_way(pl.col("family").n_unique(), by) >= compare.COMMON_FAMILIES),
    )
    factor = times(pl.col("median"))
    text = pl.format("{}: {} of {} prices moved by {}", by, "count", "total", factor)
    return group.filter("many", _SIZE > compare.MOVED), text


def _rounded(changed: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Find prices that lost their decimals."""
    price, before = pl.col("price"), pl.col("old_price")
    for places in range(4):
        is_rounded = (price == price.round(places)) & ((before.round(places) - price).abs() < 1e-9)
        many = (is_rounded.sum() >= compare.COMMON_ROWS) & (is_rounded.mean() > compare.ROUNDED)
        text = f"most prices that changed lost all but {places} decimals"
        yield refuse(changed, "mixed", many, text)


def _creep(moved: pl.DataFrame, releases: Releases) -> Iterator[pl.DataFrame]:
    """Compare a fixed price with those of a week, a month and a quarter ago.

    What was held for it stays held until the old price returns or a person accepts it.
    """
    is_known = is_among("price_id", releases.held.filter(reason="creep")["row"])
    yield refuse(moved, "creep", is_known, pl.format("{} since it was held", times()))
    last, week = pl.col("old_price").log(), pl.col("before_0")
    for number, prices in enumerate(releases.past):
        if moved.is_empty():
            return
        before = pl.col(f"before_{number}")
        then = prices.filter(is_among("price_id", moved["price_id"]))
        logs = then.select("price_id", compare.PRICE.log().alias(f"before_{number}")).collect()
        moved = moved.join(logs, on="price_id", how="left")
        if number == 0:  # only what moved this way in the last week too can have crept
            moved = moved.filter((last - week).sign() == MOVE.sign())
            continue
        total = pl.col("price").log() - before
        broken = ((week - before).sign() == MOVE.sign()) & (total.abs() > log(1 + compare.CREEP))
        yield refuse(moved, "creep", broken, pl.format("{} within weeks, in steps", times(total)))


GROUPS = (
    ("family", "region"),
    ("family", "purchase_option", "os"),
    ("region", "purchase_option", "os"),
    ("purchase_option", "term_months", "os", "software", "license_model"),
)
"""Groups of prices that one mistake changes together."""


def beside(refused: pl.DataFrame, rows: pl.DataFrame, releases: Releases) -> Iterator[pl.DataFrame]:
    """Refuse what changed together with refused rows.

    A mistake rarely breaks a limit in every row. Refused are the rest of a group of which most is
    refused, and prices that moved by the same factor as a refused fixed price of their machine, if
    most prices that moved by it are of such machines.
    A price refused for its order does not count there: spot prices lag behind a cut.
    """
    lasting = refused.filter(pl.col("reason").is_in(compare.LASTING))
    if lasting.is_empty():
        return
    is_hit, moving = pl.col("is_hit"), pl.col("moving")
    changed = rows.filter("is_new").with_columns(is_hit=is_among("price_id", lasting["price_id"]))
    fixed, market = changed.filter(~moving), changed.filter("moving", ~is_hit)
    text = "most of what changed with it is held"
    many = pl.any_horizontal(compare.most(is_hit, by) for by in GROUPS)
    most = refuse(fixed, "beside", many & ~is_hit, text)
    yield most
    of_region = with_total(fixed.filter(is_hit), releases.totals.filter(moving=False), ["region"])
    share = pl.len().over("region") / pl.col("total").fill_null(1)
    regions = of_region.filter(share > compare.COMMON_SHARE)["region"]
    yield refuse(market, "beside", is_among("region", regions), text)
    leading = pl.concat([lasting.filter(pl.col("reason") != "order"), most])["price_id"]
    is_leading = is_among("price_id", leading)
    moved = changed.filter(_SIZE > compare.COUPLED).with_columns(leads=is_leading).sort("move")
    leaders = moved.filter("leads", ~moving).select(*_MACHINE, "move", follows=True)
    moved = moved.join_asof(
        leaders,
        on="move",
        by=_MACHINE,
        strategy="nearest",
        tolerance=compare.COUPLED,
        check_sortedness=False,
    )
    follows, factor = pl.col("leads") | pl.col("follows").fill_null(False), MOVE / compare.COUPLED
    share = follows.mean().over(factor.round())
    is_held = ~pl.col("is_hit") & ~pl.col("leads") & follows & (share > compare.BESIDE)
    like = pl.format("{}, like held prices of its machine", times())
    yield refuse(moved, "beside", is_held, like)


_SHARE = pl.col("lost") / pl.col("total")
_OF_MARKET = (_SHARE > compare.SPOT_LOST) & (pl.col("total") >= compare.SPOT_ROWS)
LOST_GROUPS = (
    (False, ("all",), _SHARE > compare.LOST),
    *((False, by, compare.too_many()) for by in (
        ("region",), ("os",), ("family",), ("accelerator",), ("purchase_option",),
        ("region", "purchase_option"), ("region", "os"))),
    (True, ("purchase_option",), _OF_MARKET),
    (True, ("region", "purchase_option"), _OF_MARKET),
)  # fmt: skip
"""Groups of prices: whether they move by the hour, what they share, and when too many are gone."""

LABELS = ("currency", "os", "software", "license_model", "tenancy", "purchase_option",
          "term_months", "payment_option")  # fmt: skip

TEXT = r'"[^"\\]+"'  # in JSON; no vendor's id has escaped characters


def refused(releases: Releases, rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Judge lost and added prices: frames with the columns of REFUSED.

    Prices lost to a new word are refused only if they are most of the provider's.
    """
    described = rows.with_columns(pl.col("accelerator").fill_null(""), all=pl.lit("all prices"))
    has_price = pl.col("price").is_not_null()
    gone = described.filter(pl.col("old_price").is_not_null(), ~has_price)
    added = described.filter("is_new", ~pl.col("is_old"), has_price)
    if gone.is_empty() and added.is_empty():
        return
    taken = _taken_by_words(releases, gone)
    total = int(releases.totals["total"].sum() or 0)
    many = taken.height > compare.REWORDED * total
    text = f"{taken.height:,} of {total:,} prices are gone for words that are new"
    yield refuse(taken, "reworded", many, text)
    lost = gone.join(taken, on="price_id", how="anti")
    again = pl.concat(_came_again(lost, added))
    yield again
    lost = lost.join(again.filter(reason="currency"), on="price_id", how="anti")
    yield from _lost(lost, taken, releases)
    yield _added(added, releases)


def _came_again(gone: pl.DataFrame, added: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Refuse lost prices that came again under another label, or in a currency at its rate."""
    rates = {"USD": 1.0, **compare.RATES}
    now, was = (pl.col(name).replace_strict(rates, default=None) for name in ("now", "currency"))
    is_same = pl.col("came") == pl.col("old_price")
    is_rate = (pl.col("came") / pl.col("old_price") * was / now).is_between(*compare.CONVERTED)
    for label in LABELS:
        on = [name for name in PRICE_KEY if name not in ("provider", label)]
        came = added.select(*on, came="price", now=label, added_id="price_id")
        pairs = gone.join(came, on=on, nulls_equal=True)
        labels = (pl.col(name).cast(pl.String).fill_null("none") for name in (label, "now"))
        is_unit = is_same & (is_same.sum() >= compare.LEAST_RELABELED)
        found = [("unit", is_unit, pl.format("{} is {} elsewhere", *labels))]
        if label == "currency":
            found.append(("currency", is_rate & ~is_same, pl.format("{} is {} now", label, "now")))
        for name, limit in product(("price_id", "added_id"), found):
            yield refuse(pairs.with_columns(price_id=name), *limit)


def _taken_by_words(releases: Releases, gone: pl.DataFrame) -> pl.DataFrame:
    """Select the prices whose id, or that of a part, is on a line refused for a new word."""
    words = releases.new.table("quarantine").filter(pl.col("word").is_not_null())
    texts = pl.col("row").str.extract_all(TEXT).list.eval(pl.element().str.strip_chars('"'))
    ids = words.select(id=texts).explode("id", empty_as_null=False).unique().collect()["id"]
    if ids.is_empty() or gone.is_empty():
        return gone.clear()
    parts = releases.old.table("price_components").filter(is_among("sku_id", ids))
    composed = is_among("price_id", parts.select("price_id").collect()["price_id"])
    return gone.filter(is_among("price_id", ids) | is_among("old_sku_id", ids) | composed)


def _lost(lost: pl.DataFrame, taken: pl.DataFrame, releases: Releases) -> Iterator[pl.DataFrame]:
    """Refuse prices of machines still offered, of too many retired types, and of groups.

    A type is retired if it left every list. A price is closed if its machine has none left in the
    region.
    """
    here = ["region", "instance_type"]
    new, old = releases.new, releases.old
    offers = new.table("availability").filter("offered").select(here).unique().collect()
    known = pl.concat([new.priced_types, taken.select("instance_type")])
    gone = old.priced_types.join(known, on="instance_type", how="anti")
    offered, retired = (
        gone.join(offers, on="instance_type", how=how)["instance_type"] for how in ("semi", "anti")
    )
    is_retired = is_among("instance_type", retired)
    share = len(retired) / max(1, old.priced_types.height)
    many = share > compare.RETIRED and len(retired) >= compare.LEAST_RETIRED
    text = f"{len(retired):,} types have left every list ({share:.1%})"
    yield refuse(lost, "retired", is_retired & many, text)
    priced = new.priced.filter(is_among("instance_type", lost["instance_type"]))
    left = priced.select(*here, open=pl.lit(True)).unique().collect()
    lost = lost.join(left, on=here, how="left").join(
        offers.with_columns(offered=pl.lit(True)), on=here, how="left"
    )
    lost = lost.with_columns(closed=~pl.col("is_new") & pl.col("open").is_null())
    is_offered = is_among("instance_type", offered) | (pl.col("closed") & pl.col("offered"))
    still = pl.format("{} has no price left but is still offered", "instance_type")
    yield refuse(lost, "offered", is_offered, still)
    lost = lost.filter(~is_retired)
    for moving, by, broken in LOST_GROUPS if lost.height else ():
        named = pl.all_horizontal(pl.col(name) != "" for name in by)
        has_all = {*by} <= {*releases.totals.columns}
        all_totals = releases.totals if has_all else releases.machine_totals
        totals, judged = (t.filter(named, moving=moving) for t in (all_totals, lost))
        judged = with_total(judged, totals, by).with_columns(lost=pl.len().over(by))
        reason = (
            pl.when("closed")
            .then(pl.lit("closed"))
            .otherwise(pl.lit("market" if moving else "lost"))
        )
        name = pl.concat_str(by, separator=" ")
        shares = pl.format("{}: {} of {} are gone", name, "lost", "total")
        yield refuse(judged, reason, broken, shares)


def _added(added: pl.DataFrame, releases: Releases) -> pl.DataFrame:
    """Refuse many new prices where region, family, system, option, term and currency are known."""
    fixed = added.filter(~pl.col("moving"))
    totals = releases.totals.filter(moving=False)
    families = releases.machine_totals.filter(moving=False)["family"]
    fixed = fixed.filter(is_among("family", families))
    for name in ("region", "os", "purchase_option", "term_months", "currency"):
        fixed = fixed.filter(is_among(name, totals[name]))
    total = int(totals["total"].sum() or 0)
    many = fixed.height > compare.ADDED * total and total > 0
    text = f"{fixed.height:,} prices are new beside {total:,} where nothing else is"
    return refuse(fixed, "added", many, text)
