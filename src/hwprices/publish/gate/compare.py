"""How rows are judged: by a condition, by the range of their siblings, by the share of a group.

Prices are floats here: they are compared, and never published.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import xor

import polars as pl

from hwprices.publish.gate import limits

PLACE = ("region", "instance_type", "currency")
SYSTEM = ("os", "software", "license_model", "tenancy")
MACHINE = (*PLACE, *SYSTEM)
PURCHASE = ("purchase_option", "term_months")
PLAN = ("commitment_plan", "payment_option")

IS_LINUX = pl.all_horizontal(
    pl.col("os") == "linux", pl.col("software") == "none", pl.col("license_model") == "included"
)
"""A price without a license."""

PRICE = pl.col("effective_hourly").cast(pl.Float64)
MOVE = pl.col("move")
"""The logarithm of a price by the one published."""

REFUSED = {"price_id": pl.String, "reason": pl.String, "reference": pl.String}

Text = pl.Expr | str


def refuse(
    rows: pl.DataFrame, reason: Text, broken: pl.Expr | bool, reference: Text
) -> pl.DataFrame:
    """Return the rows that break a limit, with the columns of REFUSED."""
    wrong = rows.filter(broken)
    if wrong.is_empty():  # as nearly always
        return pl.DataFrame(schema=REFUSED)
    return wrong.select(
        "price_id", reason=text(reason), reference=text(reference).fill_null("nothing")
    )


def text(words: Text | None) -> pl.Expr:
    """Make a column of a text, or of none."""
    return words if isinstance(words, pl.Expr) else pl.lit(words, pl.String)


def is_among(name: str, values: pl.Series) -> pl.Expr:
    """Return whether a column has one of these values."""
    return pl.col(name).is_in(pl.Series([values]))


def hashed(names: Iterable[str]) -> pl.Expr:
    """Hash several columns; in half the time of a struct's hash."""
    return reduce(xor, (pl.col(name).hash(seed) for seed, name in enumerate(names)))


def figures(words: str, *values: pl.Expr) -> pl.Expr:
    """Write a sentence with figures of three digits."""
    return pl.format(words, *(value.round_sig_figs(3) for value in values))


def times(move: pl.Expr = MOVE) -> pl.Expr:
    """Write a factor, given as a logarithm: ×0.56."""
    return figures("×{}", move.exp())


def shown(side: str = "") -> pl.Expr:
    """Write a price as the table held has it: 0.5 USD."""
    amount = pl.col(f"{side}effective_hourly").cast(pl.String).str.strip_suffix("0000")
    return pl.concat_str(amount, pl.lit(" "), f"{side}currency")


def is_factor(ratio: pl.Expr, factors: tuple[float, ...] = limits.FACTORS) -> pl.Expr:
    """Return whether a ratio is one that a mistaken unit makes."""
    size, near = ratio.log().abs(), limits.FACTOR_TOLERANCE
    return pl.any_horizontal((size - math.log(factor)).abs() < near for factor in factors)


def is_leap(ratio: pl.Expr) -> pl.Expr:
    """Return whether a value is so far from the published one that only a person can release it."""
    return ~ratio.is_between(1 / limits.LEAP, limits.LEAP, closed="none")


def with_total(
    rows: pl.DataFrame, totals: pl.DataFrame, by: Sequence[str], name: str = "total"
) -> pl.DataFrame:
    """Add what the column total of ``totals`` adds up to in the group of each row."""
    if "instance_type" in by:  # often few
        totals = totals.filter(is_among("instance_type", rows["instance_type"]))
    sums = totals.lazy().group_by(by).agg(pl.col("total").sum().cast(pl.Int64).alias(name))
    joined = rows.lazy().join(sums, on=by, how="left", maintain_order="left", nulls_equal=True)
    return joined.collect()


@dataclass(frozen=True)
class Spread:
    """The spread of siblings: the rows with the same ``group`` that differ in ``apart``.

    A value stays between ``band`` times the least and the most of them, of which there are at least
    ``least``. It is judged where ``applies`` is true.
    """

    reason: str
    value: pl.Expr
    group: Sequence[str]
    apart: str
    band: tuple[float, float]
    applies: pl.Expr | bool = True
    least: int = limits.LEAST_SIBLINGS

    def refused(self, rows: pl.DataFrame, base: pl.DataFrame) -> pl.DataFrame:
        """Return the ``rows`` out of the range of ``base``, with the columns of REFUSED.

        ``rows`` have price_id, is_old and move. A value that was out of the range before passes,
        and one that has moved less than news does.
        """
        others, judged = (
            side.lazy().with_columns(value=self.value).filter(pl.col("value").is_finite())
            for side in (base, rows)
        )
        found = judged.filter(self.applies).collect()
        if found.is_empty():
            return pl.DataFrame(schema=REFUSED)
        value, least, most = (pl.col(name) for name in ("value", "least", "most"))
        members = (
            others.join(found.lazy(), on=self.group, how="semi")
            .group_by(*self.group, self.apart)
            .agg(low=value.min(), high=value.max())
        )
        # the two ends of each side, because the row's own member may be one: joining each row with
        # all members takes too much memory where a whole region is new
        ranges = members.group_by(self.group).agg(
            lows=pl.col("low").bottom_k(2).sort(),
            highs=pl.col("high").top_k(2).sort(descending=True),
            members=pl.len(),
        )
        beside = (
            found.lazy()
            .join(ranges, on=self.group, how="inner")
            .join(members, on=[*self.group, self.apart], how="left")
            .with_columns(least=_without("lows", "low"), most=_without("highs", "high"))
        )
        enough = pl.col("members") - pl.col("low").is_not_null().cast(pl.Int32) >= self.least
        inside, move = (least * self.band[0], most * self.band[1]), MOVE.exp()
        passes = ~(value / move).is_between(*inside) | move.is_between(*limits.LEVEL_MOVE)
        broken = ~value.is_between(*inside) & ~passes.fill_null(False)
        of = " ".join(name for name in self.group if name != "currency") or "the provider"
        text = figures(f"{{}}, others of {of} {{}} to {{}}", value, least, most)
        return refuse(beside.collect(), self.reason, broken & enough, text)


def _without(ends: str, own: str) -> pl.Expr:
    """Take the end of a range without the row's own member, which may be that end."""
    first, second = (pl.col(ends).list.get(n, null_on_oob=True) for n in (0, 1))
    return pl.when(first == pl.col(own)).then(second).otherwise(first)
