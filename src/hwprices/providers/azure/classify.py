"""Decide which items are prices, and of which machines.

The rules use an item's members, never its place on the page. Every item is either chosen, counted
as out of scope with a reason, or refused with a reason that goes to quarantine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from hwprices.providers import azure
from hwprices.providers.azure.items import (
    CLOUD_SERVICES,
    LOW_PRIORITY,
    PLANS,
    PROMO,
    SPOT,
    Items,
    product_facts,
    tidy,
    time,
    unknown_option,
)
from hwprices.rows.frames import ORIGIN
from hwprices.units import Money

HOUR = r"(?i)^1 hours?$"

TERMS = {"1 Year": 12, "3 Years": 36, "5 Years": 60}
"""Terms of reservations and savings plans → months."""

PLACEHOLDER_ON_DEMAND = "0.01"
PLACEHOLDER_SPOT = "0.002"
"""Azure's placeholders for prices that are not set yet, seen on new sizes whose prices later became
7.61 and 140.52 (known wrong number Z5, docs/known-wrong-numbers.md)."""

LOWEST_SPOT_SHARE = 0.05
"""Azure states spot discounts of up to 90 %: a spot price of 0.002 that is below 5 % of the
on-demand price is a placeholder."""

DATES = ["effectiveStartDate", "effectiveEndDate"]
"""When an item takes effect and ends. Most items have no end."""

KEY = ["region", "instance_type", "os", "tenancy", "purchase_option", "term_months", "currency"]
"""Items that agree in these columns are prices of the same thing."""

TIDIED = ("productName", "skuName", "meterName", "armSkuName")
"""Names whose blanks are tidied first."""

NAMES = (*TIDIED, "type", "reservationTerm", "serviceName", "unitOfMeasure")
"""Members that determine an item's machine and purchase option, apart from place and price."""

CHOSEN = [
    *(*KEY, *ORIGIN, *PLANS, "row", "size", "price", "skuId", "meterId"),
    *("effectiveStartDate", "isPrimaryMeterRegion"),
]
"""The columns of chosen items. Other columns are not copied with them."""

_NO_REASON = [
    pl.lit(None, dtype=pl.String).alias(name)
    for name in ("reason", "message", "word", "out_of_scope")
]

Rule = tuple[pl.Expr, str]  # A condition on an item, and the reason if it is true


@dataclass(frozen=True)
class ClassifiedItems:
    """Items by outcome.

    ``all_items`` has every item with its number ``row``, ``items.COLUMNS``, provider, region,
    page_region and the origin columns. ``chosen`` has one row per key, with the columns ``CHOSEN``
    and meter_flag, in the order of the items. ``refused`` has the columns of ``all_items``, reason,
    message and word (the unknown word, null if the item has another fault). ``out_of_scope``:
    region → reason → number of items. ``next_changes``: region → when the first of its items takes
    effect or ends; regions without such items are absent.
    """

    chosen: pl.DataFrame
    refused: pl.DataFrame
    out_of_scope: Mapping[str, Mapping[str, int]]
    next_changes: Mapping[str, datetime]
    all_items: pl.DataFrame


