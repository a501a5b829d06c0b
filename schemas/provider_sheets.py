"""The sheets of facts about single clouds: data/specs/<provider>_*.csv.

Each row is one fact with its source and the day it was read. The sheets are never published.
"""

from typing import Any

import polars as pl

from hwprices.schemas import columns, vocabulary
from hwprices.schemas.columns import (
    ID_PATTERN,
    URL_PATTERN,
    Cited,
    Noted,
    Table,
    column,
    measure,
    table_name,
)
from hwprices.units import Money


class AwsColumns(Table):
    """Columns of AWS's price lists."""

    vendor_name: pl.String = column("The column, as AWS names it.")
    name: pl.String = column("Its name in the program; null if it is not read.", nullable=True)

    class Config:
        name = "aws_columns"
        metadata = {"key": ["vendor_name"]}


class AzureNetwork(Cited):
    """Network of sizes, which resource SKUs do not state, without sizes with InfiniBand."""

    instance_type: pl.String = columns.instance_type()
    network_gbps_max: pl.Float64 = column(
        "Highest bandwidth, of what all network interfaces send together.", unit="Gbit/s", gt=0
    )

    class Config:
        name = "azure_network"
        metadata = {"key": ["instance_type"]}


class AzureSizes(Cited):
    """Figures of sizes that no list describes, as Microsoft's pages of size series state them."""

    instance_type: pl.String = columns.instance_type()
    vcpus: pl.Int32 = column("vCPUs.", gt=0)
    memory_gib: pl.Float64 = column("Main memory.", unit="GiB", gt=0)

    class Config:
        name = "azure_sizes"
        metadata = {"key": ["instance_type"]}


ID_LIST_PATTERN = r"^[a-z0-9_]+(;[a-z0-9_]+)*$"
GCP_PURCHASE_OPTIONS = [
    *("on_demand", "spot", "committed_use", "dws_calendar", "dws_defined_duration"),
    *("dws_flex_start", "flexible_committed_use", "serverless"),
]


def _instance_type_pattern() -> Any:
    return column("Regular expression that matches the whole name of a machine type.")


class GcpSeries(Table):
    """The series whose SKUs price a machine type, and the CPU that Google documents for it."""

    instance_type_pattern: pl.String = _instance_type_pattern()
    series: pl.String = column("Series, as components are keyed by it.", str_matches=r"^[a-z0-9]+$")
    arch: pl.String = column("CPU architecture.", nullable=True, isin=["x86_64", "arm64"])
    cpu_vendor: pl.String = column("Maker of the CPU.", nullable=True)
    cpu_models: pl.List(pl.String) = column("CPU platforms; empty where not documented.")
    threads_per_core: pl.Int32 = column("Hardware threads of one core.", nullable=True, isin=[1, 2])
    source_url: pl.String = column(
        "Where it is published; null where Google documents no CPU of the series yet.",
        nullable=True,
        str_matches=URL_PATTERN,
    )
    as_of: pl.Date = columns.as_of()

    class Config:
        name = "gcp_series"
        metadata = {"key": ["instance_type_pattern"]}


class GcpLocalSsd(Cited):
    """Local disks that are part of a machine type."""

    instance_type_pattern: pl.String = _instance_type_pattern()
    disks: pl.Int32 = measure("Number of disks; null where the API tells it.")
    gib_per_disk: pl.Int32 = column("Size of one disk.", unit="GiB", gt=0)
    billed: pl.String = column(
        "part: paid as a component of its own; slice: in the price of the GPU slice.",
        isin=["part", "slice"],
    )

    class Config:
        name = "gcp_local_ssd"
        metadata = {"key": ["instance_type_pattern"]}


