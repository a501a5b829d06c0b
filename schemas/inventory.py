"""What the clouds have: regions, zones, machine types, and where each type is offered."""

import polars as pl

from hwprices.schemas import columns, vocabulary
from hwprices.schemas.columns import Accelerators, Table, column, measure
from hwprices.units import Timestamp


class Regions(Table):
    """Regions, local zones and Wavelength zones of each provider, with the carbon of their grid."""

    provider: pl.String = columns.provider()
    region: pl.String = columns.region()
    display_name: pl.String = columns.display_name()
    kind: pl.String = column("What kind of place it is.", values=vocabulary.REGION_KINDS)
    parent_region: pl.String = columns.parent_region()
    status: pl.String = column(
        "Whether an account can use it; null when the source does not say.",
        nullable=True,
        values=vocabulary.REGION_STATUSES,
    )
    country: pl.String = columns.country()
    continent: pl.String = columns.continent()
    latitude: pl.Float64 = columns.latitude()
    longitude: pl.Float64 = columns.longitude()
    grid_gco2e_per_kwh: pl.Float64 = columns.grid_gco2e_per_kwh()
    grid_year: pl.Int32 = column("Year of the grid intensity.", unit="year", nullable=True)
    grid_source: pl.String = column("Where the grid intensity is published.", nullable=True)
    pue: pl.Float64 = columns.pue()
    pue_year: pl.Int32 = column("Year of the PUE.", unit="year", nullable=True)
    pue_source: pl.String = column("Where the PUE is published.", nullable=True)
    observed_at: Timestamp = columns.observed_at()
    raw_sha256: pl.String = columns.raw_sha256()

    class Config:
        name = "regions"
        metadata = {"key": ["provider", "region"]}


class Zones(Table):
    """Availability zones."""

    provider: pl.String = columns.provider()
    region: pl.String = columns.region()
    zone: pl.String = columns.zone("Zone as the provider's API names it.")
    zone_id: pl.String = column(
        "Id that is the same for every account (AWS use1-az1), where the provider has one.",
        nullable=True,
    )
    kind: pl.String = column("What kind of zone it is.", values=vocabulary.ZONE_KINDS)
    observed_at: Timestamp = columns.observed_at()
    raw_sha256: pl.String = columns.raw_sha256()

    class Config:
        name = "zones"
        metadata = {"key": ["provider", "region", "zone"]}


class InstanceTypes(Table):
    """The machine types of each provider and what they contain."""

    provider: pl.String = columns.provider()
    instance_type: pl.String = columns.instance_type()
    family: pl.String = column(
        "Family the vendor groups it in: m5 (AWS), n2-standard (GCP), standardDSv5Family (Azure).",
        focus="SkuPriceDetails.InstanceSeries",
    )
    series: pl.String = column("Series: m5, n2, DSv5.", nullable=True)
    generation: pl.String = column(
        "Generation within the series, taken from the name.", nullable=True
    )
    status: pl.String = column(
        "Whether the vendor still recommends the type.",
        nullable=True,
        values=vocabulary.TYPE_STATUSES,
    )
    retirement_date: pl.Date = column("Day the vendor retires it.", nullable=True)
    arch: pl.String = columns.arch()
    cpu_vendor: pl.String = column("Maker of the CPU.", nullable=True)
    cpu_models: pl.List(pl.String) = column(
        "CPU models of the type; several if the vendor does not promise one.", nullable=True
    )
    base_ghz: pl.Float64 = measure(
        "Base clock of the CPU. Null in every row today: no vendor's list of machines states it;"
        " cpus.base_ghz is the maker's.",
        "GHz",
    )
    boost_ghz: pl.Float64 = measure("Highest sustained clock the vendor states.", "GHz")
    vcpus: pl.Int32 = measure(
        "vCPUs as sold; of a size with constrained vCPUs, those that are active.",
        focus="SkuPriceDetails.CoreCount",
    )
    vcpus_billed: pl.Float64 = measure(
        "vCPUs that the price is computed from: 0.25 for a GCP e2-micro."
    )
    physical_cores: pl.Int32 = measure("Physical cores.")
    threads_per_core: pl.Int32 = columns.threads_per_core()
    memory_gib: pl.Float64 = measure("Main memory.", "GiB", focus="SkuPriceDetails.MemorySize")
    burstable: pl.Boolean = column("The CPU is shared and limited by credits.", nullable=True)
    bare_metal: pl.Boolean = column(
        "The machine runs on the hardware without a hypervisor.", nullable=True
    )
    accelerators: Accelerators = column(
        "Accelerators: id, vendor's name, count (0.125 is an eighth of a device), memory of one"
        " device in GiB."
    )
    accelerator_kind: pl.String = column(
        "What kind of accelerator the machine has.", values=vocabulary.ACCELERATOR_KINDS
    )
    accelerator_count: pl.Float64 = column(
        "Sum of the accelerators' counts; 0 where there is none; null where the vendor does not"
        " say.",
        nullable=True,
        ge=0,
        focus="SkuPriceDetails.GpuCount",
    )
    accelerator_memory_gib: pl.Float64 = measure("Accelerator memory of the whole machine.", "GiB")
    accelerator_interconnect: pl.String = column(
        "How the accelerators of one machine are connected.", nullable=True
    )
    local_disk_gib: pl.Float64 = column(
        "Total local disk of the machine; 0 where there is none.",
        unit="GiB",
        nullable=True,
        ge=0,
        focus="SkuPriceDetails.DiskSpace",
    )
    local_disk_count: pl.Int32 = column("Number of local disks.", nullable=True, ge=0)
    local_disk_kind: pl.String = column(
        "Kind of local disk.", nullable=True, values=vocabulary.DISK_KINDS
    )
    network_gbps_baseline: pl.Float64 = measure(
        "Network bandwidth the machine always has, over all cards.", "Gbit/s"
    )
    network_gbps_max: pl.Float64 = measure(
        "Highest network bandwidth, over all cards.",
        "Gbit/s",
        focus="SkuPriceDetails.NetworkMaxThroughput",
    )
    rdma: pl.String = column(
        "Remote direct memory access it offers: efa, infiniband, gpudirect_tcpx, roce …; none.",
        nullable=True,
    )
    hypervisor: pl.String = column("Hypervisor.", nullable=True)
    confidential_computing: pl.List(pl.String) = column(
        "Confidential computing technologies: sev, sev_snp, tdx …", nullable=True
    )
    os_support: pl.List(pl.String) = column(
        "Operating systems the vendor sells it with.", nullable=True
    )
    spec_source: pl.String = column(
        "Where the specification comes from.", values=vocabulary.SPEC_SOURCES
    )
    corrections: pl.List(pl.String) = column(
        "Ids of the corrections (data/corrections.yaml) that changed this row."
    )
    observed_at: Timestamp = columns.observed_at()
    raw_sha256: pl.String = columns.raw_sha256()
    block_storage_gbps_baseline: pl.Float64 = columns.block_storage_gbps_baseline()
    block_storage_gbps_max: pl.Float64 = columns.block_storage_gbps_max()
    block_storage_iops_baseline: pl.Int32 = columns.block_storage_iops_baseline()
    block_storage_iops_max: pl.Int32 = columns.block_storage_iops_max()
    local_disk_read_iops: pl.Int32 = measure(
        "Random reads of all local disks together, at most; null if it has no local disk or"
        " the vendor's list does not say.",
        "IOPS",
        focus="SkuPriceDetails.DiskMaxIops",
    )
    local_disk_write_iops: pl.Int32 = measure(
        "Random writes of all local disks together, at most; null as for the reads.", "IOPS"
    )
    network_gbps_max_at_extra_charge: pl.Float64 = measure(
        "Highest network bandwidth sold with the machine at an extra charge, which no price here"
        " includes; null if none is known.",
        "Gbit/s",
    )

    class Config:
        name = "instance_types"
        metadata = {"key": ["provider", "instance_type"]}


