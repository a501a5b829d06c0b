"""Declare the sheets of facts about Azure's sizes (data/specs/azure_*.csv).

Each row is one fact with its source and the day it was read. The sheets are never published.
"""

import polars as pl

from hwprices.schemas import columns
from hwprices.schemas.columns import Table, column, table_name


class AzureNetwork(Table):
    """Network of sizes, which resource SKUs do not tell. Those with InfiniBand are not in it."""

    instance_type: pl.String = columns.instance_type()
    network_gbps_max: pl.Float64 = column(
        "Highest bandwidth, of what all network interfaces send together.", unit="Gbit/s", gt=0
    )
    source_url: pl.String = columns.source_url()
    as_of: pl.Date = columns.as_of()

    class Config:
        name = "azure_network"
        metadata = {"key": ["instance_type"]}


class AzureSizes(Table):
    """Figures of sizes that no list describes, as Microsoft's pages of size series state them."""

    instance_type: pl.String = columns.instance_type()
    vcpus: pl.Int32 = column("vCPUs.", gt=0)
    memory_gib: pl.Float64 = column("Main memory.", unit="GiB", gt=0)
    source_url: pl.String = columns.source_url()
    as_of: pl.Date = columns.as_of()

    class Config:
        name = "azure_sizes"
        metadata = {"key": ["instance_type"]}


AZURE_SHEETS = {table_name(model): model for model in (AzureNetwork, AzureSizes)}
