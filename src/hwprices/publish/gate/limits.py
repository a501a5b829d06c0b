"""Every limit of the gate, with what was measured, and every reason for holding a row.

"Sample" is the release of the recordings: 52,000 prices of twenty clouds. "Cases" are those of
tests/publish/gate_cases. A limit without a figure is a definition, or an estimate that says so.
"""

import math
from datetime import timedelta

import polars as pl

# -- a price and its own past ------------------------------------------------------------------

FACTORS = (10, 12, 24, 60, 100, 720, 730, 744, 1000, 1024, 3600, 8760, 10_000)
"""What a mistaken unit multiplies or divides a figure by: cents, months, days, hours, bytes."""

FIGURE_FACTORS = (*FACTORS, 8, 1.024, 1.048576, 1.073741824)
"""Those of figures: bytes and bits, GB and GiB as well."""

FACTOR_TOLERANCE = 0.002
"""As a logarithm: an estimate of how vendors round. 720 and 730, the nearest factors, are 0.014
apart."""

SHARED_CUT, SHARED_RISE = 0.5, 1.25
"""A larger move is released when it has been seen three times: AWS cut P5 by 44 % in June 2025,
https://aws.amazon.com/blogs/aws/announcing-up-to-45-price-reduction-for-amazon-ec2-nvidia-gpu-accelerated-instances/
"""

LEAP = 2
"""A larger move waits for a person: the largest cut of a list price on record is P5's, to 0.56."""

SPOT_RANGE = 3.0
"""Of a spot price in a day: an estimate, no series of spot prices is recorded."""

MOVED = 0.005
"""A price that moves by less has not moved: an estimate of how vendors round."""

SAME, COUPLED = 1e-9, 0.001
"""Logarithms: of no move in floats, and by which moves of one cause differ (an estimate)."""

SUM_TOLERANCE = 0.005
"""Vendors round. The largest difference of hourly and upfront to the total is 2.5e-9 on a release
of 1.4 million AWS prices."""

AHEAD = timedelta(days=92)
"""Vendors announce a quarter ahead. No price of the sample begins after it was seen."""

CLOCK = timedelta(days=1)
"""Collections are daily: pages that are older than those published by more are an older list."""

CREEP = 0.1
"""Moves one way today, this week and before. An estimate: list prices move once, not in steps."""

TRACED, TRACED_FILES = 20, 5
"""Prices that each publish looks for on their pages, and the files that they are taken from."""

TRACED_BYTES, TRACED_CONTENT = 1 << 20, 8 << 20
"""Packed bytes that are read for it of a provider's pages, and unpacked bytes of one: parsed JSON
takes ten times its length."""

TRACED_TOLERANCE = 1e-6
"""Ten decimals of a price are kept; all of 2,000 prices of the sample agree so."""

# -- what a price is ordered with --------------------------------------------------------------

LEAST_OF_OTHER = 0.05
"""Of on-demand. The least of 11,263 spot prices of the sample is 0.09, of a commitment 0.28."""

LEAST_OF_PLAIN = {"on_demand": 0.95, "other": 0.1}
"""Of the plain price, for new prices: licenses and tenancies add, spot takes up to 0.91 off."""

RATES = {"EUR": 0.887, "GBP": 0.759, "CHF": 0.831, "CAD": 1.40, "AUD": 1.55, "JPY": 149.7,
         "CNY": 7.19, "INR": 87.2, "KRW": 1422.0, "BRL": 5.59, "SEK": 9.82, "NOK": 10.4,
         "DKK": 6.62, "NZD": 1.72}  # fmt: skip
"""To the dollar: means of the European Central Bank's 255 daily reference rates of 2025,
https://www.ecb.europa.eu/stats/eurofxref/eurofxref-hist.zip (of Azure's currencies, no TWD, RUB)"""

RATE_RANGE = (0.7, 1.5)
"""Times RATES. Vendors fix theirs for months, and some add taxes: an estimate."""

LICENSE_CUT = (0.5, 0.72)
"""P5's cut to 0.56 is there; the currencies of the sample's clouds (EUR 0.89, CNY 7.2) and their
inverse are not."""

PARTS_TOLERANCE, RATE_TOLERANCE = 1e-5, 0.001
"""Of a composed price to the sum of its parts (ten decimals are kept), and of a part's rate to
what others pay for the SKU, an estimate of how vendors round."""

# -- levels: between the first figure times the least and the second times the most of others ---

LEVEL_MOVE = (0.6, 1.5)
"""A known price that moved by less is not judged by its level: the largest genuine cut is 0.56."""

REGION_RANGE = (0.7, 1.4)
"""2,774 plain prices of the sample: 0.79 to 1.27 times those of other regions."""

SERIES_RANGE = (0.5, 2.0)
"""Per vCPU in a family and region: 99.99 % of 7,465 are inside, 98 % between 0.98 and 1.13."""

