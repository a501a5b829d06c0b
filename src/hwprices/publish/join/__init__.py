"""Join vendor tables with spec sheets into the derived tables of a release.

These are offers, regions, accelerators, new_words, stock, market_quantiles, and the sheets that are
published unchanged.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from hwprices.publish.join import machines, offers
from hwprices.release.release import has_accelerators
from hwprices.rows import frames
from hwprices.schemas.tables import SHEETS, TABLES, MarketQuantiles, NewWords, Offers
from hwprices.specs.rules import KEY
from hwprices.stage import validate

WORD_KEY = NewWords.key

OF_REFUSED_SKU = pl.col("reason") == "refused_sku"
"""Condition on rows that represent prices of a refused SKU; they have the word of that SKU."""


def new_words(quarantine: pl.LazyFrame, known: pl.LazyFrame) -> pl.DataFrame:
    """Group the refused rows by new word.

    If a refused SKU is itself in quarantine, the rows of its prices are not counted as lines: they
    only add their dependants to the SKU's word.
    """
    sku_reason = pl.col("reason").filter(~OF_REFUSED_SKU).min().over("provider", "word")
    has_sku = OF_REFUSED_SKU & sku_reason.is_not_null()
    words = (
        quarantine.filter(pl.col("word").is_not_null())
        .drop("row", "region")
        .with_columns(
            reason=pl.when(has_sku).then(sku_reason).otherwise("reason"),
            lines=pl.when(has_sku).then(0).otherwise("occurrences"),
        )
        .sort(pl.col("lines") == 0, "row_hash")  # the example is a line with the word
        .group_by(WORD_KEY)
        .agg(
            pl.col("lines", "dependants").cast(pl.Int64).sum().cast(pl.Int32),
            pl.col("message").first().alias("example"),
            pl.col("source_url", "raw_sha256").first(),
            pl.col("observed_at").min().alias("first_seen"),
            pl.col("observed_at").max().alias("last_seen"),
        )
    )
    since = known.select(*WORD_KEY, since="first_seen")
    carried = words.join(since, on=WORD_KEY, how="left").with_columns(
        first_seen=pl.coalesce("since", "first_seen")
    )
    table = frames.conform(carried.drop("since"), NewWords).collect()
    return validate.sort_by_key(table, NewWords)


def appeared_words(words: pl.DataFrame, known: pl.LazyFrame | None) -> tuple[tuple[str, str], ...]:
    """List provider and word of the rows that the previous release did not have."""
    if known is not None:
        words = words.join(
            known.select(WORD_KEY).collect(), on=WORD_KEY, how="anti", maintain_order="left"
        )
    return tuple(words.select("provider", "word").iter_rows())


VENDOR_TABLES = (
    *("regions", "instance_types", "availability", "prices", "component_prices"),
    *("quarantine", "stock", "market_quantiles"),
)

CARRIED = ("new_words", "stock", "market_quantiles")
"""Tables that are made from new pages and from the same table of the previous release."""

PUBLISHED_SHEETS = (
    *("cpus", "cpu_families", "local_hardware", "benchmarks", "power_coefficients"),
    "billing_terms",
)
"""Sheets that are published unchanged."""

COORDINATES = ("latitude", "longitude")

FILLED_TOGETHER = (
    ("grid_gco2e_per_kwh", "grid_year", "grid_source"),
    ("pue", "pue_year", "pue_source"),
    ("display_name",),
    ("country",),
    ("continent",),
    ("parent_region",),
)
"""Columns of regions that the sheet fills, by source: no figure gets the year of another."""


@dataclass(frozen=True)
class Joined:
    """The derived tables of a release.

    ``tables`` are published tables by name, each checked against its model and sorted by key,
    offers first by accelerator and machine type. ``unmatched`` are accelerators without a sheet:
    see ``machines.unmatched``.
    """

    tables: Mapping[str, pl.DataFrame]
    unmatched: tuple[Mapping[str, Any], ...]


def build(
    tables: Mapping[str, pl.LazyFrame],
    specs: Mapping[str, pl.DataFrame],
    before: Mapping[str, pl.LazyFrame] | None = None,
) -> Joined:
    """Join the vendor tables of a release with the spec sheets.

    ``tables`` and ``specs`` are frames by table name; a missing one counts as empty. ``specs`` are
    checked and sorted, as ``sheets.load`` returns them. ``before`` are the tables CARRIED of the
    previous release. Only the prices shown in offers are read into memory.

    Raises:
        HwpricesError: a table fails a check of its model: a mistake in this package or in a sheet.
    """
    vendor = {
        name: tables[name] if name in tables else frames.empty(TABLES[name]).lazy()
        for name in VENDOR_TABLES
    }
    sheet = {
        name: specs[name] if name in specs else frames.empty(model)
        for name, model in SHEETS.items()
    }
    region_table = regions(vendor["regions"], sheet["region_footprint"])
    machine_types = machines.machines(
        vendor["instance_types"],
        sheet["accelerators"],
        sheet["cpus"],
        sheet["cpu_families"],
        sheet["power_coefficients"],
    )
    offer_table = build_offers(vendor["prices"], machine_types, region_table, sheet["benchmarks"])
    offer_table = flag_averages(offer_table, sheet["region_footprint"])
    accelerator_table = machines.accelerators(
        sheet["accelerators"],
        types=vendor["instance_types"],
        availability=vendor["availability"],
        offers=offer_table,
        components=vendor["component_prices"],
        local=sheet["local_hardware"],
    )
    derived = {"regions": region_table, "accelerators": accelerator_table, "offers": offer_table}
    checked = {name: validate.check(rows, TABLES[name]) for name, rows in derived.items()}
    # most questions are about accelerators: a remote reader only fetches their row group
    checked["offers"] = checked["offers"].sort(
        ~has_accelerators(), "accelerator_id", "instance_type", nulls_last=True, maintain_order=True
    )
    checked |= {name: sheet[name] for name in PUBLISHED_SHEETS}
    known = {name: frames.empty(TABLES[name]).lazy() for name in CARRIED} | dict(before or {})
    checked["new_words"] = new_words(vendor["quarantine"], known["new_words"])
    checked["market_quantiles"] = market_days(vendor["market_quantiles"], known["market_quantiles"])
    checked["stock"] = offers.stock_intervals(vendor["stock"], known["stock"])
    in_order = {name: checked[name] for name in TABLES if name in checked}
    return Joined(in_order, machines.unmatched(vendor["instance_types"], sheet["accelerators"]))


def market_days(stated: pl.LazyFrame, known: pl.LazyFrame) -> pl.DataFrame:
    """Add the quantiles of the newest pages to those of earlier days, or replace those of a day."""
    day = ["provider", "day"]
    earlier = known.join(stated.select(day).unique(), on=day, how="anti")
    rows = frames.conform(pl.concat([earlier, stated]), MarketQuantiles).collect()
    return validate.check(rows, MarketQuantiles)


def regions(vendor: pl.LazyFrame, sheet: pl.DataFrame) -> pl.DataFrame:
    """Complete the regions table with geography, grid and PUE from the region_footprint sheet.

    The vendor's values are kept; a group of FILLED_TOGETHER is filled if all of it is null.
    COORDINATES are the sheet's if it has them: Azure's API puts two regions into the sea. Returns
    the columns of ``vendor``.
    """
    key = ["provider", "region"]
    names = [*COORDINATES, *(name for group in FILLED_TOGETHER for name in group)]
    joined = vendor.collect().join(sheet.select(*key, *names), on=key, how="left", suffix="_sheet")
    filled = [
        pl.when(pl.all_horizontal(pl.col(group).is_null()))
        .then(f"{name}_sheet")
        .otherwise(name)
        .alias(name)
        for group in FILLED_TOGETHER
        for name in group
    ]
    has_place = pl.all_horizontal(pl.col(f"{name}_sheet").is_not_null() for name in COORDINATES)
    filled += [
        pl.when(has_place).then(f"{name}_sheet").otherwise(name).alias(name) for name in COORDINATES
    ]
    return joined.with_columns(filled).drop(f"{name}_sheet" for name in names)


MACHINE_UNKNOWN = "machine_unknown"
"""Flag of an offer whose machine is missing from the vendor's lists."""

