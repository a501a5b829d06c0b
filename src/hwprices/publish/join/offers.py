"""Make the tables offers (the prices of a machine in a region, and derived figures) and stock."""

import polars as pl

from hwprices import formulas
from hwprices.rows import frames
from hwprices.schemas.tables import Offers, Stock
from hwprices.schemas.vocabulary import COMMITMENT_COLUMNS
from hwprices.stage import validate
from hwprices.units import Money

KEY = ["provider", "region", "instance_type"]

NOT_LISTED = "not_listed"
"""on_demand_reason if the vendor has no on-demand row for the machine in the region."""

WITH_UPFRONT = [
    f"reserved_{term}_{payment}"
    for term in ("1y", "3y", "5y")
    for payment in ("partial_upfront", "all_upfront")
]
"""Options with a column for the upfront payment."""

OPTIONS = [
    name.removesuffix("_usd_per_hour")
    for name in Offers.dtypes
    if name.endswith("_usd_per_hour") and not name.startswith("best_")
]
"""Options with a column for the price, named by ``option_name``."""

COMMITTED = tuple(COMMITMENT_COLUMNS)  # Prefixes of options with a commitment

USUAL_PLANS = {"reserved": "standard", "committed_use": "resource"}
"""Purchase option: the plan of a price that states none."""


def option_name() -> pl.Expr:
    """Return the offers column that a row of prices belongs to, without _usd_per_hour.

    Null for convertible reservations, which have no column. Monthly payment counts as no_upfront.
    """
    term = pl.col("term_months").replace_strict(
        {12: "_1y", 36: "_3y", 60: "_5y"}, default="", return_dtype=pl.String
    )
    at_start = pl.col("payment_option").is_in(["none", "monthly"]).not_()
    payment = pl.when(at_start).then("payment_option").otherwise(pl.lit("no_upfront"))
    option = pl.col("purchase_option")
    usual_plan = option.replace_strict(USUAL_PLANS, default=None, return_dtype=pl.String)
    plan = pl.coalesce("commitment_plan", usual_plan)
    begins = pl.coalesce(
        pl.when(option == of_option, plan == of_plan).then(pl.lit(name))
        for name, (of_option, of_plan) in COMMITMENT_COLUMNS.items()
    )
    # committed use is always paid monthly
    ends = pl.when(option != "committed_use").then(pl.format("_{}", payment)).otherwise(pl.lit(""))
    committed = {of_option for of_option, _ in COMMITMENT_COLUMNS.values()}
    return (
        pl.when(option.is_in(sorted(committed)))
        .then(pl.format("{}{}{}", begins, term, ends))
        .otherwise(option)
    )


def cheapest_rows(prices: pl.LazyFrame) -> pl.DataFrame:
    """Choose the cheapest row of each machine, region, currency and option.

    Only Linux with shared tenancy and license included, without software, counts; placeholders do
    not. Returns KEY, currency, option, effective_hourly, upfront, zone, price_id, price_reason,
    flags, observed_at. A row without a price is chosen only if no row has one.
    """
    by = [*KEY, "currency", "option"]
    values = ["effective_hourly", "upfront", "zone", "price_id"]
    values += ["price_reason", "flags", "observed_at"]
    plain_linux = prices.filter(
        pl.col("os") == "linux",
        pl.col("software") == "none",
        pl.col("license_model") == "included",
        pl.col("tenancy") == "shared",
        ~pl.col("flags").list.contains("placeholder"),
    )
    # rows are sorted by these columns, of which the provider is never null
    is_first = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift(1)) for name in by)
    return (
        plain_linux.with_columns(option=option_name())
        .filter(pl.col("option").is_in(OPTIONS))
        .select(*by, *values)
        .sort(*by, "effective_hourly", "zone", "price_id", nulls_last=True)
        .filter(is_first)
        .collect()
    )


def one_currency(rows: pl.DataFrame) -> pl.DataFrame:
    """Keep the rows of one currency per KEY: USD if there is any, otherwise the first by name."""
    currencies = rows.select(*KEY, "currency").unique()
    if not currencies.select(KEY).is_duplicated().any():  # nothing is sold in two currencies
        return rows
    usd_first = currencies.sort(*KEY, pl.col("currency") != "USD", "currency")
    preferred = usd_first.unique(KEY, keep="first")
    return rows.join(preferred, on=[*KEY, "currency"], how="semi")


