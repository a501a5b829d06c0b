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

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from hwprices.providers.azure.classify import TERMS, ClassifiedItems, classify_items
from hwprices.providers.azure.items import AMOUNTS, MEMBERS, PLANS, Items, time
from hwprices.rows import frames, prices
from hwprices.rows.frames import ORIGIN
from hwprices.rows.prices import price_rows
from hwprices.schemas.price import Prices
from hwprices.schemas.quarantine import Quarantine
from hwprices.units import HOURS_PER_YEAR, Money

HYBRID_BENEFIT_OPTIONS = ["on_demand", "reserved"]
"""Purchase options for which a Windows machine without its license has the Linux price, also that
of savings plans, which on-demand items have. Spot is left out: Microsoft's page does not promise
it."""

FLAGS = ["availability_flag", "spot_flag", "host_flag", "meter_flag"]
"""Columns with one flag at most."""

MACHINE = ["region", "instance_type", "os", "tenancy", "currency"]
"""What has one on-demand price at most, and one spot price."""


@dataclass(frozen=True)
class RegionPrices:
    """The prices of a region.

    ``rows`` has the columns of the prices table, ``refused`` those of the quarantine table.
    ``counts`` says how many items were left out on purpose, by reason. ``holds_until`` is when the
    first item becomes current or ends; None if none does.
    """

    rows: pl.DataFrame
    refused: pl.DataFrame
    counts: Mapping[str, int]
    holds_until: datetime | None


def prices_by_region(items: Items, availability: pl.DataFrame) -> dict[str, RegionPrices]:
    """Make price rows of all items: region that was requested → its prices.

    ``availability`` has region and instance_type of offered sizes. A region whose pages have no
    items is there too.
    """
    classified = classify_items(items, _spelling(availability))
    rows = frames.by_value(_rows(classified.chosen, availability), "region")
    refused = _refused(classified)
    no_rows, none_refused = frames.empty(Prices), frames.empty(Quarantine)
    return {
        region: RegionPrices(
            rows.get(region, no_rows),
            refused.get(region, none_refused),
            _counts(classified.out_of_scope.get(region, {})),
            classified.next_changes.get(region),
        )
        for region in items.pages["page_region"].unique()
    }


def _counts(out_of_scope: Mapping[str, int]) -> dict[str, int]:
    return {f"out_of_scope:{reason}": number for reason, number in out_of_scope.items()}


def _spelling(availability: pl.DataFrame) -> pl.DataFrame:
    """Return how the list of sizes spells each: lower, spelling. Some differ in case.

    Of several spellings in the list the first in the alphabet counts.
    """
    return (
        availability.select(pl.col("instance_type").alias("spelling"))
        .unique()
        .with_columns(pl.col("spelling").str.to_lowercase().alias("lower"))
        .sort("spelling")
        .unique("lower", keep="first", maintain_order=True)
    )


def _rows(chosen: pl.DataFrame, availability: pl.DataFrame) -> pl.DataFrame:
    """Make rows of the prices table from ``ClassifiedItems.chosen``."""
    items = (
        chosen.lazy()
        .rename({"skuId": "sku_id", "meterId": "sku_price_id"})
        .with_columns(
            _availability_flag(availability).alias("availability_flag"),
            _spot_flag(chosen).alias("spot_flag"),
            pl.when(pl.col("tenancy") == "host").then(pl.lit("whole_host")).alias("host_flag"),
        )
        .with_columns(
            time(pl.col("effectiveStartDate")).alias("effective_from"),
            pl.col("price").alias("hourly"),
            pl.concat_list(FLAGS).list.drop_nulls().alias("flags"),
        )
        .collect()  # once: three parts are made of it
        .lazy()
    )
    benefit = {"os": "windows", "license_model": "byol", "basis": "derived"}
    listed = [*_list_prices(items), *_list_prices(_with_hybrid_benefit(items), **benefit)]
    return pl.concat(listed).collect()


