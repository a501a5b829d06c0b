"""Compute the break-even utilization of commitments, and how much spot prices moved.

A commitment is paid for every hour of its term, used or not; on demand is paid for the hours of
use. The two cost the same at the share u of all hours for which

    fixed + u × metered = u × on demand

``fixed`` is the cost of the commitment per hour of its term, with the upfront payment spread over
the term. ``metered`` is the part that is still billed on demand, such as a license, and therefore
only for hours of use. If the vendor discounts the on-demand price of a machine that runs for much
of the month (Google's sustained use discounts), on demand is the discounted price at u.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

import polars as pl

from hwprices.read import gcp
from hwprices.read.find import search as searching
from hwprices.read.find.search import Search
from hwprices.read.overlays import apply
from hwprices.read.overlays.rules import Overlays
from hwprices.release.release import REAL, Release, Tables, scan_types
from hwprices.release.versions import version_time
from hwprices.schemas import PLACE_KEY
from hwprices.specs.rules import DiscountRule
from hwprices.units import WideMoney

COLUMN = "break_even_utilisation"
"""Share of all hours from which a commitment costs less than on demand; above 1 it never does."""

SAME = [*PLACE_KEY, "instance_type", "os", "software", "license_model", "tenancy", "currency"]
"""Columns in which a commitment and the on-demand price to compare with must agree."""

Components = Mapping[str, Sequence[Mapping[str, Any]]]  # components by price_id


def with_break_even(
    dataset: Tables, rows: pl.DataFrame, search: Search, overlays: Overlays | None = None
) -> pl.DataFrame:
    """Add COLUMN to rows of prices.

    It is null without a commitment, and if the machine is not sold on demand in that place with
    that system.

    ``rows`` have the columns of ``search.prices``, and those of ``overlays.apply`` if discounted.
    The purchase options and terms of ``search`` are ignored. ``overlays`` are applied to the
    on-demand prices too.
    """
    committed = rows.filter(pl.col("term_months") > 0, *REAL)
    shares: dict[str, float] = {}
    if committed.height:
        on_demand = _on_demand(dataset, committed, search, overlays)
        pairs = committed.join(on_demand, on=SAME, nulls_equal=True)
        components = _components(dataset, pairs)
        shares = dict(_shares(pairs, components))
    ids = pl.DataFrame(
        {"price_id": list(shares), COLUMN: list(shares.values())},
        schema={"price_id": pl.String, COLUMN: pl.Float64},
    )
    return rows.join(ids, on="price_id", how="left", maintain_order="left")


def _on_demand(
    dataset: Tables, committed: pl.DataFrame, search: Search, overlays: Overlays | None
) -> pl.DataFrame:
    """Return the on-demand prices of the machines, in columns prefixed with ``on_demand``."""
    machines = committed.select("provider", "instance_type").unique().rows()
    on_demand = replace(
        search,
        machines=frozenset((provider, name) for provider, name in machines),
        purchase_options=frozenset({"on_demand"}),
        terms=frozenset(),
    )
    listed = searching.prices(dataset, on_demand).filter(*REAL)
    prices = apply.apply(listed, overlays) if overlays is not None else listed
    with_list = prices.with_columns(
        list_price="effective_hourly" if overlays is None else apply.LIST_PRICE
    )
    series = dataset.scan("instance_types").select("provider", "instance_type", "series")
    return (
        with_list.join(series, on=["provider", "instance_type"], how="left")
        .select(
            *SAME,
            "series",
            on_demand="effective_hourly",
            on_demand_list="list_price",
            on_demand_id="price_id",
        )
        .collect()
    )


def _components(dataset: Tables, pairs: pl.DataFrame) -> Components:
    ids = pl.concat([pairs["price_id"], pairs["on_demand_id"]]).unique()
    cost = pl.col("quantity").cast(WideMoney) * pl.col("unit_price").cast(WideMoney)
    rows = (
        scan_types(dataset, "price_components", set(pairs["instance_type"]))
        .filter(
            pl.col("provider").is_in(pairs["provider"].unique().to_list()),
            pl.col("price_id").is_in(ids.to_list()),
        )
        .select("price_id", "component", "purchase_option", cost=cost)
        .collect()
    )
    costs: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows.iter_rows(named=True):
        costs.setdefault(row["price_id"], []).append(row)
    return costs


def _shares(pairs: pl.DataFrame, components: Components) -> Iterator[tuple[str, float]]:
    """Yield the price_id and share of each pair of commitment and on-demand price.

    Own discounts are assumed to lower all components of a price by the same factor.
    """
    rules = gcp.read_discount_rules() if gcp.PROVIDER in pairs["provider"] else []
    for row in pairs.iter_rows(named=True):
        metered = {
            part["component"]: part["cost"]
            for part in components.get(row["price_id"], ())
            if part["purchase_option"] == "on_demand"
        }
        discount = row["effective_hourly"] / row.get(apply.LIST_PRICE, row["effective_hourly"])
        fixed = row["effective_hourly"] - discount * sum(metered.values(), Decimal(0))
        on_demand = {
            part["component"]: part["cost"] for part in components.get(row["on_demand_id"], ())
        }
        share = _share_at_cost(_replaced_costs(row, on_demand, metered, rules), fixed)
        if share is not None:
            yield row["price_id"], float(share)


def _replaced_costs(
    row: Mapping[str, Any],
    on_demand: Mapping[str, Decimal],
    metered: Mapping[str, Decimal],
    rules: Sequence[DiscountRule],
) -> list[tuple[Decimal, Decimal]]:
    """Return the on-demand cost that a commitment replaces, by the share of hours used.

    Pairs of share and cost per hour of the term; the cost is linear between two shares.
    """
    if row["provider"] != gcp.PROVIDER or not on_demand:
        full = row["on_demand"] - sum(metered.values(), Decimal(0))
        return [(Decimal(0), Decimal(0)), (Decimal(1), full)]
    replaced = {name: cost - metered.get(name, 0) for name, cost in on_demand.items()}
    discount = row["on_demand"] / row["on_demand_list"]
    costs = gcp.sustained_use_costs(row["series"], replaced, rules)
    return [(share, cost * discount) for share, cost in costs]


def _share_at_cost(costs: Sequence[tuple[Decimal, Decimal]], amount: Decimal) -> Decimal | None:
    """Find the share at which costs reach an amount; above 1 if they never do.

    None if the costs of all hours are 0.
    """
    for (share, cost), (next_share, next_cost) in pairwise(costs):
        if cost < next_cost and amount <= next_cost:
            return share + (amount - cost) * (next_share - share) / (next_cost - cost)
    full = costs[-1][1]
    return amount / full if full > 0 else None


DAYS = 90
MACHINE = ["provider", "region", "instance_type"]

SAME_SPOT = [*MACHINE, "os", "software", "license_model", "tenancy", "currency"]
"""Columns in which a spot price and the on-demand price to compare with must agree."""

RANGE = ("hourly_low", "hourly_high")


def spot_moves(dataset: Release, rows: pl.DataFrame) -> pl.DataFrame:
    """Summarize the spot prices of machines over the DAYS before the release.

    ``rows`` have the columns of MACHINE.

    Returns:
        A row for each spot price in the history of that time: price_id; spot_days, the days on
        which it is known; spot_mean, weighted by time; spot_low and spot_high; spot_volatility, the
        standard deviation over time divided by the mean; spot_below_on_demand, the share of the
        time below the on-demand price, null without one. If only the mean of a day is known, the
        mean is compared.
    """
    types = set(rows["instance_type"])
    history = scan_types(dataset, "price_history", types).drop_nulls("effective_hourly")
    columns = history.collect_schema().names()
    end = version_time(dataset.version)
    intervals = (
        history.filter(pl.col("purchase_option").is_in(["spot", "on_demand"]))
        .join(rows.lazy().select(MACHINE).unique(), MACHINE, "semi")
        .select(
            *("price_id", "purchase_option", *SAME_SPOT),
            *(pl.coalesce(n if n in columns else "hourly", "hourly").alias(n) for n in RANGE),
            price=pl.col("effective_hourly").cast(pl.Float64),
            start=pl.max_horizontal("valid_from", pl.lit(end - timedelta(DAYS))),
            stop=pl.col("valid_to").fill_null(end),
        )
        .filter(pl.col("start") < pl.col("stop"))
        .collect()
    )
    spot = intervals.filter(purchase_option="spot").with_columns(
        weight=_seconds(pl.col("start"), pl.col("stop"))
    )
    price, weight = pl.col("price"), pl.col("weight")
    mean = (price * weight).sum() / weight.sum()
    moves = spot.group_by("price_id").agg(
        spot_days=weight.sum() / timedelta(1).total_seconds(),
        spot_mean=mean,
        spot_low=pl.col("hourly_low").min(),
        spot_high=pl.col("hourly_high").max(),
        spot_volatility=((price - mean).pow(2) * weight).sum().truediv(weight.sum()).sqrt() / mean,
    )
    on_demand = intervals.filter(purchase_option="on_demand")
    return moves.join(_below(spot, on_demand), "price_id", "left")


def spot_words(row: Mapping[str, Any]) -> str:
    """Describe a row of ``spot_moves``."""
    share = row["spot_below_on_demand"]
    below = f", below on demand {share:.0%} of the time" if share is not None else ""
    return f"volatility {row['spot_volatility']:.0%}{below}"


def _below(spot: pl.DataFrame, on_demand: pl.DataFrame) -> pl.DataFrame:
    beside = spot.join(on_demand, SAME_SPOT, suffix="_on_demand").with_columns(
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


def _seconds(start: pl.Expr, stop: pl.Expr) -> pl.Expr:
    return (stop - start).dt.total_seconds().cast(pl.Float64)
