"""Kinds of units: what is fetched for a region (or once for all), and under which name it is landed."""

PRICE_LIST = "prices"
SAVINGS_PLANS = "savings_plans"
SPOT_ADVISOR = "spot_advisor"
REGIONS = "regions"
ZONES = "zones"
INSTANCE_TYPES = "instance_types"
OFFERINGS = "offerings"
SPOT = "spot"
CAPACITY_BLOCKS = "capacity_blocks"

EC2_BY_REGION = (ZONES, INSTANCE_TYPES, OFFERINGS, SPOT, CAPACITY_BLOCKS)

NO_ANSWER = "did not answer"
"""Part of the reason of a unit that was skipped because its region is dead."""
