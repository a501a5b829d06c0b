"""Make rows of the tables instance_types and availability (which types each zone offers).

The EC2 API describes types exactly. Other types have the attributes of the price list.
https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceTypeInfo.html
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.providers.aws import (
    CAPACITY_BLOCKS,
    HOME_REGION,
    INSTANCE_TYPES,
    OFFERINGS,
    responses,
)
from hwprices.providers.aws.regions import region_of
from hwprices.providers.aws.responses import PriceListFacts
from hwprices.rows import frames
from hwprices.rows.vendor_rows import accelerator_totals, split_possible
from hwprices.schemas.tables import Availability, InstanceTypes
from hwprices.specs.accelerator_names import Match, Matcher, accelerator_matcher


@dataclass(frozen=True)
class Devices:
    """Equal devices of a machine as the vendor states them; None if unstated."""

    vendor_name: str | None = None
    count: float | None = None
    memory_gib: float | None = None


@dataclass(frozen=True)
class Stated:
    """What the vendor states about a machine's accelerators. ``kind`` is None if unstated."""

    kind: str | None = None
    devices: tuple[Devices, ...] = ()


@dataclass(frozen=True)
class ApiList:
    """Where DescribeInstanceTypes lists accelerators of one kind: <structure>.<devices>."""

    kind: str
    structure: str
    devices: str


API_LISTS = [
    ApiList("gpu", "gpuInfo", "gpus"),
    ApiList("neuron", "neuronInfo", "neuronDevices"),
    ApiList("inference", "inferenceAcceleratorInfo", "accelerators"),
    ApiList("fpga", "fpgaInfo", "fpgas"),
    ApiList("media", "mediaAcceleratorInfo", "accelerators"),
]
"""The first list that is not empty is used. Inferentia is in both neuronInfo and
inferenceAcceleratorInfo, and counts once."""

KINDS = {
    "nvidia": "gpu",
    "amd-v": "gpu",
    "intel-gaudi": "gpu",
    "aws-": "neuron",
    "qualcomm": "inference",
    "amd-virtex": "fpga",
    "amd-alveo-u30": "media",
}
"""Prefix of the accelerator's id → accelerator_kind, for machines whose kind the vendor does not
state. The longest prefix is used."""

LONGEST_FIRST = sorted(KINDS, key=len, reverse=True)


def read_accelerators(info: Mapping[str, Any]) -> Stated:
    """Read the accelerators of an InstanceTypeInfo."""
    for listed in API_LISTS:
        structure = responses.group(info.get(listed.structure))
        if devices := responses.entries(structure.get(listed.devices)):
            by_aws = all(device.get("manufacturer") == "AWS" for device in devices)
            kind = "neuron" if listed.kind == "inference" and by_aws else listed.kind
            return Stated(kind, tuple(_devices(device) for device in devices))
    return Stated()


def accelerator_column(
    instance_type: str, stated: Iterable[Devices], matcher: Matcher
) -> list[dict[str, Any]]:
    """Make the value of instance_types.accelerators: the stated devices with their spec-sheet ids.

    If the vendor states no accelerators of a type that has some (trn2u, or all but GPUs in the
    price list), the sheet's rule for the type gives id, count and memory.
    """
    by_type = matcher(None, instance_type)
    devices = list(stated) or ([Devices()] if by_type and by_type.count else [])
    return [_entry(device, instance_type, by_type, matcher) for device in devices]


def accelerator_kind(stated: Stated, column: list[dict[str, Any]]) -> str:
    """Return the value of accelerator_kind: the stated kind, or else by the first id."""
    if stated.kind or not column:
        return stated.kind or "none"
    first = column[0]["accelerator_id"] or ""
    return next((KINDS[prefix] for prefix in LONGEST_FIRST if first.startswith(prefix)), "gpu")


def _entry(
    device: Devices, instance_type: str, by_type: Match | None, matcher: Matcher
) -> dict[str, Any]:
    match = matcher(device.vendor_name, instance_type)
    is_same = by_type and (not match or by_type.accelerator_id == match.accelerator_id)
    sheet = by_type if is_same else match
    return {
        "accelerator_id": match.accelerator_id if match else None,
        "vendor_name": device.vendor_name,
        # Before the API had GpuPartitionSize, its count of a slice of a GPU was 0.
        "count": device.count or (sheet.count if sheet else None),
        "memory_gib": device.memory_gib or (sheet.memory_gib if sheet else None),
    }


