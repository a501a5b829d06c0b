"""Make rows of prices from classified items: what is listed, and what follows by Azure's own rules.

- A reservation's retailPrice is that of the whole term, though its unit is "1 Hour". It can be paid
  at once or monthly at the same total
  (https://learn.microsoft.com/azure/cost-management-billing/reservations/prepare-buy-reservation),
  so it gives two rows.
- Prices of savings plans are inside the on-demand item and are hourly
  (https://learn.microsoft.com/azure/cost-management-billing/savings-plan/savings-plan-compute-overview).
- With Azure Hybrid Benefit a Windows machine costs what the Linux machine costs
  (https://learn.microsoft.com/azure/virtual-machines/windows/hybrid-use-benefit-licensing): a
  derived row.
"""

import polars as pl

from hwprices.providers.azure.prices.classify import (
    KEY,
    TERMS,
    ClassifiedItems,
    classify_items,
)
from hwprices.providers.azure.prices.items import COLUMNS, PLANS, Items, money, time
from hwprices.rows import quarantine
from hwprices.rows.origin import ORIGIN
from hwprices.rows.prices import PriceRows, price_rows
from hwprices.units import HOURS_PER_YEAR, Money

HYBRID_BENEFIT_OPTIONS = ["on_demand", "reserved", "savings_plan"]
"""Purchase options for which a Windows machine without its license has the Linux price. Spot is
left out: Microsoft's page does not promise it."""

MACHINE = ["region", "instance_type", "os", "tenancy", "currency"]
"""What has one on-demand price at most, and one spot price."""


def rows_of_items(items: Items, availability: pl.DataFrame) -> PriceRows:
    """Make price rows of all items.

    ``availability`` has region and instance_type of what is offered.
    """
    spelled = Items(_spell_sizes(items.rows, availability), items.pages)
    classified = classify_items(spelled)
    counts = {f"out_of_scope:{why}": number for why, number in classified.out_of_scope.items()}
    return PriceRows(_rows(classified.chosen, availability), _refused(classified), counts)


def _spell_sizes(items: pl.DataFrame, availability: pl.DataFrame) -> pl.DataFrame:
    """Spell armSkuName as the list of sizes does; the two differ in case for some sizes.

    Of several spellings in the list the first in the alphabet counts.
    """
    spelling = (
        availability.select("instance_type")
        .unique()
        .with_columns(pl.col("instance_type").str.to_lowercase().alias("lower"))
        .sort("instance_type")
        .unique("lower", keep="first", maintain_order=True)
    )
    return (
        items.with_columns(pl.col("armSkuName").str.strip_chars().str.to_lowercase().alias("lower"))
        .join(spelling, on="lower", how="left", maintain_order="left")
        .with_columns(pl.coalesce("instance_type", "armSkuName").alias("armSkuName"))
        .drop("lower", "instance_type")
    )


def _rows(chosen: pl.DataFrame, availability: pl.DataFrame) -> pl.LazyFrame:
    """Make rows of the prices table from ``ClassifiedItems.chosen``."""
    host_flag = pl.when(pl.col("tenancy") == "host").then(pl.lit("whole_host"))
    flags = pl.concat_list("availability_flag", "spot_flag", host_flag).list.drop_nulls()
    items = (
        chosen.lazy()
        .select(*KEY, *ORIGIN, *PLANS, "row", "price", "skuId", "meterId", "effectiveStartDate")
        .join(
            _availability_flags(chosen, availability).lazy(),
            on=["region", "instance_type", "tenancy"],
            how="left",
            maintain_order="left",
        )
        .join(_spot_flags(chosen).lazy(), on="row", how="left", maintain_order="left")
        .rename({"skuId": "sku_id", "meterId": "sku_price_id"})
        .with_columns(
            time(pl.col("effectiveStartDate")).alias("effective_from"),
            pl.col("price").alias("hourly"),
            flags.alias("flags"),
        )
        .collect()  # once: three parts are made of it
        .lazy()
    )
    listed = pl.concat([_pay_as_you_go(items), _savings_plans(items), _reservations(items)])
    listed = listed.collect().lazy()  # once: the benefit's rows are made of it
    return pl.concat([listed, _hybrid_benefit(listed)])


def _complete(items: pl.LazyFrame, **constants: pl.Expr | str | int) -> pl.LazyFrame:
    return price_rows(items, provider="azure", **constants)


def _pay_as_you_go(items: pl.LazyFrame) -> pl.LazyFrame:
    """Make the rows of on demand, spot, low priority and dev/test, as listed."""
    return _complete(items.filter(pl.col("purchase_option") != "reserved"))


def _plan_price() -> pl.Expr:
    return money(pl.col("plan_prices"))


def _has_known_plan() -> pl.Expr:
    """Tell whether the term and the price of a savings plan are understood (one plan a row)."""
    return (pl.col("plan_terms").is_in(list(TERMS)) & (_plan_price() > 0)).fill_null(False)


def _plans(items: pl.LazyFrame) -> pl.LazyFrame:
    """Make one row for each savings plan, in the columns ``PLANS``."""
    has_plans = pl.col("plan_terms").list.len() > 0
    return items.filter(has_plans).explode(*PLANS, empty_as_null=False)