def side_by_side(rows: pl.DataFrame) -> pl.DataFrame:
    """Collect the prices of each KEY in one row.

    ``rows`` is the result of ``cheapest_rows``. Returns KEY, currency, observed_at (the oldest),
    <option>_usd_per_hour, <option>_usd (upfront), on_demand_hourly, on_demand_price_id,
    on_demand_reason, spot_zone, spot_price_id and flags.
    """
    rows = one_currency(rows)
    usd = rows.filter(currency="USD")
    table = rows.group_by(*KEY, "currency").agg(pl.col("observed_at").min())
    table = _with_options(table, usd, "effective_hourly", OPTIONS, "_usd_per_hour")
    table = _with_options(table, usd, "upfront", WITH_UPFRONT, "_usd")
    table = table.join(_on_demand(rows), on=KEY, how="left").join(_spot(usd), on=KEY, how="left")
    flags = pl.concat_list(pl.col("on_demand_flags", "spot_flags").fill_null([]))
    listed = pl.col("listed").is_not_null()
    return table.with_columns(
        flags=flags.list.unique().list.sort(),
        on_demand_reason=pl.when(listed).then("on_demand_reason").otherwise(pl.lit(NOT_LISTED)),
    ).drop("on_demand_flags", "spot_flags", "listed")


def _on_demand(rows: pl.DataFrame) -> pl.DataFrame:
    """Return KEY and the price, id, reason and flags of the on-demand rows; listed is true."""
    return rows.filter(option="on_demand").select(
        *KEY,
        on_demand_hourly="effective_hourly",
        on_demand_price_id="price_id",
        on_demand_reason="price_reason",
        on_demand_flags="flags",
        listed=True,
    )


def _spot(rows: pl.DataFrame) -> pl.DataFrame:
    """Return KEY and the zone, id and flags of the spot rows."""
    return rows.filter(option="spot").select(
        *KEY, spot_zone="zone", spot_price_id="price_id", spot_flags="flags"
    )


def _with_options(
    table: pl.DataFrame, rows: pl.DataFrame, value: str, options: list[str], suffix: str
) -> pl.DataFrame:
    """Add the money column <option><suffix> for every option; null without a price."""
    wide = rows.filter(pl.col("option").is_in(options)).pivot(
        on="option", on_columns=options, index=KEY, values=value, aggregate_function="first"
    )
    money = (pl.col(option).cast(Money).alias(option + suffix) for option in options)
    return table.join(wide.select(*KEY, *money), on=KEY, how="left")


def _best(term: str) -> list[pl.Expr]:
    """Return the price and name of the cheapest commitment of a term (1y, 3y).

    If prices are equal, the first column wins.
    """
    names = [name for name in OPTIONS if name.startswith(COMMITTED) and f"_{term}" in name]
    cheapest = pl.min_horizontal(f"{name}_usd_per_hour" for name in names)
    is_cheapest = (pl.when(pl.col(f"{name}_usd_per_hour") == cheapest) for name in names)
    option = pl.coalesce(
        when.then(pl.lit(name)) for when, name in zip(is_cheapest, names, strict=True)
    )
    return [cheapest.alias(f"best_{term}_usd_per_hour"), option.alias(f"best_{term}_option")]


def with_derived(table: pl.DataFrame) -> pl.DataFrame:
    """Add the figures that need the price: commitments, discounts, unit prices, energy, carbon.

    ``table`` has the columns of ``side_by_side``, the machine's columns (see machines.py) with
    ``uniform``, and the region's pue and grid_gco2e_per_kwh.
    """
    table = table.with_columns(*_best("1y"), *_best("3y"))
    watts = pl.coalesce("estimated_watts", "estimated_watts_from_tdp_estimate", _watts_of_parts())
    energy = formulas.energy_kwh_per_hour(watts, pl.col("pue"))
    table = table.with_columns(*_discounts(), *_unit_prices(), energy.alias("energy_kwh_per_hour"))
    return _with_power_flags(table.with_columns(*_carbon()))


def _watts_of_parts() -> pl.Expr:
    """Add up the parts whose watts are known; null if those of the largest consumer are not."""
    host = ["cpu_watts", "memory_watts", "local_disk_watts"]
    has_accelerators = pl.col("accelerator_count") > 0
    main_part = pl.when(has_accelerators).then("accelerator_watts").otherwise("cpu_watts")
    known = pl.sum_horizontal(*host, "accelerator_watts")
    return pl.when(main_part.is_not_null()).then(known)


def _with_power_flags(table: pl.DataFrame) -> pl.DataFrame:
    """Flag the offers whose energy is based on an estimated TDP or omits parts of the machine."""
    without_published = pl.col("energy_kwh_per_hour").is_not_null() & (
        pl.col("estimated_watts").is_null()
    )
    estimated = pl.col("estimated_watts_from_tdp_estimate").is_not_null()
    return table.with_columns(
        with_flag(without_published & estimated, "power_from_tdp_estimate")
    ).with_columns(with_flag(without_published & ~estimated, "power_partly_unknown"))