def _devices(device: Mapping[str, Any]) -> Devices:
    name = device.get("name") or None
    count = responses.number(device.get("count"))
    mib = responses.number(responses.group(device.get("memoryInfo")).get("sizeInMiB"))
    memory = mib / responses.MIB_PER_GIB if mib else None
    share = responses.number(device.get("gpuPartitionSize"))
    slices = responses.number(device.get("logicalGpuCount"))
    if share and slices:
        # A slice counts as a fraction of a GPU; the memory stated is the slice's.
        return Devices(name, slices * share, memory / share if memory else None)
    return Devices(name, count, memory if count else None)


def availability_rows(pages: Pages, region: str) -> pl.DataFrame:
    """Make one region's availability rows from DescribeInstanceTypeOfferings."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for page in pages.of(OFFERINGS, region):
        with pages.leave_out(page):
            rows |= _offerings(pages, page)
    # EC2 does not say what the account may not use, so restricted and its reason are null.
    return pl.DataFrame(list(rows.values()), schema=Availability.dtypes)


def _offerings(pages: Pages, page: Page) -> dict[tuple[str, str], dict[str, Any]]:
    """Read the rows of one page: (zone, type) → row."""
    names = ("location", "instanceType")
    return {
        (offering["location"], offering["instanceType"]): {
            "provider": "aws",
            "region": region_of(offering["location"]),
            "zone": offering["location"],
            "instance_type": offering["instanceType"],
            "offered": True,
            "observed_at": page.retrieved_at,
            "raw_sha256": page.sha256,
        }
        for offering in responses.landed_items(pages, page, "instanceTypeOfferingSet", *names)
    }


ARCHITECTURES = {"x86_64": "x86_64", "x86_64_mac": "x86_64", "arm64": "arm64", "arm64_mac": "arm64"}
"""i386 is left out on purpose: c1.medium lists it first, but runs 64-bit code like all others."""


@dataclass(frozen=True)
class Description:
    """One type as one page describes it: columns of the table, and its accelerators."""

    columns: Mapping[str, Any]
    accelerators: Stated
    page: Page


@dataclass
class PriceListWords:
    """What the price lists of all regions say, by instance type.

    ``descriptions`` has that of HOME_REGION, or else of the first region.
    """

    descriptions: dict[str, Description] = field(default_factory=dict)
    cpu_models: dict[str, set[str]] = field(default_factory=dict)
    systems: dict[str, set[str]] = field(default_factory=dict)


def instance_type_rows(
    pages: Pages, price_lists: Sequence[PriceListFacts]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Make the instance_types table from DescribeInstanceTypes and the price lists' attributes.

    Returns:
        its rows, and quarantine rows of types with impossible figures.

    Raises:
        HwpricesError: a page is not XML, or two rules of the accelerator sheet disagree.
    """
    described = read_ultraservers(pages) | read_described_types(pages)
    words = read_price_list_words(price_lists)
    matcher = accelerator_matcher("aws")
    names = sorted({*described, *words.descriptions})
    descriptions = [described.get(name) or words.descriptions[name] for name in names]
    possible, refused = split_possible(
        (_row(name, description, words, matcher), description.page)
        for name, description in zip(names, descriptions, strict=True)
    )
    rows = [row for row, _ in possible]
    totals = ("accelerator_count", "accelerator_memory_gib")
    schema = {n: t for n, t in InstanceTypes.dtypes.items() if n not in totals}
    frame = pl.from_dicts(rows, schema=schema).lazy().with_columns(accelerator_totals())
    return frames.conform(frame, InstanceTypes).collect(), refused


def read_described_types(pages: Pages) -> dict[str, Description]:
    """Read all pages of DescribeInstanceTypes: instance type → description.

    The first description of a type is kept; HOME_REGION comes first.
    """
    described: dict[str, Description] = {}
    for region in sorted(pages.regions(INSTANCE_TYPES), key=lambda name: name != HOME_REGION):
        for page in pages.of(INSTANCE_TYPES, region):
            with pages.leave_out(page):
                listed = responses.landed_items(pages, page, "instanceTypeSet", "instanceType")
                types = {info["instanceType"]: _from_api(info, page) for info in reversed(listed)}
                described = types | described
    return described


def read_ultraservers(pages: Pages) -> dict[str, Description]:
    """Describe the UltraServers that are offered. EC2 has their prices, but not their specs."""
    return {
        page.params["UltraserverType"]: Description({"spec_source": "api"}, Stated(), page)
        for page in pages.of(CAPACITY_BLOCKS)
        if "UltraserverType" in page.params
    }


