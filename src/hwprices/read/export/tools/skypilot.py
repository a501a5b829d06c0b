"""Catalogs of SkyPilot: ``~/.sky/catalogs/v8/<cloud>/vms.csv``.

Columns and rules: sky/catalog of https://github.com/skypilot-org/skypilot (Apache-2.0, 0.14.1). A
catalog without a checksum below ``.meta`` counts as edited, and SkyPilot never overwrites it.
"""

import polars as pl

from hwprices.read.export.tools.catalog import (
    COUNT,
    HAS_ACCELERATOR,
    NOT_FOR_SALE,
    NOT_PLAIN_LINUX,
    OPTION,
    PLACE,
    UNCLEAR_MACHINE,
    Catalog,
    PricedMachines,
    accelerator_names,
    amount,
    csv,
    split,
)

CLOUDS = ("aws", "azure", "gcp")
"""Clouds whose regions and machines have the same names in hwprices and SkyPilot."""

ZONED = ("aws", "gcp")  # Clouds listed by zone; AWS by zone id, such as use1-az1

NAMES = accelerator_names("skypilot")
"""SkyPilot's names of accelerators, from catalogs/v8/common/accelerators.csv and the machine lists
of https://github.com/skypilot-org/skypilot-catalog (Apache-2.0). Others are not in the catalog."""

GCP_MACHINES = {
    "a2-highgpu-": "A100",
    "a2-megagpu-": "A100",
    "a2-ultragpu-": "A100-80GB",
    "a3-highgpu-": "H100",
    "a3-megagpu-": "H100-MEGA",
    "a3-ultragpu-": "H200",
    "a4-highgpu-": "B200",
    "g2-standard-": "L4",
    "g4-standard-": "RTXPRO6000",
}
"""Accelerators of Google Cloud's machines by prefix, from SkyPilot's gcp_catalog.py. SkyPilot
assumes that other machines there have no accelerators."""

IS_GCP = pl.col("provider") == "gcp"
GCP_NAME = pl.col("instance_type").str.extract(r"^([a-z]\d+-[a-z]+-)")

NAME = (
    pl.when(IS_GCP)
    .then(GCP_NAME.replace_strict(GCP_MACHINES, default=None))
    .otherwise(pl.col("accelerator_id").replace_strict(NAMES, default=None))
)

REASONS = (
    *NOT_FOR_SALE,
    *NOT_PLAIN_LINUX,
    (
        ~pl.col("provider").is_in(CLOUDS),
        "no SkyPilot cloud, or its machines and regions have other names there",
    ),
    *UNCLEAR_MACHINE,
    (HAS_ACCELERATOR & pl.col("name").is_null(), "SkyPilot has no name for the accelerator"),
    (
        IS_GCP & (COUNT.floor() != COUNT),
        "a part of a GPU at Google Cloud: SkyPilot counts whole ones there",
    ),
    (
        pl.col("provider").is_in(ZONED) & pl.col("zone_list").is_null(),
        "no zone is known to offer the machine: SkyPilot lists this cloud by zone",
    ),
    (
        pl.col("zone").is_not_null() & ~pl.col("zone_list").list.contains(pl.col("zone")),
        "the zone of this spot price is not known to offer the machine",
    ),
)

SPOT_ONLY = (
    (
        IS_GCP & HAS_ACCELERATOR & ~(OPTION == "on_demand").any().over(PLACE),
        "a GPU machine of Google Cloud without on-demand price: SkyPilot does not find it",
    ),
)

DETAILS = (
    "price_id, source page and date of each price",
    "local disks and EFA interfaces (columns that may be absent), networks, and CPU models",
    "Azure: the generation of the hypervisor (empty, which SkyPilot takes for the second)",
    "Google Cloud: the price of the accelerator apart (0; the machine's price includes it)",
)

