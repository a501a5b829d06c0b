"""Derive the prices under a flexible (spend-based) commitment from the on-demand prices.

The catalog has no rate for them: who commits to an amount of money per hour pays a share of the
on-demand price of some components of some series, which data/specs/gcp_discounts.csv has with its
source. The others stay at the full price.
"""

import polars as pl

from hwprices.providers.gcp.inventory.machine_type import Machines
from hwprices.providers.gcp.prices.compose import OFFER_KEY, MachinePrices
from hwprices.providers.gcp.sheets import Sheets
from hwprices.units import Money

PLAN = "flexible"

UNSOLD = "flexible_committed_use"
"""What data/specs/gcp_not_sold.csv calls such a commitment."""


def add_flexible(linux: MachinePrices, machines: Machines, sheets: Sheets) -> MachinePrices:
    """Add the prices of flexible commitments to those that are composed.

    Each known on-demand price of a machine has one for each term that its series is sold for. Each
    line is that of the on-demand price with the share of it that is paid, rounded at the tenth
    decimal; the price is their sum. A line at the full price has component_option on_demand, and
    the row the flag ``uncommitted_parts``, as under a commitment for resources.
    """
    lines = _lines(linux, _terms(machines, sheets), sheets.flexible_shares)
    prices = _prices(linux.prices, lines)
    components = lines.join(prices, on="offer", how="semi")
    return MachinePrices(
        pl.concat([linux.prices, prices.select(linux.prices.columns)], rechunk=True),
        pl.concat([linux.components, components.select(linux.components.columns)], rechunk=True),
    )


def _terms(machines: Machines, sheets: Sheets) -> pl.DataFrame:
    """Return one row for each machine type and term: instance_type, of_series, term_months."""
    series = pl.DataFrame(
        {
            "instance_type": [machine.name for machine in machines.types],
            "of_series": [machine.series.name for machine in machines.types],
        },
        schema={"instance_type": pl.String, "of_series": pl.String},
    )
    sold = sheets.flexible_shares.select("of_series", "term_months").unique()
    unsold = machines.unsold.filter(pl.col("purchase_option") == UNSOLD)
    return series.join(sold, on="of_series").join(unsold, on="instance_type", how="anti")


def _lines(linux: MachinePrices, terms: pl.DataFrame, shares: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each part of each on-demand price and each term.

    ``from_offer`` is the on-demand price's number. ``price`` is what is paid, ``pays_share`` null
    for a part at the full price.
    """
    is_on_demand = pl.col("purchase_option") == "on_demand"
    on_demand = linux.components.filter(is_on_demand).drop("term_months")
    # Numbers beyond those of all offers, with a price or without: one block for each term.
    block = linux.prices.select(pl.col("offer").max().fill_null(0) + 1).item()
    joined = on_demand.join(terms, on="instance_type").join(
        shares, on=["of_series", "component", "term_months"], how="left"
    )
    paid = (pl.col("price") * pl.col("pays_share")).cast(Money)
    is_full = pl.col("pays_share").is_null()
    option = pl.lit("committed_use")
    return joined.with_columns(
        pl.when(is_full).then("price").otherwise(paid).alias("price"),
        from_offer="offer",
        offer=(pl.col("offer") + block * (pl.col("term_months") // 12)).cast(pl.UInt32),
        purchase_option=option,
        component_option=pl.when(is_full).then(pl.lit("on_demand")).otherwise(option),
    ).with_columns(cost=(pl.col("quantity") * pl.col("price")).cast(Money))


def _prices(composed: pl.DataFrame, lines: pl.DataFrame) -> pl.DataFrame:
    """Add up the lines of each offer that has a part with a discount."""
    sums = lines.group_by("offer").agg(
        pl.col("from_offer", *OFFER_KEY).first(),
        pl.col("cost").sum().cast(Money).alias("hourly"),
        pl.col("pays_share").is_null().any().alias("uncommitted"),
        pl.col("pays_share").is_not_null().any().alias("committed"),
    )
    uncommitted = pl.when("uncommitted").then(pl.lit("uncommitted_parts"))
    kept = composed.drop(*OFFER_KEY, "hourly", "commitment_plan")
    return (
        sums.filter("committed")
        .join(kept.rename({"offer": "from_offer"}), on="from_offer")
        .with_columns(
            flags=pl.concat_list("flags", uncommitted).list.drop_nulls(),
            commitment_plan=pl.lit(PLAN),
        )
    )
