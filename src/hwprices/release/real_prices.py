"""Distinguish prices: which are offers, which are of community hosts, which change by the hour."""

import polars as pl

IS_PLACEHOLDER = pl.col("flags").list.contains("placeholder").fill_null(False)
"""Condition on a row of prices: its amount is not an offer."""

REAL = (pl.col("effective_hourly").is_not_null(), ~IS_PLACEHOLDER)
"""Conditions on a row of prices: its amount is known and an offer."""

PRIVATE_HOSTS = (("runpod", "community"),)
"""Provider and region whose machines are community hosts. RunPod's Community Cloud "connects
individual compute providers to compute consumers": https://docs.runpod.io/faq

The price of such a machine is the lowest that anybody asks, and whether one is free is not known.
Answers name it beside the cheapest price of a data center, and never as the cheapest.
"""

MOVING_OPTIONS = ("spot", "low_priority", "capacity_block", "dws_flex_start")
"""Purchase options whose prices change by the hour: rows come and go, and prices jump."""


def is_moving() -> pl.Expr:
    """Return whether the price of a row of the table prices changes by the hour."""
    return pl.col("purchase_option").is_in(MOVING_OPTIONS) | is_private_host()


def is_private_host() -> pl.Expr:
    """Return whether a row with provider and region is of a private person's machine."""
    places = [
        (pl.col("provider") == provider) & (pl.col("region") == region)
        for provider, region in PRIVATE_HOSTS
    ]
    return pl.any_horizontal(places)
