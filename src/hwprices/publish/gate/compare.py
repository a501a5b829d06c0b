"""The limits of the gate, the reasons for holding a row, and helpers to compare rows.

"Sample" is the release of the recordings: 52,000 prices of twenty clouds. "Cases" are those of
tests/publish/gate_cases. A limit without a figure is a definition; an estimate says so.
siblings.csv and facts.csv have the limits of other figures.

Prices are floats here: the gate compares them and never publishes them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, reduce
from operator import xor
from pathlib import Path

import polars as pl

from hwprices.specs import csv_rows

# -- a price and its own past ------------------------------------------------------------------

# A larger move is released when it has been seen three times, a leap waits for a person. The
# largest cut of a list price on record is AWS's of P5 in June 2025, to 0.56:
# https://aws.amazon.com/blogs/aws/announcing-up-to-45-price-reduction-for-amazon-ec2-nvidia-gpu-accelerated-instances/
SHARED_CUT, SHARED_RISE, LEAP = 0.5, 1.25, 2
LEVEL_MOVE = (0.6, 1.5)  # a price that moved by less is not judged by its level: P5's cut is 0.56
SPOT_RANGE = 3.0  # in a day: an estimate, no series of spot prices is recorded
# logarithms (estimates): no move in floats; moves of one cause; a move that is not rounding
SAME, COUPLED, MOVED = 1e-9, 0.001, 0.005
SUM_TOLERANCE = 0.005  # vendors round: at most 2.5e-9 in a release of 1.4 million AWS prices
AHEAD = timedelta(days=92)  # vendors announce a quarter ahead; no price of the sample does
CLOCK = timedelta(days=1)  # collections are daily: pages that are older by more are an older list
CREEP = 0.1  # one way today, this week and before: an estimate, list prices move once

# -- a price on its page -----------------------------------------------------------------------

TRACED, TRACED_FILES = 20, 5  # prices of each publish, and the files that they are taken from
# compressed bytes read of a provider's pages; bytes of one unpacked (parsed JSON takes ten times)
TRACED_BYTES, TRACED_CONTENT = 1 << 20, 8 << 20
TRACED_TOLERANCE = 1e-6  # ten decimals are kept; all of 2,000 prices of the sample agree so

# -- what a price is ordered with --------------------------------------------------------------

LEAST_OF_OTHER = 0.05  # of on-demand: the least of 11,263 spot prices is 0.09, of commitments 0.28
# of the plain price, for new prices: licenses and tenancies add, spot takes up to 0.91 off
LEAST_OF_PLAIN = {"on_demand": 0.95, "other": 0.1}
# to the dollar: means of the European Central Bank's 255 daily reference rates of 2025 (of Azure's
# currencies, no TWD, RUB), https://www.ecb.europa.eu/stats/eurofxref/eurofxref-hist.zip
RATES = {"EUR": 0.887, "GBP": 0.759, "CHF": 0.831, "CAD": 1.40, "AUD": 1.55, "JPY": 149.7,
         "CNY": 7.19, "INR": 87.2, "KRW": 1422.0, "BRL": 5.59, "SEK": 9.82, "NOK": 10.4,
         "DKK": 6.62, "NZD": 1.72}  # fmt: skip
RATE_RANGE = (0.7, 1.5)  # of RATES: vendors fix theirs for months, some add taxes (an estimate)
CONVERTED = (0.92, 1.12)  # of RATES, of a list in another currency: EUR was at 0.96 to 1.09 in 2025
# a composed price to the sum of its parts (ten decimals are kept); a part's rate to what others pay
# for the SKU (an estimate of how vendors round)
PARTS_TOLERANCE, RATE_TOLERANCE = 1e-5, 0.001
TWIN_TOLERANCE = 0.01  # of bare metal to its virtual twin: 99 % of 201 AWS prices differ by less
LEAST_RELABELED = 2  # prices that come again by their label; one may be a coincidence

# -- what moves together -----------------------------------------------------------------------

# A price moves by less while the type stays in other regions. Families move by up to a tenth on the
# hundred ordinary days.
FAR = 1.12
REGION_MOVE = 1.05  # a region that follows an exchange rate moves by less in a day: an estimate
NEAR = 0.1  # moves of a type in several regions differ by less: an estimate
SIBLINGS_SHARE = 0.5  # a majority
COPIES = 3  # prices that come to equal others: the cases copy 3 to 2,639
# Of the prices of a region, system or option so many, and so large a share, move together only by
# mistake: vendors reprice whole families. The largest is 7 % of a region at AWS, 13 % at
# Oracle; the cases move 32 % to all of it.
COMMON_SHARE, COMMON_ROWS, COMMON_FAMILIES = 0.3, 20, 3
# Moves that differ by less are by one factor: a price of two cents with four decimals rounds by
# 0.25 %, one of $0.0042 by 1.2 %.
COMMON_SPREAD = 0.02
ONE_REGION = 0.9  # with a larger share of what moved in one region, it is the region that moved
# A provider with fewer prices may change them all: 15 clouds of the sample have 3 to 71. With 0,
# the new list of DigitalOcean (an event of the cases) is held.
SMALL_LIST = 200
ROUNDED = 0.5  # if more of the changed prices only lost decimals, they were rounded on the way
BESIDE, BESIDE_ROWS = 0.5, 3  # exceeded by the held share of a group, so many at least: all is held

# -- what comes and goes -----------------------------------------------------------------------

GROUP_LOST = ((200, 0.05), (20, 0.20), (3, 0.30))  # rows, share: chance takes more of few rows
LOST = 0.005  # of fixed prices in a day: a type that retires is one of 1,425 at AWS, 0.07 %
SPOT_LOST, SPOT_ROWS = 0.7, 20  # of a market in a day, of so many prices: an estimate
ADDED = 0.2  # of the old prices, where nothing else is new: an estimate
RETIRED, LEAST_RETIRED = 0.02, 2  # share and number of types in a day: 28 of AWS's 1,425
# a larger part is not taken by new words; if more is held for good, the provider is stopped
REWORDED, IMPLAUSIBLE = 0.5, 0.5
# GB for GiB, and one step of the three for the others: larger factors are leaps
BINARY_UNITS, BINARY_TOLERANCE = (1.024, 1.048576, 1.073741824), 0.002
FACTS_CHANGED, FACTS_LEAST = 0.05, 3  # more of a column is not corrected in a day: an estimate
PAST = timedelta(days=366)  # vendors announce retirements: a date named first is not further back
LOST_ROWS, TOTAL = pl.col("lost"), pl.col("total")
RELEASED_AFTER, RELEASED_HOURS = 3, 24  # collections and hours in which a row comes again unchanged


def too_many(lost: pl.Expr = LOST_ROWS, total: pl.Expr = TOTAL) -> pl.Expr:
    """Return whether more is lost of so many rows than GROUP_LOST allows."""
    return pl.any_horizontal((total >= rows) & (lost / total > share) for rows, share in GROUP_LOST)


def most(is_held: pl.Expr, by: str | tuple[str, ...]) -> pl.Expr:
    """Return whether most of a group is held."""
    return (is_held.mean().over(by) > BESIDE) & (is_held.sum().over(by) >= BESIDE_ROWS)


LASTING = (
    *("unit", "sum", "parts", "leap", "older", "basis", "page", "order", "copied"),
    *("series", "device", "twin", "regions", "on_demand", "common", "mixed", "apart"),
    *("creep", "emptied", "market", "reworded", "offered", "lost", "facts", "family", "beside"),
)
"""Reasons that only a mistake of ours explains: such a row stays held until it changes or is
accepted. docs/gates.md says what each means."""

RELEASED = ("jump", "currency", "added", "closed", "retired", "fact")
"""Reasons for which a row that comes again unchanged is released."""

RELATIVE = ("parts", "copied", "series", "device", "twin", "regions", "common", "mixed", "apart")
"""Reasons that other prices can give a row which itself has not changed."""

REASONS = (*LASTING, *RELEASED)
"""Why a row is held; of several the first is listed."""


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


def is_leap(ratio: pl.Expr) -> pl.Expr:
    """Return whether a value is so far from the published one that only a person can release it."""
    return ~ratio.is_between(1 / LEAP, LEAP, closed="none")


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
    """A row of siblings.csv: a figure and its siblings, which have the same ``group``.

    The figure stays between ``band`` times the least and the most of them. They differ in
    ``apart``; there are at least ``others``. It is judged where ``judged`` is true, by those of
    which ``among`` is true.
    """

    reason: str
    value: pl.Expr
    group: Sequence[str]
    apart: str
    band: tuple[float, float]
    others: int
    judged: pl.Expr
    among: pl.Expr

    def refused(self, rows: pl.DataFrame, base: pl.DataFrame) -> pl.DataFrame:
        """Return the ``rows`` out of the range of ``base``, with the columns of REFUSED.

        ``rows`` have price_id, is_old and move. A value that was out of the range before passes.
        """
        others, judged = (
            side.lazy().with_columns(value=self.value).filter(pl.col("value").is_finite())
            for side in (base, rows)
        )
        found = judged.filter(self.judged).collect()
        if found.is_empty():
            return pl.DataFrame(schema=REFUSED)
        value, least, most = (pl.col(name) for name in ("value", "least", "most"))
        members = (
            others.filter(self.among)
            .join(found.lazy(), on=self.group, how="semi")
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
        enough = pl.col("members") - pl.col("low").is_not_null().cast(pl.Int32) >= self.others
        inside = (least * self.band[0], most * self.band[1])
        passes = ~(value / MOVE.exp()).is_between(*inside)
        broken = ~value.is_between(*inside) & ~passes.fill_null(False)
        of = " ".join(name for name in self.group if name != "currency") or "the provider"
        text = figures(f"{{}}, others of {of} {{}} to {{}}", value, least, most)
        return refuse(beside.collect(), self.reason, broken & enough, text)


@cache
def spreads(of: str) -> tuple[Spread, ...]:
    """Return the rows of siblings.csv for prices of ``old``, ``new`` or ``clouds``, or a table."""
    return tuple(
        Spread(
            row["reason"],
            pl.sql_expr(row["figure"]),
            row["group"].split(),
            row["apart"],
            (float(row["least"]), float(row["most"])),
            int(row["others"]),
            *(pl.sql_expr(row[name] or "TRUE") for name in ("judged", "among")),
        )
        for row in csv_rows(Path(__file__).with_name("siblings.csv"))
        if row["of"] == of
    )


def _without(ends: str, own: str) -> pl.Expr:
    """Take the end of a range without the row's own member, which may be that end."""
    first, second = (pl.col(ends).list.get(n, null_on_oob=True) for n in (0, 1))
    return pl.when(first == pl.col(own)).then(second).otherwise(first)