def classify_items(items: Items, spelling: pl.DataFrame) -> ClassifiedItems:
    """Classify all items.

    ``spelling`` maps lower (a size's name in lower case) to spelling, that of the list of sizes.
    """
    classified = _with_facts(items, spelling)
    is_scope, is_price = pl.col("out_of_scope").is_null(), pl.col("reason").is_null()
    outside = classified.select("page_region", "out_of_scope").drop_nulls()
    requested = classified["page_region"].unique()
    is_new_region = (pl.col("reason") == "another_region") & ~pl.col("region").is_in(
        requested.implode()
    )
    wrong = (
        classified.lazy()
        .filter(is_scope & ~is_price)
        .with_columns(
            pl.when(is_new_region)
            .then(pl.lit("unknown_location"))
            .otherwise("reason")
            .alias("reason")
        )
        .with_columns(_new_member())
    )
    wrong = wrong.with_columns(message=_message(), word=_word())
    candidates = classified.lazy().filter(is_scope & is_price).select(CHOSEN).collect()
    placeholders = _spot_placeholders(candidates)
    if placeholders.height:
        candidates = candidates.join(placeholders.select("row"), on="row", how="anti")
    by_key = _one_per_key(candidates)
    passed_over = by_key.passed_over.select(pl.col("region").alias("page_region"), "out_of_scope")
    refused = pl.concat(
        frame.lazy().select("row", "reason", "message", "word").collect()
        for frame in (wrong, placeholders, by_key.refused)
    )
    changes = classified.group_by("page_region").agg(pl.col("next_change").min()).drop_nulls()
    return ClassifiedItems(
        by_key.chosen,
        refused.join(classified.drop("reason"), on="row", how="left", maintain_order="left"),
        _counts_by_region(pl.concat([outside, passed_over])),
        dict(changes.iter_rows()),
        classified.drop("next_change"),
    )


def _counts_by_region(outside: pl.DataFrame) -> Mapping[str, Mapping[str, int]]:
    """Count items out of scope: region → reason → number."""
    counts: dict[str, dict[str, int]] = {}
    columns = ["page_region", "out_of_scope"]
    for region, reason, number in outside.group_by(columns).len().sort(columns).iter_rows():
        counts.setdefault(region, {})[reason] = number
    return counts


def _with_facts(items: Items, spelling: pl.DataFrame) -> pl.DataFrame:
    """Add the columns of ``KEY``, price, the columns of ``Items.pages``, next_change and reasons.

    ``out_of_scope`` says why an item is left out, ``reason`` why it is refused; both are null for a
    price.
    """
    names = list(NAMES)
    facts = _facts_of_names(items.rows.select(names).unique(), spelling)
    return (
        items.rows.with_row_index("row")
        .join(facts, on=names, how="left", nulls_equal=True, maintain_order="left")
        .with_columns(pl.col(f"tidy_{name}").alias(name) for name in TIDIED)
        .drop(f"tidy_{name}" for name in TIDIED)
        .join(items.pages, on="page", how="left", maintain_order="left")
        .with_columns(
            pl.lit("azure").alias("provider"),
            tidy("armRegionName"),
            pl.col("armSkuName").alias("instance_type"),
            pl.col("currencyCode").str.to_uppercase().alias("currency"),
            pl.col("retailPrice").alias("price"),
        )
        .with_columns(pl.col("armRegionName").str.to_lowercase().alias("region"))
        .with_columns(
            pl.coalesce("out_of_scope_by_name", first_reason(_scope_rules())).alias("out_of_scope"),
            first_reason(_refusal_rules()).alias("reason"),
            next_change().alias("next_change"),
        )
    )


def next_change() -> pl.Expr:
    """Return when an item next takes effect or ends; null if never."""
    changes = [time(pl.col(day)) for day in DATES]
    return pl.min_horizontal(
        pl.when(change > pl.col("observed_at")).then(change) for change in changes
    )


