"""The offers table: prices of one machine in one region side by side, with what the sheets make of them."""

import polars as pl

from hwprices import formulas
from hwprices.rows import frames
from hwprices.schemas.offer import Offers
from hwprices.units import Money

KEY = ["provider", "region", "instance_type"]

NO_ROW = (
    "not_listed"  # on_demand_reason where the vendor has no on-demand row for the machine there
)

WITH_UPFRONT = [
    f"reserved_{term}_{payment}"
    for term in ("1y", "3y", "5y")
    for payment in ("partial_upfront", "all_upfront")
]

OPTIONS = [
    name.removesuffix("_usd_per_hour")
    for name in frames.dtypes(Offers)
    if name.endswith("_usd_per_hour") and not name.startswith("best_")
]
"""Purchase options that have a column; named as option_name() names them."""

COMMITTED = (
    "reserved",
    "compute_savings_plan",
    "ec2_instance_savings_plan",
    "committed_use",
    "flexible_committed_use",
)


def option_name() -> pl.Expr:
    """The offers column a row of prices belongs to, without _usd_per_hour; null for convertible reservations, which have none.

    A payment by the month counts as no_upfront: nothing is due at the start.
    """
    term = pl.col("term_months").replace_strict(
        {12: "_1y", 36: "_3y", 60: "_5y"}, default="", return_dtype=pl.String
    )
    payment = (
        pl.when(pl.col("payment_option").is_in(["none", "monthly"]))
        .then(pl.lit("no_upfront"))
        .otherwise("payment_option")
    )
    option, plan = pl.col("purchase_option"), pl.col("commitment_plan")
    return (
        pl.when((option == "reserved") & (plan.fill_null("standard") == "standard"))
        .then(pl.format("reserved{}_{}", term, payment))
        .when((option == "savings_plan") & plan.is_in(["compute", "ec2_instance"]))
        .then(pl.format("{}_savings_plan{}_{}", plan, term, payment))
        .when((option == "committed_use") & (plan.fill_null("resource") == "resource"))
        .then(pl.format("committed_use{}", term))
        .when((option == "committed_use") & (plan == "flexible"))
        .then(pl.format("flexible_committed_use{}", term))
        .when(~option.is_in(["reserved", "savings_plan", "committed_use"]))
        .then(option)
    )


def relevant(prices: pl.LazyFrame) -> pl.DataFrame:
    """The cheapest row of each machine, currency and option: Linux, shared tenancy, licence included, no placeholders.

    KEY, currency, option, effective_hourly, upfront, zone, price_id, price_reason, flags, observed_at. A row without a price
    stands only where there is none with one.
    """
    wanted = prices.filter(
        pl.col("os") == "linux",
        pl.col("software") == "none",
        pl.col("license_model") == "included",
        pl.col("tenancy") == "shared",
        ~pl.col("flags").list.contains("placeholder"),
    )
    by = [*KEY, "currency", "option"]
    values = [
        "effective_hourly",
        "upfront",
        "zone",
        "price_id",
        "price_reason",
        "flags",
        "observed_at",
    ]
    return (
        wanted.with_columns(option=option_name())
        .filter(pl.col("option").is_in(OPTIONS))
        .select(*by, *values)
        .sort(*by, "effective_hourly", "zone", "price_id", nulls_last=True)
        .unique(by, keep="first", maintain_order=True)
        .collect()
    )


