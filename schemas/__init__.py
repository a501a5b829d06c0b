"""Pandera models, one class a table: the only declaration of the data.

Columns, dtypes, units, descriptions, checks and keys are read from here by validation, by the Parquet files and by the data
dictionary. ``TABLES`` maps a table's published name to its model, in the order in which they are published.
"""

from .catalog import Availability, InstanceTypes, Regions, Zones
from .columns import Table, column, key, table_name
from .price import ComponentPrices, PriceComponents, Prices
from .quarantine import Quarantine

TABLES: dict[str, type[Table]] = {
    table_name(model): model
    for model in (Regions, Zones, InstanceTypes, Availability, Prices, PriceComponents, ComponentPrices, Quarantine)
}

__all__ = ["TABLES", "Table", "column", "key", "table_name"]
