"""Every limit of the gate, in one place, with its reason.

A limit has a default and a range. Where a provider has history, the limit is three times the 95th
percentile of what its last releases showed, but never outside the range: a vendor that never moves
is watched more closely, one that moves often is not stopped each week.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MOVING_OPTIONS = ("spot", "low_priority", "capacity_block", "dws_flex_start")
"""Purchase options whose prices change by the hour: rows come and go, and prices jump."""

HISTORY_LENGTH = 30
"""Releases whose figures set the limits: a month of daily releases."""

MINIMUM_HISTORY = 5
"""Fewer releases than these say nothing about a provider's habits; the default limit holds."""

HISTORY_FACTOR = 3.0
"""A limit is so many times what the provider usually shows."""


@dataclass(frozen=True)
class Limit:
    """The limit of a check: its default, and the range in which history may move it."""

    default: float
    lowest: float
    highest: float
    reason: str

    def for_history(self, values: Sequence[float]) -> float:
        """Compute the limit for a provider whose last releases showed these values."""
        if len(values) < MINIMUM_HISTORY:
            return self.default
        ordered = sorted(values)
        usual = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
        return min(self.highest, max(self.lowest, HISTORY_FACTOR * usual))


LIMITS: Mapping[str, Limit] = {
    "rows_lost": Limit(
        0.005, 0.002, 0.02, "a vendor's list does not shrink by more than this in a day"
    ),
    "price_jump": Limit(
        0.01, 0.003, 0.03, "a price table once saw 20 % of its prices flip by ×1.46–1.73 and back"
    ),
    "price_doubled": Limit(
        0.002, 0.0005, 0.005, "hardly any single price doubles or halves from day to day"
    ),
    "level_shift": Limit(
        0.10, 0.05, 0.30, "vendors change one family or one region, not a tenth of all prices"
    ),
    "spot_lost": Limit(0.5, 0.2, 0.7, "markets close one by one; all of them together do not"),
    "spot_level": Limit(0.5, 0.2, 0.7, "the mean of all spot prices moves by some per cent a day"),
    "spot_above_on_demand": Limit(
        0.05, 0.02, 0.15, "a spot price above on-demand is rare and short"
    ),
    "rows_added": Limit(
        0.2, 0.1, 0.5, "new rows come with new types, regions and options, not in what was there"
    ),
    "availability_lost": Limit(0.02, 0.01, 0.05, "a type is withdrawn region by region"),
    "types_retired": Limit(0.02, 0.01, 0.05, "a few families retire in a year, one at a time"),
    "drift_rows": Limit(0.03, 0.03, 0.03, "a month's losses that no single day shows"),
    "drift_level": Limit(0.10, 0.10, 0.10, "a month's price moves that no single day shows"),
    "longer_is_cheaper": Limit(0.05, 0.02, 0.10, "vendors break this for single types"),
    "windows_above_linux": Limit(0.02, 0.01, 0.10, "vendors break this for single types"),
    "priced_is_offered": Limit(0.05, 0.02, 0.20, "lists of offers lag behind price lists"),
    "metal_equals_twin": Limit(
        0.03, 0.03, 0.10, "shared bare metal costs what its virtual twin costs; 2 of 140 do not"
    ),
    "price_per_vcpu": Limit(
        0.02, 0.01, 0.10, "inside a series a vCPU costs about the same in every size"
    ),
    "accelerator_price": Limit(
        0.02, 0.02, 0.20, "a device costs about the same in every machine that has it"
    ),
    "region_spread": Limit(
        0.01, 0.01, 0.10, "the dearest region of a type is below three times its cheapest"
    ),
}

GROUP_LOST = ((200, 0.05), (20, 0.20), (3, 0.30))
"""(rows in the group, share that may be lost): chance can take a larger share of few rows.

The filled values of a column are such a group too (``values_lost``). Vendors correct what a
machine has and do not take it back, so that limits made for prices, which do come and go, have room
enough. That is an estimate: no history of specifications is published.
"""

REWORDED = 0.5
"""A larger share of a provider's prices is not taken by new words in a day: an estimate. Fewer are
no fault of the others, which are published."""

GROUP_MOVED_ROWS = 10
"""A group with fewer prices says nothing about a common move."""

LEAST_MOVED = 5
"""Fewer prices than this are not a common move, whatever their share. A sheet has 18 prices, and
a vendor may change one machine, with all ways to pay for it."""

LEAST_RETIRED = 2
"""One type that retires is not a fault, though it may be a twentieth of a short price sheet."""

LEAST_EXCEPTIONS = 3
"""Fewer exceptions to a rule than this stop nobody, whatever their share: of the 18 prices of a
price sheet two are a tenth, and vendors break most rules for single types."""

SPOT_MARKET_ROWS = 3
"""A market with fewer prices may lose one or two without a fault, as the smallest of GROUP_LOST."""

SPOT_REGION_ROWS = 20
"""In a region with fewer spot prices most may be gone by chance: markets close one by one."""

SPOT_REGION_LOST = 0.8
"""At least this share of a region's spot prices is gone when its page is: an estimate. A region's
own markets close together more often than those of all regions, which ``spot_lost`` limits."""

GROUP_MOVED_SHARE = 0.30
"""More of a region's, system's or option's prices than this do not move the same way in a day."""

FAMILY_RANGE = (0.5, 1.5)
"""A family's price cut or rise between these is news (AWS cut P5 by 44 % in June 2025,
https://aws.amazon.com/blogs/aws/announcing-up-to-45-price-reduction-for-amazon-ec2-nvidia-gpu-accelerated-instances/);
outside it is a mistake until somebody says otherwise."""

MOVED = 0.02
"""A price that changes by less than this has not moved for the purpose of group moves."""

JUMP = 1.4
"""Factor between two days from which a single price counts as jumped."""

DOUBLED = 1.9
"""Factor from which a single price counts as doubled or halved."""

MEMORY_TOLERANCE = 0.1
"""Relative change of a machine's memory that passes: vendors round GiB and GB."""

TWIN_TOLERANCE = 0.01
"""Bare metal and its twin may differ by rounding only."""

TWIN_EXCEPTIONS = ("m8gb.metal-24xl", "r8gb.metal-24xl")
"""Twice their twin in AWS's own list: checked against two independent copies of it, July 2026."""

SERIES_RANGE = 2.5
"""A vCPU of one size costs at most so many times the median of its series in the region."""

ACCELERATOR_RANGE = 0.35
"""A machine costs at least this share of the provider's median price for its accelerators."""

REGION_RANGE = 3.0
"""The most expensive region of a type costs at most so many times the cheapest."""