AVERAGES = {
    ("pue", "pue_basis", "provider_average"): "pue_provider_average",
    ("pue", "pue_basis", "industry_average"): "pue_industry_average",
    ("grid_gco2e_per_kwh", "grid_basis", "continent"): "grid_place_unknown",
    ("grid_gco2e_per_kwh", "grid_basis", "world"): "grid_place_unknown",
}
"""A figure of the region_footprint sheet, the column that states its basis, and a value of that
column: the flag of offers with this figure."""


def flag_averages(offer_table: pl.DataFrame, footprint: pl.DataFrame) -> pl.DataFrame:
    """Flag the offers whose PUE or grid is an average instead of the region's own figure."""
    key = ["provider", "region"]
    for (figure, basis, value), flag in AVERAGES.items():
        average = footprint.filter(pl.col(basis) == value).select(*key, average=figure)
        joined = offer_table.join(average, on=key, how="left", maintain_order="left")
        # the vendor's own figure takes precedence over the sheet's, and is not an average
        is_average = (pl.col(figure) == pl.col("average")).fill_null(False)
        offer_table = joined.with_columns(offers.with_flag(is_average, flag)).drop("average")
    return offer_table


def build_offers(
    prices: pl.LazyFrame,
    machine_types: pl.DataFrame,
    region_table: pl.DataFrame,
    benchmark_sheet: pl.DataFrame,
) -> pl.DataFrame:
    """Make the offers table.

    ``prices`` is the prices table, ``machine_types`` the result of ``machines.machines``. There is
    a row for every machine and region with a Linux price, or with the reason why there is none. A
    machine that the vendor's lists lack has the flag MACHINE_UNKNOWN.
    """
    table = offers.side_by_side(offers.cheapest_rows(prices))
    region_columns = region_table.select(
        "provider", "region", "country", "pue", "grid_gco2e_per_kwh"
    )
    described = machine_types.with_columns(is_described=pl.lit(True))
    table = table.join(described, on=KEY, how="left")
    is_unknown = pl.col("is_described").is_null()
    table = table.with_columns(offers.with_flag(is_unknown, MACHINE_UNKNOWN)).drop("is_described")
    table = table.join(region_columns, on=["provider", "region"], how="left")
    # every row has the assumptions, also if the machine is not known
    assumed = machines.assumptions()
    table = table.with_columns(pl.col(name).fill_null(value) for name, value in assumed.items())
    table = machines.with_measured(offers.with_derived(table), benchmark_sheet)
    return frames.conform(table.drop("uniform").lazy(), Offers).collect()