def read_price_list_words(price_lists: Iterable[PriceListFacts]) -> PriceListWords:
    """Read the attributes in every price list. In each, a type's most frequent set is used."""
    words = PriceListWords()
    for facts in price_lists:
        machines = facts.machines.sort(
            ["instance_type", "lines"], descending=[False, True], maintain_order=True
        )
        for row in machines.iter_rows(named=True):
            models = responses.processors(row["physical_processor"])
            words.cpu_models.setdefault(row["instance_type"], set()).update(models)
            words.systems.setdefault(row["instance_type"], set()).update(row["systems"])
        for row in machines.unique("instance_type", keep="first", maintain_order=True).iter_rows(
            named=True
        ):
            name = row["instance_type"]
            if name not in words.descriptions or facts.region == HOME_REGION:
                words.descriptions[name] = _from_attributes(row, facts.page)
    return words


def _row(
    name: str, description: Description, words: PriceListWords, matcher: Matcher
) -> dict[str, Any]:
    models = sorted(words.cpu_models.get(name, set()))
    column = accelerator_column(name, description.accelerators.devices, matcher)
    family = name.partition(".")[0]
    row = {
        "provider": "aws",
        "instance_type": name,
        "family": family,
        "series": family,
        "generation": responses.generation(family),
        "corrections": [],
        **description.columns,
        "accelerators": column,
        "accelerator_kind": accelerator_kind(description.accelerators, column),
        "cpu_models": models or None,
        "os_support": sorted(words.systems.get(name, set())) or None,
        "observed_at": description.page.retrieved_at,
        "raw_sha256": description.page.sha256,
    }
    if models and description.columns["spec_source"] == "price_list":
        row["cpu_vendor"] = responses.cpu_vendor(models[0])
        row["arch"] = responses.arch(models[0])
    return row


def _from_api(info: Mapping[str, Any], page: Page) -> Description:
    processor = responses.group(info.get("processorInfo"))
    is_metal = responses.boolean(info.get("bareMetal"))
    listed = responses.strings(processor.get("supportedArchitectures"))
    archs = [ARCHITECTURES[name] for name in listed if name in ARCHITECTURES]
    columns = {
        "status": _status(responses.boolean(info.get("currentGeneration"))),
        "arch": archs[0] if archs else None,
        "cpu_vendor": responses.text(processor.get("manufacturer")),
        "boost_ghz": responses.number(processor.get("sustainedClockSpeedInGhz")),
        "burstable": responses.boolean(info.get("burstablePerformanceSupported")),
        "bare_metal": is_metal,
        "hypervisor": responses.text(info.get("hypervisor")) or ("none" if is_metal else None),
        "confidential_computing": _confidential(info, processor),
        "spec_source": "api",
        **_cpu_and_memory(info),
        **_disks(info),
        **_network(responses.group(info.get("networkInfo"))),
        **_block_storage(responses.group(info.get("ebsInfo"))),
    }
    return Description(columns, read_accelerators(info), page)


def _status(is_current: bool | None) -> str | None:
    return None if is_current is None else {True: "current", False: "previous"}[is_current]


def _cpu_and_memory(info: Mapping[str, Any]) -> dict[str, Any]:
    cpu = responses.group(info.get("vCpuInfo"))
    vcpus = responses.number(cpu.get("defaultVCpus"))
    cores = responses.number(cpu.get("defaultCores"))
    threads = responses.number(cpu.get("defaultThreadsPerCore"))
    mib = responses.number(responses.group(info.get("memoryInfo")).get("sizeInMiB"))
    return {
        "vcpus": int(vcpus) if vcpus else None,
        "vcpus_billed": vcpus or None,
        "physical_cores": int(cores) if cores else None,
        "threads_per_core": int(threads) if threads else None,
        "memory_gib": mib / responses.MIB_PER_GIB if mib else None,
    }


def _from_attributes(row: Mapping[str, Any], page: Page) -> Description:
    """Read one type's attributes in the price list."""
    vcpus = responses.count(row["vcpu"])
    disks = responses.disks(row["storage"])
    gpus = responses.count(row["gpu"])
    columns = {
        "status": {"Yes": "current", "No": "previous"}.get(row["current_generation"]),
        "boost_ghz": responses.clock_ghz(row["clock_speed"]),
        "vcpus": vcpus,
        "vcpus_billed": float(vcpus) if vcpus else None,
        "memory_gib": responses.memory_gib(row["memory"]),
        "bare_metal": "bare metal" in row["product_family"] or ".metal" in row["instance_type"],
        "local_disk_gib": disks.gib if disks else None,
        "local_disk_count": disks.number if disks else None,
        "local_disk_kind": disks.kind if disks else None,
        "network_gbps_max": responses.network_gbps(row["network_performance"]),
        "spec_source": "price_list",
    }
    # The list counts GPUs but does not name them; the sheet's rule for the type does.
    stated = Stated("gpu", (Devices(count=float(gpus)),)) if gpus else Stated()
    return Description(columns, stated, page)


