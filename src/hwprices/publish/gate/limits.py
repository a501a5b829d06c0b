"""Every limit of the gate, and every reason for holding a row, in one place."""

import math
from datetime import timedelta

import polars as pl

MOVED = 0.005
"""Relative change below which a price has not moved for the purpose of a common move."""

FACTORS = (10, 12, 24, 60, 100, 720, 730, 744, 1000, 1024, 3600, 8760, 10_000)
"""What a mistaken unit multiplies or divides a figure by: cents, months, days, hours, bytes."""

FIGURE_FACTORS = (*FACTORS, 8, 1.024, 1.048576, 1.073741824)
"""Those of figures: bytes and bits, GB and GiB as well."""

FACTOR_TOLERANCE = 0.002
"""Relative distance to one of FACTORS that rounded prices keep."""

SHARED_CUT, SHARED_RISE = 0.5, 1.25
"""A price that moves by a larger factor is news until it has been seen three times: AWS cut P5 by
44 % in June 2025,
https://aws.amazon.com/blogs/aws/announcing-up-to-45-price-reduction-for-amazon-ec2-nvidia-gpu-accelerated-instances/
"""

SPOT_RANGE = 3.0
"""A spot price moves by a smaller factor in a day."""

LEAP = 2
"""A value that is so many times, or such a part of, the published one stays held until a person
accepts it: the largest cut of a list price on record is that of P5 in June 2025, to 0.56."""

SAME = 1e-9
"""Logarithm of a move that is none."""

COUPLED = 0.001
"""Moves that differ by less, as logarithms, have one cause: markets do not follow lists."""

APART = 1.1
"""A price moves by a smaller factor while the rest of its machine stays, in one region."""

COPIES = 3
"""So many prices of a family do not come to equal others of their machines in a day."""

LEAST_OF_OTHER = 0.05
"""Spot prices and commitments cost more than this share of on-demand: vendors speak of up to 90 %
off."""

AHEAD = timedelta(days=92)
"""Prices do not begin later than this after the page was seen: vendors announce months ahead."""

SMALL_LIST = 200
"""A provider with fewer prices may change all of them by one factor."""

LICENSE_CUT = (0.5, 0.72)
"""No rate of a currency to the dollar lies there, so a cut in this range is not a mistaken one."""

LEVEL_MOVE = (0.6, 1.5)
"""A known price that moved by a factor in this range is not judged by its level."""

ROUNDED = 0.5
"""Prices of which a larger share of those that changed lost decimals were rounded on the way."""

CLOUDS_RANGE = (0.6, 1.6)
"""An accelerator costs between these times the least and the most of other clouds."""

PER_DOLLAR = {"EUR": 0.92, "GBP": 0.78, "CHF": 0.87, "CAD": 1.37, "AUD": 1.5, "JPY": 150.0,
              "CNY": 7.2, "INR": 85.0, "KRW": 1380.0, "BRL": 5.5, "TWD": 32.0, "SEK": 10.2,
              "NOK": 10.6, "DKK": 6.8, "NZD": 1.65, "RUB": 90.0}  # fmt: skip
"""Rates of the currencies that clouds list, rounded: European Central Bank, means of 2025."""

RATE_RANGE = (0.7, 1.5)
"""Vendors fix their rates for months, and some add taxes."""

ALONE = 1.2
"""A price whose siblings in other regions stay moves by a smaller factor."""

SIBLINGS_SHARE = 0.5
"""So many of a type's prices in other regions move the same way when the vendor changes them."""

COMMON_SHARE = 0.3
"""More prices of a region, system, option, currency or provider do not move by one factor: vendors
change families."""

ONE_REGION = 0.9
"""With a larger share of what moved in one region, it is the region that moved."""

COMMON_SPREAD = 0.02
"""Moves that differ by less, relatively, are by one factor."""

COMMON_ROWS, COMMON_FAMILIES = 20, 3
"""Fewer prices or families say nothing about a common move."""

LICENSE_SHARE = 0.9
"""So much of a family moves by one factor, Windows and Linux alike, only if its currency does."""

REGION_RANGE = (0.7, 1.4)
"""A type costs between these times its cheapest and most expensive other region."""

SERIES_RANGE = (0.5, 2.0)
"""A vCPU costs between these times the least and the most in its family and region."""

PROVIDER_RANGE = (0.5, 2.0)
"""A vCPU of a new family, or a GiB of a new accelerator, against all others of the provider."""

FLOOR_RANGE = (0.7, math.inf)
"""A new machine costs at least this per vCPU, times the least of the machines without accelerators:
with a tenth of its price one with accelerators is below it."""

DEVICE_RANGE = (0.5, 1.7)
"""An accelerator costs between these times the least and the most in other types that have it."""

FAMILY_MEMORY, FAMILY_DEVICES, DEVICE_MEMORY = (0.5, 4.1), (0.6, 1.7), (0.9, 1.1)
"""Memory and devices of a new type per vCPU, against the range of its family: Azure sells sizes
with a quarter of the vCPUs. Memory of a device, against others of its kind."""

TWIN_TOLERANCE = 0.01
"""Bare metal and its virtual twin may differ by rounding only."""

LEAST_SIBLINGS = 2
"""Fewer others say nothing about a range."""

CREEP = 0.1
"""A price that moved the same way today, within the last week and before may have moved so far."""

SUM_TOLERANCE = 0.005
"""Relative difference of a price and what it is composed of: vendors round."""

CLOCK = timedelta(days=1)
"""Pages that are older than those published by more than this are an older list."""

PARTS_TOLERANCE = 1e-5
"""Relative difference of a composed price and the sum of its parts: ten decimals are kept."""

RATE_TOLERANCE = 0.001
"""Relative difference of a part's rate and what others pay for the SKU."""

GROUP_LOST = ((200, 0.05), (20, 0.20), (3, 0.30))
"""(rows in a group, share that may be lost): chance can take a larger share of few rows."""


def too_many() -> pl.Expr:
    """Return whether of ``total`` rows a larger share than GROUP_LOST allows is ``lost``."""
    allowed = pl.lit(1.0)
    for rows, share in reversed(GROUP_LOST):
        allowed = pl.when(pl.col("total") >= rows).then(share).otherwise(allowed)
    return pl.col("lost") / pl.col("total") > allowed


LOST = 0.005
"""More of a provider's fixed prices are not gone in a day."""

SPOT_LOST, SPOT_ROWS = 0.7, 20
"""More of a market's prices are not gone in a day; a market with fewer prices says nothing."""

ADDED = 0.2
"""So many new prices, as a share of the old, do not come where nothing else is new."""

RETIRED, LEAST_RETIRED = 0.02, 2
"""More types than this share and number do not retire in a day."""

PAST = timedelta(days=366)
"""A date of retirement that is named first does not lie further back."""

REWORDED = 0.5
"""A larger share of a provider's prices is not taken by new words in a day: an estimate."""

IMPLAUSIBLE = 0.5
"""If more of a provider's prices are held, the provider is stopped."""

FACTS_CHANGED, FACTS_LEAST = 0.05, 3
"""More values of a column are not corrected in a day."""

RELEASED_AFTER, RELEASED_HOURS = 3, 24
"""Collections and hours in which a held row must come again unchanged to be released."""

BESIDE, BESIDE_ROWS = 0.5, 3
"""Share, exceeded, and number of held rows among those that changed in a group: all are held."""

GROUPS = (
    ("family", "region"),
    ("family", "purchase_option", "os"),
    ("region", "purchase_option", "os"),
    ("purchase_option", "term_months", "os", "software", "license_model"),
)
"""Groups of prices that one mistake changes together."""

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
