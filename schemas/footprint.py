"""Electricity and carbon: where regions are, what their power emits, and what machines draw."""

# mypy: disable-error-code="valid-type"
import pandera.polars as pa
import polars as pl

from .catalog import REGION_KINDS
from .columns import PROVIDER_PATTERN, column
from .spec import URL_PATTERN, Sourced, as_of, confidence, notes, source_url, verified

CONTINENTS = ["africa", "asia", "europe", "north_america", "oceania", "south_america"]


class RegionFootprint(Sourced):
    """Geography, grid and PUE by region: what the regions table is filled from. Curated, so not every region has every figure."""

    provider: pl.String = column(
        "Cloud provider.", focus="ServiceProviderName", str_matches=PROVIDER_PATTERN
    )
    region: pl.String = column(
        "Region id as the provider's API spells it.", focus="RegionId", str_length={"min_value": 1}
    )
    display_name: pl.String = column(
        "Name the provider shows people.", focus="RegionName", nullable=True
    )
    kind: pl.String = column("What sort of place it is.", isin=REGION_KINDS)
    parent_region: pl.String = column(
        "Region that a local or Wavelength zone belongs to; null for a region.", nullable=True
    )
    country: pl.String = column(
        "Country, ISO 3166-1 alpha-2.", nullable=True, str_matches=r"^[A-Z]{2}$"
    )
    continent: pl.String = column("Continent.", nullable=True, isin=CONTINENTS)
    latitude: pl.Float64 = column(
        "Latitude of the place named, not of a building.",
        unit="degree",
        nullable=True,
        in_range={"min_value": -90, "max_value": 90},
    )
    longitude: pl.Float64 = column(
        "Longitude of the place named.",
        unit="degree",
        nullable=True,
        in_range={"min_value": -180, "max_value": 180},
    )
    grid_gco2e_per_kwh: pl.Float64 = column(
        "Average carbon intensity of the grid, location based.",
        unit="gCO2e/kWh",
        nullable=True,
        ge=0,
    )
    grid_year: pl.Int32 = column("Year the grid intensity stands for.", unit="year", nullable=True)
    grid_source: pl.String = column(
        "Where the grid intensity is published.", nullable=True, str_matches=URL_PATTERN
    )
    pue: pl.Float64 = column(
        "Power usage effectiveness: facility energy over IT energy.",
        unit="ratio",
        nullable=True,
        in_range={"min_value": 1, "max_value": 3},
    )
    pue_year: pl.Int32 = column("Year the PUE stands for.", unit="year", nullable=True)
    pue_source: pl.String = column(
        "Where the PUE is published.", nullable=True, str_matches=URL_PATTERN
    )
    source_url: pl.String = source_url()
    as_of: pl.Date = as_of()
    confidence: pl.String = confidence()
    verified: pl.Boolean = verified()
    notes: pl.String = notes()

    @pa.dataframe_check(name="grid_with_year_and_source")
    def grid_with_year_and_source(cls, data: pa.PolarsData) -> pl.LazyFrame:
        """A grid intensity has a year and a source, or is not there."""
        columns = pl.col("grid_gco2e_per_kwh", "grid_year", "grid_source")
        return data.lazyframe.select(
            pl.all_horizontal(columns.is_null()) | pl.all_horizontal(columns.is_not_null())
        )

    @pa.dataframe_check(name="pue_with_year_and_source")
    def pue_with_year_and_source(cls, data: pa.PolarsData) -> pl.LazyFrame:
        """A PUE has a year and a source, or is not there."""
        columns = pl.col("pue", "pue_year", "pue_source")
        return data.lazyframe.select(
            pl.all_horizontal(columns.is_null()) | pl.all_horizontal(columns.is_not_null())
        )

    class Config:
        name = "region_footprint"
        metadata = {"key": ["provider", "region"]}


class PowerCoefficients(Sourced):
    """What the parts of a machine draw, by unit: the power model behind the estimated watts."""

    provider: pl.String = column(
        "Cloud provider the coefficient was worked out for; any.", str_matches=PROVIDER_PATTERN
    )
    component: pl.String = column("Part of the machine.", isin=["vcpu", "memory", "ssd", "hdd"])
    microarchitecture: pl.String = column(
        "Microarchitecture of the CPU (cpus.microarchitecture); any for other parts; average where the CPU is not known."
    )
    min_watts: pl.Float64 = column("Power of one unit at idle.", unit="W/unit", ge=0)
    max_watts: pl.Float64 = column("Power of one unit at full load.", unit="W/unit", gt=0)
    unit: pl.String = column("What one unit is.", isin=["vcpu", "gb", "tb"])
    source_url: pl.String = source_url()
    as_of: pl.Date = as_of()
    confidence: pl.String = confidence()
    verified: pl.Boolean = verified()
    notes: pl.String = notes()

    @pa.dataframe_check(name="idle_draws_no_more_than_full_load")
    def idle_draws_no_more_than_full_load(cls, data: pa.PolarsData) -> pl.LazyFrame:
        return data.lazyframe.select(pl.col("min_watts") <= pl.col("max_watts"))

    class Config:
        name = "power_coefficients"
        metadata = {"key": ["provider", "component", "microarchitecture"]}
