"""Which items are prices of machines, by rule: never by their order on the page.

Every item leaves here as exactly one of three: chosen, out of scope with a reason that is counted, or refused with a reason
that goes to quarantine.
"""

from dataclasses import dataclass

import polars as pl

from hwprices.providers.azure.inventory import size_names
from hwprices.providers.azure.prices import items as wire

SERVICE = "Virtual Machines"
HOUR = "1 Hour"

TERMS = {"1 Year": 12, "3 Years": 36, "5 Years": 60}
"""reservationTerm and savings plan terms, in months."""

PLACEHOLDER_ON_DEMAND = "0.01"
PLACEHOLDER_SPOT = "0.002"
"""What stands in for a price that is not set yet: seen for new sizes whose price became 7.61 and 140.52."""

DEEPEST_SPOT_SHARE = 0.05
"""Azure states spot discounts of up to 90 %; a spot price below 5 % of on-demand that is also 0.002 is a placeholder."""

KEY = ["region", "instance_type", "os", "tenancy", "purchase_option", "term_months", "currency"]
"""What makes two items prices of the same thing."""


@dataclass(frozen=True)
class Selected:
    """``chosen``: one row a key. ``refused``: items with ``reason`` and ``message``. ``out_of_scope``: reason → items."""

    chosen: pl.DataFrame
    refused: pl.DataFrame
    out_of_scope: dict[str, int]


def select(items: pl.DataFrame, pages: pl.DataFrame) -> Selected:
    """Sort items (columns of ``items.ITEM`` and page) into chosen, refused and out of scope.

    ``pages`` is ``items.page_table``. Chosen rows have ``KEY``, price, meterId, skuId, effectiveStartDate, savingsPlan and the
    pages' columns.
    """
    known = classify(items, pages)
    aside = known.filter(pl.col("aside").is_not_null())
    rest = known.filter(pl.col("aside").is_null())
    wrong = rest.filter(pl.col("reason").is_not_null())
    fitting = rest.filter(pl.col("reason").is_null())
    placeholders = _placeholders(fitting)
    real = (
        fitting.join(placeholders.select("row"), on="row", how="anti")
        if placeholders.height
        else fitting
    )
    chosen, doubles, passed_over = _one_per_key(real)
    counts = (
        pl.concat([aside.select("aside"), passed_over.select("aside")])
        .group_by("aside")
        .len()
        .sort("aside")
    )
    return Selected(chosen, pl.concat([wrong, placeholders, doubles]), dict(counts.iter_rows()))


def classify(items: pl.DataFrame, pages: pl.DataFrame) -> pl.DataFrame:
    """Items with what they are: KEY columns, price, ``aside`` (why out of scope) and ``reason``, ``message`` (why refused)."""
    tidied = items.with_columns(
        size_names.tidy(c)
        for c in ("productName", "skuName", "meterName", "armSkuName", "armRegionName")
    ).with_row_index("row")
    facts = size_names.product_facts(tidied["productName"])
    terms = pl.DataFrame(
        {
            "reservationTerm": list(TERMS),
            "term_months": pl.Series(list(TERMS.values()), dtype=pl.Int32),
        }
    )
    return (
        tidied.join(facts, on="productName", how="left", maintain_order="left")
        .join(terms, on="reservationTerm", how="left", maintain_order="left")
        .join(pages, on="page", how="left", maintain_order="left")
        .with_columns(
            pl.lit("azure").alias("provider"),
            pl.col("armRegionName").str.to_lowercase().alias("region"),
            pl.col("armSkuName").alias("instance_type"),
            pl.col("product_tenancy").fill_null("shared").alias("tenancy"),
            pl.col("product_is").fill_null("unknown"),
            pl.col("currencyCode").str.to_uppercase().alias("currency"),
            wire.money(pl.col("retailPrice")).alias("price"),
            pl.col("term_months").fill_null(0),
            _purchase_option().alias("purchase_option"),
        )
        .with_columns(_operating_system().alias("os"))
        .with_columns(_out_of_scope().alias("aside"), _reason().alias("reason"))
        .with_columns(_message().alias("message"))
    )


def _purchase_option() -> pl.Expr:
    """prices.purchase_option of an item; null for a type that is not known."""
    sku, meter, kind = (
        pl.col("skuName").fill_null(""),
        pl.col("meterName").fill_null(""),
        pl.col("type"),
    )
    return (
        pl.when(kind == "Reservation")
        .then(pl.lit("reserved"))
        .when(kind == "DevTestConsumption")
        .then(pl.lit("dev_test"))
        .when(kind != "Consumption")
        .then(pl.lit(None, dtype=pl.String))
        .when(sku.str.contains(size_names.SPOT) | meter.str.contains(size_names.SPOT))
        .then(pl.lit("spot"))
        .when(
            sku.str.contains(size_names.LOW_PRIORITY) | meter.str.contains(size_names.LOW_PRIORITY)
        )
        .then(pl.lit("low_priority"))
        .otherwise(pl.lit("on_demand"))
    )


def _operating_system() -> pl.Expr:
    """A reservation covers the machine and no licence, whatever its product is called."""
    return (
        pl.when(pl.col("purchase_option") == "reserved")
        .then(pl.lit("linux"))
        .otherwise(pl.col("product_os").fill_null("linux"))
    )


