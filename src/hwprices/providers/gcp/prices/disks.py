"""Make component_prices of what Compute Engine bills beside machines: disks and addresses.

Disks, snapshots, images, provisioned IOPS and throughput are SKUs of the family Storage; static and
external addresses are the group IpAddress. Each tier of a price is a row.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import polars as pl
from msgspec import UNSET

from hwprices.providers.gcp.prices.catalog import (
    NANOS,
    SKU_COLUMNS,
    Amount,
    Category,
    Expression,
    PricingInfo,
    Sku,
    is_in_range,
    newest_price,
    read_time,
)
from hwprices.rows import frames
from hwprices.schemas.price import ComponentPrices
from hwprices.units import HOURS_PER_MONTH, Money, WideMoney

UNITS: Final = {
    "GiBy": ("gib", "use"),
    "GiBy.h": ("gib", "hour"),
    "GiBy.mo": ("gib", "month"),
    "GBy": ("gb", "use"),
    "GBy.h": ("gb", "hour"),
    "GBy.mo": ("gb", "month"),
    "count": ("sku_unit", "use"),
    "h": ("sku_unit", "hour"),
    "mo": ("sku_unit", "month"),
}
"""usageUnit → unit, and what it is billed for. IOPS, MiB a second and addresses are sku_unit."""

OPTIONS: Final = {"OnDemand": "on_demand", "Preemptible": "spot"}
"""category.usageType → purchase option."""

COLUMNS: Final[dict[str, Any]] = {
    **SKU_COLUMNS,
    "refused": pl.String,
    "word": pl.String,
    "currency": pl.String,
    "usage_unit": pl.String,
    "effective_from": pl.String,
    "tier_from": pl.Float64,
    "tier_to": pl.Float64,
    "units": pl.Int64,
    "nanos": pl.Int64,
}
"""Columns of a tier as the page has it; null from ``currency`` on where the SKU is refused."""


def is_disk(category: Category) -> bool:
    """Return whether a SKU outside the machines is read here."""
    family, group = category.resource_family, category.resource_group
    return family == "Storage" or (family, group) == ("Network", "IpAddress")


def read_disks(skus: Sequence[Sku]) -> pl.DataFrame:
    """Return a row for each tier of each SKU, with ``COLUMNS``.

    ``refused`` is the quarantine reason of a SKU that is not understood, ``word`` what is new.
    """
    rows = [row for sku in skus for row in _tiers(sku)]
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def _tiers(sku: Sku) -> Iterator[tuple[Any, ...]]:
    category = Category() if sku.category is UNSET else sku.category
    words = (category.resource_family, category.resource_group, category.usage_type)
    named = (sku.sku_id, sku.description, *words, sku.regions)
    price = newest_price(sku.pricing_info) or PricingInfo()
    expression = price.pricing_expression
    expression = Expression() if expression is UNSET else expression
    rates = sorted(expression.tiered_rates, key=lambda rate: rate.start_usage_amount)
    amounts = [rate.unit_price for rate in rates if rate.unit_price is not None]
    starts = [rate.start_usage_amount for rate in rates]
    fault = _fault(sku, price, expression.usage_unit, starts, amounts)
    if fault:
        yield (*named, *fault, *[None] * 7)
        return
    for start, end, amount in zip(starts, [*starts[1:], None], amounts, strict=True):
        since = price.effective_time
        of_price = (amount.currency_code, expression.usage_unit, since)
        yield (*named, None, None, *of_price, start, end, *amount.figures)


def _fault(
    sku: Sku, price: PricingInfo, unit: str, starts: list[float], amounts: list[Amount]
) -> tuple[str, str | None] | None:
    """Return the quarantine reason and the word that is new; None where the SKU is understood."""
    usage = "" if sku.category is UNSET else sku.category.usage_type
    foreign = [amount.currency_code for amount in amounts if amount.currency_code != "USD"]
    faults: list[tuple[bool, str, str | None]] = [
        (not sku.sku_id or not sku.description.strip(), "sku_without_name", None),
        (not sku.regions, "no_region", None),
        (not starts or len(amounts) < len(starts) or not unit, "no_price", None),
        (usage not in OPTIONS, "unknown_option", usage),
        (unit not in UNITS, "unknown_unit", unit),
        (None in foreign, "no_currency", None),
        (bool(foreign), "unknown_currency", foreign[0] if foreign else None),
        (not all(is_in_range(*amount.figures) for amount in amounts), "unreadable_price", None),
        (len(set(starts)) < len(starts) or min(starts, default=0) < 0, "tier_not_a_number", None),
        (len(starts) > 1 and price.tier_interval == "DAILY", "tiered_price", None),
    ]
    return next(((reason, word) for is_so, reason, word in faults if is_so), None)


def disk_price_rows(disks: pl.DataFrame) -> pl.DataFrame:
    """Return the tiers in the columns of component_prices; ``disks`` are those of a ``SkuCatalog``.

    A month is 730 hours; ``hourly`` is rounded at the tenth decimal and ``price`` is Google's. A
    component has the name of the SKU without its place, and the SKU's id too where several SKUs
    of one region have that name.
    """
    unit = pl.col("usage_unit")
    component = pl.format("sku:{}", pl.col("description").str.split(" in ").list.first())
    of_name = ["region", "component", "purchase_option"]
    nanos = pl.col("nanos").cast(WideMoney) / pl.lit(NANOS).cast(WideMoney)
    monthly = (pl.col("price") / pl.lit(HOURS_PER_MONTH).cast(Money)).cast(Money)
    rows = (
        disks.filter(pl.col("refused").is_null())
        .explode("regions")
        .rename({"regions": "region"})
        .with_columns(
            provider=pl.lit("gcp"),
            series=pl.lit("any"),
            component=component.str.replace_all(r"[^!-~]", "_"),
            purchase_option=pl.col("usage").replace_strict(OPTIONS, return_dtype=pl.String),
            term_months=pl.lit(0),
            unit=unit.replace_strict({word: one for word, (one, _) in UNITS.items()}),
            per=unit.replace_strict({word: per for word, (_, per) in UNITS.items()}),
            price=(pl.col("units").cast(WideMoney) + nanos).cast(Money),
            effective_from=read_time(pl.col("effective_from")),
        )
        .with_columns(
            component=pl.when(pl.col("sku_id").n_unique().over(of_name) > 1)
            .then(pl.format("{}/{}", "component", "sku_id"))
            .otherwise("component"),
            hourly=pl.when(per="hour").then("price").when(per="month").then(monthly),
        )
    )
    columns = [name for name in frames.dtypes(ComponentPrices) if name in rows.columns]
    return frames.conform(rows.lazy().select(columns), ComponentPrices).collect()
