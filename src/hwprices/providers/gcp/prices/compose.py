"""Parts × what they cost → the price of every machine in every region, by every option it is sold by.

``hourly = Σ quantity × unit price``. Never a partial sum: a machine with a part that has no price has none, and says which. All
in columns: 36,000 type-zone pairs with 40,000 SKUs are joins, not loops.
"""

from dataclasses import dataclass

import polars as pl

from hwprices.providers.gcp import sheets
from hwprices.providers.gcp.inventory.instance_types import Machines
from hwprices.providers.gcp.prices.rates import KEY, Rates
from hwprices.units import Money

HOURS_PER_MONTH = 730
"""Google's own: "prices … based on 730 hours in a month", https://cloud.google.com/compute/all-pricing."""

OPTIONS = pl.DataFrame(
    [
        ("on_demand", 0),
        ("spot", 0),
        ("committed_use", 12),
        ("committed_use", 36),
        ("dws_calendar", 0),
        ("dws_defined_duration", 0),
        ("dws_flex_start", 0),
    ],
    schema={"option": pl.String, "term_months": pl.Int32},
    orient="row",
)

SOLD = ["region", "instance_type", "option", "term_months"]


@dataclass(frozen=True)
class Composed:
    """``prices``: SOLD, hourly (null with price_reason), flags, effective_from, currency and source columns. ``components``: SOLD,
    component, part_option, quantity, unit, unit_price, sku_id and source columns of the prices that are known."""

    prices: pl.DataFrame
    components: pl.DataFrame


def compose(machines: Machines, rates: Rates) -> Composed:
    """Linux prices of every type in every region where a zone offers it.

    An option exists for a type in a region when its main part (slice, GPU, TPU, instance or core) has a SKU for it; on demand it
    exists for all that are not listed as not sold, so that a missing SKU shows as a null price. Under a commitment, parts that
    cannot be committed stay at their on-demand price and the row carries the flag ``uncommitted_parts``.
    """
    lines = _lines(machines, rates)
    sold = _sold(lines, machines)
    lines = lines.join(sold, on=SOLD, how="semi")
    money = _money(lines)
    prices = _sum(money)
    known = prices.filter(pl.col("hourly").is_not_null()).select(SOLD)
    return Composed(prices, money.join(known, on=SOLD, how="semi"))


def _lines(machines: Machines, rates: Rates) -> pl.DataFrame:
    """One row for each part of each type in each region and option, with its rate or nulls."""
    places = machines.offers.select("region", "instance_type").unique()
    wanted = places.join(machines.needs, on="instance_type").join(OPTIONS, how="cross")
    rate = rates.rates.select(
        *KEY,
        "price",
        "per",
        "sku_id",
        "currency",
        "effective_from",
        "observed_at",
        "source_url",
        "raw_sha256",
    )
    doubtful = rates.ambiguous.with_columns(doubtful=pl.lit(True))
    lines = (
        wanted.join(rate, on=KEY, how="left")
        .join(doubtful, on=KEY, how="left")
        .with_columns(part_option=pl.col("option"))
    )
    # Only a commitment lets some parts stay on demand; a spot or scheduled machine is so as a whole.
    stays = (
        (pl.col("option") == "committed_use")
        & pl.col("price").is_null()
        & ~pl.col("main")
        & pl.col("doubtful").is_null()
    )
    fallback = lines.filter(stays).select(wanted.columns)
    at_on_demand = rate.filter(pl.col("option") == "on_demand").drop("option", "term_months")
    filled = fallback.join(at_on_demand, on=["region", "series", "part"], how="left").with_columns(
        doubtful=pl.lit(None, dtype=pl.Boolean), part_option=pl.lit("on_demand")
    )
    return pl.concat([lines.filter(~stays), filled.select(lines.columns)])


def _sold(lines: pl.DataFrame, machines: Machines) -> pl.DataFrame:
    """Which (region, type, option, term) exist."""
    never = pl.DataFrame(
        [
            (s["instance_type"], option)
            for s in machines.specs
            for option in sorted(sheets.not_sold(s["instance_type"]))
        ],
        schema={"instance_type": pl.String, "option": pl.String},
        orient="row",
    )
    priced = pl.col("price").is_not_null() | pl.col("doubtful").is_not_null()
    exists = lines.filter(pl.col("main")).filter(priced | (pl.col("option") == "on_demand"))
    return exists.select(SOLD).unique().join(never, on=["instance_type", "option"], how="anti")


def _money(lines: pl.DataFrame) -> pl.DataFrame:
    """With the quantity in the SKU's own unit and the cost. A price a month is for 730 hours: one hour uses 1/730 of it."""
    monthly = pl.col("per") == "month"
    quantity = (
        pl.when(monthly)
        .then(pl.col("quantity") / pl.lit(HOURS_PER_MONTH).cast(Money))
        .otherwise(pl.col("quantity"))
        .cast(Money)
    )
    unit = pl.when(monthly).then(pl.col("unit") + "_month").otherwise(pl.col("unit"))
    return lines.with_columns(quantity=quantity, unit=unit).with_columns(
        cost=(pl.col("quantity") * pl.col("price")).cast(Money)
    )


def _sum(money: pl.DataFrame) -> pl.DataFrame:
    """One row a price. Decimal sums; a null part makes the sum null."""
    stem = pl.col("component").str.strip_suffix("_2")
    fault = (
        pl.when(pl.col("doubtful").is_not_null())
        .then(pl.lit("_sku_ambiguous"))
        .otherwise(pl.lit("_sku_missing"))
    )
    reason = pl.when(pl.col("price").is_null()).then(stem + fault)
    uncommitted = pl.col("part_option") != pl.col("option")
    rows = (
        money.with_columns(reason=reason, uncommitted=uncommitted)
        .group_by(SOLD)
        .agg(
            pl.col("cost").sum().alias("total"),
            pl.col("price").null_count().alias("lacking"),
            pl.col("reason").drop_nulls().unique().sort().str.join(",").alias("price_reason"),
            pl.col("uncommitted").any(),
            pl.col("effective_from").max(),
            pl.col("currency").drop_nulls().first(),
            pl.col("observed_at").min(),
            # the page of the main part speaks for the row; each component names its own
            *(
                pl.col(c)
                .sort_by("main", "component", descending=[True, False])
                .drop_nulls()
                .first()
                for c in ("source_url", "raw_sha256")
            ),
        )
    )
    whole = pl.col("lacking") == 0
    return rows.with_columns(
        hourly=pl.when(whole).then(pl.col("total")).cast(Money),
        price_reason=pl.when(~whole).then(pl.col("price_reason")),
        flags=pl.when(whole & pl.col("uncommitted"))
        .then(pl.lit(["uncommitted_parts"]))
        .otherwise(pl.lit([], dtype=pl.List(pl.String))),
    ).drop("total", "lacking", "uncommitted")