class GcpNotSold(Cited):
    """Purchase options that Google does not sell a machine type by.

    flexible_committed_use is committed_use with the plan flexible.
    """

    instance_type_pattern: pl.String = _instance_type_pattern()
    purchase_option: pl.String = column(
        "Purchase option that does not exist for the type.", isin=GCP_PURCHASE_OPTIONS
    )
    why: pl.String = column("What Google says instead.")

    class Config:
        name = "gcp_not_sold"
        metadata = {"key": ["instance_type_pattern", "purchase_option"]}


class GcpNetwork(Cited):
    """Network of machine types, which the Compute API does not state."""

    instance_type_pattern: pl.String = _instance_type_pattern()
    network_gbps_max: pl.Float64 = column(
        "Highest bandwidth in the price, of what the machine sends.", unit="Gbit/s", gt=0
    )
    network_gbps_max_at_extra_charge: pl.Float64 = measure(
        "Highest bandwidth with Tier_1 networking, which is charged apart.", "Gbit/s"
    )
    rdma: pl.String = column("Remote direct memory access it offers; none.", nullable=True)
    accelerator_interconnect: pl.String = column(
        "What joins the accelerators of one machine.", nullable=True
    )

    class Config:
        name = "gcp_network"
        metadata = {"key": ["instance_type_pattern"]}


class GcpBilledVcpus(Cited):
    """vCPUs billed, for types whose number differs from that of the Compute API."""

    instance_type: pl.String = column("Machine type.", str_matches=ID_PATTERN)
    vcpus_billed: Money = column("vCPUs on the bill.", unit="vCPU", gt=0)

    class Config:
        name = "gcp_billed_vcpus"
        metadata = {"key": ["instance_type"]}


class GcpTpu(Cited):
    """How TPU machines and slices map to SKUs."""

    machine_accelerator: pl.String = column(
        "guestAcceleratorType of the Compute API.", str_matches=ID_PATTERN
    )
    slice_pattern: pl.String = column(
        "Regular expression of the slices of the Cloud TPU API; null where it has none.",
        nullable=True,
    )
    generation: pl.String = column(
        "Generation as in the component id: v5e, v3-pod.", str_matches=ID_PATTERN
    )
    chips_per_unit: pl.Int32 = column("Chips that one unit of the SKU pays for.", gt=0)
    accelerator_id: pl.String = column("Key of accelerators.", str_matches=ID_PATTERN)

    class Config:
        name = "gcp_tpu"
        metadata = {"key": ["machine_accelerator"]}


class GcpRegions(Cited):
    """Where each region is."""

    region: pl.String = column("Region.", str_matches=ID_PATTERN)
    display_name: pl.String = column("Name that Google shows people.")
    country: pl.String = column("Country, ISO 3166-1 alpha-2.", str_matches=r"^[A-Z]{2}$")
    continent: pl.String = column("Continent.", str_matches=r"^[a-z_]+$")
    latitude: pl.Float64 = column("Latitude of the place named.", unit="degree", ge=-90, le=90)
    longitude: pl.Float64 = column("Longitude of the place named.", unit="degree", ge=-180, le=180)

    class Config:
        name = "gcp_regions"
        metadata = {"key": ["region"]}


class GcpCustom(Cited):
    """Series that can be bought as custom machines, and their limits."""

    series: pl.String = column("Series.", str_matches=r"^[a-z0-9]+$")
    gib_per_vcpu: Money = column("Most memory for one vCPU.", unit="GiB", gt=0)
    extended: pl.Boolean = column("Whether memory above that is sold, at its own price.")
    max_gpus: pl.Int32 = column("Most GPUs that can be attached.", ge=0)

    class Config:
        name = "gcp_custom"
        metadata = {"key": ["series"]}


