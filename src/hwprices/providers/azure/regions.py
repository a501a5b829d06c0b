"""Make rows of regions, zones and availability from the subscription's locations and SKUs.

Source: https://learn.microsoft.com/rest/api/resources/subscriptions/list-locations. The list lacks
sovereign clouds and the newest regions: other regions that sell or offer machines have a row with
only their id.
"""

from typing import Any

import polars as pl

from hwprices.formulas import first_of
from hwprices.providers import Pages, azure
from hwprices.providers.azure.instance_types import RESTRICTION, Schema, read_list
from hwprices.rows import frames
from hwprices.schemas.tables import Availability, Regions, Zones
from hwprices.specs import packaged_sheet

LOCATION: Schema = {
    "name": pl.String,
    "displayName": pl.String,
    "metadata": pl.Struct(
        {
            "regionType": pl.String,
            "geography": pl.String,
            "latitude": pl.String,
            "longitude": pl.String,
            "physicalLocation": pl.String,
        }
    ),
    "availabilityZoneMappings": pl.List(
        pl.Struct({"logicalZone": pl.String, "physicalZone": pl.String})
    ),
}
"""Members of a location that are read."""

PHYSICAL = "Physical"
"""The regionType of a place. Logical locations (global, unitedstates) have no machines."""

NOT_PUBLIC = ("Stage", "Canary")
"""Prefixes of the geographies of Azure's test regions: "Stage (US)", "Canary (US)"."""


def is_public_location(location: dict[str, Any]) -> bool:
    """Check whether a location of the subscription's list is a region that sells machines."""
    metadata = location.get("metadata")
    if not isinstance(metadata, dict):
        return False
    geography = str(metadata.get("geography"))
    return metadata.get("regionType") == PHYSICAL and not geography.startswith(NOT_PUBLIC)


def is_public() -> pl.Expr:
    """Apply ``is_public_location`` to a frame of locations."""
    field = pl.col("metadata").struct.field
    is_test = pl.any_horizontal(field("geography").str.starts_with(word) for word in NOT_PUBLIC)
    return (field("regionType") == PHYSICAL).fill_null(False) & ~is_test.fill_null(False)


def read_locations(pages: Pages) -> pl.DataFrame:
    """Read the locations: the columns of ``LOCATION``, region and the origin columns.

    If two pages describe a location differently, it has two rows, which validation refuses.

    Raises:
        HwpricesError: a landed page was altered.
    """
    observed_at = Regions.dtypes["observed_at"]
    schema = {**LOCATION, "observed_at": observed_at, "source_url": pl.String}
    empty = pl.DataFrame(schema={**schema, "raw_sha256": pl.String})
    parts: list[pl.DataFrame] = []
    for page in pages.of(azure.LOCATIONS):
        with pages.leave_out(page):
            parts.append(read_list(pages, page, LOCATION, "locations"))
    members = [name for name in LOCATION if name != "name"]
    return (
        pl.concat([empty, *parts])
        .with_columns(pl.col("name").str.to_lowercase().alias("region"))
        .unique(["region", *members], keep="first", maintain_order=True)
    )


def region_rows(locations: pl.DataFrame, observed: pl.DataFrame) -> pl.DataFrame:
    """Make rows of regions: the public locations, and the regions of other pages.

    ``observed`` has region, observed_at and raw_sha256 of prices and sizes; a region's oldest page
    is used.
    """
    listed = locations.filter(is_public()).select(
        "region",
        pl.col("displayName").alias("display_name"),
        pl.lit("available").alias("status"),
        _of_place("country"),
        _of_place("continent"),
        *_coordinates(),
        "observed_at",
        "raw_sha256",
    )
    others = (
        observed.filter(pl.col("region").fill_null("") != "")
        .sort("region", "observed_at", "raw_sha256")
        .unique("region", keep="first", maintain_order=True)
        .join(listed, on="region", how="anti")
    )
    rows = pl.concat([listed, others], how="diagonal").with_columns(
        pl.lit("azure").alias("provider"), _kind().alias("kind")
    )
    return frames.conform(rows.lazy(), Regions).sort("region").collect()


