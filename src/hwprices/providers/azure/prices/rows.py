"""Chosen items into rows of the prices table: what is listed, and what follows from it by Azure's own rules.

- A reservation's retailPrice is the whole term, though its unit says "1 Hour". It can be paid at once or monthly at the same
  total (https://learn.microsoft.com/azure/cost-management-billing/reservations/prepare-buy-reservation), so it gives two rows.
- Savings plan prices stand inside the on-demand item and are hourly
  (https://learn.microsoft.com/azure/cost-management-billing/savings-plan/savings-plan-compute-overview).
- With Azure Hybrid Benefit a Windows machine costs what the Linux machine costs
  (https://learn.microsoft.com/azure/virtual-machines/windows/hybrid-use-benefit-licensing): a derived row.
"""

import polars as pl

from hwprices.providers.azure.prices import items as wire
from hwprices.providers.azure.prices.classify import TERMS
from hwprices.rows import frames
from hwprices.rows.prices import effective_hourly, price_id
from hwprices.schemas.price import Prices
from hwprices.units import HOURS_PER_YEAR, Money

HYBRID_BENEFIT_ON = ["on_demand", "reserved", "savings_plan"]
"""Where a Windows machine without its licence has the Linux price. Spot is left out: Microsoft's page does not promise it."""

CARRIED = [
    "provider",
    "region",
    "instance_type",
    "os",
    "tenancy",
    "currency",
    "sku_id",
    "sku_price_id",
    "effective_from",
    "page",
]
PAGE = ["observed_at", "source_url", "raw_sha256"]


def build(chosen: pl.DataFrame, pages: pl.DataFrame, availability: pl.DataFrame) -> pl.DataFrame:
    """Rows of the prices table from chosen items (``selection.Selected.chosen``).

    ``pages`` is ``items.page_table``; ``availability`` has region and instance_type of what is offered.
    """
    base = chosen.drop(PAGE).with_columns(
        pl.col("skuId").alias("sku_id"),
        pl.col("meterId").alias("sku_price_id"),
        wire.wire_time(pl.col("effectiveStartDate")).alias("effective_from"),
    )
    listed = pl.concat([_pay_as_you_go(base), _savings_plans(base), _reservations(base)])
    rows = pl.concat([listed, _hybrid_benefit(listed)])
    lazy = (
        rows.lazy()
        .join(pages.lazy(), on="page", how="left", maintain_order="left")
        .join(
            _flags(rows, availability).lazy(),
            on=["region", "instance_type", "tenancy"],
            how="left",
            maintain_order="left",
        )
        .join(_spot_flags(rows).lazy(), on=_SPOT_KEY, how="left", maintain_order="left")
        .with_columns(
            pl.concat_list("offer_flag", "spot_flag").list.drop_nulls().alias("flags"),
            pl.lit(None, dtype=pl.String).alias("zone"),
            pl.lit("none").alias("software"),
        )
        .with_columns(effective_hourly(), price_id())
        .drop("page", "offer_flag", "spot_flag")
    )
    return frames.conform(lazy, Prices).collect()


def _row(frame: pl.DataFrame, **columns: pl.Expr | str | int | None) -> pl.DataFrame:
    """The carried columns and those given, in one order for all kinds of rows."""
    defaults: dict[str, pl.Expr | str | int | None] = {
        "license_model": "included",
        "purchase_option": pl.col("purchase_option"),
        "commitment_plan": None,
        "term_months": 0,
        "payment_option": "none",
        "hourly": pl.col("price"),
        "upfront": None,
        "billing_unit": "hour",
        "basis": "listed",
    }
    dtypes = frames.dtypes(Prices)
    values = {**defaults, **columns}
    return frame.select(
        *CARRIED,
        *(
            (v if isinstance(v, pl.Expr) else pl.lit(v)).cast(dtypes[name]).alias(name)
            for name, v in values.items()
        ),
    )


def _pay_as_you_go(base: pl.DataFrame) -> pl.DataFrame:
    """On-demand, spot, low priority and dev/test: as listed."""
    return _row(base.filter(pl.col("purchase_option") != "reserved"))


def _savings_plans(base: pl.DataFrame) -> pl.DataFrame:
    """One row for each savings plan in an on-demand item. Azure bills the hours monthly, or the commitment at once for the same."""
    plans = (
        base.filter(
            (pl.col("purchase_option") == "on_demand") & (pl.col("savingsPlan").list.len() > 0)
        )
        .explode("savingsPlan", empty_as_null=False)
        .with_columns(
            pl.col("savingsPlan")
            .struct.field("term")
            .replace_strict(TERMS, default=None, return_dtype=pl.Int32)
            .alias("plan_months"),
            wire.money(pl.col("savingsPlan").struct.field("retailPrice")).alias("plan_price"),
        )
        .filter(pl.col("plan_months").is_not_null() & (pl.col("plan_price") > 0))
    )
    return _row(
        plans,
        purchase_option="savings_plan",
        commitment_plan="compute",
        term_months=pl.col("plan_months"),
        payment_option="monthly",
        hourly=pl.col("plan_price"),
    )


