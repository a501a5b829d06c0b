"""Landed resource SKUs into rows of instance_types.

Source: https://learn.microsoft.com/rest/api/compute/resource-skus/list. A SKU is a size in one location (the bundled table has
one SKU a size, with all its locations, which is the same wire shape). Capabilities are name and value, all strings.
"""

from dataclasses import dataclass

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.providers.azure.inventory import accelerators, size_names
from hwprices.rows import frames, quarantine
from hwprices.schemas.catalog import InstanceTypes

KIND = "skus"
MACHINES = "virtualMachines"
BUNDLED = "bundled"
"""Page parameter that marks the table shipped with the sample; its value is the table's as-of date."""

STRINGS = pl.List(pl.String)
RESTRICTION: dict[str, pl.DataType | type[pl.DataType]] = {
    "type": pl.String,
    "values": STRINGS,
    "reasonCode": pl.String,
    "restrictionInfo": pl.Struct({"locations": STRINGS, "zones": STRINGS}),
}
SKU = pl.Struct(
    {
        "resourceType": pl.String,
        "name": pl.String,
        "family": pl.String,
        "locations": STRINGS,
        "locationInfo": pl.List(pl.Struct({"location": pl.String, "zones": STRINGS})),
        "capabilities": pl.List(pl.Struct({"name": pl.String, "value": pl.String})),
        "restrictions": pl.List(pl.Struct(RESTRICTION)),
    }
)

NEVER_RETIRES = 9999  # RetirementDateUtc 01/01/9999: no date is set


@dataclass(frozen=True)
class Skus:
    """``rows``: SKUs of virtual machines with page columns. ``out_of_scope``: other resource types → count."""

    rows: pl.DataFrame
    refused: pl.DataFrame
    out_of_scope: dict[str, int]


def read(pages: Pages) -> Skus:
    """Every SKU of every landed page.

    Raises:
        HwpricesError: a landed page is altered or is no list of SKUs.
    """
    parts = [_parse(pages.read(page), page) for page in pages.of(KIND)]
    meta: dict[str, pl.DataType | type[pl.DataType]] = {
        "observed_at": frames.dtypes(InstanceTypes)["observed_at"],
        "source_url": pl.String,
        "raw_sha256": pl.String,
    }
    empty = pl.DataFrame(schema={**dict(SKU), **meta, "spec_source": pl.String})
    rows = pl.concat([empty, *parts]).with_columns(pl.lit("azure").alias("provider"))
    other = rows.filter(pl.col("resourceType").fill_null("") != MACHINES)
    machines = rows.filter(pl.col("resourceType") == MACHINES)
    nameless = machines.filter(
        pl.col("name").is_null()
        | pl.col("family").is_null()
        | (pl.col("locationInfo").list.len().fill_null(0) == 0)
    )
    refused = quarantine.refused(
        nameless.lazy(),
        table="instance_types",
        reason="sku_without_name",
        message="A SKU lacks its name, family or location.",
    )
    counts = other.group_by("resourceType").len().sort("resourceType")
    return Skus(
        machines.filter(
            pl.col("name").is_not_null()
            & pl.col("family").is_not_null()
            & (pl.col("locationInfo").list.len() > 0)
        ),
        refused.collect(),
        {f"out_of_scope:resource_type={kind}": count for kind, count in counts.iter_rows()},
    )


def _parse(body: bytes, page: Page) -> pl.DataFrame:
    try:
        values: pl.Series | None = pl.read_json(body, schema={"value": pl.List(SKU)})["value"][0]
    except (pl.exceptions.PolarsError, IndexError) as error:
        raise HwpricesError(
            f"page {page.key} is no list of resource SKUs ({str(error)[:120]})",
            "Delete it and fetch again.",
        ) from None
    if values is None:
        raise HwpricesError(
            f"page {page.key} is no list of resource SKUs", "Delete it and fetch again."
        )
    return values.struct.unnest().with_columns(
        pl.lit(page.retrieved_at)
        .cast(frames.dtypes(InstanceTypes)["observed_at"])
        .alias("observed_at"),
        pl.lit(page.url).alias("source_url"),
        pl.lit(page.sha256).alias("raw_sha256"),
        pl.lit("bundled" if BUNDLED in page.params else "api").alias("spec_source"),
    )