PROVIDER_RANGE = (0.5, 2.0)
"""Per vCPU of a family, or per GiB of an accelerator, against all: 99.96 % of 7,645 are inside, and
99.4 % of 508."""

FLOOR_RANGE = (0.7, math.inf)
"""Per vCPU (and GiB) of a new type, against the least of the region: 99.4 % (97.8 %) of 8,548 are
above; an accelerator at a tenth of its price is below."""

DEVICE_RANGE = (0.5, 1.7)
"""Per accelerator, against other types that have it: 99.2 % of 369 are inside."""

CLOUDS_RANGE = (0.6, 1.6)
"""Per accelerator, against other clouds: 91 % of 289 are inside; the others
are held only if they moved."""

FAMILY_MEMORY, FAMILY_DEVICES, DEVICE_MEMORY = (0.5, 4.1), (0.6, 1.7), (0.9, 1.1)
"""Memory and devices per vCPU in a family, memory per device of a kind: 99.9 % of 3,714, 91 % of
216 and all of 221 are inside. Azure sells sizes with a quarter of the vCPUs."""

TWIN_TOLERANCE = 0.01
"""Of bare metal to its virtual twin: 99 % of 201 AWS prices differ by less."""

LEAST_SIBLINGS = 2
"""Fewer others are not a range."""

# -- what moves together -----------------------------------------------------------------------

ALONE, APART = 1.2, 1.1
"""A price whose siblings in other regions stay moves by less; by still less while the rest of its
machine stays. Families move by up to a tenth on the hundred ordinary days."""

NEAR = (0.1, 0.3)
"""Siblings whose moves differ by less than the first, or by that share of the move, moved the same
way: estimates."""

SIBLINGS_SHARE = 0.5
"""Of the siblings: a majority."""

COPIES = 3
"""Prices of a family that come to equal others of their machines: the cases copy 12 to 2,639."""

COMMON_SHARE, COMMON_ROWS, COMMON_FAMILIES = 0.3, 20, 3
"""Of the prices of a region, system, option, currency or provider, and so many at least, move
together only by mistake: vendors change families. The largest is 7 % of a region at AWS, 13 % at
Oracle; the cases move 32 % to all of it."""

COMMON_SPREAD = 0.02
"""Moves that differ by less are by one factor: a price of two cents with four decimals rounds by
0.25 %, one of $0.0042 by 1.2 %."""

ONE_REGION = 0.9
"""With a larger share of what moved in one region, it is the region that moved."""

SMALL_LIST = 200
"""A provider with fewer prices may change them all: 15 clouds of the sample have 3 to 71. With 0,
the new list of Lambda (an event of the cases) is held."""

ROUNDED = 0.5
"""Prices of which a larger share of those that changed lost decimals were rounded on the way."""

LICENSE_SHARE = 0.9
"""So much of a family moves by one factor, Windows and Linux alike, only if its currency does."""

BESIDE, BESIDE_ROWS = 0.5, 3
"""Share, exceeded, and number of held rows among those that changed in a group: all are held."""

GROUPS = (
    ("family", "region"),
    ("family", "purchase_option", "os"),
    ("region", "purchase_option", "os"),
    ("purchase_option", "term_months", "os", "software", "license_model"),
)
"""Groups of prices that one mistake changes together."""

# -- what comes and goes -----------------------------------------------------------------------

GROUP_LOST = ((200, 0.05), (20, 0.20), (3, 0.30))
"""(rows in a group, share that may be lost): chance can take a larger share of few rows."""

LOST = 0.005
"""Of a provider's fixed prices in a day. A type that retires is one of 1,425 at AWS, 0.07 %."""

SPOT_LOST, SPOT_ROWS = 0.7, 20
"""Of a market's prices in a day. An estimate; a market with fewer prices is not judged."""

ADDED = 0.2
"""Of the old prices, where nothing else is new: an estimate."""

RETIRED, LEAST_RETIRED = 0.02, 2
"""Share and number of types in a day: 28 of AWS's 1,425."""

REWORDED, IMPLAUSIBLE = 0.5, 0.5
"""A larger part of a provider's prices is not taken by new words, and if more is held, the
provider is stopped: most of it is wrong."""

FACTS_CHANGED, FACTS_LEAST = 0.05, 3
"""More values of a column are not corrected in a day: an estimate."""

COORDINATES = (0.98, 1.02)
"""Vendors name the city or the site: 2 % of a latitude of 50° are 110 km."""

PAST = timedelta(days=366)
"""A date of retirement that is named first does not lie further back: vendors announce it."""

RELEASED_AFTER, RELEASED_HOURS = 3, 24
"""Collections and hours in which a held row must come again unchanged to be released."""


def too_many() -> pl.Expr:
    """Return whether of ``total`` rows a larger share than GROUP_LOST allows is ``lost``."""
    allowed = pl.lit(1.0)
    for rows, share in reversed(GROUP_LOST):
        allowed = pl.when(pl.col("total") >= rows).then(share).otherwise(allowed)
    return pl.col("lost") / pl.col("total") > allowed


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