def one_currency(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows in the currency a machine is priced in there: USD where it is sold in USD, else the first by name."""
    preferred = (
        rows.select(*KEY, "currency")
        .unique()
        .sort(*KEY, pl.col("currency") != "USD", "currency")
        .unique(KEY, keep="first")
    )
    return rows.join(preferred, on=[*KEY, "currency"], how="semi")


def side_by_side(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per KEY: currency, on_demand_hourly, {option}_usd_per_hour, {option}_usd (upfront), reasons, flags, ids."""
    rows = one_currency(rows)
    base = rows.group_by(*KEY, "currency").agg(pl.col("observed_at").min())
    usd = rows.filter(currency="USD")
    base = _pivot(base, usd, "effective_hourly", OPTIONS, "_usd_per_hour")
    base = _pivot(base, usd, "upfront", WITH_UPFRONT, "_usd")
    on_demand = rows.filter(option="on_demand").select(
        *KEY,
        on_demand_hourly="effective_hourly",
        on_demand_price_id="price_id",
        on_demand_reason="price_reason",
        on_demand_flags="flags",
        listed=True,
    )
    spot = usd.filter(option="spot").select(
        *KEY, spot_zone="zone", spot_price_id="price_id", spot_flags="flags"
    )
    base = base.join(on_demand, on=KEY, how="left").join(spot, on=KEY, how="left")
    flags = (
        pl.concat_list(pl.col("on_demand_flags", "spot_flags").fill_null([]))
        .list.unique()
        .list.sort()
    )
    reason = pl.when(pl.col("listed").is_null()).then(pl.lit(NO_ROW)).otherwise("on_demand_reason")
    return base.with_columns(flags.alias("flags"), reason.alias("on_demand_reason")).drop(
        "on_demand_flags", "spot_flags", "listed"
    )


def _pivot(
    base: pl.DataFrame, rows: pl.DataFrame, value: str, options: list[str], suffix: str
) -> pl.DataFrame:
    """A money column for every option, in order, null where nothing is sold that way."""
    wide = rows.filter(pl.col("option").is_in(options)).pivot(
        on="option", on_columns=options, index=KEY, values=value, aggregate_function="first"
    )
    money = (pl.col(option).cast(Money).alias(option + suffix) for option in options)
    return base.join(wide.select(*KEY, *money), on=KEY, how="left")


def _best(term: str) -> list[pl.Expr]:
    """Cheapest commitment of that length, and its name: the first of equals in the order of the columns."""
    names = [o for o in OPTIONS if o.startswith(COMMITTED) and f"_{term}" in o]
    cheapest = pl.min_horizontal(f"{o}_usd_per_hour" for o in names)
    which = pl.coalesce(
        pl.when(pl.col(f"{o}_usd_per_hour") == cheapest).then(pl.lit(o)) for o in names
    )
    return [cheapest.alias(f"best_{term}_usd_per_hour"), which.alias(f"best_{term}_option")]


def derived(frame: pl.DataFrame) -> pl.DataFrame:
    """Figures that need the price: discounts, unit prices, energy and carbon with the region's PUE and grid."""
    c = pl.col
    on_demand, spot = c.on_demand_usd_per_hour, c.spot_usd_per_hour
    alike = pl.when("uniform").then(
        "accelerator_count"
    )  # a machine with mixed accelerators is never divided
    frame = frame.with_columns(*_best("1y"), *_best("3y"))
    return frame.with_columns(
        on_demand_usd_per_year=formulas.usd_per_year(on_demand),
        spot_discount=formulas.discount(spot, on_demand),
        best_1y_discount=formulas.discount(c.best_1y_usd_per_hour, on_demand),
        best_3y_discount=formulas.discount(c.best_3y_usd_per_hour, on_demand),
        usd_per_vcpu_hour=pl.when(c.accelerator_kind == "none").then(
            formulas.divide(on_demand, c.vcpus)
        ),
        usd_per_accelerator_hour=formulas.divide(on_demand, alike),
        spot_usd_per_accelerator_hour=formulas.divide(spot, alike),
        usd_per_gib_accelerator_memory_hour=formulas.divide(
            on_demand, pl.when("uniform").then("accelerator_memory_gib")
        ),
        usd_per_pflop_hour_bf16=formulas.usd_per_pflop_hour(
            on_demand, alike, c.accelerator_bf16_tflops
        ),
        usd_per_pflop_hour_fp8=formulas.usd_per_pflop_hour(
            on_demand, alike, c.accelerator_fp8_tflops
        ),
        energy_kwh_per_hour=formulas.energy_kwh_per_hour(c.estimated_watts, c.pue),
    ).with_columns(*_carbon())


def _carbon() -> list[pl.Expr]:
    operational = formulas.operational_gco2e_per_hour(
        pl.col("energy_kwh_per_hour"), pl.col("grid_gco2e_per_kwh")
    )
    return [
        operational.alias("operational_gco2e_per_hour"),
        formulas.gco2e_per_hour(operational, pl.col("embodied_gco2e_per_hour")).alias(
            "gco2e_per_hour"
        ),
    ]
