"""Read a machine's accelerators: the vendor's devices, and their ids in the spec sheets."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hwprices.providers.aws.inventory import ec2_xml, spec_words
from hwprices.specs.accelerator_names import Match

Matcher = Callable[[str | None, str], Match | None]
"""Finds the spec sheet of (vendor's device name or None, instance type). See
``specs.accelerator_names.accelerator_matcher``."""


@dataclass(frozen=True)
class Devices:
    """Equal devices of a machine as the vendor states them; None where it says nothing."""

    vendor_name: str | None = None
    count: float | None = None
    memory_gib: float | None = None


@dataclass(frozen=True)
class Stated:
    """What the vendor states of a machine's accelerators. ``kind`` is None where unstated."""

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
"""The first list that is not empty decides. Inferentia is in both neuronInfo and
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
"""accelerator_kind by how the accelerator's id begins, for machines whose kind the vendor does not
state. The longest beginning decides."""


def read_accelerators(info: Mapping[str, Any]) -> Stated:
    """Read the accelerators of an InstanceTypeInfo."""
    for listed in API_LISTS:
        structure = ec2_xml.group(info.get(listed.structure))
        if devices := ec2_xml.entries(structure.get(listed.devices)):
            by_aws = all(device.get("manufacturer") == "AWS" for device in devices)
            kind = "neuron" if listed.kind == "inference" and by_aws else listed.kind
            return Stated(kind, tuple(_devices(device) for device in devices))
    return Stated()


def accelerator_column(
    instance_type: str, stated: Iterable[Devices], matcher: Matcher
) -> list[dict[str, Any]]:
    """Make the value of instance_types.accelerators: the stated devices with their spec-sheet ids.

    Where the vendor says nothing of a type known to have accelerators (trn2u, or all but GPUs in
    the price list), the sheet's rule for the type gives id, count and memory.
    """
    by_type = matcher(None, instance_type)
    devices = list(stated) or ([Devices()] if by_type and by_type.count else [])
    return [_entry(device, instance_type, by_type, matcher) for device in devices]


def accelerator_kind(stated: Stated, column: list[dict[str, Any]]) -> str:
    """Decide instance_types.accelerator_kind from the stated kind, or else from the first id."""
    if stated.kind:
        return stated.kind
    return _kind_of(column[0]["accelerator_id"] or "") if column else "none"


def _entry(
    device: Devices, instance_type: str, by_type: Match | None, matcher: Matcher
) -> dict[str, Any]:
    match = matcher(device.vendor_name, instance_type)
    is_same = by_type and (not match or by_type.accelerator_id == match.accelerator_id)
    sheet = by_type if is_same else match
    return {
        "accelerator_id": match.accelerator_id if match else None,
        "vendor_name": device.vendor_name,
        # Before the API had GpuPartitionSize it answered 0 for a slice of a GPU.
        "count": device.count or (sheet.count if sheet else None),
        "memory_gib": device.memory_gib or (sheet.memory_gib if sheet else None),
    }


def _devices(device: Mapping[str, Any]) -> Devices:
    name = device.get("name") or None
    count = ec2_xml.number(device.get("count"))
    mib = ec2_xml.number(ec2_xml.group(device.get("memoryInfo")).get("sizeInMiB"))
    memory = mib / spec_words.MIB_PER_GIB if mib else None
    share = ec2_xml.number(device.get("gpuPartitionSize"))
    slices = ec2_xml.number(device.get("logicalGpuCount"))
    if share and slices:
        # A slice of a GPU counts as a fraction of one; the memory stated is the slice's.
        return Devices(name, slices * share, memory / share if memory else None)
    return Devices(name, count, memory if count else None)


def _kind_of(accelerator_id: str) -> str:
    beginnings = [start for start in KINDS if accelerator_id.startswith(start)]
    return KINDS[max(beginnings, key=len)] if beginnings else "gpu"
