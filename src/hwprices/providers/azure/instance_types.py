"""Make rows of instance_types from resource SKUs, and of priced sizes from their names.

Source: https://learn.microsoft.com/rest/api/compute/resource-skus/list. A SKU is a size in one
location. In the bundled table, a SKU is a size in many locations, which the format allows.
Capabilities are pairs of name and value, all strings.

The bundled table lacks new, old and constrained sizes. Their names (Standard_E8-4s_v5) state the
number of vCPUs: https://learn.microsoft.com/azure/virtual-machines/vm-naming-conventions. A
constrained size has all other figures of its parent
(https://learn.microsoft.com/azure/virtual-machines/constrained-vcpu). Memory comes from a page of
Microsoft (the sheet azure_sizes), or from the family if all listed sizes of it agree. Other figures
are null.

The API has the number of devices of a size at most, never the model. The model comes from
data/specs/accelerator_names/azure.csv, whose lines have sources. That sheet also gives the count
where the API has none (GB200, GB300, MI300X, V620, V710), has 1 for a fraction (A10, MI25), or was
once wrong (ND96isr_H100_v5: 12 in 2024).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import polars as pl

from hwprices.formulas import first_of
from hwprices.landing.bodies import refuse_repeated_names
from hwprices.landing.pages import Page
from hwprices.providers import Pages, azure
from hwprices.rows import frames, prices
from hwprices.rows.frames import ORIGIN, origin
from hwprices.rows.vendor_rows import LARGEST, accelerator_totals, is_possible, refuse_impossible
from hwprices.schemas.columns import Accelerators
from hwprices.schemas.tables import InstanceTypes
from hwprices.specs import accelerator_names, sheets

SIZE = re.compile(
    r"^(?P<tier>Standard|Basic)_(?P<family>[A-Z]+)(?P<vcpus>\d{1,5})(?:-(?P<constrained>\d{1,5}))?"
    r"(?P<features>[a-z]*)(?:-(?P<active>\d{1,5}))?(?P<middle>(?:_[A-Za-z0-9]+?)*?)(?:_v(?P<version>\d{1,3}))?"
    r"(?P<promo>_Promo)?$"
)
"""tier_family+vcpus-constrained+features_accelerator or memory_version.

Examples: Standard_E8-4s_v5, Standard_NC24ads_A100_v4. In M sizes, the constrained vCPUs follow the
features: Standard_M176ds-44_3_v3.
"""

NOT_SERIES = re.compile(r"^\d+$")  # Standard_M416s_6_v3: the 6 is terabytes of memory, not a series
INTEL_FAMILIES = {"D", "DS", "DC", "E", "EC", "F", "FX", "L", "M", "G", "GS", "HC"}


@dataclass(frozen=True)
class Size:
    """The parts of a size's name. Old sizes have another number of vCPUs than ``vcpus``."""

    name: str
    tier: str
    family: str
    vcpus: int
    constrained: int | None
    features: str
    middle: tuple[str, ...]
    version: int | None
    promo: bool

    @property
    def series(self) -> str:
        """Family, features, accelerator and version.

        Standard_D2s_v5 is in series Dsv5, Standard_NC24ads_A100_v4 in NCads_A100_v4.
        """
        middle = [part for part in self.middle if not NOT_SERIES.match(part)]
        parts = [self.family + self.features, *middle]
        if self.version is None:
            return "_".join(parts)
        if middle:
            return "_".join([*parts, f"v{self.version}"])
        return f"{parts[0]}v{self.version}"

    @property
    def parent(self) -> str:
        """The size that a constrained size is made of (E8s_v5 of E8-4s_v5), else its own name."""
        return self.name.replace(f"-{self.constrained}", "", 1)

    @property
    def generation(self) -> str | None:
        """The version as Azure writes it: v5; None if the name has none."""
        return f"v{self.version}" if self.version is not None else None

    @property
    def cpu_vendor(self) -> str | None:
        """Vendor of the CPU, None if neither the naming rules nor the family determine it.

        ``a`` is AMD. ``p`` is Arm: Ampere up to v5, Microsoft's Cobalt from v6, NVIDIA Grace with
        GB200 and GB300. D, E, F, L, M and G sizes without these letters are Intel, HB and HX AMD,
        HC Intel. Other families (A, B before v2, N) have had several vendors.
        """
        if any(part.startswith("GB") for part in self.middle):
            return "NVIDIA"
        if "p" in self.features and self.family in ("B", "D", "E"):
            return "Microsoft" if (self.version or 0) >= 6 else "Ampere"
        if "a" in self.features or self.family in ("HB", "HX"):
            return "AMD"
        is_intel_b = self.family == "B" and self.version == 2
        return "Intel" if self.family in INTEL_FAMILIES or is_intel_b else None


