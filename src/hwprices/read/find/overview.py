"""Say what a release covers, and what was refused."""

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from hwprices.read.dataset import Dataset


def coverage(dataset: "Dataset") -> pl.DataFrame:
    """Give one row for each region that the release knows, with or without prices.

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


def quarantine(dataset: "Dataset") -> pl.DataFrame:
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