def _list_prices(items: pl.LazyFrame, **constants: str) -> list[pl.LazyFrame]:
    """Make the rows of all that can be bought of the items, ``constants`` in each."""
    return [
        _pay_as_you_go(items, **constants),
        _savings_plans(items, **constants),
        *_reservations(items, **constants),
    ]


def _complete(items: pl.LazyFrame, **constants: pl.Expr | str | int) -> pl.LazyFrame:
    return price_rows(items, provider="azure", **constants)


def _pay_as_you_go(items: pl.LazyFrame, **constants: str) -> pl.LazyFrame:
    """Make the rows of on demand, spot, low priority and dev/test, as listed."""
    return _complete(items.filter(pl.col("purchase_option") != "reserved"), **constants)


def _has_known_plan() -> pl.Expr:
    """Return whether the term and the price of a savings plan are understood (one plan a row)."""
    return (pl.col("plan_terms").is_in(list(TERMS)) & (pl.col("plan_prices") > 0)).fill_null(False)


def _plans(items: pl.LazyFrame) -> pl.LazyFrame:
    """Make one row for each savings plan, in the columns ``PLANS``."""
    has_plans = pl.col("plan_terms").list.len() > 0
    return items.filter(has_plans).explode(*PLANS, empty_as_null=False)


def _savings_plans(items: pl.LazyFrame, **constants: str) -> pl.LazyFrame:
    """Make one row for each savings plan of an on-demand item.

    Azure bills its hours monthly, or the whole commitment at once for the same total.
    """
    plans = _plans(items.filter(pl.col("purchase_option") == "on_demand"))
    months = pl.col("plan_terms").replace_strict(TERMS, default=None, return_dtype=pl.Int32)
    values: dict[str, pl.Expr | str] = {
        "purchase_option": "savings_plan",
        "commitment_plan": "compute",
        "term_months": months,
        "payment_option": "monthly",
        "hourly": pl.col("plan_prices"),
    }
    return _complete(plans.filter(_has_known_plan()), **values, **constants)


