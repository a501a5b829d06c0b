"""Read resource SKUs, and make rows of instance_types of them.

Source: https://learn.microsoft.com/rest/api/compute/resource-skus/list. A SKU is a size in one
location; the bundled table has one SKU for a size in many locations, which the shape allows.
Capabilities are pairs of name and value, all strings.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from hwprices.providers import Pages
from hwprices.providers.azure import kinds
from hwprices.providers.azure.inventory import size_names
from hwprices.providers.azure.inventory.accelerators import AcceleratorSheet, with_accelerators
from hwprices.providers.azure.inventory.arm_list import Schema, read_list
from hwprices.rows import accelerators, frames, quarantine
from hwprices.rows.origin import ORIGIN
from hwprices.schemas.inventory import InstanceTypes

MACHINES = "virtualMachines"
STRINGS = pl.List(pl.String)
RESTRICTION: Schema = {
    "type": pl.String,
    "values": STRINGS,
    "reasonCode": pl.String,
    "restrictionInfo": pl.Struct({"locations": STRINGS, "zones": STRINGS}),
}
SKU: Schema = {
    "resourceType": pl.String,
    "name": pl.String,
    "family": pl.String,
    "locations": STRINGS,
    "locationInfo": pl.List(pl.Struct({"location": pl.String, "zones": STRINGS})),
    "capabilities": pl.List(pl.Struct({"name": pl.String, "value": pl.String})),
    "restrictions": pl.List(pl.Struct(RESTRICTION)),
}
"""Members of a SKU that are read."""

CAPABILITIES = [
    *("vCPUs", "vCPUsAvailable", "vCPUsPerCore", "MemoryGB", "GPUs", "CpuArchitectureType"),
    *("MaxResourceVolumeMB", "NvmeDiskSizeInMiB", "NvmeSizePerDiskInMiB", "NvmeMaxReadIops"),
    *("NvmeMaxWriteIops", "UncachedDiskIOPS", "UncachedDiskBytesPerSecond", "RdmaEnabled"),
    *("ConfidentialComputingType", "RetirementDateUtc"),
]
"""Capabilities that are read."""

NO_RETIREMENT_YEAR = 9999  # RetirementDateUtc 01/01/9999 means that no date is set

HARD_DISKS = r"(?i)^basicA|^standardA0|^standardFamily"
"""Families (basicAFamily, standardA0_A7Family, standardA8_A11Family) whose temporary disk is a hard
disk; A v2 has an SSD (https://learn.microsoft.com/azure/virtual-machines/sizes/previous-gen)."""

ARCHITECTURES = {"x64": "x86_64", "Arm64": "arm64"}
CONFIDENTIAL = {"SNP": "sev_snp", "TDX": "tdx"}


@dataclass(frozen=True)
class Skus:
    """Resource SKUs as the vendor wrote them.

    ``machines`` are those of virtual machines: the columns of ``SKU``, provider, spec_source and
    the origin columns. ``refused`` are those without a name, family or location, as quarantine
    rows. ``counts`` says how many SKUs are of other resources.
    """

    machines: pl.DataFrame
    refused: pl.DataFrame
    counts: Mapping[str, int]


def read_skus(pages: Pages) -> Skus:
    """Read every SKU of every landed page.

    Raises:
        UnreadablePageError: not one landed page is a list of SKUs.
        HwpricesError: a landed page is altered.
    """
    dtypes = frames.dtypes(InstanceTypes)
    schema = {
        **SKU,
        "observed_at": dtypes["observed_at"],
        "source_url": pl.String,
        "raw_sha256": pl.String,
        "spec_source": pl.String,
    }
    parts = _read_lists(pages)
    skus = pl.concat([pl.DataFrame(schema=schema), *parts]).with_columns(
        pl.lit("azure").alias("provider")
    )
    is_machine = (pl.col("resourceType") == MACHINES).fill_null(False)
    others = skus.filter(~is_machine).group_by("resourceType").len().sort("resourceType")
    is_complete = (
        pl.col("name").is_not_null()
        & pl.col("family").is_not_null()
        & (pl.col("locationInfo").list.len().fill_null(0) > 0)
    )
    return Skus(
        skus.filter(is_machine & is_complete),
        _refused(skus.filter(is_machine & ~is_complete)),
        {f"out_of_scope:resource_type={kind}": count for kind, count in others.iter_rows()},
    )


def _read_lists(pages: Pages) -> list[pl.DataFrame]:
    """Read the lists, each with its spec_source. The last error counts if none can be read."""
    parts: list[pl.DataFrame] = []
    listed = pages.of(kinds.SKUS)
    for page in listed:
        source = pl.lit("bundled" if kinds.BUNDLED in page.params else "api").alias("spec_source")
        with pages.leave_out(page):
            parts.append(read_list(pages, page, SKU, "resource SKUs").with_columns(source))
    if listed and not parts:
        read_list(pages, listed[-1], SKU, "resource SKUs")
    return parts


def _refused(incomplete: pl.DataFrame) -> pl.DataFrame:
    return quarantine.refused(
        incomplete.lazy(),
        table="instance_types",
        reason="sku_without_name",
        message="A SKU lacks its name, family or location.",
    ).collect()


def instance_type_rows(
    skus: pl.DataFrame, sheet: AcceleratorSheet, network: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Make rows of instance_types, one a size, and quarantine rows of sizes that no machine has.

    ``skus`` is ``Skus.machines``, ``network`` the sheet azure_network. A size is as its first
    location in the alphabet describes it; the API goes before the bundled table.
    """
    locations = pl.col("locationInfo").list.eval(
        pl.element().struct.field("location").str.to_lowercase()
    )
    sizes = (
        skus.with_columns(locations.list.min().alias("first_location"))
        .sort("name", "spec_source", "first_location", "raw_sha256")
        .unique("name", keep="first", maintain_order=True)
    )
    table = with_accelerators(_with_capabilities(sizes), sheet).with_columns(
        _name_parts(sizes["name"].to_list())
    )
    rows = _columns(table.lazy(), network.lazy()).collect()
    is_possible = rows.select(accelerators.is_possible()).to_series()
    figures = table.select(*ORIGIN).hstack(
        rows.select("provider", "instance_type", *accelerators.LARGEST)
    )
    # as text, because JSON has no infinity
    shown = figures.filter(~is_possible).cast(dict.fromkeys(accelerators.LARGEST, pl.String))
    possible = frames.conform(rows.filter(is_possible).lazy(), InstanceTypes).collect()
    return possible, accelerators.refuse(shown.lazy())


def _with_capabilities(skus: pl.DataFrame) -> pl.DataFrame:
    """Add a text column for each of ``CAPABILITIES``, null where the SKU has none of that name.

    Where a name is repeated, the first value counts.
    """
    capability = pl.col("capabilities").struct
    pairs = (
        skus.select("name", "capabilities")
        .explode("capabilities", empty_as_null=False)
        .select("name", capability.field("name").alias("capability"), capability.field("value"))
    )
    wide = pairs.filter(pl.col("capability").is_in(CAPABILITIES)).pivot(
        "capability", index="name", values="value", aggregate_function="first"
    )
    missing = [
        pl.lit(None, dtype=pl.String).alias(name)
        for name in CAPABILITIES
        if name not in wide.columns
    ]
    return skus.join(wide.with_columns(missing), on="name", how="left", maintain_order="left")


def _columns(table: pl.LazyFrame, network: pl.LazyFrame) -> pl.LazyFrame:
    """Make the columns of instance_types from capabilities, name parts, accelerators and network.

    The sheet's network is Ethernet, which is not all that a size with InfiniBand has.
    """
    is_whole = pl.when(pl.col("RdmaEnabled").fill_null("False") == "False")
    bandwidth = network.select("network_gbps_max", name="instance_type")
    return table.join(bandwidth, on="name", how="left", maintain_order="left").select(
        "provider",
        pl.col("name").alias("instance_type"),
        "family",
        "series",
        "generation",
        *_retirement(),
        pl.col("CpuArchitectureType")
        .replace_strict(ARCHITECTURES, default=None, return_dtype=pl.String)
        .alias("arch"),
        "cpu_vendor",
        *_cpus(),
        # Called GB, meant GiB: "8" of Standard_D2s_v3 is documented as 8 GiB.
        _number("MemoryGB").alias("memory_gib"),
        pl.col("family").str.contains(r"(?i)^standardB").alias("burstable"),
        pl.lit(False).alias("bare_metal"),
        "accelerators",
        "accelerator_kind",
        "accelerator_count",
        "accelerator_memory_gib",
        *_disks(),
        is_whole.then("network_gbps_max").alias("network_gbps_max"),
        pl.when(pl.col("RdmaEnabled") == "True")
        .then(pl.lit("infiniband"))
        .when(pl.col("RdmaEnabled") == "False")
        .then(pl.lit("none"))
        .alias("rdma"),
        pl.lit("hyper-v").alias("hypervisor"),
        _confidential_computing(),
        "spec_source",
        pl.lit([], dtype=pl.List(pl.String)).alias("corrections"),
        "observed_at",
        "raw_sha256",
        *_block_storage(),
        _positive("NvmeMaxReadIops").alias("local_disk_read_iops"),
        _positive("NvmeMaxWriteIops").alias("local_disk_write_iops"),
    )


def _retirement() -> list[pl.Expr]:
    """Make status and retirement_date; both null where the date is absent or not understood."""
    date = pl.col("RetirementDateUtc").str.to_date("%m/%d/%Y", strict=False)
    is_set = date.is_not_null() & (date.dt.year() < NO_RETIREMENT_YEAR)
    status = (
        pl.when(is_set)
        .then(pl.lit("retiring"))
        .when(date.is_not_null())
        .then(pl.lit("current"))
        .alias("status")
    )
    return [status, pl.when(is_set).then(date).alias("retirement_date")]


def _cpus() -> list[pl.Expr]:
    """Make vcpus, vcpus_billed, physical_cores and threads_per_core.

    A constrained size has fewer vCPUs than the size it is made of, and costs what that size costs;
    how many cores it uses is not published. The figures may be what no machine has, and are made
    whole numbers later.
    """
    available, parent = _number("vCPUsAvailable"), _number("vCPUs")
    is_unconstrained = available.is_null() | (available == parent)
    threads = _number("vCPUsPerCore")
    return [
        pl.coalesce(available, parent).alias("vcpus"),
        parent.alias("vcpus_billed"),
        pl.when(is_unconstrained).then(parent / threads).alias("physical_cores"),
        threads.alias("threads_per_core"),
    ]


def _disks() -> list[pl.Expr]:
    """Make local_disk_gib, _count and _kind of temporary and NVMe disks together.

    MaxResourceVolumeMB, the temporary disk, is in MiB.
    """
    nvme = _number("NvmeDiskSizeInMiB").fill_null(0)
    temporary = _number("MaxResourceVolumeMB").fill_null(0)
    nvme_each = _number("NvmeSizePerDiskInMiB").fill_null(nvme)
    nvme_count = pl.when(nvme > 0).then(nvme / nvme_each).otherwise(0)
    kind = (
        pl.when(nvme > 0)
        .then(pl.lit("nvme_ssd"))
        .when(temporary <= 0)
        .then(None)
        .when(pl.col("family").str.contains(HARD_DISKS))
        .then(pl.lit("hdd"))
        .otherwise(pl.lit("ssd"))
    )
    return [
        ((nvme + temporary) / 1024).alias("local_disk_gib"),
        (nvme_count + (temporary > 0).cast(pl.Float64)).round(0).alias("local_disk_count"),
        kind.alias("local_disk_kind"),
    ]


def _block_storage() -> list[pl.Expr]:
    """Make the columns of block storage: managed disks without the host's cache.

    The figures are those without bursts: 3,750 IOPS and 85 MB/s of Standard_D2s_v5, which reaches
    10,000 IOPS and 1,200 MB/s for half an hour. How far bursts go is documented and no capability.
    https://learn.microsoft.com/azure/virtual-machines/sizes/general-purpose/dsv5-series
    """
    unknown = pl.lit(None, dtype=pl.Float64)
    gbps = _positive("UncachedDiskBytesPerSecond") * 8 / 1e9
    return [
        gbps.alias("block_storage_gbps_baseline"),
        unknown.alias("block_storage_gbps_max"),
        _positive("UncachedDiskIOPS").alias("block_storage_iops_baseline"),
        unknown.alias("block_storage_iops_max"),
    ]


def _confidential_computing() -> pl.Expr:
    """Make a list of one technology, or null."""
    technology = pl.col("ConfidentialComputingType").replace_strict(
        CONFIDENTIAL, default=None, return_dtype=pl.String
    )
    return (
        pl.when(technology.is_not_null())
        .then(pl.concat_list(technology))
        .alias("confidential_computing")
    )


def _number(capability: str) -> pl.Expr:
    return pl.col(capability).cast(pl.Float64, strict=False)


def _positive(capability: str) -> pl.Expr:
    """Read a number; null for 0, which no machine has."""
    figure = _number(capability)
    return pl.when(figure != 0).then(figure)


def _name_parts(sizes: list[str]) -> list[pl.Series]:
    """Make series, generation and cpu_vendor, in the sizes' order."""
    parsed = [size_names.parse_size(size) for size in sizes]
    return [
        pl.Series(part, [getattr(size, part) if size else None for size in parsed], dtype=pl.String)
        for part in ("series", "generation", "cpu_vendor")
    ]