COLUMNS = {
    "InstanceType": pl.col("machine"),
    "AcceleratorName": pl.col("name"),
    "AcceleratorCount": pl.col("count"),
    "vCPUs": pl.col("vcpus").cast(pl.Float64),
    "MemoryGiB": pl.col("memory_gib"),
    "GpuInfo": pl.col("gpu_info"),
    "Price": amount("on_demand"),
    "SpotPrice": amount("spot"),
    "Region": pl.col("region"),
    "Arch": pl.col("arch"),
}

ZONE = {"AvailabilityZone": pl.col("zone")}

GENERATION = {"Generation": pl.lit(None, pl.String)}
"""Column of Azure; empty means the second generation of its hypervisor."""


def catalog(prices: PricedMachines) -> Catalog:
    """Write ``<cloud>/vms.csv``: a row for each machine in each zone, or region of Azure."""
    zones = prices.zones.with_columns(
        pl.when(pl.col("provider") == "aws").then("zone_id").otherwise("zone").alias("sky_zone")
    )
    zones = zones.filter(pl.col("provider").is_in(ZONED)).drop_nulls("sky_zone")
    listed = zones.group_by(PLACE).agg(pl.col("zone").alias("zone_list"))
    rows = prices.rows.with_columns(NAME.alias("name")).join(listed, on=PLACE, how="left")
    kept, left_out = split(rows, REASONS, SPOT_ONLY)
    machines = kept.select(
        *PLACE, "name", "count", "vcpus", "memory_gib", "arch", "device_memory_gib"
    ).unique()
    cells = machines.join(zones.select(*PLACE, "zone", "sky_zone"), on=PLACE, how="left")
    on_demand = kept.filter(OPTION == "on_demand").select(*PLACE, on_demand="effective_hourly")
    spot = kept.filter(OPTION == "spot")
    regional = spot.filter(pl.col("zone").is_null()).select(*PLACE, everywhere="effective_hourly")
    zonal = spot.select(*PLACE, "zone", here="effective_hourly").drop_nulls("zone")
    table = (
        cells.join(on_demand, on=PLACE, how="left")
        .join(regional, on=PLACE, how="left")
        .join(zonal, on=[*PLACE, "zone"], how="left")
        .with_columns(
            pl.coalesce("here", "everywhere").alias("spot"),
            pl.col("instance_type").alias("machine"),
            pl.col("sky_zone").alias("zone"),
            _gpu_info().alias("gpu_info"),
        )
        .sort("instance_type", "region", "zone")
    )
    files = {}
    for cloud in CLOUDS:
        machines = table.filter(provider=cloud)
        if cloud == "gcp":
            machines = _with_accelerators(machines)
        columns = COLUMNS | (ZONE if cloud in ZONED else GENERATION)
        files[f"{cloud}/vms.csv"] = csv(machines, columns)
    return Catalog(files, kept.height, left_out, DETAILS)


def _gpu_info() -> pl.Expr:
    """Write the memory of one device in MiB, as the Python literal that SkyPilot reads."""
    mib = (pl.col("device_memory_gib") * 1024).round().cast(pl.Int64)
    return pl.concat_str(
        pl.lit("{'Gpus': [{'Name': '"),
        "name",
        pl.lit("', 'MemoryInfo': {'SizeInMiB': "),
        mib,
        pl.lit("}}]}"),
    )


def _with_accelerators(machines: pl.DataFrame) -> pl.DataFrame:
    """Add rows for accelerators, which SkyPilot lists separately for Google Cloud.

    SkyPilot adds both prices: the machine has the full price, the accelerator costs 0.
    """
    free = pl.lit(0).cast(pl.Decimal(20, 10))
    place = ["region", "zone"]
    accelerators = (
        machines.drop_nulls("name")
        .group_by(*place, "name", "count", maintain_order=True)
        .agg(pl.col("spot").is_not_null().any(), pl.col("gpu_info").first())
        .with_columns(on_demand=free, spot=pl.when("spot").then(free))
    )
    plain = machines.with_columns(
        pl.lit(None, pl.String).alias(name) for name in ("name", "gpu_info")
    ).with_columns(pl.lit(None, pl.Float64).alias("count"))
    return pl.concat([plain, accelerators], how="diagonal_relaxed")
