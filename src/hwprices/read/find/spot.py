"""How much spot prices moved, and how long they were below on-demand."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import polars as pl

from hwprices.release.release import Release, scan_types
from hwprices.release.versions import version_time

DAYS = 90
MACHINE = ["provider", "region", "instance_type"]

SAME = [*MACHINE, "os", "software", "license_model", "tenancy", "currency"]
"""What a spot price and the on-demand price beside it share."""

RANGE = ("hourly_low", "hourly_high")


def spot_moves(dataset: Release, rows: pl.DataFrame) -> pl.DataFrame:
    """Sum up the spot prices of some machines over the DAYS before the release.

    Args:
        dataset: a release.
        rows: with the columns of MACHINE.

    Returns:
        A row for each spot price that has been in the history for some of that time: price_id;
        spot_days, for how many days it is known; spot_mean, weighted with time; spot_low and
        spot_high; spot_volatility, the standard deviation over time by the mean; and
        spot_below_on_demand, the share of the time in which it was below the on-demand price, null
        without one. Of days of which only the mean is known, the mean is compared.
    """
    types = set(rows["instance_type"])
    history = scan_types(dataset, "price_history", types).drop_nulls("effective_hourly")
    columns = history.collect_schema().names()
    end = version_time(dataset.version)
    own = (
        history.filter(pl.col("purchase_option").is_in(["spot", "on_demand"]))
        .join(rows.lazy().select(MACHINE).unique(), MACHINE, "semi")
        .select(
            *("price_id", "purchase_option", *SAME),
            *(pl.coalesce(n if n in columns else "hourly", "hourly").alias(n) for n in RANGE),
            price=pl.col("effective_hourly").cast(pl.Float64),
            start=pl.max_horizontal("valid_from", pl.lit(end - timedelta(DAYS))),
            stop=pl.col("valid_to").fill_null(end),
        )
        .filter(pl.col("start") < pl.col("stop"))
        .collect()
    )
    spot = own.filter(purchase_option="spot").with_columns(weight=_seconds("start", "stop"))
    price, weight = pl.col("price"), pl.col("weight")
    mean = (price * weight).sum() / weight.sum()
    moves = spot.group_by("price_id").agg(
        spot_days=weight.sum() / timedelta(1).total_seconds(),
        spot_mean=mean,
        spot_low=pl.col("hourly_low").min(),
        spot_high=pl.col("hourly_high").max(),
        spot_volatility=((price - mean).pow(2) * weight).sum().truediv(weight.sum()).sqrt() / mean,
    )
    return moves.join(_below(spot, own.filter(purchase_option="on_demand")), "price_id", "left")


def spot_words(row: Mapping[str, Any]) -> str:
    """Write how much a spot price moved: a row of ``spot_moves``."""
    share = row["spot_below_on_demand"]
    below = f", below on demand {share:.0%} of the time" if share is not None else ""
    return f"volatility {row['spot_volatility']:.0%}{below}"


def _below(spot: pl.DataFrame, on_demand: pl.DataFrame) -> pl.DataFrame:
    beside = spot.join(on_demand, SAME, suffix="_on_demand").with_columns(
        weight=_seconds(
            pl.max_horizontal("start", "start_on_demand"),
            pl.min_horizontal("stop", "stop_on_demand"),
        ).clip(lower_bound=0)
    )
    is_below = pl.col("price") < pl.col("price_on_demand")
    share = pl.col("weight").filter(is_below).sum() / pl.col("weight").sum()
    return beside.group_by("price_id").agg(
        spot_below_on_demand=pl.when(pl.col("weight").sum() > 0).then(share)
    )


def _seconds(start: pl.Expr | str, stop: pl.Expr | str) -> pl.Expr:
    start, stop = (pl.col(one) if isinstance(one, str) else one for one in (start, stop))
    return (stop - start).dt.total_seconds().cast(pl.Float64)
