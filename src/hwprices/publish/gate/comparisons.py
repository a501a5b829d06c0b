"""Checks against the last release: rows lost, prices moved, specs changed, markets gone."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import polars as pl

from hwprices.publish.gate import compare, thresholds
from hwprices.publish.gate.candidate import Candidate, Finding
from hwprices.schemas.columns import key
from hwprices.schemas.tables import TABLES


@dataclass(frozen=True)
class Comparison:
    """Two releases of one provider, compared once for all checks.

    ``last``: of a comparison with the release of a month ago, the one with the last release.
    """

    new: Candidate
    old: Candidate
    cells: pl.DataFrame
    retired: pl.DataFrame
    reworded: pl.DataFrame
    limits: Mapping[str, float]
    last: "Comparison | None" = None

    @property
    def fixed(self) -> pl.DataFrame:
        """Cells of the purchase options whose prices stay for months."""
        return self.cells.filter(~pl.col("moving"))

    @property
    def spot(self) -> pl.DataFrame:
        """Cells of the purchase options whose prices change by the hour."""
        return self.cells.filter("moving")


def comparison(new: Candidate, old: Candidate, limits: Mapping[str, float]) -> Comparison:
    """Compare two releases of one provider."""
    reworded = compare.reworded_prices(new, old)
    retired = compare.retired_types(new, old, reworded)
    cells = compare.compare(new, old, retired, reworded)
    return Comparison(new, old, cells, retired, reworded, limits)


def examples(frame: pl.DataFrame, *columns: str) -> str:
    """Write up to three rows of a frame in words, for a message."""
    rows = frame.select(pl.concat_str(columns, separator=" ")).head(3).to_series()
    return ", ".join(str(row) for row in rows)


def _share(part: int, total: int) -> float:
    return part / total if total else 0.0


def _compare_with_limit(value: float, limit: float, detail: str) -> Finding:
    return Finding(detail if value > limit else "", value, limit)


def rows_lost(compared: Comparison) -> Finding:
    """Find prices that are gone or became null, over the whole provider."""
    cells, limit = compared.fixed, compared.limits["rows_lost"]
    lost, old = compare.total(cells, "lost"), compare.total(cells, "old")
    first = examples(cells.filter(pl.col("lost") > 0), "region", "family")
    detail = f"{lost:,} of {old:,} prices are gone or null ({_share(lost, old):.2%}), first {first}"
    return _compare_with_limit(_share(lost, old), limit, detail)


def group_lost(compared: Comparison) -> Finding:
    """Find a region, family, accelerator, system or option that loses far more than the others."""
    losers = []
    for dimensions in (
        ("region",),
        ("family",),
        ("accelerator",),
        ("os",),
        ("purchase_option",),
        ("region", "purchase_option"),
        ("region", "os"),
    ):
        groups = compare.by_group(compared.fixed, dimensions)
        lost = groups.filter(pl.col("old") > 0, _lost_too_many())
        named = pl.concat_str(dimensions, separator=" ")
        losers.append(lost.select(group=named, lost="lost", old="old"))
    worst = pl.concat(losers).sort("lost", descending=True)
    parts = [f"{g}: {lost:,} of {old:,} prices are gone" for g, lost, old in worst.head(3).rows()]
    return Finding("; ".join(parts))


def _lost_too_many() -> pl.Expr:
    """Return whether a group of ``old`` rows has ``lost`` a larger share than GROUP_LOST allows."""
    allowed = pl.lit(1.0)
    for rows, share in reversed(thresholds.GROUP_LOST):
        allowed = pl.when(pl.col("old") >= rows).then(share).otherwise(allowed)
    return pl.col("lost") / pl.col("old") > allowed


def _check_removed(column: str, noun: str) -> Callable[[Comparison], Finding]:
    def check(compared: Comparison) -> Finding:
        fixed = compared.cells.group_by(column).agg(pl.col("old", "both", "added").sum())
        gone = fixed.filter(
            pl.col("old") > 0, pl.col("both") + pl.col("added") == 0, pl.col(column) != ""
        ).sort(column)
        detail = f"{gone.height} {noun} are gone: {examples(gone, column)}" if gone.height else ""
        return Finding(detail)

    check.__doc__ = f"All prices of one of the {noun} are gone."
    return check


def type_gone(compared: Comparison) -> Finding:
    """Find machine types without a price that are still offered, or that vanished in numbers."""
    priced, before = compared.new.priced_types, compared.old.priced_types
    gone = before.join(priced, on="instance_type", how="anti")
    known = pl.concat([compared.retired, compared.reworded.select("instance_type")])
    offered = gone.join(known, on="instance_type", how="anti").sort("instance_type")
    if not offered.height:
        return Finding()
    names = examples(offered, "instance_type")
    return Finding(f"{offered.height} types have no price left but are still offered: {names}")


def types_retired(compared: Comparison) -> Finding:
    """Report machine types that left the price list and the list of offers; stop where many did."""
    count = compared.old.priced_types.height
    limit = compared.limits["types_retired"]
    share = _share(compared.retired.height, count)
    if not compared.retired.height:
        return Finding(value=share, limit=limit)
    names = examples(compared.retired, "instance_type")
    detail = f"{compared.retired.height} of {count:,} types have left every list: {names}"
    many = compared.retired.height >= thresholds.LEAST_RETIRED
    return Finding(detail, share, limit, stops=share > limit and many)


def reworded(compared: Comparison) -> Finding:
    """Report prices that a new word of the vendor took; stop where they are most of them."""
    lost, limit = compared.reworded.height, thresholds.REWORDED
    if not lost:
        return Finding(limit=limit)
    total = lost + compare.total(compared.cells, "old")
    names = examples(compared.reworded, "instance_type")
    detail = f"{lost:,} of {total:,} prices are gone for words that are new, first {names}"
    return Finding(detail, _share(lost, total), limit, stops=_share(lost, total) > limit)


def price_jump(compared: Comparison) -> Finding:
    """Find single prices that move by a factor, scattered over the provider."""
    cells, limit = compared.fixed, compared.limits["price_jump"]
    jumped, both = compare.total(cells, "jumped"), compare.total(cells, "both")
    first = examples(cells.filter(pl.col("jumped") > 0), "region", "family")
    detail = (
        f"{jumped:,} of {both:,} prices moved by more than ×{thresholds.JUMP}"
        f" ({_share(jumped, both):.2%}), first {first}"
    )
    return _compare_with_limit(_share(jumped, both), limit, detail)


def price_doubled(compared: Comparison) -> Finding:
    """Find single prices that double or halve, scattered over the provider."""
    cells, limit = compared.fixed, compared.limits["price_doubled"]
    doubled, both = compare.total(cells, "doubled"), compare.total(cells, "both")
    first = examples(cells.filter(pl.col("doubled") > 0), "region", "family")
    detail = f"{doubled:,} of {both:,} prices doubled or halved, first {first}"
    return _compare_with_limit(_share(doubled, both), limit, detail)


def level_shift(compared: Comparison) -> Finding:
    """Find a provider, region, system, option or currency whose prices all move the same way."""
    limit = compared.limits["level_shift"]
    moved: list[tuple[str, int, int]] = []
    for dimensions in ((), ("region",), ("os",), ("purchase_option",), ("currency",)):
        groups = (
            compare.by_group(compared.fixed, dimensions)
            if dimensions
            else compared.fixed.select(pl.col("both", "up", "down").sum())
        )
        allowed = thresholds.GROUP_MOVED_SHARE if dimensions else limit
        for group in groups.to_dicts():
            same_way = max(group["up"], group["down"])
            enough = (
                group["both"] >= thresholds.GROUP_MOVED_ROWS and same_way >= thresholds.LEAST_MOVED
            )
            if enough and same_way / group["both"] > allowed:
                name = " ".join(group[d] for d in dimensions) or "all prices"
                moved.append((name, same_way, group["both"]))
    both = compare.total(compared.fixed, "both")
    share = _share(
        max(compare.total(compared.fixed, "up"), compare.total(compared.fixed, "down")), both
    )
    parts = [f"{name}: {n:,} of {of:,} prices moved the same way" for name, n, of in moved[:3]]
    return Finding("; ".join(parts), share, limit)


def family_level(compared: Comparison) -> Finding:
    """Find a family or accelerator whose price moves by more than any price cut on record."""
    low, high = (math.log(edge) for edge in thresholds.FAMILY_RANGE)
    changed_types = _family_moves(compared).filter(~pl.col("mean").is_between(low, high))
    return Finding(_in_words(changed_types))


def family_price_change(compared: Comparison) -> Finding:
    """Report a family or accelerator that gets cheaper or more expensive within what vendors do."""
    low, high = (math.log(edge) for edge in thresholds.FAMILY_RANGE)
    moved = pl.col("mean").abs() > math.log(1 + thresholds.MOVED)
    news = _family_moves(compared).filter(pl.col("mean").is_between(low, high), moved)
    return Finding(_in_words(news), stops=False)


def _family_moves(compared: Comparison) -> pl.DataFrame:
    """Compute name, mean (of the logarithm of new ÷ old) and rows of each family and accelerator.

    Also by option, so that a move of one option alone is not hidden by the others.
    """
    groups = []
    for dimensions in (
        ("family",),
        ("accelerator",),
        ("family", "purchase_option"),
        ("family", "currency"),
    ):
        counted = compare.by_group(compared.fixed, dimensions).filter(pl.col("both") > 0)
        name = pl.concat_str(dimensions, separator=" ")
        groups.append(
            counted.select(name=name, mean=pl.col("log_sum") / pl.col("both"), rows="both")
        )
    return pl.concat(groups).sort(pl.col("mean").abs(), descending=True)


def _in_words(moves: pl.DataFrame) -> str:
    rows = moves.head(3).select("name", "mean", "rows").rows()
    return "; ".join(f"{name}: ×{math.exp(mean):.2f} over {n:,} prices" for name, mean, n in rows)


def spot_lost(compared: Comparison) -> Finding:
    """Find a market of which most prices are gone, everywhere or in one region."""
    limit = compared.limits["spot_lost"]
    options = compare.by_group(compared.spot, ("purchase_option",)).filter(
        pl.col("old") >= thresholds.SPOT_MARKET_ROWS
    )
    regions = compare.by_group(compared.spot, ("region", "purchase_option")).filter(
        pl.col("old") >= thresholds.SPOT_REGION_ROWS
    )
    region = pl.concat_str("region", "purchase_option", separator=" ")
    of_options, of_regions = (
        groups.select(group=name, lost="lost", old="old", share=pl.col("lost") / pl.col("old"))
        for groups, name in ((options, pl.col("purchase_option")), (regions, region))
    )
    in_a_region = max(limit, thresholds.SPOT_REGION_LOST)
    gone = pl.concat(
        [
            of_options.filter(pl.col("share") > limit),
            of_regions.filter(pl.col("share") > in_a_region),
        ]
    )
    parts = [f"{g}: {lost:,} of {old:,} prices are gone" for g, lost, old, _ in gone.head(3).rows()]
    return Finding("; ".join(parts), max(of_options["share"], default=0.0), limit)


def spot_level(compared: Comparison) -> Finding:
    """Find a market whose mean price moves by a factor that no day shows."""
    limit = compared.limits["spot_level"]
    markets = pl.concat(
        [
            compare.by_group(compared.spot, ("purchase_option",)).select(
                group="purchase_option", both="both", log_sum="log_sum"
            ),
            compare.by_group(compared.spot, ("region", "purchase_option")).select(
                group=pl.concat_str("region", "purchase_option", separator=" "),
                both="both",
                log_sum="log_sum",
            ),
        ]
    ).filter(pl.col("both") >= thresholds.GROUP_MOVED_ROWS)
    mean = markets.with_columns(mean=pl.col("log_sum") / pl.col("both"))
    moved = mean.filter(pl.col("mean").abs() > math.log(1 + limit))
    parts = [f"{g}: ×{math.exp(m):.2f} over {n:,} prices" for g, n, _, m in moved.head(3).rows()]
    largest = math.exp(max((abs(m) for m in mean["mean"]), default=0.0)) - 1
    return Finding("; ".join(parts), largest, limit)


def rows_added(compared: Comparison) -> Finding:
    """Find many new prices where region, family, system and option were published before."""
    limit = compared.limits["rows_added"]
    cells = compared.fixed
    for dimension in ("region", "family", "os", "purchase_option"):
        before = cells.group_by(dimension).agg(pl.col("old").sum()).filter(pl.col("old") > 0)
        cells = cells.join(before.select(dimension), on=dimension, how="semi")
    added, old = compare.total(cells, "added"), compare.total(compared.fixed, "old")
    first = examples(cells.filter(pl.col("added") > 0), "region", "family", "purchase_option")
    detail = f"{added:,} prices are new beside {old:,} where nothing else is new, first {first}"
    return _compare_with_limit(_share(added, old), limit, detail)


def currency_changed(compared: Comparison) -> Finding:
    """Find prices that keep their id and change their currency."""
    changed = compared.cells.filter(pl.col("currency_changed") > 0)
    count = compare.total(compared.cells, "currency_changed")
    return Finding(
        f"{count:,} prices changed currency: {examples(changed, 'region', 'family')}"
        if count
        else ""
    )


def unit_changed(compared: Comparison) -> Finding:
    """Find prices that keep their id and change the unit they are billed in."""
    changed = compared.cells.filter(pl.col("unit_changed") > 0)
    count = compare.total(compared.cells, "unit_changed")
    return Finding(
        f"{count:,} prices changed unit: {examples(changed, 'region', 'family')}" if count else ""
    )


def spec_changed(compared: Comparison) -> Finding:
    """Find machine types whose accelerators, vCPUs or memory change under the same name."""
    columns = ("accelerator_count", "accelerator_memory_gib", "vcpus", "memory_gib", "arch")
    sides = [
        c.table("instance_types").select("instance_type", *columns, device=_devices())
        for c in (compared.old, compared.new)
    ]
    both = sides[0].join(sides[1], on="instance_type", how="inner", suffix="_new").collect()
    changed = pl.any_horizontal(
        *(
            pl.col(name).ne_missing(pl.col(f"{name}_new"))
            for name in ("accelerator_count", "device")
        ),
        *(
            pl.col(name).is_not_null() & pl.col(f"{name}_new").ne_missing(pl.col(name))
            for name in ("vcpus", "arch")
        ),
        *(_moved(name) for name in ("memory_gib", "accelerator_memory_gib")),
    )
    strange = both.filter(changed).sort("instance_type")
    names = examples(strange, "instance_type")
    detail = f"{strange.height} types changed accelerators, vCPUs or memory: {names}"
    return Finding(detail if strange.height else "")


def _devices() -> pl.Expr:
    return (
        pl.col("accelerators").list.eval(pl.element().struct.field("accelerator_id")).list.join("+")
    )


def _moved(name: str) -> pl.Expr:
    """Return whether a figure is gone, or moved by more than rounding."""
    ratio = pl.col(f"{name}_new") / pl.col(name) - 1
    return pl.col(name).is_not_null() & (ratio.abs() > thresholds.MEMORY_TOLERANCE).fill_null(True)


def values_lost(compared: Comparison) -> Finding:
    """Find columns of which many values are gone, in rows that both releases have."""
    return _columns_named(_emptied(compared))


def _emptied(compared: Comparison) -> pl.DataFrame:
    """List the columns of which too many values are gone: column, old and lost."""
    columns = pl.concat(
        [
            _values(compared, "instance_types"),
            _values(compared, "regions"),
            _values_of_prices(compared.cells),
        ]
    ).filter(pl.col("old") > 0)
    return columns.filter(_lost_too_many()).sort("lost", "column", descending=[True, False])


def _columns_named(emptied: pl.DataFrame) -> Finding:
    parts = [f"{c}: {lost:,} of {old:,} values are gone" for c, old, lost in emptied.head(3).rows()]
    more = f"; and {emptied.height - 3} more columns" if emptied.height > 3 else ""
    return Finding("; ".join(parts) + more)


_COUNTED_VALUES = {"column": pl.String, "old": pl.Int64, "lost": pl.Int64}


def _values(compared: Comparison, table: str) -> pl.DataFrame:
    """Count the values of each nullable column in rows that both releases have, and those lost.

    A column that one of the releases does not have is left out. Returns column, old and lost.
    """
    sides = [side.table(table) for side in (compared.old, compared.new)]
    known = [set(side.collect_schema()) for side in sides]
    declared = TABLES[table].to_schema().columns
    names = [name for name in declared if declared[name].nullable and name in known[0] & known[1]]
    old, new = (
        side.select(*key(TABLES[table]), *(pl.col(name).is_not_null() for name in names))
        for side in sides
    )
    both = old.join(new, on=key(TABLES[table]), suffix="_new")
    had = (pl.col(name).sum().alias(f"had_{name}") for name in names)
    lost = ((pl.col(name) & ~pl.col(f"{name}_new")).sum().alias(f"lost_{name}") for name in names)
    counts = both.select(*had, *lost).collect().row(0, named=True)
    rows = [(f"{table}.{name}", counts[f"had_{name}"], counts[f"lost_{name}"]) for name in names]
    return pl.DataFrame(rows, schema=_COUNTED_VALUES, orient="row")


def _values_of_prices(cells: pl.DataFrame) -> pl.DataFrame:
    """Add up the values of prices that ``compare.compare`` counted. Returns column, old, lost."""
    old, lost = (
        [compare.total(cells, f"{of}_{name}") for name in compare.OPTIONAL]
        for of in ("had", "lost")
    )
    names = [f"prices.{name}" for name in compare.OPTIONAL]
    rows = list(zip(names, old, lost, strict=True))
    return pl.DataFrame(rows, schema=_COUNTED_VALUES, orient="row")


def availability_lost(compared: Comparison) -> Finding:
    """Find types that are withdrawn from many places, or from one region, at once."""
    limit = compared.limits["availability_lost"]
    pairs = ["region", "instance_type"]
    before = compared.old.table("availability").filter("offered").select(pairs).unique()
    before = before.join(compared.retired.lazy(), on="instance_type", how="anti")
    after = (
        compared.new.table("availability").filter("offered").select(*pairs, remains=True).unique()
    )
    joined = before.join(after, on=pairs, how="left").group_by("region")
    regions = (
        joined.agg(old=pl.len(), lost=pl.col("remains").is_null().sum()).collect().sort("region")
    )
    old, lost = int(regions["old"].sum()), int(regions["lost"].sum())
    worst = regions.filter(_lost_too_many())
    detail = f"{lost:,} of {old:,} offers are gone; worst: {examples(worst, 'region') or 'spread'}"
    too_many = worst.height > 0 or _share(lost, old) > limit
    return Finding(detail if too_many else "", _share(lost, old), limit)


def spot_above_on_demand(compared: Comparison) -> Finding:
    """Count spot prices above the on-demand price: more than before are wrong, even if flagged."""
    limit = compared.limits["spot_above_on_demand"]
    flagged = pl.col("flags").list.contains("spot_above_on_demand").fill_null(False)
    shares = []
    for candidate in (compared.old, compared.new):
        spot = candidate.table("prices").filter(
            pl.col("purchase_option").is_in(thresholds.MOVING_OPTIONS)
        )
        counts = spot.select(above=flagged.sum(), rows=pl.len()).collect().row(0)
        shares.append((_share(counts[0], counts[1]), counts[0], counts[1]))
    grown = shares[1][0] - shares[0][0]
    (_, above, rows), (_, above_before, _) = shares[1], shares[0]
    detail = f"{above:,} of {rows:,} spot prices are above on-demand, before {above_before:,}"
    return _compare_with_limit(grown, limit, detail)


COMPARISONS: Mapping[str, Callable[[Comparison], Finding]] = {
    "rows_lost": rows_lost,
    "group_lost": group_lost,
    "region_gone": _check_removed("region", "regions"),
    "option_gone": _check_removed("purchase_option", "purchase options"),
    "os_gone": _check_removed("os", "operating systems"),
    "type_gone": type_gone,
    "types_retired": types_retired,
    "reworded": reworded,
    "price_jump": price_jump,
    "price_doubled": price_doubled,
    "level_shift": level_shift,
    "family_level": family_level,
    "family_price_change": family_price_change,
    "spot_lost": spot_lost,
    "spot_level": spot_level,
    "spot_above_on_demand": spot_above_on_demand,
    "rows_added": rows_added,
    "currency_changed": currency_changed,
    "unit_changed": unit_changed,
    "spec_changed": spec_changed,
    "values_lost": values_lost,
    "availability_lost": availability_lost,
}
"""Checks against the last release, by name."""


def drift_rows(compared: Comparison) -> Finding:
    """Find prices that were lost little by little over a month."""
    lost, old = compare.total(compared.fixed, "lost"), compare.total(compared.fixed, "old")
    limit = compared.limits["drift_rows"]
    detail = f"{lost:,} of {old:,} prices of a month ago are gone ({_share(lost, old):.2%})"
    return _compare_with_limit(_share(lost, old), limit, detail)


def drift_level(compared: Comparison) -> Finding:
    """Find prices that creep in one direction over a month."""
    limit = compared.limits["drift_level"]
    both = compare.total(compared.fixed, "both")
    mean = float(compared.fixed["log_sum"].sum() or 0.0) / both if both else 0.0
    value = math.exp(abs(mean)) - 1
    detail = f"prices moved by ×{math.exp(mean):.3f} on average within a month"
    return _compare_with_limit(value, limit, detail)


def drift_values(compared: Comparison) -> Finding:
    """Find columns that lost values little by little over a month.

    Those that ``values_lost`` finds are left out: a person accepts them once.
    """
    emptied = _emptied(compared)
    if compared.last is not None and emptied.height:
        emptied = emptied.join(_emptied(compared.last), on="column", how="anti")
    return _columns_named(emptied)


DRIFT: Mapping[str, Callable[[Comparison], Finding]] = {
    "drift_rows": drift_rows,
    "drift_level": drift_level,
    "drift_values": drift_values,
}
"""Checks against the release of a month ago, by name."""