def _reservations(items: pl.LazyFrame, **constants: str) -> list[pl.LazyFrame]:
    """Make rows of reservations: the whole term at once (listed), and monthly (derived)."""
    reserved = items.filter(pl.col("purchase_option") == "reserved")
    hours = (pl.col("term_months") * (HOURS_PER_YEAR // 12)).cast(Money)
    at_once: dict[str, pl.Expr | str | int] = {
        "commitment_plan": "standard",
        "payment_option": "all_upfront",
        "hourly": 0,
        "upfront": pl.col("price"),
        "billing_unit": "term",
    }
    monthly: dict[str, pl.Expr | str | int] = {
        "commitment_plan": "standard",
        "payment_option": "monthly",
        "hourly": pl.col("price") / hours,
        "basis": "derived",
    }
    return [_complete(reserved, **values | constants) for values in (at_once, monthly)]


def _with_hybrid_benefit(items: pl.LazyFrame) -> pl.LazyFrame:
    """Choose the Linux items whose prices Windows has with a license of one's own.

    Only of sizes that Azure sells with Windows in the region.
    """
    size = ["region", "instance_type", "currency"]
    shared = items.filter(pl.col("tenancy") == "shared")
    is_on_demand = pl.col("purchase_option") == "on_demand"
    with_windows = shared.filter((pl.col("os") == "windows") & is_on_demand).select(size).unique()
    linux = shared.filter(
        (pl.col("os") == "linux") & pl.col("purchase_option").is_in(HYBRID_BENEFIT_OPTIONS)
    )
    return linux.join(with_windows, on=size, how="semi", maintain_order="left").collect().lazy()


def _availability_flag(availability: pl.DataFrame) -> pl.Expr:
    """Make the availability_flag of a row; null where the size is offered.

    not_offered_here: the region's list of sizes does not have it. availability_unknown: no list
    covers the region, or the row is a dedicated host, which the lists of sizes never have. What is
    derived of an item has its flag.
    """
    place = pl.concat_str("region", "size", separator="\x1f")
    offered = availability.select("region", size=pl.col("instance_type").str.to_lowercase())
    is_listed = pl.col("region").is_in(availability["region"].unique().implode())
    is_offered = place.is_in(offered.select(place).to_series().unique().implode())
    return (
        pl.when(~is_listed | (pl.col("tenancy") == "host"))
        .then(pl.lit("availability_unknown"))
        .when(~is_offered)
        .then(pl.lit("not_offered_here"))
    )


def _spot_flag(chosen: pl.DataFrame) -> pl.Expr:
    """Make the spot_flag of a row, for spot prices at or above the on-demand price of the machine.

    Such a size has no market yet.
    """
    option = pl.col("purchase_option")
    prices = chosen.select(*MACHINE, "purchase_option", "row", "price")
    on_demand = prices.filter(option == "on_demand").select(
        *MACHINE, pl.col("price").alias("on_demand")
    )
    not_below = (
        prices.filter(option == "spot")
        .join(on_demand, on=MACHINE, how="inner")
        .filter(pl.col("price") >= pl.col("on_demand"))
        .select("row", is_equal=pl.col("price") == pl.col("on_demand"))
    )
    equal, above = not_below.filter("is_equal")["row"], not_below.filter(~pl.col("is_equal"))["row"]
    return (
        pl.when(pl.col("row").is_in(equal.implode()))
        .then(pl.lit("spot_equals_on_demand"))
        .when(pl.col("row").is_in(above.implode()))
        .then(pl.lit("spot_above_on_demand"))
    )


def _refused(classified: ClassifiedItems) -> dict[str, pl.DataFrame]:
    """Make quarantine rows of refused items, and of savings plans and members that are not known.

    The item is kept as the vendor wrote it. The rows are divided by the region that was requested.
    """
    members = [pl.col(f"{name}_text").alias(name) if name in AMOUNTS else name for name in MEMBERS]
    columns = ["provider", "region", *members, *ORIGIN, "reason", "message", "word", "page_region"]
    kinds = [classified.refused, _unknown_plans(classified), _new_members(classified)]
    items = pl.concat([kind.select(columns) for kind in kinds]).sort(
        "page_region", maintain_order=True
    )
    rows = prices.refused(items.drop("page_region").lazy(), table="prices").collect()
    divided = frames.by_value(rows.with_columns(items["page_region"]), "page_region")
    return {region: part.drop("page_region") for region, part in divided.items()}


def _unknown_plans(classified: ClassifiedItems) -> pl.DataFrame:
    """Find items with a savings plan whose term or price is not understood; the item is a price.

    They come with ``reason`` and ``message``.
    """
    unknown = _plans(classified.chosen.lazy()).filter(~_has_known_plan()).select("row").collect()
    return (
        classified.all_items.drop("reason")
        .filter(pl.col("row").is_in(unknown["row"].implode()))
        .explode(*PLANS, "plan_prices_text", empty_as_null=False)
        .filter(~_has_known_plan())
        .with_columns(
            pl.lit("unknown_savings_plan").alias("reason"),
            pl.format(
                "savings plan term={} retailPrice={}",
                pl.col("plan_terms").fill_null("null"),
                pl.col("plan_prices_text").fill_null("null"),
            ).alias("message"),
            pl.when(~pl.col("plan_terms").is_in(list(TERMS))).then("plan_terms").alias("word"),
        )
    )


def _new_members(classified: ClassifiedItems) -> pl.DataFrame:
    """Find the first item of a region with a member that is not known; the item may be a price.

    They come with ``reason``, ``message`` and ``word``. What is refused for such a member is
    left out.
    """
    named = classified.refused.filter(reason="unknown_column")
    member = pl.col("new_members_text")
    return (
        classified.all_items.drop("reason")
        .filter(member.is_not_null() & ~pl.col("row").is_in(named["row"].implode()))
        .unique(["page_region", "new_members_text"], keep="first", maintain_order=True)
        .with_columns(
            pl.lit("unknown_column").alias("reason"),
            pl.format("the member {} is not known, and is ignored", member).alias("message"),
            member.alias("word"),
        )
    )