def _of_place(column: str) -> pl.Expr:
    """Look up a location's place, then its geography, in azure_places; null without either row."""
    places = packaged_sheet("azure_places")
    metadata = pl.col("metadata").struct
    return pl.coalesce(
        metadata.field(name).replace_strict(places["place"], places[column], default=None)
        for name in ("physicalLocation", "geography")
    ).alias(column)


def _coordinates() -> list[pl.Expr]:
    """Make latitude and longitude; null for 0, 0, which Azure has for brazilus."""
    metadata = pl.col("metadata").struct
    latitude = metadata.field("latitude").cast(pl.Float64, strict=False)
    longitude = metadata.field("longitude").cast(pl.Float64, strict=False)
    is_placed = (latitude != 0) | (longitude != 0)
    return [
        pl.when(is_placed).then(latitude).alias("latitude"),
        pl.when(is_placed).then(longitude).alias("longitude"),
    ]


def _kind() -> pl.Expr:
    """Make regions.kind: usgov… and usdod… are the US government's, china… is run by 21Vianet."""
    region = pl.col("region")
    return first_of(
        {"gov": region.str.contains("^us(gov|dod)"), "china": region.str.starts_with("china")},
        "region",
    )


def zone_rows(locations: pl.DataFrame) -> pl.DataFrame:
    """Make rows of zones.

    zone is the number that the subscription uses, zone_id the physical zone behind it.
    """
    mapping = pl.col("availabilityZoneMappings").struct
    rows = (
        locations.filter(is_public())
        .explode("availabilityZoneMappings", empty_as_null=False)
        .filter(pl.col("availabilityZoneMappings").is_not_null())
        .select(
            pl.lit("azure").alias("provider"),
            "region",
            mapping.field("logicalZone").alias("zone"),
            mapping.field("physicalZone").alias("zone_id"),
            pl.lit("zone").alias("kind"),
            "observed_at",
            "raw_sha256",
        )
    )
    return frames.conform(rows.lazy(), Zones).sort("region", "zone").collect()


PLACE = ["region", "instance_type"]


def availability_rows(skus: pl.DataFrame) -> pl.DataFrame:
    """Make rows of availability: one per zone, or one per region if the size has no zones.

    ``skus`` is ``instance_types.Skus.machines``. Each subscription numbers zones differently
    (https://learn.microsoft.com/azure/reliability/availability-zones-overview). If a size is
    restricted in the region and in a zone, the region's reason is used.
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
    """Return places and restrictions: the API's if it lists the region, else the bundled ones."""
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
    """Make one row per size and location.

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
    """Make one row per zone of a size in a region; zone is null if the size has none.

    Zones that only a restriction names are included.
    """
    listed = places.explode("zone", empty_as_null=True)
    restricted = restrictions.filter(pl.col("zone").is_not_null()).select(*PLACE, "zone")
    only_restricted = places.drop("zone").join(restricted, on=PLACE).select(listed.columns)
    zones = pl.concat([listed, only_restricted]).unique(
        [*PLACE, "zone"], keep="first", maintain_order=True
    )
    has_zones = pl.col("zone").is_not_null().any().over(PLACE)
    return zones.filter(pl.col("zone").is_not_null() | ~has_zones)


def _restrictions(skus: pl.DataFrame) -> pl.DataFrame:
    """Return restrictions: region, instance_type, zone (null for the region), restriction.

    A size can be restricted in a region and also in its zones.
    """
    restrictions = skus.select(pl.col("name").alias("instance_type"), "restrictions").explode(
        "restrictions", empty_as_null=False
    )
    if restrictions.height:
        members = restrictions.select("instance_type", pl.col("restrictions").struct.unnest())
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
