"""The price list that OpenCost reads where ``USE_CSV_PROVIDER`` is true and ``CSV_PATH`` names it.

Columns and look-up: pkg/cloud/provider/csvprovider.go of https://github.com/opencost/opencost
(Apache-2.0, commit 5f653330). A node is found by region and instance type, case ignored.
"""

import polars as pl

from hwprices.read.export.tools.catalog import (
    NOT_FOR_SALE,
    NOT_PLAIN_LINUX,
    OPTION,
    Catalog,
    PricedMachines,
    amount,
    csv,
    split,
)

COLUMNS = {
    "EndTimestamp": pl.col("observed_at").dt.strftime("%Y-%m-%d %H:%M:%S UTC"),
    "InstanceID": pl.col("instance_type"),
    "Region": pl.col("region"),
    "AssetClass": pl.lit("node"),
    "InstanceIDField": pl.lit("metadata.labels.node.kubernetes.io/instance-type"),
    "InstanceType": pl.col("instance_type"),
    "MarketPriceHourly": amount("effective_hourly"),
    "Version": pl.col("price_id"),
}
"""OpenCost reads neither EndTimestamp nor Version: they hold a date and an id."""

REASONS = (
    *NOT_FOR_SALE,
    (OPTION == "spot", "spot: the list cannot tell a spot node from another"),
    *NOT_PLAIN_LINUX,
    (
        ~pl.col("provider").is_in(["aws", "azure", "gcp"]),
        "the label of a node names another region or machine than the vendor's price list",
    ),
)

DETAILS = (
    "GPUs apart: the price of a machine includes them, so no rows of class gpu are written",
    "volumes: hwprices has no prices of them",
    "source page of each price: look it up by the price_id in the column Version",
)


def catalog(prices: PricedMachines) -> Catalog:
    """Write ``pricing.csv``: the on-demand price of each machine in each region."""
    kept, left_out = split(prices.rows, REASONS)
    files = {"pricing.csv": csv(kept.sort("provider", "region", "instance_type"), COLUMNS)}
    return Catalog(files, kept.height, left_out, DETAILS)
