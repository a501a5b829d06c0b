"""What the clouds have: regions, zones, instance types, and where each type can be had."""

# mypy: disable-error-code="valid-type"
import polars as pl

from hwprices.units import Timestamp

from .columns import PROVIDER_PATTERN, Accelerators, Table, column

REGION_KINDS = ["region", "local_zone", "wavelength", "outpost", "gov", "china"]
ACCELERATOR_KINDS = ["none", "gpu", "tpu", "neuron", "fpga", "media", "inference", "asic"]


class Regions(Table):
    """Regions, local zones and Wavelength zones of each provider, with what their electricity emits."""

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
    status: pl.String = column(
        "Whether an account can use it: available, opt_in (must be enabled first), unreachable (it did not answer); null when the source does not say.",
        nullable=True,
        isin=["available", "opt_in", "unreachable"],
    )
    country: pl.String = column(
        "Country, ISO 3166-1 alpha-2.", nullable=True, str_length={"min_value": 2, "max_value": 2}
    )
    continent: pl.String = column(
        "Continent.",
        nullable=True,
        isin=["africa", "asia", "europe", "north_america", "oceania", "south_america"],
    )
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
    grid_source: pl.String = column("Where the grid intensity is published.", nullable=True)
    pue: pl.Float64 = column(
        "Power usage effectiveness: facility energy over IT energy.",
        unit="ratio",
        nullable=True,
        ge=1,
    )
    pue_year: pl.Int32 = column("Year the PUE stands for.", unit="year", nullable=True)
    pue_source: pl.String = column("Where the PUE is published.", nullable=True)
    observed_at: Timestamp = column("When the vendor's page was fetched.", unit="UTC")
    raw_sha256: pl.String = column("SHA-256 of the landed page the row was read from.")

    class Config:
        name = "regions"
        metadata = {"key": ["provider", "region"]}


class Zones(Table):
    """Availability zones."""

    provider: pl.String = column(
        "Cloud provider.", focus="ServiceProviderName", str_matches=PROVIDER_PATTERN
    )
    region: pl.String = column("Region the zone belongs to.", focus="RegionId")
    zone: pl.String = column("Zone as the provider's API names it.", focus="AvailabilityZone")
    zone_id: pl.String = column(
        "Id that is the same for every account (AWS use1-az1), where the provider has one.",
        nullable=True,
    )
    kind: pl.String = column("What sort of zone it is.", isin=["zone", "local_zone", "wavelength"])
    observed_at: Timestamp = column("When the vendor's page was fetched.", unit="UTC")
    raw_sha256: pl.String = column("SHA-256 of the landed page the row was read from.")

    class Config:
        name = "zones"
        metadata = {"key": ["provider", "region", "zone"]}


