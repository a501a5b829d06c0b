"""The limits of the gate, with what was measured, and every reason for holding a row.

"Sample" is the release of the recordings: 52,000 prices of twenty clouds. "Cases" are those of
tests/publish/gate_cases. A limit without a figure is a definition, or an estimate that says so.
The tables of rules beside the code (``levels``, ``facts``) have the limits that only they use.
"""

from datetime import timedelta

import polars as pl

# -- a price and its own past ------------------------------------------------------------------

# what a mistaken unit multiplies or divides by: cents, months, days, hours, bytes; of figures also
# bits, GB and GiB
FACTORS = (10, 12, 24, 60, 100, 720, 730, 744, 1000, 1024, 3600, 8760, 10_000)
FIGURE_FACTORS = (*FACTORS, 8, 1.024, 1.048576, 1.073741824)
FACTOR_TOLERANCE = 0.002  # a logarithm: vendors round (an estimate); 720 and 730 are 0.014 apart
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
# So much of a family moves by one factor, Windows and Linux alike, only if its currency does. P5's
# cut is in the range; the currencies of the sample (EUR 0.89, CNY 7.2) and their inverse are not.
LICENSE_CUT, LICENSE_SHARE = (0.5, 0.72), 0.9
# a composed price to the sum of its parts (ten decimals are kept); a part's rate to what others pay
# for the SKU (an estimate of how vendors round)
PARTS_TOLERANCE, RATE_TOLERANCE = 1e-5, 0.001
TWIN_TOLERANCE = 0.01  # of bare metal to its virtual twin: 99 % of 201 AWS prices differ by less
LEAST_SIBLINGS = 2  # fewer others are not a range

# -- what moves together -----------------------------------------------------------------------

# A price whose siblings in other regions stay moves by less; by still less while the rest of its
# machine stays. Families move by up to a tenth on the hundred ordinary days.
ALONE, APART = 1.2, 1.1
NEAR = (0.1, 0.3)  # moves, or that share of one, that differ by less are the same way: estimates
SIBLINGS_SHARE = 0.5  # a majority
COPIES = 3  # prices of a family that come to equal others: the cases copy 12 to 2,639
# Of the prices of a region, system, option, currency or provider, and so many at least, move
# together only by mistake: vendors change families. The largest is 7 % of a region at AWS, 13 % at
# Oracle; the cases move 32 % to all of it.
COMMON_SHARE, COMMON_ROWS, COMMON_FAMILIES = 0.3, 20, 3
# Moves that differ by less are by one factor: a price of two cents with four decimals rounds by
# 0.25 %, one of $0.0042 by 1.2 %.
COMMON_SPREAD = 0.02
ONE_REGION = 0.9  # with a larger share of what moved in one region, it is the region that moved
# A provider with fewer prices may change them all: 15 clouds of the sample have 3 to 71. With 0,
# the new list of Lambda (an event of the cases) is held.
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
FACTS_CHANGED, FACTS_LEAST = 0.05, 3  # more of a column is not corrected in a day: an estimate
PAST = timedelta(days=366)  # vendors announce retirements: a date named first is not further back
RELEASED_AFTER, RELEASED_HOURS = 3, 24  # collections and hours in which a row comes again unchanged


def too_many() -> pl.Expr:
    """Return whether of ``total`` rows a larger share than GROUP_LOST allows is ``lost``."""
    allowed = pl.lit(1.0)
    for rows, share in reversed(GROUP_LOST):
        allowed = pl.when(pl.col("total") >= rows).then(share).otherwise(allowed)
    return pl.col("lost") / pl.col("total") > allowed


def most(is_held: pl.Expr, by: str | tuple[str, ...]) -> pl.Expr:
    """Return whether most of a group is held."""
    return (is_held.mean().over(by) > BESIDE) & (is_held.sum().over(by) >= BESIDE_ROWS)


LASTING = (
    *("unit", "sum", "parts", "factor", "older", "basis", "page", "order", "copied", "leap"),
    *("series", "device", "twin", "regions", "on_demand", "common", "mixed", "license", "apart"),
    *("creep", "emptied", "market", "reworded", "offered", "lost", "facts", "family", "beside"),
)
"""Reasons that only a mistake of ours explains: such a row stays held until it changes or is
accepted. docs/gates.md says what each means."""

RELEASED = ("jump", "alone", "added", "closed", "retired", "fact")
"""Reasons for which a row that comes again unchanged is released."""

REASONS = (*LASTING, *RELEASED)
"""Why a row is held; of several the first is listed."""