def _facts_of_names(names: pl.DataFrame, spelling: pl.DataFrame) -> pl.DataFrame:
    """Parse the names of items. Regions share most combinations of names.

    ``names`` has the distinct combinations of ``NAMES``. Returns ``NAMES`` unchanged, tidy_… for
    those in ``TIDIED``, size (the name of the size in lower case), product_kind, tenancy, os,
    term_months, purchase_option, unknown_words (of the product's name), unknown_option (of the
    names of SKU and meter), out_of_scope_by_name (a reason or null) and is_reduced (spot or low
    priority).
    """
    months = pl.Series(list(TERMS.values()), dtype=pl.Int32)
    terms = pl.DataFrame({"reservationTerm": list(TERMS), "term_months": months})
    lower = pl.col("armSkuName").str.strip_chars().str.to_lowercase().alias("lower")
    tidied = (
        names.with_row_index("combination")
        .with_columns(lower)
        .join(spelling, on="lower", how="left")
        .with_columns(pl.coalesce("spelling", "armSkuName").alias("armSkuName"))
        .with_columns(tidy(name) for name in TIDIED)
    )
    facts = (
        tidied.join(product_facts(tidied["productName"]), on="productName", how="left")
        .join(terms, on="reservationTerm", how="left")
        .with_columns(
            pl.col("product_tenancy").fill_null("shared").alias("tenancy"),
            pl.col("product_kind").fill_null("unknown"),
            pl.col("term_months").fill_null(0),
            _purchase_option().alias("purchase_option"),
        )
        .select(
            "combination",
            "product_kind",
            "tenancy",
            "term_months",
            "purchase_option",
            *(pl.col(name).alias(f"tidy_{name}") for name in TIDIED),
            pl.col("armSkuName").str.to_lowercase().alias("size"),
            _operating_system().alias("os"),
            "unknown_words",
            pl.coalesce(
                unknown_option(pl.col(name), pl.col("armSkuName"))
                for name in ("skuName", "meterName")
            ).alias("unknown_option"),
            first_reason(_scope_rules_of_names()).alias("out_of_scope_by_name"),
            _names_contain(SPOT, LOW_PRIORITY).alias("is_reduced"),
        )
    )
    return names.with_row_index("combination").join(facts, on="combination").drop("combination")


def first_reason(rules: Sequence[Rule]) -> pl.Expr:
    """Return the reason of the first rule that applies; null if none does."""
    return pl.coalesce(pl.when(test).then(pl.lit(reason)) for test, reason in rules)


def _names_contain(*patterns: str) -> pl.Expr:
    """Check whether the name of the SKU or the meter contains one of the patterns."""
    return pl.any_horizontal(
        pl.col(name).fill_null("").str.contains(pattern)
        for name in ("skuName", "meterName")
        for pattern in patterns
    )


def _purchase_option() -> pl.Expr:
    """Make prices.purchase_option of an item; null for an unknown type."""
    price_type = pl.col("type")
    return (
        pl.when(price_type == "Reservation")
        .then(pl.lit("reserved"))
        .when(price_type == "DevTestConsumption")
        .then(pl.lit("dev_test"))
        .when(price_type.ne_missing("Consumption"))
        .then(pl.lit(None, dtype=pl.String))
        .when(_names_contain(SPOT))
        .then(pl.lit("spot"))
        .when(_names_contain(LOW_PRIORITY))
        .then(pl.lit("low_priority"))
        .otherwise(pl.lit("on_demand"))
    )


def _operating_system() -> pl.Expr:
    """Make prices.os. A reservation includes no license, whatever its product's name says."""
    return (
        pl.when(pl.col("purchase_option") == "reserved")
        .then(pl.lit("linux"))
        .otherwise(pl.col("product_os").fill_null("linux"))
    )


def _scope_rules_of_names() -> list[Rule]:
    """List the rules by which names exclude an item from the hourly list prices of machines."""
    kind = pl.col("product_kind")
    return [
        (pl.col("serviceName").fill_null("") != azure.MACHINES, "another_service"),
        (
            (kind == "cloud_services") | _names_contain(CLOUD_SERVICES),
            "cloud_services",
        ),
        ((kind == "promo") | _names_contain(PROMO), "promo"),
    ]


def _scope_rules() -> list[Rule]:
    """List the other rules by which an item is not a current list price."""
    starts, ends = time(pl.col("effectiveStartDate")), time(pl.col("effectiveEndDate"))
    return [
        (pl.col("tierMinimumUnits").fill_null(0) > 0, "later_tier"),
        (ends <= pl.col("observed_at"), "expired"),
        (starts > pl.col("observed_at"), "not_yet_in_force"),
        # Dev/test items of spot and low priority repeat those prices without a license.
        ((pl.col("purchase_option") == "dev_test") & pl.col("is_reduced"), "dev_test_of_spot"),
    ]


