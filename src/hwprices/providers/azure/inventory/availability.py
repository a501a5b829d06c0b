"""Make rows of availability from the zones and restrictions of resource SKUs."""

import polars as pl

from hwprices.providers.azure.inventory.instance_types import RESTRICTION
from hwprices.rows import frames
from hwprices.schemas.inventory import Availability

PLACE = ["region", "instance_type"]


def availability_rows(skus: pl.DataFrame) -> pl.DataFrame:
    """Make rows of availability: one a zone, or one a region where the size has no zones.

    ``skus`` is ``instance_types.Skus.machines``. Zones are numbered within the subscription that
    asked (https://learn.microsoft.com/azure/reliability/availability-zones-overview). A size that
    is restricted in the whole region and in a zone has the region's reason.
    """
    places, restrictions = _current(skus)
    in_zone = restrictions.filter(pl.col("zone").is_not_null()).unique(
        [*PLACE, "zone"], keep="first", maintain_order=True
    )
    in_region = (
        restrictions.filter(pl.col("zone").is_null())
        .select(*PLACE, pl.col("restriction").alias("in_region"))
        .unique(PLACE, keep="first", maintain_order=True)
    )
    marked = (
        _zones(places, restrictions)
        .join(in_zone, on=[*PLACE, "zone"], how="left")
        .join(in_region, on=PLACE, how="left")
    )
    restriction = pl.coalesce("in_region", "restriction")
    table = marked.with_columns(
        pl.lit(True).alias("offered"),
        restriction.is_not_null().alias("restricted"),
        restriction.alias("restriction_reason"),
    ).drop("restriction", "in_region")
    rows = frames.conform(table.lazy(), Availability)
    return rows.sort("region", "zone", "instance_type").collect()


def _current(skus: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return places and restrictions: the API's for regions that it lists, else the bundled."""
    is_live = pl.col("spec_source") == "api"
    live, bundled = skus.filter(is_live), skus.filter(~is_live)
    live_regions = _places(live).select("region").unique()
    places, restrictions = (
        pl.concat(
            [
                read(live),
                read(bundled).join(live_regions, on="region", how="anti", maintain_order="left"),
            ]
        )
        for read in (_places, _restrictions)
    )
    return places, restrictions


def _places(skus: pl.DataFrame) -> pl.DataFrame:
    """Make one row for each size and location.

    Columns: provider, instance_type, observed_at, raw_sha256, region, zone (a list).
    """
    info = pl.col("locationInfo").struct
    return (
        skus.select(
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


def _zones(places: pl.DataFrame, restrictions: pl.DataFrame) -> pl.DataFrame:
    """Make one row for each zone of a size in a region; zone is null where the size has none.

    A zone that only a restriction names is a zone too.
    """
    listed = places.explode("zone", empty_as_null=True)
    restricted = restrictions.filter(pl.col("zone").is_not_null()).select(*PLACE, "zone")
    only_restricted = places.drop("zone").join(restricted, on=PLACE).select(listed.columns)
    both = pl.concat([listed, only_restricted]).unique(
        [*PLACE, "zone"], keep="first", maintain_order=True
    )
    has_zones = pl.col("zone").is_not_null().any().over(PLACE)
    return both.filter(pl.col("zone").is_not_null() | ~has_zones)


def _restrictions(skus: pl.DataFrame) -> pl.DataFrame:
    """Return restrictions: region, instance_type, zone (null for the region), restriction.

    A size can have restrictions of both kinds in one region.
    """
    each = skus.select(pl.col("name").alias("instance_type"), "restrictions").explode(
        "restrictions", empty_as_null=False
    )
    if each.height:
        members = each.select("instance_type", pl.col("restrictions").struct.unnest())
    else:
        members = pl.DataFrame(schema={"instance_type": pl.String, **RESTRICTION})
    info = pl.col("restrictionInfo").struct
    return (
        members.select(
            pl.coalesce(info.field("locations"), "values").alias("region"),
            "instance_type",
            pl.when(pl.col("type") == "Zone").then(info.field("zones")).alias("zone"),
            pl.col("reasonCode").fill_null("restricted").alias("restriction"),
        )
        .explode("region", empty_as_null=False)
        .explode("zone", empty_as_null=True)
        .with_columns(pl.col("region").str.to_lowercase())
    )