def odd_plans(chosen: pl.DataFrame) -> pl.DataFrame:
    """Items that have a savings plan whose term or price is not understood, with ``reason`` and ``message``; the item itself is a price."""
    plan = pl.col("savingsPlan").struct
    understood = plan.field("term").is_in(list(TERMS)) & (
        wire.money(plan.field("retailPrice")) > 0
    ).fill_null(False)
    each = (
        chosen.filter(pl.col("savingsPlan").list.len() > 0)
        .explode("savingsPlan", empty_as_null=False)
        .filter(~understood.fill_null(False))
    )
    words = pl.format(
        "savings plan term={} retailPrice={}",
        plan.field("term").fill_null("null"),
        plan.field("retailPrice").fill_null("null"),
    )
    return each.with_columns(pl.lit("unknown_savings_plan").alias("reason"), words.alias("message"))


def _reservations(base: pl.DataFrame) -> pl.DataFrame:
    """The whole term at once (listed), and monthly at the same total (derived: total / hours of the term)."""
    terms = base.filter(pl.col("purchase_option") == "reserved")
    common: dict[str, pl.Expr | str] = {
        "commitment_plan": "standard",
        "term_months": pl.col("term_months"),
    }
    hours = (pl.col("term_months") * (HOURS_PER_YEAR // 12)).cast(Money)
    at_once = _row(
        terms,
        payment_option="all_upfront",
        hourly=0,
        upfront=pl.col("price"),
        billing_unit="term",
        **common,
    )
    monthly = _row(
        terms, payment_option="monthly", hourly=(pl.col("price") / hours), basis="derived", **common
    )
    return pl.concat([at_once, monthly])


def _hybrid_benefit(listed: pl.DataFrame) -> pl.DataFrame:
    """Windows with a licence of one's own, at the Linux price, for sizes that Azure sells with Windows in the region."""
    same = ["region", "instance_type", "currency"]
    shared = pl.col("tenancy") == "shared"
    windows = (
        listed.filter(
            (pl.col("os") == "windows") & (pl.col("purchase_option") == "on_demand") & shared
        )
        .select(same)
        .unique()
    )
    return (
        listed.filter(
            (pl.col("os") == "linux") & pl.col("purchase_option").is_in(HYBRID_BENEFIT_ON) & shared
        )
        .join(windows, on=same, how="semi", maintain_order="left")
        .with_columns(
            pl.lit("windows").alias("os"),
            pl.lit("byol").alias("license_model"),
            pl.lit("derived").alias("basis"),
        )
    )


def _flags(rows: pl.DataFrame, availability: pl.DataFrame) -> pl.DataFrame:
    """region, instance_type, tenancy → offer_flag: not_offered_here, or availability_unknown where no list covers it.

    The lists of sizes hold virtual machines, so of a dedicated host they say nothing.
    """
    pairs = rows.select("region", "instance_type", "tenancy").unique()
    offered = availability.select(
        "region",
        pl.col("instance_type").str.to_lowercase().alias("lower"),
        pl.lit(True).alias("offered"),
    ).unique()
    listed = availability.select("region", pl.lit(True).alias("region_listed")).unique()
    return (
        pairs.with_columns(pl.col("instance_type").str.to_lowercase().alias("lower"))
        .join(offered, on=["region", "lower"], how="left")
        .join(listed, on="region", how="left")
        .select(
            "region",
            "instance_type",
            "tenancy",
            pl.when(pl.col("region_listed").is_null() | (pl.col("tenancy") == "host"))
            .then(pl.lit("availability_unknown"))
            .when(pl.col("offered").is_null())
            .then(pl.lit("not_offered_here"))
            .alias("offer_flag"),
        )
    )


_SPOT_KEY = [
    "region",
    "instance_type",
    "os",
    "license_model",
    "tenancy",
    "purchase_option",
    "currency",
]


def _spot_flags(rows: pl.DataFrame) -> pl.DataFrame:
    """The key of a spot price → spot_flag where it equals or exceeds the on-demand price: there is no market yet."""
    same = [c for c in _SPOT_KEY if c != "purchase_option"]
    full = rows.filter(pl.col("purchase_option") == "on_demand").select(
        *same, pl.col("hourly").alias("full")
    )
    return (
        rows.filter(pl.col("purchase_option") == "spot")
        .join(full, on=same, how="inner")
        .filter(pl.col("hourly") >= pl.col("full"))
        .select(
            *_SPOT_KEY,
            pl.when(pl.col("hourly") == pl.col("full"))
            .then(pl.lit("spot_equals_on_demand"))
            .otherwise(pl.lit("spot_above_on_demand"))
            .alias("spot_flag"),
        )
    )