class Availability(Table):
    """Where a type is offered: from the vendor's own lists, never inferred from a price."""

    provider: pl.String = columns.provider()
    region: pl.String = columns.region()
    zone: pl.String = columns.zone("Zone; null when the vendor's list is by region.", nullable=True)
    instance_type: pl.String = columns.instance_type()
    offered: pl.Boolean = column("The vendor lists the type here.")
    restricted: pl.Boolean = column(
        "Listed, but the account that fetched the list may not use it.", nullable=True
    )
    restriction_reason: pl.String = column(
        "Why it is restricted, as the vendor words it.", nullable=True
    )
    observed_at: Timestamp = columns.observed_at()
    raw_sha256: pl.String = columns.raw_sha256()

    class Config:
        name = "availability"
        metadata = {"key": ["provider", "region", "zone", "instance_type"]}


class Stock(Table):
    """The vendor's word for whether a machine is in stock, as intervals.

    A machine that is sold out stays listed (``availability``) at its price. Rows with null
    ``ended_at`` are current; those of one machine never overlap.
    """

    provider: pl.String = columns.provider()
    region: pl.String = columns.region()
    instance_type: pl.String = columns.instance_type()
    state: pl.String = column(
        "The vendor's word, such as available, scarce or shortage; a number if the vendor counts."
    )
    available: pl.Boolean = column(
        "Whether the machine can be started; null if the word is not known.", nullable=True
    )
    gpus: pl.Int32 = column(
        "Number of free GPUs; null if the vendor does not count them.", nullable=True, ge=0
    )
    observed_at: Timestamp = column("When the last page with this word was fetched.", unit="UTC")
    raw_sha256: pl.String = columns.raw_sha256()
    first_seen: Timestamp = column(
        "When the first page with this word was fetched; null before a release.",
        unit="UTC",
        nullable=True,
    )
    ended_at: Timestamp = column(
        "When the first page with another word, or without the machine, was fetched; null while the"
        " word is current.",
        unit="UTC",
        nullable=True,
    )

    class Config:
        name = "stock"
        metadata = {"key": ["provider", "region", "instance_type", "first_seen"]}


class SpotAdvice(Table):
    """How often spot machines are interrupted and what they save, as the vendor states it.

    No price is computed from it.
    """

    provider: pl.String = columns.provider()
    region: pl.String = columns.region()
    instance_type: pl.String = columns.instance_type()
    os: pl.String = column("Operating system.", isin=["linux", "windows"])
    interruption_band: pl.String = column(
        "Share of spot machines interrupted in the vendor's last period, as the vendor labels it:"
        " <5%, 5-10% …"
    )
    interruption_percent_from: pl.Int32 = column(
        "Lower end of the band.", unit="%", in_range={"min_value": 0, "max_value": 100}
    )
    interruption_percent_to: pl.Int32 = column(
        "Upper end of the band.", unit="%", in_range={"min_value": 0, "max_value": 100}
    )
    saving_percent: pl.Int32 = column(
        "Saving against on-demand over the vendor's last period.",
        unit="%",
        in_range={"min_value": -100, "max_value": 100},
    )
    observed_at: Timestamp = columns.observed_at()
    raw_sha256: pl.String = columns.raw_sha256()

    class Config:
        name = "spot_advice"
        metadata = {"key": ["provider", "region", "instance_type", "os"]}