def _savings_plans(items: pl.LazyFrame) -> pl.LazyFrame:
    """Make one row for each savings plan of an on-demand item.

    Azure bills its hours monthly, or the whole commitment at once for the same total.
    """
    plans = _plans(items.filter(pl.col("purchase_option") == "on_demand"))
    months = pl.col("plan_terms").replace_strict(TERMS, default=None, return_dtype=pl.Int32)
    return _complete(
        plans.filter(_has_known_plan()),
        purchase_option="savings_plan",
        commitment_plan="compute",
        term_months=months,
        payment_option="monthly",
        hourly=_plan_price(),
    )


def _reservations(items: pl.LazyFrame) -> pl.LazyFrame:
    """Make rows of reservations: the whole term at once (listed), and monthly (derived)."""
    reserved = items.filter(pl.col("purchase_option") == "reserved")
    hours = (pl.col("term_months") * (HOURS_PER_YEAR // 12)).cast(Money)
    at_once = _complete(
        reserved,
        commitment_plan="standard",
        payment_option="all_upfront",
        hourly=0,
        upfront=pl.col("price"),
        billing_unit="term",
    )
    monthly = _complete(
        reserved,
        commitment_plan="standard",
        payment_option="monthly",
        hourly=pl.col("price") / hours,
        basis="derived",
    )
    return pl.concat([at_once, monthly])


def _hybrid_benefit(listed: pl.LazyFrame) -> pl.LazyFrame:
    """Make rows of Windows with a license of one's own, at the Linux price.

    Only for sizes that Azure sells with Windows in the region.
    """
    size = ["region", "instance_type", "currency"]
    shared = listed.filter(pl.col("tenancy") == "shared")
    is_on_demand = pl.col("purchase_option") == "on_demand"
    with_windows = shared.filter((pl.col("os") == "windows") & is_on_demand).select(size).unique()
    linux = shared.filter(
        (pl.col("os") == "linux") & pl.col("purchase_option").is_in(HYBRID_BENEFIT_OPTIONS)
    )
    return _complete(
        linux.join(with_windows, on=size, how="semi", maintain_order="left").drop("price_id"),
        os="windows",
        license_model="byol",
        basis="derived",
    )


def _availability_flags(chosen: pl.DataFrame, availability: pl.DataFrame) -> pl.DataFrame:
    """Map region, instance_type, tenancy to availability_flag; null where the size is offered.

    not_offered_here: the region's list of sizes does not have it. availability_unknown: no list
    covers the region, or the row is a dedicated host, which the lists of sizes never have. What is
    derived of an item has its flag.
    """
    lower = pl.col("instance_type").str.to_lowercase().alias("lower")
    offered = availability.select("region", lower, pl.lit(True).alias("is_offered")).unique()
    listed = availability.select("region", pl.lit(True).alias("is_listed")).unique()
    is_unknown = pl.col("is_listed").is_null() | (pl.col("tenancy") == "host")
    return (
        chosen.select("region", "instance_type", "tenancy")
        .unique()
        .with_columns(lower)
        .join(offered, on=["region", "lower"], how="left")
        .join(listed, on="region", how="left")
        .select(
            "region",
            "instance_type",
            "tenancy",
            pl.when(is_unknown)
            .then(pl.lit("availability_unknown"))
            .when(pl.col("is_offered").is_null())
            .then(pl.lit("not_offered_here"))
            .alias("availability_flag"),
        )
    )


def _spot_flags(chosen: pl.DataFrame) -> pl.DataFrame:
    """Map row to spot_flag, for spot prices at or above the on-demand price of the machine.

    There is no market yet for such a size.
    """
    option = pl.col("purchase_option")
    prices = chosen.select(*MACHINE, "purchase_option", "row", "price")
    on_demand = prices.filter(option == "on_demand").select(
        *MACHINE, pl.col("price").alias("on_demand")
    )
    is_equal = pl.col("price") == pl.col("on_demand")
    return (
        prices.filter(option == "spot")
        .join(on_demand, on=MACHINE, how="inner")
        .filter(pl.col("price") >= pl.col("on_demand"))
        .select(
            "row",
            pl.when(is_equal)
            .then(pl.lit("spot_equals_on_demand"))
            .otherwise(pl.lit("spot_above_on_demand"))
            .alias("spot_flag"),
        )
    )


def _refused(classified: ClassifiedItems) -> pl.DataFrame:
    """Make quarantine rows of refused items and of savings plans that are not understood.

    The item is kept as the vendor wrote it.
    """
    columns = [
        "provider",
        "region",
        *(name for name in COLUMNS if name not in PLANS),
        *ORIGIN,
        "reason",
        "message",
    ]
    frames = [classified.refused, _unknown_plans(classified.chosen)]
    items = pl.concat([frame.select(columns) for frame in frames])
    return quarantine.refused(
        items.lazy(), table="prices", reason=pl.col("reason"), message=pl.col("message")
    ).collect()


def _unknown_plans(chosen: pl.DataFrame) -> pl.DataFrame:
    """Find items with a savings plan whose term or price is not understood; the item is a price.

    They come with ``reason`` and ``message``.
    """
    return (
        _plans(chosen.lazy())
        .filter(~_has_known_plan())
        .with_columns(
            pl.lit("unknown_savings_plan").alias("reason"),
            pl.format(
                "savings plan term={} retailPrice={}",
                pl.col("plan_terms").fill_null("null"),
                pl.col("plan_prices").fill_null("null"),
            ).alias("message"),
        )
        .collect()
    )