def with_flag(condition: pl.Expr, flag: str) -> pl.Expr:
    """Add a flag to the column flags, which stays sorted, in rows where the condition holds."""
    more = pl.col("flags").list.concat(pl.lit([flag])).list.sort()
    return pl.when(condition).then(more).otherwise("flags").alias("flags")


def _discounts() -> list[pl.Expr]:
    on_demand = pl.col("on_demand_usd_per_hour")
    discounts = {
        "spot_discount": pl.col("spot_usd_per_hour"),
        "best_1y_discount": pl.col("best_1y_usd_per_hour"),
        "best_3y_discount": pl.col("best_3y_usd_per_hour"),
    }
    return [
        formulas.usd_per_year(on_demand).alias("on_demand_usd_per_year"),
        *(formulas.discount(price, on_demand).alias(n) for n, price in discounts.items()),
    ]


def _unit_prices() -> list[pl.Expr]:
    """Return prices per vCPU, accelerator, memory and rate; null for mixed accelerators."""
    on_demand, spot = pl.col("on_demand_usd_per_hour"), pl.col("spot_usd_per_hour")
    count = pl.when("uniform").then("accelerator_count")
    memory = pl.when("uniform").then("accelerator_memory_gib")
    vcpus = pl.when(pl.col("accelerator_kind") == "none").then("vcpus")
    bf16, fp8 = pl.col("accelerator_bf16_tflops"), pl.col("accelerator_fp8_tflops")
    prices = {
        "usd_per_vcpu_hour": formulas.divide(on_demand, vcpus),
        "usd_per_accelerator_hour": formulas.divide(on_demand, count),
        "spot_usd_per_accelerator_hour": formulas.divide(spot, count),
        "usd_per_gib_accelerator_memory_hour": formulas.divide(on_demand, memory),
        "usd_per_pflop_hour_bf16": formulas.usd_per_pflop_hour(on_demand, count, bf16),
        "usd_per_pflop_hour_fp8": formulas.usd_per_pflop_hour(on_demand, count, fp8),
    }
    return [price.alias(name) for name, price in prices.items()]


def _carbon() -> list[pl.Expr]:
    operational = formulas.operational_gco2e_per_hour(
        pl.col("energy_kwh_per_hour"), pl.col("grid_gco2e_per_kwh")
    )
    total = formulas.gco2e_per_hour(operational, pl.col("embodied_gco2e_per_hour"))
    return [operational.alias("operational_gco2e_per_hour"), total.alias("gco2e_per_hour")]


def stock_intervals(stated: pl.LazyFrame, known: pl.LazyFrame) -> pl.DataFrame:
    """Continue the intervals of each machine; those of one machine never overlap.

    ``stated`` are the states on the newest pages, a row for each machine; ``known`` is the table
    stock of the previous release. If a machine is no longer listed, its interval ends with the
    newest page of its vendor. A state from a page that is not newer is a correction: it replaces
    the previous one.
    """
    # older releases had no intervals, only the time at which a state was last seen
    before = known.with_columns(first_seen=pl.coalesce("first_seen", "observed_at")).collect()
    is_open = pl.col("ended_at").is_null()
    began = before.filter(is_open).select(*KEY, known_state="state", began="first_seen")
    ended = before.group_by(KEY).agg(ended=pl.col("ended_at").max())
    now = stated.drop("ended_at").collect().join(began, on=KEY, how="left")
    continues = pl.col("state") == pl.col("known_state")
    corrects = pl.col("observed_at") <= pl.col("began")
    current = now.join(ended, on=KEY, how="left").with_columns(
        first_seen=pl.when(continues | corrects)
        .then("began")
        .otherwise(pl.max_horizontal("observed_at", "ended"))
    )
    newest = current.group_by("provider").agg(newest=pl.col("observed_at").max())
    changed = current.select(*KEY, changed="first_seen")
    past = (
        before.join(current, on=[*KEY, "first_seen"], how="anti")
        .join(newest, on="provider", how="left")
        .join(changed, on=KEY, how="left")
        .with_columns(ended_at=pl.coalesce("ended_at", "changed", "newest"))
        .filter((pl.col("ended_at") > pl.col("first_seen")).fill_null(True))
    )
    rows = pl.concat(
        frames.conform(part.select(set(Stock.dtypes) & set(part.columns)).lazy(), Stock)
        for part in (past, current)
    )
    return validate.check(rows.collect(), Stock)