def _out_of_scope() -> pl.Expr:
    """Why an item is none of ours; null where it is."""
    sku, meter = pl.col("skuName").fill_null(""), pl.col("meterName").fill_null("")
    says = [
        (pl.col("serviceName").fill_null("") != SERVICE, "another_service"),
        (
            (pl.col("product_is") == "cloud_services")
            | sku.str.contains(size_names.CLOUD_SERVICES)
            | meter.str.contains(size_names.CLOUD_SERVICES),
            "cloud_services",
        ),
        (
            (pl.col("product_is") == "promo")
            | sku.str.contains(size_names.PROMO)
            | meter.str.contains(size_names.PROMO),
            "promo",
        ),
        (pl.col("unitOfMeasure").fill_null("") != HOUR, "unit_other_than_hour"),
        (wire.money(pl.col("tierMinimumUnits")).fill_null(0) > 0, "later_tier"),
        (wire.wire_time(pl.col("effectiveEndDate")) <= pl.col("observed_at"), "expired"),
        (wire.wire_time(pl.col("effectiveStartDate")) > pl.col("observed_at"), "not_yet_in_force"),
        ((pl.col("purchase_option") == "dev_test") & _reduced(sku, meter), "dev_test_of_spot"),
    ]
    return pl.coalesce(pl.when(test).then(pl.lit(code)) for test, code in says)


def _reduced(sku: pl.Expr, meter: pl.Expr) -> pl.Expr:
    """Spot or low priority: dev/test rows repeat those prices without a licence."""
    return pl.any_horizontal(
        name.str.contains(rule)
        for name in (sku, meter)
        for rule in (size_names.SPOT, size_names.LOW_PRIORITY)
    )


def _reason() -> pl.Expr:
    """Why an item that should be a price cannot be one; null where it is one."""
    reserved = pl.col("purchase_option") == "reserved"
    says = [
        (pl.col("purchase_option").is_null(), "unknown_price_type"),
        (pl.col("region").fill_null("") == "", "no_region"),
        (pl.col("instance_type").fill_null("") == "", "no_size_name"),
        (pl.col("currency").is_null(), "no_currency"),
        (pl.col("price").is_null(), "price_not_a_number"),
        (pl.col("price") <= 0, "price_not_positive"),
        (reserved & (pl.col("term_months") == 0), "unknown_term"),
        (~reserved & (pl.col("product_is") == "unknown"), "unknown_product"),
        (
            (pl.col("purchase_option") == "on_demand")
            & (pl.col("price") == pl.lit(PLACEHOLDER_ON_DEMAND).cast(pl.Decimal(20, 10))),
            "placeholder",
        ),
    ]
    return pl.coalesce(pl.when(test).then(pl.lit(code)) for test, code in says)


def _message() -> pl.Expr:
    """The reason in words, with the values that matter."""
    parts = [
        "type",
        "productName",
        "skuName",
        "armSkuName",
        "armRegionName",
        "retailPrice",
        "reservationTerm",
    ]
    return pl.when(pl.col("reason").is_not_null()).then(
        pl.concat_str(
            [
                pl.col("reason"),
                *(pl.format("{}={}", pl.lit(p), pl.col(p).fill_null("null")) for p in parts),
            ],
            separator=" ",
        )
    )


def _placeholders(rows: pl.DataFrame) -> pl.DataFrame:
    """Spot rows at 0.002 for a machine that costs far more on demand, or has no on-demand price to compare with."""
    suspects = rows.filter(
        (pl.col("purchase_option") == "spot")
        & (pl.col("price") == pl.lit(PLACEHOLDER_SPOT).cast(pl.Decimal(20, 10)))
    )
    if not suspects.height:
        return suspects
    same = ["region", "instance_type", "os", "currency"]
    full = (
        rows.filter(pl.col("purchase_option") == "on_demand")
        .group_by(same)
        .agg(pl.col("price").max().alias("full"))
    )
    return (
        suspects.join(full, on=same, how="left", maintain_order="left")
        .filter(
            (
                pl.col("price").cast(pl.Float64)
                < pl.col("full").cast(pl.Float64) * DEEPEST_SPOT_SHARE
            ).fill_null(True)
        )
        .with_columns(
            pl.lit("placeholder").alias("reason"),
            pl.format(
                "spot {} beside an on-demand price of {}",
                pl.col("price"),
                pl.col("full").cast(pl.String).fill_null("none"),
            ).alias("message"),
        )
        .drop("full")
    )


def _one_per_key(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """One row a key: (chosen, refused doubles, passed over with ``aside``).

    A primary meter goes before others where a key has both kinds; rows that then agree in price are one; rows that do not are
    all refused.
    """
    repeated = pl.struct(KEY).is_duplicated()
    single, many = rows.filter(~repeated), rows.filter(repeated)
    if not many.height:
        return single, many, many
    primary = pl.col("isPrimaryMeterRegion")
    lesser = (primary == False).fill_null(False) & (primary == True).any().over(KEY)  # noqa: E712  (expressions, not values)
    many = many.with_columns(pl.when(lesser).then(pl.lit("not_primary_meter")).alias("aside"))
    kept = many.filter(pl.col("aside").is_null())
    disagree = pl.col("price").n_unique().over(KEY) > 1
    values = pl.col("price").cast(pl.String).unique().sort().str.join(", ").over(KEY)
    doubles = kept.filter(disagree).with_columns(
        pl.lit("duplicate_key").alias("reason"),
        pl.format("{} prices for one key: {}", pl.len().over(KEY), values).alias("message"),
    )
    agreed = kept.filter(~disagree).sort(*KEY, "meterId", "skuId", "row")
    first = pl.int_range(pl.len()).over(KEY) == 0
    again = agreed.filter(~first).with_columns(pl.lit("same_price_again").alias("aside"))
    chosen = pl.concat([single, agreed.filter(first)])
    return chosen, doubles, pl.concat([many.filter(pl.col("aside").is_not_null()), again])