def parse_size(name: str) -> Size | None:
    """Parse a size's name; None if it does not follow the naming rules."""
    match = SIZE.match(name)
    if not match:
        return None
    active = match["constrained"] or match["active"]
    return Size(
        name=name,
        tier=match["tier"],
        family=match["family"],
        vcpus=int(match["vcpus"]),
        constrained=int(active) if active else None,
        features=match["features"],
        middle=tuple(part for part in match["middle"].split("_") if part),
        version=int(match["version"]) if match["version"] else None,
        promo=match["promo"] is not None,
    )


KINDS_BY_FAMILY = {"N": "gpu", "NM": "media", "NP": "fpga", "PB": "fpga"}
"""Letters of the family → kind of accelerator, for sizes that the sheet lacks: N is GPU, NP and PB
are FPGA (https://learn.microsoft.com/azure/virtual-machines/vm-naming-conventions). NM has AMD's
MA35D, a media accelerator."""


@dataclass(frozen=True)
class AcceleratorSheet:
    """The sheets that name accelerators, read once.

    ``match`` finds the model of a size; its first argument, the vendor's name of the device, is
    None because Azure returns none. ``kinds``: accelerator_id → kind.
    """

    match: Callable[[str | None, str], accelerator_names.Match | None]
    kinds: Mapping[str, str]


def read_accelerator_sheet() -> AcceleratorSheet:
    """Read the sheets.

    Raises:
        HwpricesError: one of them is missing or broken.
    """
    kinds = sheets.load("accelerators").select("accelerator_id", "kind").iter_rows()
    return AcceleratorSheet(accelerator_names.accelerator_matcher("azure"), dict(kinds))


def with_accelerators(sizes: pl.DataFrame, sheet: AcceleratorSheet) -> pl.DataFrame:
    """Add accelerators, accelerator_kind, accelerator_count and accelerator_memory_gib.

    ``sizes`` has name and GPUs (the API's count as text, or null). Accelerators of unknown model
    keep the API's count, or null.
    """
    pairs = sizes.select("name", "GPUs").iter_rows()
    results = [accelerators_of(size, gpus, sheet) for size, gpus in pairs]
    return sizes.with_columns(
        pl.Series("accelerators", [devices for devices, _ in results], dtype=Accelerators),
        pl.Series("accelerator_kind", [kind for _, kind in results], dtype=pl.String),
    ).with_columns(accelerator_totals())


def accelerators_of(
    size: str, gpus: str | None, sheet: AcceleratorSheet
) -> tuple[list[dict[str, Any]], str]:
    """Return the accelerators of one size, none or one element, and their kind.

    ``gpus`` is the API's count as text, or None.
    """
    api_count = float(gpus) if gpus and gpus.replace(".", "", 1).isdigit() else None
    match = sheet.match(None, size)
    if match:
        count = match.count if match.count is not None else api_count
        device = _device(match.accelerator_id, count, match.memory_gib)
        return [device], sheet.kinds[match.accelerator_id]
    kind = _kind_by_name(size) or ("gpu" if api_count else None)
    if kind is None:
        return [], "none"
    return [_device(None, api_count, None)], kind


def _device(
    accelerator_id: str | None, count: float | None, memory_gib: float | None
) -> dict[str, Any]:
    return {
        "accelerator_id": accelerator_id,
        "vendor_name": None,
        "count": count,
        "memory_gib": memory_gib,
    }


def _kind_by_name(size: str) -> str | None:
    parsed = parse_size(size)
    if parsed is None:
        return None
    return KINDS_BY_FAMILY.get(parsed.family) or KINDS_BY_FAMILY.get(parsed.family[:1])


Schema = dict[str, pl.DataType | type[pl.DataType]]


def read_list(pages: Pages, page: Page, members: Schema, elements: str) -> pl.DataFrame:
    """Read the elements of a page as a frame of their ``members``, with the origin columns.

    ``elements`` is their name in errors ("resource SKUs").

    Raises:
        UnreadablePageError: the page is not such a list.
        HwpricesError: it was altered.
    """
    with pages.parsing(page):
        return read_elements(pages.read(page), members, elements).with_columns(origin(page))


