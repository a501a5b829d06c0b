"""Describe what a release covers, what was refused, and which words of vendors are new."""

from collections.abc import Collection
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from hwprices.release.release import Release


def coverage(dataset: "Release") -> pl.DataFrame:
    """Return one row for each region that the release knows, with or without prices.

    Columns: provider, region, display_name, country, continent, prices, machine_types (that have a
    price), purchase_options, operating_systems, currencies, observed_from, observed_to.
    """
    prices = (
        dataset.scan("prices")
        .group_by("provider", "region")
        .agg(
            prices=pl.len(),
            machine_types=pl.col("instance_type").n_unique(),
            purchase_options=pl.col("purchase_option").unique().sort(),
            operating_systems=pl.col("os").unique().sort(),
            currencies=pl.col("currency").unique().sort(),
            observed_from=pl.col("observed_at").min(),
            observed_to=pl.col("observed_at").max(),
        )
    )
    regions = dataset.scan("regions").select(
        "provider", "region", "display_name", "country", "continent"
    )
    joined = regions.join(prices, on=["provider", "region"], how="full", coalesce=True)
    return (
        joined.with_columns(pl.col("prices", "machine_types").fill_null(0))
        .sort("provider", "region")
        .collect()
    )


def by_provider(regions: pl.DataFrame) -> pl.DataFrame:
    """Sum up ``coverage`` by provider."""

    def union(column: str) -> pl.Expr:
        return pl.col(column).drop_nulls().explode().drop_nulls().unique().sort()

    return (
        regions.group_by("provider", maintain_order=True)
        .agg(
            regions=pl.len(),
            regions_with_prices=(pl.col("prices") > 0).sum(),
            prices=pl.col("prices").sum(),
            purchase_options=union("purchase_options"),
            operating_systems=union("operating_systems"),
            currencies=union("currencies"),
            observed_from=pl.col("observed_from").min(),
            observed_to=pl.col("observed_to").max(),
        )
        .sort("provider")
    )


def columns(dataset: "Release", providers: Collection[str] = ()) -> pl.DataFrame:
    """Return one row for each column of each table: in how many rows it has a value.

    ``providers``: count the rows of these only, and leave out tables that name no provider. An
    empty list is a value.

    Columns: table, column, rows, filled (rows with a value), share (of rows; null without rows),
    providers (that have a value there; null where the table names none).
    """
    tables = (_columns_of(name, dataset.scan(name), providers) for name in dataset.tables)
    share = pl.when(pl.col("rows") > 0).then(pl.col("filled") / pl.col("rows"))
    counted = pl.concat(tables).with_columns(share=share)
    return counted.select("table", "column", "rows", "filled", "share", "providers")


def _columns_of(table: str, rows: pl.LazyFrame, providers: Collection[str]) -> pl.DataFrame:
    """Count the values of each column of a table, with one scan."""
    names = list(rows.collect_schema())
    has_provider = "provider" in names
    if providers:
        rows = rows.filter(pl.col("provider").is_in(sorted(providers)) if has_provider else False)
    counts = [pl.len().alias("rows"), *(pl.col(n).count().alias(f"in {n}") for n in names)]
    group = pl.col("provider") if has_provider else pl.lit(None, pl.String)
    by_provider = rows.group_by(of=group).agg(counts).sort("of").collect(engine="streaming")
    if providers and not has_provider:
        names = []
    filled_by = [by_provider.filter(pl.col(f"in {name}") > 0)["of"].to_list() for name in names]
    return pl.DataFrame(
        {
            "table": [table] * len(names),
            "column": names,
            "rows": [by_provider["rows"].sum()] * len(names),
            "filled": [by_provider[f"in {name}"].sum() for name in names],
            "providers": filled_by if has_provider else [None] * len(names),
        },
        schema={
            "table": pl.String,
            "column": pl.String,
            "rows": pl.Int64,
            "filled": pl.Int64,
            "providers": pl.List(pl.String),
        },
    )


def quarantine(dataset: "Release") -> pl.DataFrame:
    """Group the refused rows: one row for each provider, table and reason.

    Columns: provider, table, reason, rows (different ones), occurrences, regions, and the message
    of one of them as an example.
    """
    if "quarantine" not in dataset.tables:
        return pl.DataFrame(
            schema={
                "provider": pl.String,
                "table": pl.String,
                "reason": pl.String,
                "rows": pl.UInt32,
                "occurrences": pl.Int32,
                "regions": pl.List(pl.String),
                "example": pl.String,
            }
        )
    return (
        dataset.scan("quarantine")
        .sort("row_hash")
        .group_by("provider", "table", "reason")
        .agg(
            rows=pl.len(),
            occurrences=pl.col("occurrences").sum(),
            regions=pl.col("region").drop_nulls().unique().sort(),
            example=pl.col("message").first(),
        )
        .sort("occurrences", "provider", "table", "reason", descending=[True, False, False, False])
        .collect()
    )


def new_words(dataset: "Release", providers: Collection[str] = ()) -> pl.DataFrame:
    """List the words that are not known yet: of each provider, those that cost most rows first.

    ``providers``: of these only. The columns are those of the table new_words.
    """
    rows = dataset.scan("new_words")
    if providers:
        rows = rows.filter(pl.col("provider").is_in(sorted(providers)))
    cost = (pl.col("lines") + pl.col("dependants")).cast(pl.Int64)
    return rows.sort("provider", -cost, "reason", "word").collect()
