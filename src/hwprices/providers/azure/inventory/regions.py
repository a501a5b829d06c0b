"""Read the subscription's locations, and make rows of regions and zones of them.

Source: https://learn.microsoft.com/rest/api/resources/subscriptions/list-locations. That list lags
behind new regions and has no sovereign clouds: a region that sells or offers machines and is not in
it has a row with its id alone.
"""

from typing import Any

import polars as pl

from hwprices.providers import Pages
from hwprices.providers.azure import kinds
from hwprices.providers.azure.inventory.arm_list import Schema, read_list
from hwprices.rows import frames
from hwprices.schemas.inventory import Regions, Zones

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
"""The regionType of a place. Logical locations (global, unitedstates) hold no machines."""

NOT_PUBLIC = ("Stage", "Canary")
"""How the geographies of Azure's own test regions begin: "Stage (US)", "Canary (US)"."""


COUNTRIES = {
    "oceania": "AU Australia, NZ New Zealand",
    "europe": (
        "AT Austria, BE Belgium, DK Denmark, FR France, DE Germany, IT Italy, NO Norway, "
        "PL Poland, ES Spain, SE Sweden, CH Switzerland, GB United Kingdom, IE Ireland, "
        "NL Netherlands"
    ),
    "south_america": "BR Brazil, CL Chile",
    "north_america": "CA Canada, MX Mexico, US United States, US usa",
    "asia": (
        "IN India, ID Indonesia, IL Israel, JP Japan, KR Korea, MY Malaysia, QA Qatar, "
        "TW Taiwan, AE UAE, HK Hong Kong, SG Singapore"
    ),
    "africa": "ZA South Africa",
}
"""Continent → code and name of countries as metadata.geography has them, or, where that spans
several (Asia Pacific, Europe), metadata.physicalLocation."""

PLACES = {
    country[3:]: (country[:2], continent)
    for continent, countries in COUNTRIES.items()
    for country in countries.split(", ")
}
"""Geography or physical location → ISO 3166-1 alpha-2 code, and continent as in regions."""


def is_public_location(location: dict[str, Any]) -> bool:
    """Return whether a location of the subscription's list is a region that sells machines."""
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

    A location that two pages describe alike is one row. One that they describe differently is two
    rows, which validation refuses.

    Raises:
        HwpricesError: a landed page is altered.
    """
    observed_at = frames.dtypes(Regions)["observed_at"]
    schema = {**LOCATION, "observed_at": observed_at, "source_url": pl.String}
    empty = pl.DataFrame(schema={**schema, "raw_sha256": pl.String})
    parts: list[pl.DataFrame] = []
    for page in pages.of(kinds.LOCATIONS):
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

    ``observed`` has region, observed_at and raw_sha256 of prices and sizes; a region's first page
    counts.
    """
    listed = locations.filter(is_public()).select(
        "region",
        pl.col("displayName").alias("display_name"),
        pl.lit("available").alias("status"),
        _look_up({place: code for place, (code, _) in PLACES.items()}).alias("country"),
        _look_up({place: continent for place, (_, continent) in PLACES.items()}).alias("continent"),
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


def _look_up(by_place: dict[str, str]) -> pl.Expr:
    """Look a location's place up, then its geography; null where neither is in the table."""
    metadata = pl.col("metadata").struct
    return pl.coalesce(
        metadata.field(name).replace_strict(by_place, default=None, return_dtype=pl.String)
        for name in ("physicalLocation", "geography")
    )


def _coordinates() -> list[pl.Expr]:
    """Make latitude and longitude; null at 0, 0, where Azure puts brazilus."""
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
    return (
        pl.when(region.str.contains("^us(gov|dod)"))
        .then(pl.lit("gov"))
        .when(region.str.starts_with("china"))
        .then(pl.lit("china"))
        .otherwise(pl.lit("region"))
    )


def zone_rows(locations: pl.DataFrame) -> pl.DataFrame:
    """Make rows of zones.

    zone is the number that the asking subscription uses, zone_id the physical zone behind it.
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