def _refusal_rules() -> list[Rule]:
    """List the rules by which an item that should be a price is refused."""
    option = pl.col("purchase_option")
    reserved = option == "reserved"
    is_placeholder = pl.col("price") == pl.lit(PLACEHOLDER_ON_DEMAND).cast(Money)
    tier, tier_text = pl.col("tierMinimumUnits"), pl.col("tierMinimumUnits_text")
    return [
        (option.is_null(), "unknown_price_type"),
        (~pl.col("unitOfMeasure").fill_null("").str.contains(HOUR), "unknown_unit"),
        (pl.col("region").fill_null("") == "", "no_region"),
        (pl.col("instance_type").fill_null("") == "", "no_size_name"),
        (pl.col("currency").is_null(), "no_currency"),
        (pl.col("price").is_null(), "price_not_a_number"),
        (tier.is_null() & tier_text.is_not_null(), "tier_not_a_number"),
        (pl.col("price") <= 0, "price_not_positive"),
        (reserved & (pl.col("term_months") == 0), "unknown_term"),
        (pl.col("productName").is_null(), "unknown_product"),
        (pl.col("unknown_words").is_not_null(), "unknown_platform"),
        (~reserved & (pl.col("product_kind") == "unknown"), "unknown_product"),
        (pl.col("unknown_option").is_not_null(), "unknown_option"),
        ((option == "on_demand") & is_placeholder, "placeholder"),
        # Without its date, an item may not be in effect.
        *((pl.col(day).is_not_null() & time(pl.col(day)).is_null(), "no_date") for day in DATES),
        # Prices of a region are read from its own pages only, because these may be taken over.
        (pl.col("region") != pl.col("page_region"), "another_region"),
    ]


WORDS = {
    "unknown_price_type": "type",
    "unknown_unit": "unitOfMeasure",
    "unknown_term": "reservationTerm",
    "unknown_platform": "unknown_words",
    "unknown_product": "productName",
    "unknown_option": "unknown_option",
    "unknown_column": "new_members_text",
    "unknown_location": "armRegionName",
}
"""Reason → the column with the vendor's unknown word."""

MISSING = {
    "unknown_price_type": "type",
    "unknown_unit": "unitOfMeasure",
    "no_region": "armRegionName",
    "no_size_name": "armSkuName",
    "no_currency": "currencyCode",
    "price_not_a_number": "retailPrice_text",
    "unknown_term": "reservationTerm",
    "unknown_product": "productName",
}
"""Reason → the column that is null if the item lacks a member."""


def _new_member() -> pl.Expr:
    """Change the reason to unknown_column if an item lacks a member and has an unknown one."""
    lacks = pl.any_horizontal(
        (pl.col("reason") == reason) & pl.col(column).is_null()
        for reason, column in MISSING.items()
    )
    is_renamed = lacks & pl.col("new_members_text").is_not_null()
    return pl.when(is_renamed).then(pl.lit("unknown_column")).otherwise("reason").alias("reason")


def _word() -> pl.Expr:
    """Return the unknown word; null if the item has another fault."""
    return pl.coalesce(
        pl.when(pl.col("reason") == reason).then(column) for reason, column in WORDS.items()
    )


def _message() -> pl.Expr:
    """Write the reason and the relevant members of the item."""
    names = ("type", "productName", "skuName", "armSkuName", "armRegionName")
    members = {
        **{name: pl.col(name) for name in names},
        "retailPrice": pl.col("retailPrice_text"),
        "reservationTerm": pl.col("reservationTerm"),
    }
    values = [pl.format("{}={}", pl.lit(m), text.fill_null("null")) for m, text in members.items()]
    return pl.concat_str([pl.col("reason"), *values], separator=" ")


