"""Instance types: what DescribeInstanceTypes says, and where it was not asked, what the price list says.

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceTypeInfo.html
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import polars as pl

from hwprices.providers.aws.inventory import ec2_xml, spec_words
from hwprices.providers.aws.kinds import HOME_REGION as HOME
from hwprices.rows import frames
from hwprices.rows.accelerators import accelerator_totals
from hwprices.schemas.catalog import InstanceTypes
from hwprices.specs import accelerator_names

"""Asked first where regions answer differently about one type: the region that has nearly all of them."""

MIB_PER_GIB = 1024

ARCHITECTURES = {"x86_64": "x86_64", "x86_64_mac": "x86_64", "arm64": "arm64", "arm64_mac": "arm64"}
"""i386 is left out on purpose: c1.medium lists it first, and runs 64-bit like all others."""

ACCELERATOR_LISTS = [
    ("gpu", "gpuInfo", "gpus"),
    ("neuron", "neuronInfo", "neuronDevices"),
    ("inference", "inferenceAcceleratorInfo", "accelerators"),
    ("fpga", "fpgaInfo", "fpgas"),
    ("media", "mediaAcceleratorInfo", "accelerators"),
]
"""Where the API keeps accelerators, in the order in which a kind is decided."""

KINDS = {
    "nvidia": "gpu",
    "amd-v": "gpu",
    "intel-gaudi": "gpu",
    "aws-": "neuron",
    "qualcomm": "inference",
    "amd-virtex": "fpga",
    "amd-alveo-u30": "media",
}
"""accelerator_kind of ids found by the type's name alone, by how they begin; the longest that fits decides."""


@dataclass
class Known:
    """What is known of one type, and where it was read."""

    said: dict[str, Any]
    observed_at: datetime
    raw_sha256: str


@dataclass
class Catalogue:
    """Types as they are met, region by region: the first answer about a type stays, HOME's goes before all others."""

    api: dict[str, Known] = field(default_factory=dict)
    listed: dict[str, Known] = field(default_factory=dict)
    cpu_models: dict[str, set[str]] = field(default_factory=dict)
    systems: dict[str, set[str]] = field(default_factory=dict)

    def add_answer(self, region: str, body: bytes, observed_at: datetime, raw_sha256: str) -> None:
        """One page of DescribeInstanceTypes (XML)."""
        for info in ec2_xml.items(body, "instanceTypeSet"):
            known = Known(from_api(info), observed_at, raw_sha256)
            name = known.said["instance_type"]
            if name not in self.api or region == HOME:
                self.api[name] = known

    def add_attributes(
        self, region: str, attributes: pl.DataFrame, observed_at: datetime, raw_sha256: str
    ) -> None:
        """Attributes of one region's price list (``price_list.PriceList.attributes``); what most lines say of a type counts."""
        met: set[str] = set()
        for row in attributes.sort(
            ["instance_type", "lines"], descending=[False, True], maintain_order=True
        ).iter_rows(named=True):
            name = row["instance_type"]
            self.cpu_models.setdefault(name, set()).update(
                spec_words.processors(row["physical_processor"])
            )
            self.systems.setdefault(name, set()).update(row["systems"])
            if name not in met and (name not in self.listed or region == HOME):
                self.listed[name] = Known(from_attributes(row), observed_at, raw_sha256)
            met.add(name)

    def frame(self) -> pl.DataFrame:
        """The instance_types table."""
        matcher = accelerator_names.accelerator_matcher("aws")
        rows = [self._row(name, matcher) for name in sorted({*self.api, *self.listed})]
        wanted = frames.dtypes(InstanceTypes)
        built = pl.DataFrame(
            rows,
            schema={
                n: t
                for n, t in wanted.items()
                if n not in ("accelerator_count", "accelerator_memory_gib")
            },
            orient="row",
        )
        return frames.conform(
            built.lazy().with_columns(accelerator_totals()), InstanceTypes
        ).collect()

    def _row(self, name: str, matcher: Any) -> dict[str, Any]:
        known = self.api.get(name) or self.listed[name]
        models = sorted(self.cpu_models.get(name, set()))
        said = {**_named(name), **known.said}
        devices = accelerators(name, said.pop("devices"), matcher)
        kind = said.pop("kind") or (_kind(devices[0]["accelerator_id"]) if devices else "none")
        if models and name not in self.api:
            said |= {
                "cpu_vendor": spec_words.cpu_vendor(models[0]),
                "arch": spec_words.arch(models[0]),
            }
        return said | {
            "accelerators": devices,
            "accelerator_kind": kind,
            "cpu_models": models or None,
            "os_support": sorted(self.systems.get(name, set())) or None,
            "observed_at": known.observed_at,
            "raw_sha256": known.raw_sha256,
        }