def read_elements(body: bytes, members: Schema, elements: str) -> pl.DataFrame:
    """Read the elements of a page's body as a frame of their ``members``.

    Raises:
        ValueError: the body is not such a list.
        RecursionError: it is nested too deeply.
    """
    schema = {"value": pl.List(pl.Struct(members))}
    try:
        # of two members with one name polars keeps one
        refuse_repeated_names(body, msgspec.json.decode(body))
        values: pl.Series | None = pl.read_json(body, schema=schema)["value"][0]
    except (msgspec.MsgspecError, pl.exceptions.PolarsError, IndexError) as error:
        raise ValueError(f"it is not a list of {elements} ({str(error)[:120]})") from None
    if values is None:
        raise ValueError(f"it is not a list of {elements}")
    return values.struct.unnest()


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

    ``machines`` are SKUs of virtual machines: the columns of ``SKU``, provider, spec_source and the
    origin columns. ``refused`` are quarantine rows of SKUs without a name, family or location.
    ``counts`` counts the SKUs of other resources.
    """

    machines: pl.DataFrame
    refused: pl.DataFrame
    counts: Mapping[str, int]


def read_skus(pages: Pages) -> Skus:
    """Read every SKU of every landed page.

    Raises:
        UnreadablePageError: no landed page is a list of SKUs.
        HwpricesError: a landed page was altered.
    """
    dtypes = InstanceTypes.dtypes
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
    """Read the lists, each with its spec_source. If all are unreadable, raise the last error."""
    parts: list[pl.DataFrame] = []
    sku_pages = pages.of(azure.SKUS)
    for page in sku_pages:
        source = pl.lit("bundled" if azure.BUNDLED in page.params else "api").alias("spec_source")
        with pages.leave_out(page):
            parts.append(read_list(pages, page, SKU, "resource SKUs").with_columns(source))
    if sku_pages and not parts:
        read_list(pages, sku_pages[-1], SKU, "resource SKUs")
    return parts


def _refused(incomplete: pl.DataFrame) -> pl.DataFrame:
    return prices.refused(
        incomplete.lazy(),
        table="instance_types",
        reason="sku_without_name",
        message="A SKU lacks its name, family or location.",
    ).collect()


def instance_type_rows(
    skus: pl.DataFrame, sheet: AcceleratorSheet, network: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Make rows of instance_types, one per size, and quarantine rows of impossible sizes.

    ``skus`` is ``Skus.machines``, ``network`` the sheet azure_network. If several SKUs describe a
    size, the API comes before the bundled table, then the first location in the alphabet.
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
    are_possible = rows.select(is_possible()).to_series()
    figures = table.select(*ORIGIN).hstack(rows.select("provider", "instance_type", *LARGEST))
    # as text, because JSON has no infinity
    shown = figures.filter(~are_possible).cast(dict.fromkeys(LARGEST, pl.String))
    possible = frames.conform(rows.filter(are_possible).lazy(), InstanceTypes).collect()
    return possible, refuse_impossible(shown.lazy())


def _with_capabilities(skus: pl.DataFrame) -> pl.DataFrame:
    """Add a text column for each of ``CAPABILITIES``, null if the SKU lacks it.

    If a name is repeated, the first value is used.
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

    The sheet has Ethernet only, so sizes with InfiniBand get no bandwidth.
    """
    is_ethernet_only = pl.when(pl.col("RdmaEnabled").fill_null("False") == "False")
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
        # Called GB, but in GiB: "8" of Standard_D2s_v3 is documented as 8 GiB.
        _number("MemoryGB").alias("memory_gib"),
        pl.col("family").str.contains(r"(?i)^standardB").alias("burstable"),
        pl.lit(False).alias("bare_metal"),
        "accelerators",
        "accelerator_kind",
        "accelerator_count",
        "accelerator_memory_gib",
        *_disks(),
        is_ethernet_only.then("network_gbps_max").alias("network_gbps_max"),
        first_of(
            {
                "infiniband": pl.col("RdmaEnabled") == "True",
                "none": pl.col("RdmaEnabled") == "False",
            }
        ).alias("rdma"),
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
    """Make status and retirement_date; both are null if the date is absent or unreadable."""
    date = pl.col("RetirementDateUtc").str.to_date("%m/%d/%Y", strict=False)
    is_set = date.is_not_null() & (date.dt.year() < NO_RETIREMENT_YEAR)
    status = first_of({"retiring": is_set, "current": date.is_not_null()}).alias("status")
    return [status, pl.when(is_set).then(date).alias("retirement_date")]


def _cpus() -> list[pl.Expr]:
    """Make vcpus, vcpus_billed, physical_cores and threads_per_core.

    A constrained size has fewer vCPUs than its parent, and the same price; how many cores it uses
    is not published. Impossible figures are refused later, and fractions become whole numbers.
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

    MaxResourceVolumeMB, the size of the temporary disk, is in MiB.
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

    The figures exclude bursts: 3,750 IOPS and 85 MB/s for Standard_D2s_v5, which reaches 10,000
    IOPS and 1,200 MB/s for half an hour. Bursts are documented, but are not a capability.
    https://learn.microsoft.com/azure/virtual-machines/sizes/general-purpose/dsv5-series
    """
    unknown = pl.lit(None, dtype=pl.Float64)
    gbps = (_positive("UncachedDiskBytesPerSecond") * 8 / 1e9).round(6)  # not 6.920000000000001
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
    """Read a number; null if it is 0."""
    figure = _number(capability)
    return pl.when(figure != 0).then(figure)


def _name_parts(sizes: list[str]) -> list[pl.Series]:
    """Make series, generation and cpu_vendor, in the sizes' order."""
    parsed = [parse_size(size) for size in sizes]
    return [
        pl.Series(part, [getattr(size, part) if size else None for size in parsed], dtype=pl.String)
        for part in ("series", "generation", "cpu_vendor")
    ]


