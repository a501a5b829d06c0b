"""Where a size is offered: zones and restrictions of landed resource SKUs into rows of availability."""

import polars as pl

from hwprices.providers.azure.inventory.instance_types import RESTRICTION
from hwprices.rows import frames
from hwprices.schemas.catalog import Availability

PLACE = ["region", "instance_type"]


def availability(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of the availability table: one a zone, or one a region where the size has no zones.

    ``rows`` is ``sizes.Skus.rows``. Where the API has listed a region, the bundled table is not asked about it. Zones are numbered
    within the subscription that asked (https://learn.microsoft.com/azure/reliability/availability-zones-overview).
    """
    live = rows.filter(pl.col("spec_source") == "api")
    asked = _places(live).select("region").unique()
    bundled = rows.filter(pl.col("spec_source") != "api")
    places = pl.concat(
        [
            _places(live),
            _places(bundled).join(asked, on="region", how="anti", maintain_order="left"),
        ]
    )
    barred = pl.concat(
        [
            _restrictions(live),
            _restrictions(bundled).join(asked, on="region", how="anti", maintain_order="left"),
        ]
    )
    zones = _zones(places, barred)
    in_zone = barred.filter(pl.col("zone").is_not_null()).unique(
        [*PLACE, "zone"], keep="first", maintain_order=True
    )
    in_region = (
        barred.filter(pl.col("zone").is_null())
        .select(*PLACE, pl.col("reason").alias("region_reason"))
        .unique(PLACE, keep="first", maintain_order=True)
    )
    marked = zones.join(in_zone, on=[*PLACE, "zone"], how="left").join(
        in_region, on=PLACE, how="left"
    )
    reason = pl.coalesce("region_reason", "reason")
    table = marked.with_columns(
        pl.lit(True).alias("offered"),
        reason.is_not_null().alias("restricted"),
        reason.alias("restriction_reason"),
    )
    return (
        frames.conform(table.drop("reason", "region_reason").lazy(), Availability)
        .sort("region", "zone", "instance_type")
        .collect()
    )


def _places(rows: pl.DataFrame) -> pl.DataFrame:
    """One row for each size and location: provider, instance_type, observed_at, raw_sha256, region, zone (a list)."""
    info = pl.col("locationInfo").struct
    return (
        rows.select(
            "provider",
            pl.col("name").alias("instance_type"),
            "locationInfo",
            "observed_at",
            "raw_sha256",
        )
        .explode("locationInfo", empty_as_null=False)
        .with_columns(
            info.field("location").str.to_lowercase().alias("region"),
            info.field("zones").alias("zone"),
        )
        .drop("locationInfo")
    )


def _zones(places: pl.DataFrame, barred: pl.DataFrame) -> pl.DataFrame:
    """One row for each zone of a size in a region: those it lists, and those it is barred from; zone null where there is none."""
    listed = places.explode("zone", empty_as_null=True)
    named = barred.filter(pl.col("zone").is_not_null()).select(*PLACE, "zone")
    both = pl.concat(
        [listed, places.drop("zone").join(named, on=PLACE).select(listed.columns)]
    ).unique([*PLACE, "zone"], keep="first", maintain_order=True)
    has_zones = pl.col("zone").is_not_null().any().over(PLACE)
    return both.filter(pl.col("zone").is_not_null() | ~has_zones)


def _restrictions(rows: pl.DataFrame) -> pl.DataFrame:
    """region, instance_type, zone (null: the whole region), reason. A size can have both kinds of restriction."""
    each = rows.select(pl.col("name").alias("instance_type"), "restrictions").explode(
        "restrictions", empty_as_null=False
    )
    empty = pl.DataFrame(schema={"instance_type": pl.String, **RESTRICTION})
    parts = (
        each.select("instance_type", pl.col("restrictions").struct.unnest())
        if each.height
        else empty
    )
    info = pl.col("restrictionInfo").struct
    return (
        parts.select(
            pl.coalesce(info.field("locations"), "values").alias("region"),
            "instance_type",
            pl.when(pl.col("type") == "Zone").then(info.field("zones")).alias("zone"),
            pl.col("reasonCode").fill_null("restricted").alias("reason"),
        )
        .explode("region", empty_as_null=False)
        .explode("zone", empty_as_null=True)
        .with_columns(pl.col("region").str.to_lowercase())
    )
