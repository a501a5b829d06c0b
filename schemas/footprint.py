"""Electricity and carbon: where regions are, what their grid emits, how much machines draw."""

import pandera.polars as pa
import polars as pl

from hwprices.schemas import columns
from hwprices.schemas.columns import PROVIDER_PATTERN, column
from hwprices.schemas.spec import Sourced
from hwprices.schemas.vocabulary import (
    GRID_BASES,
    POWER_COMPONENTS,
    POWER_UNITS,
    PUE_BASES,
    REGION_KINDS,
)


class RegionFootprint(Sourced):
    """Geography, grid and PUE by region, from which the regions table is completed.

    Curated by hand: not every region has every figure.
    """

    provider: pl.String = columns.provider()
    region: pl.String = columns.region()
    display_name: pl.String = columns.display_name()
    kind: pl.String = column("What kind of place it is.", values=REGION_KINDS)
    parent_region: pl.String = columns.parent_region()
    country: pl.String = columns.country()
    continent: pl.String = columns.continent()
    latitude: pl.Float64 = columns.latitude()
    longitude: pl.Float64 = columns.longitude()
    grid_gco2e_per_kwh: pl.Float64 = columns.grid_gco2e_per_kwh()
    grid_year: pl.Int32 = column("Year of the grid intensity.", unit="year", nullable=True)
    grid_source: pl.String = columns.url("Where the grid intensity is published.")
    grid_basis: pl.String = column(
        "What the grid intensity covers; null without one.", nullable=True, values=GRID_BASES
    )
    pue: pl.Float64 = columns.pue()
    pue_year: pl.Int32 = column("Year of the PUE.", unit="year", nullable=True)
    pue_source: pl.String = columns.url("Where the PUE is published.")
    pue_basis: pl.String = column(
        "What the PUE covers; null without one.", nullable=True, values=PUE_BASES
    )
    source_url: pl.String = columns.source_url()
    as_of: pl.Date = columns.as_of()
    confidence: pl.String = columns.confidence()
    verified: pl.Boolean = columns.verified()
    notes: pl.String = columns.notes()

    @pa.dataframe_check(name="grid_with_year_and_source")
    def grid_with_year_and_source(cls, data: pa.PolarsData) -> pl.LazyFrame:
        """A grid intensity, its year and its source are all given or all empty."""
        group = pl.col("grid_gco2e_per_kwh", "grid_year", "grid_source")
        return data.lazyframe.select(
            pl.all_horizontal(group.is_null()) | pl.all_horizontal(group.is_not_null())
        )

    @pa.dataframe_check(name="pue_with_year_and_source")
    def pue_with_year_and_source(cls, data: pa.PolarsData) -> pl.LazyFrame:
        """A PUE, its year and its source are all given or all empty."""
        group = pl.col("pue", "pue_year", "pue_source")
        return data.lazyframe.select(
            pl.all_horizontal(group.is_null()) | pl.all_horizontal(group.is_not_null())
        )

    class Config:
        name = "region_footprint"
        metadata = {"key": ["provider", "region"]}


class PowerCoefficients(Sourced):
    """Power of the parts of a machine, by unit: the power model behind the estimated watts."""

    provider: pl.String = column(
        "Cloud provider the coefficient was computed for; any where it holds for all.",
        str_matches=PROVIDER_PATTERN,
    )
    component: pl.String = column("Part of the machine.", values=POWER_COMPONENTS)
    microarchitecture: pl.String = column(
        "Microarchitecture of the CPU (cpus.microarchitecture); any for other parts; average where"
        " the CPU is not known."
    )
    min_watts: pl.Float64 = column("Power of one unit at idle.", unit="W/unit", ge=0)
    max_watts: pl.Float64 = column("Power of one unit at full load.", unit="W/unit", gt=0)
    unit: pl.String = column("What one unit is.", values=POWER_UNITS)
    source_url: pl.String = columns.source_url()
    as_of: pl.Date = columns.as_of()
    confidence: pl.String = columns.confidence()
    verified: pl.Boolean = columns.verified()
    notes: pl.String = columns.notes()

    @pa.dataframe_check(name="idle_draws_no_more_than_full_load")
    def idle_draws_no_more_than_full_load(cls, data: pa.PolarsData) -> pl.LazyFrame:
        """The power at idle is at most the power at full load."""
        return data.lazyframe.select(pl.col("min_watts") <= pl.col("max_watts"))

    class Config:
        name = "power_coefficients"
        metadata = {"key": ["provider", "component", "microarchitecture"]}