NUMBERED = {"A", "D", "DS", "G", "GS", "SQLG"}
OLDEST_NAMED = 3
"""Before this version, these families number their sizes: D15_v2 has 20 vCPUs, G5 has 32. All other
1,387 names in the bundled table state the vCPUs, except F64-16ams_v7: its parent has 80."""

STATED = ["instance_type", "vcpus", "memory_gib"]

GIB_PER_VCPU = {"D": 4, "DC": 4, "F": 4, "E": 8, "L": 8}
"""Memory per vCPU of x86 sizes, the same for all 553 sizes of these families in the bundled table
(D, DC, E and F from v5; E and L up to RATIO_MOST_VCPUS). By the naming rules, l sizes have less and
m sizes more."""

FEATURE_GIB_PER_VCPU = {"l": 2, "m": 8}
RATIO_FIRST_VERSION = 5

RATIO_MOST_VCPUS = 64
"""vCPUs of an E or L size up to which the ratio holds: E96s_v5 has 672 GiB, 7 per vCPU."""

NOT_INHERITED = ["physical_cores", "network_gbps_max"]
"""Columns in which a constrained size may differ from its parent."""


def named_sizes(
    priced: pl.DataFrame, listed: pl.DataFrame, sheet: AcceleratorSheet, stated: pl.DataFrame
) -> pl.DataFrame:
    """Make rows of instance_types for the priced sizes that no list has.

    ``priced`` has instance_type, observed_at and raw_sha256 of sizes with a price; ``listed`` has
    the instance_types of the lists; ``stated`` is the sheet azure_sizes. Names that do not follow
    the rules, such as those of dedicated hosts, get no row.
    """
    known = {row["instance_type"].lower(): row for row in listed.iter_rows(named=True)}
    figures = {name: values for name, *values in stated.select(STATED).iter_rows()}
    newest = priced.sort("observed_at", "raw_sha256").unique("instance_type", keep="last")
    rows = []
    for page in newest.sort("instance_type").iter_rows(named=True):
        size = parse_size(page["instance_type"])
        if size is None or size.promo or page["instance_type"].lower() in known:
            continue
        parent = known.get(size.parent.lower()) if size.constrained else None
        if parent is not None:
            row = {**parent, **dict.fromkeys(NOT_INHERITED), "vcpus_billed": parent["vcpus"]}
        else:
            devices, kind = accelerators_of(size.name, None, sheet)
            is_numbered = size.family in NUMBERED and (size.version or 0) < OLDEST_NAMED
            by_name = [None if is_numbered else size.vcpus, memory_of_name(size)]
            vcpus, memory = figures.get(size.parent, by_name)
            row = {
                "provider": "azure",
                "family": size.series,
                "cpu_vendor": size.cpu_vendor,
                "vcpus_billed": vcpus,
                "memory_gib": memory,
                "accelerators": devices,
                "accelerator_kind": kind,
                "corrections": [],
            }
        name = {"series": size.series, "generation": size.generation, "spec_source": "name"}
        rows.append({**row, **page, **name, "vcpus": size.constrained or row["vcpus_billed"]})
    table = pl.DataFrame(rows, schema=InstanceTypes.dtypes)
    return table.with_columns(accelerator_totals())


def memory_of_name(size: Size) -> float | None:
    """Return the memory in GiB by family and vCPUs; None without a common ratio."""
    ratio = GIB_PER_VCPU.get(size.family)
    is_too_large = size.family in ("E", "L") and size.vcpus > RATIO_MOST_VCPUS
    is_too_old = size.family != "L" and (size.version or 0) < RATIO_FIRST_VERSION
    if ratio is None or is_too_large or is_too_old or "p" in size.features or size.constrained:
        return None
    feature_ratios = map(FEATURE_GIB_PER_VCPU.get, size.features)
    return float(size.vcpus * next(filter(None, feature_ratios), ratio))