def _named(name: str) -> dict[str, Any]:
    """What a type's name alone tells. Any family prefix will do: new ones come every quarter."""
    family = name.partition(".")[0]
    return {
        "provider": "aws",
        "instance_type": name,
        "family": family,
        "series": family,
        "generation": spec_words.generation(family),
        "corrections": [],
    }


def from_api(info: Mapping[str, Any]) -> dict[str, Any]:
    """One InstanceTypeInfo as columns of instance_types, with ``devices`` and ``kind`` for the accelerators."""
    cpu, processor = ec2_xml.group(info.get("vCpuInfo")), ec2_xml.group(info.get("processorInfo"))
    vcpus, cores = ec2_xml.number(cpu.get("defaultVCpus")), ec2_xml.number(cpu.get("defaultCores"))
    memory, threads = (
        ec2_xml.number(ec2_xml.group(info.get("memoryInfo")).get("sizeInMiB")),
        ec2_xml.number(cpu.get("defaultThreadsPerCore")),
    )
    metal, current = (
        ec2_xml.truth(info.get("bareMetal")),
        ec2_xml.truth(info.get("currentGeneration")),
    )
    archs = [
        ARCHITECTURES[a]
        for a in ec2_xml.strings(processor.get("supportedArchitectures"))
        if a in ARCHITECTURES
    ]
    kind, devices = _devices(info)
    return {
        "instance_type": info["instanceType"],
        "status": None if current is None else "current" if current else "previous",
        "arch": archs[0] if archs else None,
        "cpu_vendor": processor.get("manufacturer") or None,
        "boost_ghz": ec2_xml.number(processor.get("sustainedClockSpeedInGhz")),
        "vcpus": int(vcpus) if vcpus else None,
        "vcpus_billed": vcpus or None,
        "physical_cores": int(cores) if cores else None,
        "threads_per_core": int(threads) if threads else None,
        "memory_gib": memory / MIB_PER_GIB if memory else None,
        "burstable": ec2_xml.truth(info.get("burstablePerformanceSupported")),
        "bare_metal": metal,
        "hypervisor": info.get("hypervisor") or ("none" if metal else None),
        "confidential_computing": _confidential(info, processor),
        "kind": kind,
        "devices": devices,
        "spec_source": "api",
        **_disks(info),
        **_network(ec2_xml.group(info.get("networkInfo"))),
    }


def from_attributes(row: Mapping[str, Any]) -> dict[str, Any]:
    """One type's attributes in the price list as columns of instance_types."""
    vcpus, clock = spec_words.whole(row["vcpu"]), spec_words.clock_ghz(row["clock_speed"])
    storage = spec_words.disks(row["storage"])
    gpus = spec_words.whole(row["gpu"])
    return {
        "status": {"Yes": "current", "No": "previous"}.get(row["current_generation"]),
        "boost_ghz": clock,
        "vcpus": vcpus,
        "vcpus_billed": float(vcpus) if vcpus else None,
        "memory_gib": spec_words.memory_gib(row["memory"]),
        "bare_metal": "bare metal" in row["product_family"] or ".metal" in row["instance_type"],
        "local_disk_gib": storage.gib if storage else None,
        "local_disk_count": storage.number if storage else None,
        "local_disk_kind": storage.kind if storage else None,
        "network_gbps_max": spec_words.network_gbps(row["network_performance"]),
        "kind": "gpu" if gpus else None,
        # The list counts GPUs and names none; which they are, the type's name tells.
        "devices": [{"vendor_name": None, "count": float(gpus), "memory_gib": None}]
        if gpus
        else [],
        "spec_source": "price_list",
    }


def accelerators(
    name: str, devices: Iterable[Mapping[str, Any]], matcher: Any
) -> list[dict[str, Any]]:
    """The accelerators column of one type: the vendor's devices with their spec-sheet ids.

    Where the vendor says nothing of a type known to have accelerators (trn2u, or all but GPUs in the price list), the
    sheet's rule for the type stands in, with its count and memory.
    """
    found = [dict(device) for device in devices]
    alone = matcher(None, name)
    if not found and alone and alone.count:
        found = [{"vendor_name": None, "count": None, "memory_gib": None}]
    out = []
    for device in found:
        match = matcher(device["vendor_name"], name)
        fallback = (
            alone
            if alone and (not match or alone.accelerator_id == match.accelerator_id)
            else match
        )
        out.append(
            {
                "accelerator_id": match.accelerator_id if match else None,
                "vendor_name": device["vendor_name"],
                # A count of 0 was the API's answer for a slice of a GPU before it had GpuPartitionSize.
                "count": device["count"] or (fallback.count if fallback else None),
                "memory_gib": device["memory_gib"] or (fallback.memory_gib if fallback else None),
            }
        )
    return out


