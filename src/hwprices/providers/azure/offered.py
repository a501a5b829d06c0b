"""Where a size is offered: zones and restrictions of landed resource SKUs into rows of availability."""

import polars as pl

from hwprices import frames
from hwprices.providers.azure.sizes import RESTRICTION
from hwprices.schemas.catalog import Availability


def availability(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of the availability table: one a zone, or one a region where the size has no zones.

    Zones are numbered within the subscription that asked (https://learn.microsoft.com/azure/reliability/availability-zones-overview).
    """
    where = rows.select("provider", pl.col("name").alias("instance_type"), "locationInfo", "observed_at", "raw_sha256").explode(
        "locationInfo", empty_as_null=False
    )
    places = where.with_columns(
        pl.col("locationInfo").struct.field("location").str.to_lowercase().alias("region"), pl.col("locationInfo").struct.field("zones").alias("zone")
    ).drop("locationInfo")
    barred = _restrictions(rows)
    zones = pl.concat(
        [
            places.explode("zone", empty_as_null=True),
            places.drop("zone")
            .join(barred.filter(pl.col("zone").is_not_null()).select("region", "instance_type", "zone"), on=["region", "instance_type"])
            .select(places.columns),
        ]
    ).unique(["region", "instance_type", "zone"], keep="first", maintain_order=True)
    # A size barred in named zones has those zones, so the row without a zone goes where there are others.
    has_zones = pl.col("zone").is_not_null().any().over("region", "instance_type")
    zones = zones.filter(pl.col("zone").is_not_null() | ~has_zones)
    whole = (
        barred.filter(pl.col("zone").is_null())
        .select("region", "instance_type", pl.col("reason").alias("region_reason"))
        .unique(["region", "instance_type"], keep="first")
    )
    marked = zones.join(barred.filter(pl.col("zone").is_not_null()), on=["region", "instance_type", "zone"], how="left").join(
        whole, on=["region", "instance_type"], how="left"
    )
    reason = pl.coalesce("region_reason", "reason")
    table = marked.with_columns(pl.lit(True).alias("offered"), reason.is_not_null().alias("restricted"), reason.alias("restriction_reason"))
    return frames.conform(table.drop("reason", "region_reason").lazy(), Availability).sort("region", "zone", "instance_type").collect()


def _restrictions(rows: pl.DataFrame) -> pl.DataFrame:
    """region, instance_type, zone (null: the whole region), reason. A size can have both kinds of restriction."""
    each = rows.select(pl.col("name").alias("instance_type"), "restrictions").explode("restrictions", empty_as_null=False)
    parts = (
        each.select("instance_type", pl.col("restrictions").struct.unnest())
        if each.height
        else pl.DataFrame(schema={"instance_type": pl.String, **RESTRICTION})
    )
    by_zone = pl.col("type") == "Zone"
    info = pl.col("restrictionInfo").struct
    return (
        parts.select(
            "instance_type",
            pl.coalesce(info.field("locations"), "values").alias("region"),
            pl.when(by_zone).then(info.field("zones")).alias("zone"),
            pl.col("reasonCode").fill_null("restricted").alias("reason"),
        )
        .explode("region", empty_as_null=False)
        .explode("zone", empty_as_null=True)
        .with_columns(pl.col("region").str.to_lowercase())
        .unique(["region", "instance_type", "zone"], keep="first", maintain_order=True)
        .select("region", "instance_type", "zone", "reason")
    )
