"""Every table and every curated sheet by name, with its pandera model.

``TABLES`` are the published tables, in the order in which they are published. ``SHEETS`` are the
curated tables kept in data/specs, ``CHECK_SHEETS`` the figures they are checked against.
"""

from .benchmark import Benchmarks
from .catalog import Availability, InstanceTypes, Regions, Zones
from .check import RatioExceptions, SecondSources, SparseFigures
from .columns import Table, column, key, table_name
from .footprint import PowerCoefficients, RegionFootprint
from .gcp_sheets import GCP_SHEETS
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

RULE_SHEETS: dict[str, type[Table]] = {**GCP_SHEETS}
"""Rules of one provider that are data; never published."""

__all__ = [
    "CHECK_SHEETS",
    "RULE_SHEETS",
    "SHEETS",
    "TABLES",
    "Table",
    "column",
    "key",
    "table_name",
]