def _devices(info: Mapping[str, Any]) -> tuple[str | None, list[dict[str, Any]]]:
    """Accelerators and their kind. One device is listed once: Inferentia comes in both NeuronInfo and InferenceAcceleratorInfo."""
    for kind, holder, listed in ACCELERATOR_LISTS:
        devices = ec2_xml.entries(ec2_xml.group(info.get(holder)).get(listed))
        if devices:
            own = kind == "inference" and all(d.get("manufacturer") == "AWS" for d in devices)
            return ("neuron" if own else kind), [_device(d) for d in devices]
    return None, []


def _device(device: Mapping[str, Any]) -> dict[str, Any]:
    """Count and memory of one device. A slice of a GPU is a fraction of one, and the memory told is the slice's."""
    share = ec2_xml.number(device.get("gpuPartitionSize"))
    logical, count = (
        ec2_xml.number(device.get("logicalGpuCount")),
        ec2_xml.number(device.get("count")),
    )
    memory = ec2_xml.number(ec2_xml.group(device.get("memoryInfo")).get("sizeInMiB"))
    sliced = bool(share and logical)
    return {
        "vendor_name": device.get("name") or None,
        "count": logical * share if sliced and logical and share else count,
        # Only a device told as a slice has its memory told as a slice's.
        "memory_gib": memory / MIB_PER_GIB / (share if sliced and share else 1)
        if memory and (sliced or count)
        else None,
    }


def _kind(accelerator_id: str | None) -> str:
    fitting = [start for start in KINDS if (accelerator_id or "").startswith(start)]
    return KINDS[max(fitting, key=len)] if fitting else "gpu"


def _confidential(info: Mapping[str, Any], processor: Mapping[str, Any]) -> list[str] | None:
    """AMD SEV-SNP and Nitro Enclaves, as far as the answer speaks of them."""
    have = (
        ["sev_snp"] if "amd-sev-snp" in ec2_xml.strings(processor.get("supportedFeatures")) else []
    )
    enclaves = info.get("nitroEnclavesSupport")
    return (
        have + (["nitro_enclaves"] if enclaves == "supported" else []) if enclaves or have else None
    )


def _disks(info: Mapping[str, Any]) -> dict[str, Any]:
    storage = ec2_xml.group(info.get("instanceStorageInfo"))
    disks = ec2_xml.entries(storage.get("disks"))
    if not disks:
        none = ec2_xml.truth(info.get("instanceStorageSupported")) is False
        return {
            "local_disk_gib": 0.0 if none else None,
            "local_disk_count": 0 if none else None,
            "local_disk_kind": None,
        }
    total = sum(
        (ec2_xml.number(d.get("sizeInGB")) or 0) * (ec2_xml.number(d.get("count")) or 0)
        for d in disks
    )
    kind = disks[0].get("type")
    nvme = storage.get("nvmeSupport") in ("required", "supported")
    return {
        "local_disk_gib": total * spec_words.GIB_PER_GB,
        "local_disk_count": int(sum(ec2_xml.number(d.get("count")) or 0 for d in disks)),
        "local_disk_kind": "nvme_ssd"
        if kind == "ssd" and nvme
        else kind
        if kind in ("ssd", "hdd")
        else None,
    }


def _network(network: Mapping[str, Any]) -> dict[str, Any]:
    """Bandwidth of the whole machine.

    The machine's own figure goes first: two cards of 200 Gbit/s are c6in.32xlarge's 200, not 400, and p6-b200's cards of 200 carry 400
    with EFA. Only where it is no figure ("Moderate") or the answer has cards alone, the cards are summed: p5.48xlarge has 32 of 100.
    """
    cards = ec2_xml.entries(network.get("networkCards"))
    peak = sum(
        ec2_xml.number(c.get("peakBandwidthInGbps"))
        or spec_words.network_gbps(c.get("networkPerformance"))
        or 0
        for c in cards
    )
    base = sum(ec2_xml.number(c.get("baselineBandwidthInGbps")) or 0 for c in cards)
    most = spec_words.network_gbps(network.get("networkPerformance")) or peak or None
    efa = ec2_xml.truth(network.get("efaSupported"))
    return {
        "network_gbps_max": most,
        "network_gbps_baseline": (min(base, most) if most else base) or None,
        "rdma": None if efa is None else "efa" if efa else "none",
    }