def _confidential(info: Mapping[str, Any], processor: Mapping[str, Any]) -> list[str] | None:
    """List sev_snp and nitro_enclaves; None where the response mentions neither."""
    features = responses.strings(processor.get("supportedFeatures"))
    enclaves = responses.text(info.get("nitroEnclavesSupport"))
    supported = ["sev_snp"] if "amd-sev-snp" in features else []
    if enclaves == "supported":
        supported.append("nitro_enclaves")
    return supported if enclaves or supported else None


def _disks(info: Mapping[str, Any]) -> dict[str, Any]:
    storage = responses.group(info.get("instanceStorageInfo"))
    disks = responses.entries(storage.get("disks"))
    if not disks:
        has_none = responses.boolean(info.get("instanceStorageSupported")) is False
        return {
            "local_disk_gib": 0.0 if has_none else None,
            "local_disk_count": 0 if has_none else None,
            "local_disk_kind": None,
        }
    # A figure that a disk does not state is unknown: 0 would mean a machine without disks.
    counts = [responses.number(disk.get("count")) for disk in disks]
    sizes = [responses.number(disk.get("sizeInGB")) for disk in disks]
    known = [size * count for size, count in zip(sizes, counts, strict=True) if size and count]
    return {
        "local_disk_gib": sum(known) * responses.GIB_PER_GB if len(known) == len(disks) else None,
        "local_disk_count": int(sum(filter(None, counts))) if all(counts) else None,
        "local_disk_kind": _disk_kind(
            responses.text(disks[0].get("type")), responses.text(storage.get("nvmeSupport"))
        ),
    }


def _disk_kind(kind: str | None, nvme_support: str | None) -> str | None:
    if kind == "ssd" and nvme_support in ("required", "supported"):
        return "nvme_ssd"
    return kind if kind in ("ssd", "hdd") else None


def _network(network: Mapping[str, Any]) -> dict[str, Any]:
    """Read the total bandwidth of the machine.

    The machine's own figure is preferred: c6in.32xlarge has two cards of 200 Gbit/s and a total of
    200, and p6-b200's cards of 200 carry 400 with EFA. If it is not a number ("Moderate") or is
    absent, the cards are summed: p5.48xlarge has 32 of 100.
    """
    cards = responses.entries(network.get("networkCards"))
    baseline = sum(responses.number(card.get("baselineBandwidthInGbps")) or 0 for card in cards)
    stated = responses.network_gbps(responses.text(network.get("networkPerformance")))
    highest = stated or sum(_peak_gbps(card) for card in cards) or None
    has_efa = responses.boolean(network.get("efaSupported"))
    return {
        "network_gbps_max": highest,
        "network_gbps_baseline": (min(baseline, highest) if highest else baseline) or None,
        "rdma": None if has_efa is None else {True: "efa", False: "none"}[has_efa],
    }


def _peak_gbps(card: Mapping[str, Any]) -> float:
    stated = responses.number(card.get("peakBandwidthInGbps"))
    return stated or responses.network_gbps(responses.text(card.get("networkPerformance"))) or 0


def _block_storage(ebs: Mapping[str, Any]) -> dict[str, Any]:
    """Read the EBS bandwidth and IOPS of an EBS-optimized machine; null for other machines.

    With several EBS cards, the figures are sums. The throughput in MB/s beside them is the same
    bandwidth in another unit.
    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_EbsOptimizedInfo.html
    """
    optimized = responses.group(ebs.get("ebsOptimizedInfo"))
    figures: dict[str, Any] = {}
    for ours, theirs in (("baseline", "baseline"), ("max", "maximum")):
        mbps = responses.number(optimized.get(f"{theirs}BandwidthInMbps"))
        iops = responses.number(optimized.get(f"{theirs}Iops"))
        figures[f"block_storage_gbps_{ours}"] = mbps / 1000 if mbps else None
        figures[f"block_storage_iops_{ours}"] = int(iops) if iops else None
    return figures