class InstanceTypes(Table):
    """Machines as the vendor sells them: what is inside."""

    provider: pl.String = column(
        "Cloud provider.", focus="ServiceProviderName", str_matches=PROVIDER_PATTERN
    )
    instance_type: pl.String = column(
        "Machine type, size or instance type, as the provider's API spells it.",
        str_length={"min_value": 1},
    )
    family: pl.String = column(
        "Family the vendor groups it in: m5 (AWS), n2-standard (GCP), standardDSv5Family (Azure)."
    )
    series: pl.String = column("Series: m5, n2, DSv5.", nullable=True)
    generation: pl.String = column(
        "Generation within the series, as the name tells it.", nullable=True
    )
    status: pl.String = column(
        "Where the type stands in its life.",
        nullable=True,
        isin=["current", "previous", "retiring"],
    )
    retirement_date: pl.Date = column("Day the vendor retires it.", nullable=True)
    arch: pl.String = column("Instruction set of the CPU.", nullable=True, isin=["x86_64", "arm64"])
    cpu_vendor: pl.String = column("Maker of the CPU.", nullable=True)
    cpu_models: pl.List(pl.String) = column(
        "CPU models the vendor may give; more than one where it does not promise.", nullable=True
    )
    base_ghz: pl.Float64 = column("Base clock of the CPU.", unit="GHz", nullable=True, gt=0)
    boost_ghz: pl.Float64 = column(
        "Highest sustained clock the vendor states.", unit="GHz", nullable=True, gt=0
    )
    vcpus: pl.Int32 = column(
        "vCPUs as sold (those a constrained size really has).", nullable=True, gt=0
    )
    vcpus_billed: pl.Float64 = column(
        "vCPUs that the price is made from: 0.25 for a GCP e2-micro.", nullable=True, gt=0
    )
    physical_cores: pl.Int32 = column("Physical cores.", nullable=True, gt=0)
    threads_per_core: pl.Int32 = column(
        "Hardware threads per core.", nullable=True, in_range={"min_value": 1, "max_value": 8}
    )
    memory_gib: pl.Float64 = column("Main memory.", unit="GiB", nullable=True, gt=0)
    burstable: pl.Boolean = column("CPU is credited, not dedicated.", nullable=True)
    bare_metal: pl.Boolean = column("No hypervisor under it.", nullable=True)
    accelerators: Accelerators = column(
        "Accelerators: id, vendor's name, count (fractions are real), memory of one device in GiB."
    )
    accelerator_kind: pl.String = column(
        "What sort of accelerator the machine has.", isin=ACCELERATOR_KINDS
    )
    accelerator_count: pl.Float64 = column(
        "Sum of the accelerators' counts; 0 where there is none; null where the vendor does not say.",
        nullable=True,
        ge=0,
    )
    accelerator_memory_gib: pl.Float64 = column(
        "Accelerator memory of the whole machine.", unit="GiB", nullable=True, gt=0
    )
    accelerator_interconnect: pl.String = column(
        "How the accelerators of one machine are connected.", nullable=True
    )
    local_disk_gib: pl.Float64 = column(
        "Local disk of the machine in all; 0 where there is none.", unit="GiB", nullable=True, ge=0
    )
    local_disk_count: pl.Int32 = column("Number of local disks.", nullable=True, ge=0)
    local_disk_kind: pl.String = column(
        "Kind of local disk.", nullable=True, isin=["nvme_ssd", "ssd", "hdd"]
    )
    network_gbps_baseline: pl.Float64 = column(
        "Network bandwidth the machine always has, over all cards.",
        unit="Gbit/s",
        nullable=True,
        gt=0,
    )
    network_gbps_max: pl.Float64 = column(
        "Highest network bandwidth, over all cards.", unit="Gbit/s", nullable=True, gt=0
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
        "Where the specification comes from: api (the vendor's machine API), price_list (attributes of the price list), "
        "bundled (the table shipped with the sample, as of its date).",
        isin=["api", "price_list", "bundled"],
    )
    corrections: pl.List(pl.String) = column(
        "Ids of the corrections (data/corrections.yaml) that changed this row."
    )
    observed_at: Timestamp = column("When the vendor's page was fetched.", unit="UTC")
    raw_sha256: pl.String = column("SHA-256 of the landed page the row was read from.")

    class Config:
        name = "instance_types"
        metadata = {"key": ["provider", "instance_type"]}


class Availability(Table):
    """Where a type is offered, from the vendor's own lists, never inferred from a price."""

    provider: pl.String = column(
        "Cloud provider.", focus="ServiceProviderName", str_matches=PROVIDER_PATTERN
    )
    region: pl.String = column("Region.", focus="RegionId")
    zone: pl.String = column(
        "Zone; null when the vendor's list is by region.", focus="AvailabilityZone", nullable=True
    )
    instance_type: pl.String = column("Machine type.")
    offered: pl.Boolean = column("The vendor lists the type here.")
    restricted: pl.Boolean = column(
        "Listed, but the account asked with may not use it.", nullable=True
    )
    restriction_reason: pl.String = column(
        "Why it is restricted, in the vendor's word.", nullable=True
    )
    observed_at: Timestamp = column("When the vendor's page was fetched.", unit="UTC")
    raw_sha256: pl.String = column("SHA-256 of the landed page the row was read from.")

    class Config:
        name = "availability"
        metadata = {"key": ["provider", "region", "zone", "instance_type"]}
