"""Pandera models, one class a table: the only declaration of the data.

Columns, dtypes, units, descriptions, checks and keys are read from here by validation, by the Parquet files and by the data
dictionary. ``TABLES`` maps a table's published name to its model, in the order in which they are published.
"""

from .benchmark import Benchmarks
from .catalog import Availability, InstanceTypes, Regions, Zones
from .check import RatioExceptions, SecondSources, SparseFigures
from .columns import Table, column, key, table_name
from .footprint import PowerCoefficients, RegionFootprint
from .offer import Offers, SoldAccelerators
from .price import ComponentPrices, PriceComponents, Prices
from .quarantine import Quarantine
from .spec import Accelerators, CpuFamilies, Cpus, LocalHardware
from .spot import SpotAdvice

TABLES: dict[str, type[Table]] = {
    table_name(model): model
    for model in (
        *(
            Regions,
            Zones,
            InstanceTypes,
            Availability,
            Prices,
            PriceComponents,
            ComponentPrices,
            SpotAdvice,
            Quarantine,
        ),
        *(
            Offers,
            SoldAccelerators,
            Cpus,
            CpuFamilies,
            LocalHardware,
            Benchmarks,
            PowerCoefficients,
        ),
    )
}

SHEETS: dict[str, type[Table]] = {
    table_name(model): model
    for model in (
        Accelerators,
        Cpus,
        CpuFamilies,
        LocalHardware,
        Benchmarks,
        PowerCoefficients,
        RegionFootprint,
    )
}
"""The curated tables: their rows are kept in data/specs. region_footprint is not published by itself, it fills the regions table."""

CHECK_SHEETS: dict[str, type[Table]] = {
    table_name(model): model for model in (SecondSources, SparseFigures, RatioExceptions)
}
"""Kept beside the sheets to hold them against; never published."""

__all__ = ["CHECK_SHEETS", "SHEETS", "TABLES", "Table", "column", "key", "table_name"]