def instance_types(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of the instance_types table: one a size, as the first location in the alphabet describes it, the API before the bundled table."""
    order = rows.with_columns(
        pl.col("locationInfo")
        .list.eval(pl.element().struct.field("location").str.to_lowercase())
        .list.min()
        .alias("first_location")
    )
    each = order.sort("name", "spec_source", "first_location", "raw_sha256").unique(
        "name", keep="first", maintain_order=True
    )
    table = accelerators.attach(capabilities(each)).with_columns(_named(each["name"].to_list()))
    return frames.conform(_specified(table.lazy()), InstanceTypes).collect()


def capabilities(rows: pl.DataFrame) -> pl.DataFrame:
    """SKUs with one column a capability that is used, null where the SKU has none of that name; a repeated name keeps its first."""
    long = rows.select("name", pl.col("capabilities")).explode("capabilities", empty_as_null=False)
    pairs = long.select(
        "name",
        pl.col("capabilities").struct.field("name").alias("capability"),
        pl.col("capabilities").struct.field("value"),
    )
    wide = pairs.filter(pl.col("capability").is_in(USED)).pivot(
        "capability", index="name", values="value", aggregate_function="first"
    )
    missing = [pl.lit(None, dtype=pl.String).alias(c) for c in USED if c not in wide.columns]
    return rows.join(wide.with_columns(missing), on="name", how="left", maintain_order="left")


USED = [
    "vCPUs",
    "vCPUsAvailable",
    "vCPUsPerCore",
    "MemoryGB",
    "GPUs",
    "CpuArchitectureType",
    "MaxResourceVolumeMB",
    "NvmeDiskSizeInMiB",
    "NvmeSizePerDiskInMiB",
    "RdmaEnabled",
    "ConfidentialComputingType",
    "RetirementDateUtc",
]


def _specified(table: pl.LazyFrame) -> pl.LazyFrame:
    """Columns of instance_types from capabilities."""
    retires = pl.col("RetirementDateUtc").str.to_date("%m/%d/%Y", strict=False)
    set_to_retire = retires.is_not_null() & (retires.dt.year() < NEVER_RETIRES)
    available, parent = _number("vCPUsAvailable"), _number("vCPUs")
    whole = available.is_null() | (available == parent)
    return (
        table.select(
            "provider",
            pl.col("name").alias("instance_type"),
            "family",
            "series",
            "generation",
            pl.when(set_to_retire)
            .then(pl.lit("retiring"))
            .when(retires.is_not_null())
            .then(pl.lit("current"))
            .alias("status"),
            pl.when(set_to_retire).then(retires).alias("retirement_date"),
            pl.col("CpuArchitectureType")
            .replace_strict(
                {"x64": "x86_64", "Arm64": "arm64"}, default=None, return_dtype=pl.String
            )
            .alias("arch"),
            "cpu_vendor",
            pl.coalesce(available, parent)
            .cast(pl.Int32)
            .alias("vcpus"),  # a constrained size has fewer than its parent …
            parent.alias("vcpus_billed"),  # … and costs what the parent costs
            pl.when(whole)
            .then((parent / _number("vCPUsPerCore")).cast(pl.Int32))
            .alias("physical_cores"),
            _number("vCPUsPerCore").cast(pl.Int32).alias("threads_per_core"),
            _number("MemoryGB").alias(
                "memory_gib"
            ),  # called GB, meant GiB: Standard_D2s_v3 "8" is documented as 8 GiB
            pl.col("family").str.contains(r"(?i)^standardB").alias("burstable"),
            pl.lit(False).alias("bare_metal"),
            "accelerators",
            "accelerator_kind",
            "accelerator_count",
            "accelerator_memory_gib",
            *_disks(),
            pl.when(pl.col("RdmaEnabled") == "True")
            .then(pl.lit("infiniband"))
            .when(pl.col("RdmaEnabled") == "False")
            .then(pl.lit("none"))
            .alias("rdma"),
            pl.lit("hyper-v").alias("hypervisor"),
            pl.col("ConfidentialComputingType")
            .replace_strict({"SNP": "sev_snp", "TDX": "tdx"}, default=None, return_dtype=pl.String)
            .alias("confidential"),
            "spec_source",
            pl.lit([], dtype=pl.List(pl.String)).alias("corrections"),
            "observed_at",
            "raw_sha256",
        )
        .with_columns(
            pl.when(pl.col("confidential").is_not_null())
            .then(pl.concat_list("confidential"))
            .alias("confidential_computing")
        )
        .drop("confidential")
    )


def _disks() -> list[pl.Expr]:
    """Temporary disk (MaxResourceVolumeMB is MiB) and NVMe disks together: local_disk_gib, local_disk_count, local_disk_kind."""
    nvme, scratch = (
        _number("NvmeDiskSizeInMiB").fill_null(0),
        _number("MaxResourceVolumeMB").fill_null(0),
    )
    nvme_count = (
        pl.when(nvme > 0).then(nvme / _number("NvmeSizePerDiskInMiB").fill_null(nvme)).otherwise(0)
    )
    kind = (
        pl.when(nvme > 0)
        .then(pl.lit("nvme_ssd"))
        .when(scratch <= 0)
        .then(None)
        .when(pl.col("family").str.contains(HARD_DISKS))
        .then(pl.lit("hdd"))
    )
    return [
        ((nvme + scratch) / 1024).alias("local_disk_gib"),
        (nvme_count + (scratch > 0).cast(pl.Float64))
        .round(0)
        .cast(pl.Int32)
        .alias("local_disk_count"),
        kind.otherwise(pl.lit("ssd")).alias("local_disk_kind"),
    ]


HARD_DISKS = r"(?i)^basicA|^standardA0|^standardFamily"
"""The first A series (basicAFamily, standardA0_A7Family, standardA8_A11Family) has its temporary disk on a hard disk; A v2 is SSD
(https://learn.microsoft.com/azure/virtual-machines/sizes/previous-gen)."""


def _number(capability: str) -> pl.Expr:
    return pl.col(capability).cast(pl.Float64, strict=False)


def _named(sizes: list[str]) -> list[pl.Series]:
    """series, generation and cpu_vendor, in the sizes' order."""
    parsed = [size_names.parse_size(size) for size in sizes]
    return [
        pl.Series(column, [getattr(p, column) if p else None for p in parsed], dtype=pl.String)
        for column in ("series", "generation", "cpu_vendor")
    ]
