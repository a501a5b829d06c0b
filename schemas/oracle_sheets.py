"""Declare the sheets of facts about Oracle's machines (data/specs/oracle_*.csv).

Each row is one fact with its source and the day it was read. The sheets are never published.
"""

import polars as pl

from hwprices.schemas import columns
from hwprices.schemas.columns import Table, column, table_name
from hwprices.schemas.vocabulary import ARCHITECTURES, TYPE_STATUSES
from hwprices.units import Money


class OracleSeries(Table):
    """The series of a shape, its CPU, and how many vCPUs one OCPU is."""

    instance_type_pattern: pl.String = column(
        "Regular expression that matches the whole name of a shape."
    )
    series: pl.String = column("Series.", str_matches=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    arch: pl.String = column("CPU architecture.", values=ARCHITECTURES)
    cpu_vendor: pl.String = column("Maker of the CPU.", nullable=True)
    cpu_models: pl.List(pl.String) = column("CPU models; empty where not documented.")
    vcpus_per_ocpu: pl.Int32 = column("vCPUs of one OCPU.", isin=[1, 2])
    threads_per_core: pl.Int32 = column("Hardware threads of one core.", isin=[1, 2])
    ocpus: pl.Int32 = column(
        "OCPUs of the host, of shapes of which the estimator leaves them out.", nullable=True, gt=0
    )
    memory_gb: pl.Int32 = column(
        "Memory of the host, of shapes of which the estimator leaves it out.",
        unit="GiB",
        nullable=True,
        gt=0,
    )
    status: pl.String = column(
        "Whether Oracle still recommends it.", nullable=True, values=TYPE_STATUSES
    )
    source_url: pl.String = columns.source_url()
    as_of: pl.Date = columns.as_of()

    class Config:
        name = "oracle_series"
        metadata = {"key": ["instance_type_pattern"]}


class OracleSizes(Table):
    """Sizes of a flexible shape: a choice of those that Oracle sells, which are thousands."""

    shape: pl.String = column("Flexible shape.")
    ocpus: pl.List(pl.String) = column("Numbers of OCPUs; the last is the largest.")
    gb_per_ocpu: pl.List(pl.String) = column(
        "Memory for one OCPU: a quarter, half, once and twice the console's default; one value"
        " where it cannot be chosen."
    )
    max_memory_gb: pl.Float64 = column("Largest memory.", unit="GiB", gt=0)
    nvme_tb_per_ocpu: Money = column(
        "Local NVMe disk for one OCPU, in decimal terabytes; null where there is none.",
        unit="TB",
        nullable=True,
        gt=0,
    )
    source_url: pl.String = columns.source_url()
    as_of: pl.Date = columns.as_of()

    class Config:
        name = "oracle_sizes"
        metadata = {"key": ["shape"]}


class OracleGpus(Table):
    """The GPU behind a part number: the names of parts do not always say it."""

    part_number: pl.String = column("Oracle's part number.", str_matches=r"^B\d+$")
    gpu: pl.String = column("The GPU, as accelerator_names/oracle.csv has it.")
    source_url: pl.String = columns.source_url()
    as_of: pl.Date = columns.as_of()
    notes: pl.String = columns.notes()

    class Config:
        name = "oracle_gpus"
        metadata = {"key": ["part_number"]}


ORACLE_SHEETS = {table_name(model): model for model in (OracleSeries, OracleSizes, OracleGpus)}