def _spot_placeholders(rows: pl.DataFrame) -> pl.DataFrame:
    """Return spot rows at 0.002 whose machine costs far more on demand, or has no on-demand price.

    Adds reason, message and word.
    """
    suspects = rows.filter(
        (pl.col("purchase_option") == "spot")
        & (pl.col("price") == pl.lit(PLACEHOLDER_SPOT).cast(Money))
    )
    if not suspects.height:
        return suspects.with_columns(_NO_REASON)
    machine = ["region", "instance_type", "os", "currency"]
    on_demand = (
        rows.filter(pl.col("purchase_option") == "on_demand")
        .group_by(machine)
        .agg(pl.col("price").max().alias("on_demand"))
    )
    lowest = pl.col("on_demand").cast(pl.Float64) * LOWEST_SPOT_SHARE
    return (
        suspects.join(on_demand, on=machine, how="left", maintain_order="left")
        .filter((pl.col("price").cast(pl.Float64) < lowest).fill_null(True))
        .with_columns(
            pl.lit("placeholder").alias("reason"),
            pl.lit(None, dtype=pl.String).alias("word"),
            pl.format(
                "spot {} beside an on-demand price of {}",
                pl.col("price"),
                pl.col("on_demand").cast(pl.String).fill_null("none"),
            ).alias("message"),
        )
        .drop("on_demand")
    )


@dataclass(frozen=True)
class _ByKey:
    """One row per key; refused rows with a reason; rows passed over, with ``out_of_scope``."""

    chosen: pl.DataFrame
    refused: pl.DataFrame
    passed_over: pl.DataFrame


def _one_per_key(rows: pl.DataFrame) -> _ByKey:
    """Choose one row per key.

    A meter has one price at a time: if it has several current rows, the newest is used, with the
    ``meter_flag`` newest_of_two_rows if their prices differ. A primary meter replaces others with
    the same key. If the prices of the remaining rows agree, one row is chosen; otherwise all are
    refused.
    """
    is_repeated = pl.struct(KEY).is_duplicated()
    rows = rows.with_columns(meter_flag=pl.lit(None, dtype=pl.String))
    repeated = rows.filter(is_repeated).with_columns(_NO_REASON)
    if not repeated.height:
        return _ByKey(rows, repeated, repeated)
    began = time(pl.col("effectiveStartDate"))
    meter = [*KEY, "meterId", "isPrimaryMeterRegion"]
    is_superseded = (began < began.max().over(meter)).fill_null(False)
    differs = pl.col("meterId").is_not_null() & (pl.col("price").n_unique().over(meter) > 1)
    newest = repeated.filter(differs & ~is_superseded & is_superseded.any().over(meter))["row"]
    superseded = repeated.filter(is_superseded & pl.col("meterId").is_not_null()).with_columns(
        pl.lit("expired").alias("out_of_scope")
    )
    repeated = repeated.join(superseded.select("row"), on="row", how="anti", maintain_order="left")
    primary = pl.col("isPrimaryMeterRegion").fill_null(False)
    secondary = (~pl.col("isPrimaryMeterRegion")).fill_null(False)
    is_secondary = secondary & primary.any().over(KEY)
    not_primary = repeated.filter(is_secondary).with_columns(
        pl.lit("not_primary_meter").alias("out_of_scope")
    )
    remaining = repeated.filter(~is_secondary)
    disagree = pl.col("price").n_unique().over(KEY) > 1
    agreed = remaining.filter(~disagree).sort(*KEY, "meterId", "skuId", "row")
    is_first = pl.int_range(pl.len()).over(KEY) == 0
    again = agreed.filter(~is_first).with_columns(pl.lit("same_price_again").alias("out_of_scope"))
    # A filter, not a concatenation of both kinds, so that the rows keep their order.
    is_chosen = ~is_repeated | pl.col("row").is_in(agreed.filter(is_first)["row"].implode())
    flag = pl.when(pl.col("row").is_in(newest.implode())).then(pl.lit("newest_of_two_rows"))
    return _ByKey(
        rows.filter(is_chosen).with_columns(meter_flag=flag),
        _refuse_duplicates(remaining.filter(disagree)),
        pl.concat([superseded, not_primary, again]),
    )


def _refuse_duplicates(rows: pl.DataFrame) -> pl.DataFrame:
    prices = pl.col("price").cast(pl.String).unique().sort().str.join(", ").over(KEY)
    return rows.with_columns(
        pl.lit("duplicate_key").alias("reason"),
        pl.format("{} prices for one key: {}", pl.len().over(KEY), prices).alias("message"),
    )