class GcpDiscounts(Cited):
    """Discounts that are rules: sustained use and flexible (spend-based) commitments."""

    kind: pl.String = column("Which discount.", isin=["sustained_use", "flexible_commitment"])
    series: pl.String = column("Series it is given on.", str_matches=ID_LIST_PATTERN)
    components: pl.String = column(
        "Components it is given on, as in price_components.", str_matches=ID_LIST_PATTERN
    )
    term_months: pl.Int32 = column(
        "Length of the commitment; 0 where there is none.", unit="month", isin=[0, 12, 36]
    )
    from_share_of_month: Money = column(
        "Share of the month from which hours pay this share.", ge=0, lt=1
    )
    pays_share: Money = column("Share of the on-demand price that is paid.", gt=0, le=1)

    class Config:
        name = "gcp_discounts"
        metadata = {"key": ["kind", "series", "term_months", "from_share_of_month"]}


class GcpWords(Table):
    """Words in the descriptions of SKUs that name a machine series or a GPU."""

    kind: pl.String = column("What the words name.", isin=["series", "gpu"])
    words: pl.String = column("The words.")
    name: pl.String = column(
        "The series, as in gcp_series; of a GPU the guestAcceleratorType of the Compute API.",
        str_matches=ID_PATTERN,
    )
    notes: pl.String = columns.notes()

    class Config:
        name = "gcp_words"
        metadata = {"key": ["kind", "words"]}


class OracleSeries(Cited):
    """The series of a shape, its CPU, and how many vCPUs one OCPU is."""

    instance_type_pattern: pl.String = column(
        "Regular expression that matches the whole name of a shape."
    )
    series: pl.String = column("Series.", str_matches=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    arch: pl.String = column("CPU architecture.", values=vocabulary.ARCHITECTURES)
    cpu_vendor: pl.String = column("Maker of the CPU.", nullable=True)
    cpu_models: pl.List(pl.String) = column("CPU models; empty where not documented.")
    vcpus_per_ocpu: pl.Int32 = column("vCPUs of one OCPU.", isin=[1, 2])
    threads_per_core: pl.Int32 = column("Hardware threads of one core.", isin=[1, 2])
    ocpus: pl.Int32 = measure("OCPUs of the host, for shapes for which the estimator omits them.")
    memory_gb: pl.Int32 = measure(
        "Memory of the host, for shapes for which the estimator omits it.", "GiB"
    )
    status: pl.String = column(
        "Whether Oracle still recommends it.", nullable=True, values=vocabulary.TYPE_STATUSES
    )

    class Config:
        name = "oracle_series"
        metadata = {"key": ["instance_type_pattern"]}


class OracleSizes(Cited):
    """Sizes of a flexible shape: a selection of the thousands that Oracle sells."""

    shape: pl.String = column("Flexible shape.")
    ocpus: pl.List(pl.String) = column("Numbers of OCPUs; the last is the largest.")
    gb_per_ocpu: pl.List(pl.String) = column(
        "Memory for one OCPU: a quarter, half, once and twice the console's default; one value"
        " where it cannot be chosen."
    )
    max_memory_gb: pl.Float64 = column("Largest memory.", unit="GiB", gt=0)
    nvme_tb_per_ocpu: Money = measure(
        "Local NVMe disk for one OCPU, in decimal terabytes; null where there is none.", "TB"
    )

    class Config:
        name = "oracle_sizes"
        metadata = {"key": ["shape"]}


class OracleGpus(Noted):
    """The GPU of a part number, which the names of parts do not always state."""

    part_number: pl.String = column("Oracle's part number.", str_matches=r"^B\d+$")
    gpu: pl.String = column("The GPU, as accelerator_names/oracle.csv has it.")

    class Config:
        name = "oracle_gpus"
        metadata = {"key": ["part_number"]}


PROVIDER_SHEETS: dict[str, type[Table]] = {
    table_name(model): model
    for model in (
        *(AwsColumns, AzureNetwork, AzureSizes),
        *(GcpSeries, GcpLocalSsd, GcpNotSold, GcpNetwork, GcpBilledVcpus),
        *(GcpTpu, GcpRegions, GcpCustom, GcpDiscounts, GcpWords),
        *(OracleSeries, OracleSizes, OracleGpus),
    )
}
"""Sheets of facts about single providers, by file name without ``.csv``."""
