"""Landed locations into regions and zones.

Source: https://learn.microsoft.com/rest/api/resources/subscriptions/list-locations. A region that sells or offers something and
is not in that list (it lags behind new regions, and knows no sovereign clouds) is carried through with its id alone.
"""

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.providers.azure.inventory import size_names
from hwprices.rows import frames
from hwprices.schemas.catalog import Regions, Zones

KIND = "locations"

STRING = pl.String
LOCATION = pl.Struct(
    {
        "name": STRING,
        "displayName": STRING,
        "metadata": pl.Struct(
            {
                "regionType": STRING,
                "geography": STRING,
                "latitude": STRING,
                "longitude": STRING,
                "physicalLocation": STRING,
            }
        ),
        "availabilityZoneMappings": pl.List(
            pl.Struct({"logicalZone": STRING, "physicalZone": STRING})
        ),
    }
)

COUNTRIES = {
    "Australia": ("AU", "oceania"),
    "Austria": ("AT", "europe"),
    "Belgium": ("BE", "europe"),
    "Brazil": ("BR", "south_america"),
    "Canada": ("CA", "north_america"),
    "Chile": ("CL", "south_america"),
    "Denmark": ("DK", "europe"),
    "France": ("FR", "europe"),
    "Germany": ("DE", "europe"),
    "India": ("IN", "asia"),
    "Indonesia": ("ID", "asia"),
    "Israel": ("IL", "asia"),
    "Italy": ("IT", "europe"),
    "Japan": ("JP", "asia"),
    "Korea": ("KR", "asia"),
    "Malaysia": ("MY", "asia"),
    "Mexico": ("MX", "north_america"),
    "New Zealand": ("NZ", "oceania"),
    "Norway": ("NO", "europe"),
    "Poland": ("PL", "europe"),
    "Qatar": ("QA", "asia"),
    "South Africa": ("ZA", "africa"),
    "Spain": ("ES", "europe"),
    "Sweden": ("SE", "europe"),
    "Switzerland": ("CH", "europe"),
    "Taiwan": ("TW", "asia"),
    "UAE": ("AE", "asia"),
    "United Kingdom": ("GB", "europe"),
    "United States": ("US", "north_america"),
    "usa": ("US", "north_america"),
}
"""metadata.geography → ISO 3166-1 alpha-2 and continent. A geography of several countries (Asia Pacific, Europe) has no entry."""

CITIES = {
    "Hong Kong": ("HK", "asia"),
    "Singapore": ("SG", "asia"),
    "Ireland": ("IE", "europe"),
    "Netherlands": ("NL", "europe"),
}
"""metadata.physicalLocation where the geography spans countries."""


def read(pages: Pages) -> pl.DataFrame:
    """Locations with page columns.

    Raises:
        HwpricesError: a landed page is altered or is no list of locations.
    """
    parts = [_parse(pages.read(page), page) for page in pages.of(KIND)]
    empty = pl.DataFrame(
        schema={
            **dict(LOCATION),
            "observed_at": frames.dtypes(Regions)["observed_at"],
            "raw_sha256": pl.String,
        }
    )
    return (
        pl.concat([empty, *parts])
        .with_columns(pl.col("name").str.to_lowercase().alias("region"))
        .unique(
            ["region", *(name for name in dict(LOCATION) if name != "name")],
            keep="first",
            maintain_order=True,
        )
    )  # the same place said twice is one; two that differ stay two, which validation refuses


def _parse(body: bytes, page: Page) -> pl.DataFrame:
    try:
        values: pl.Series | None = pl.read_json(body, schema={"value": pl.List(LOCATION)})["value"][
            0
        ]
    except (pl.exceptions.PolarsError, IndexError) as error:
        raise HwpricesError(
            f"page {page.key} is no list of locations ({str(error)[:120]})",
            "Delete it and fetch again.",
        ) from None
    if values is None:
        raise HwpricesError(
            f"page {page.key} is no list of locations", "Delete it and fetch again."
        )
    seen = (
        pl.lit(page.retrieved_at).cast(frames.dtypes(Regions)["observed_at"]).alias("observed_at")
    )
    return values.struct.unnest().with_columns(seen, pl.lit(page.sha256).alias("raw_sha256"))


def is_public() -> pl.Expr:
    """``names.is_public_location`` for a frame of locations."""
    field = pl.col("metadata").struct.field
    testing = pl.any_horizontal(
        field("geography").str.starts_with(word) for word in size_names.NOT_PUBLIC
    )
    return (field("regionType") == size_names.PHYSICAL).fill_null(False) & ~testing.fill_null(False)


def regions(locations: pl.DataFrame, seen: pl.DataFrame) -> pl.DataFrame:
    """Rows of the regions table: public locations, and regions ``seen`` (region, observed_at, raw_sha256) elsewhere."""
    meta = pl.col("metadata").struct
    codes, continents = ({k: v[i] for k, v in {**COUNTRIES, **CITIES}.items()} for i in (0, 1))

    def placed(table: dict[str, str]) -> pl.Expr:
        look_up = [
            meta.field(f).replace_strict(table, default=None, return_dtype=pl.String)
            for f in ("physicalLocation", "geography")
        ]
        return pl.coalesce(look_up)

    def degrees(name: str) -> pl.Expr:
        return meta.field(name).cast(pl.Float64, strict=False)

    somewhere = (degrees("latitude") != 0) | (degrees("longitude") != 0)  # brazilus is put at 0, 0
    known = locations.filter(is_public()).select(
        "region",
        pl.col("displayName").alias("display_name"),
        pl.lit("available").alias("status"),
        placed(codes).alias("country"),
        placed(continents).alias("continent"),
        pl.when(somewhere).then(degrees("latitude")).alias("latitude"),
        pl.when(somewhere).then(degrees("longitude")).alias("longitude"),
        "observed_at",
        "raw_sha256",
    )
    others = (
        seen.filter(pl.col("region").fill_null("") != "")
        .sort("region", "observed_at", "raw_sha256")
        .unique("region", keep="first", maintain_order=True)
    )
    extra = others.join(known, on="region", how="anti")
    every = pl.concat([known, extra], how="diagonal").with_columns(
        pl.lit("azure").alias("provider"), _kind().alias("kind")
    )
    return frames.conform(every.lazy(), Regions).sort("region").collect()


def _kind() -> pl.Expr:
    """usgov… and usdod… are the US government clouds, china… the cloud that 21Vianet runs."""
    region = pl.col("region")
    return (
        pl.when(region.str.contains("^us(gov|dod)"))
        .then(pl.lit("gov"))
        .when(region.str.starts_with("china"))
        .then(pl.lit("china"))
        .otherwise(pl.lit("region"))
    )


def zones(locations: pl.DataFrame) -> pl.DataFrame:
    """Rows of the zones table. The zone is the number that the asking subscription uses, zone_id the physical zone behind it."""
    each = locations.filter(is_public()).explode("availabilityZoneMappings", empty_as_null=False)
    mapping = pl.col("availabilityZoneMappings").struct
    table = each.filter(pl.col("availabilityZoneMappings").is_not_null()).select(
        pl.lit("azure").alias("provider"),
        "region",
        mapping.field("logicalZone").alias("zone"),
        mapping.field("physicalZone").alias("zone_id"),
        pl.lit("zone").alias("kind"),
        "observed_at",
        "raw_sha256",
    )
    return frames.conform(table.lazy(), Zones).sort("region", "zone").collect()
