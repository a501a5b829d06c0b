"""Make rows of instance_types: the machines that plans describe."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import polars as pl

from hwprices.providers.ovh import kinds
from hwprices.providers.ovh.plans import Plan
from hwprices.rows import frames
from hwprices.rows.accelerators import accelerator_totals
from hwprices.schemas.inventory import InstanceTypes
from hwprices.specs.accelerator_names import Matcher

ARCH = "x86_64"
"""All machines are Intel or AMD: https://www.ovhcloud.com/en/public-cloud/compute/."""

GIB = {"GiB": 1.0, "GB": 10**9 / 2**30, "TB": 10**12 / 2**30}
"""Unit of a disk's capacity → GiB in one."""

LARGEST_FIGURE = 10**9
"""Of anything in a machine: cores, GB, Mbit/s."""


def instance_type_rows(plans: Sequence[Plan], match: Matcher) -> pl.DataFrame:
    """Return one row for each flavor, sorted. All its plans describe the same machine.

    Raises:
        UnreadablePageError: see ``Pages.parsing``, in which the caller must be.
    """
    first = {plan.flavor: plan for plan in reversed(plans)}
    rows = [_row(plan, match) for _, plan in sorted(first.items())]
    frame = pl.DataFrame(rows, schema=frames.dtypes(InstanceTypes))
    return frame.with_columns(*accelerator_totals())


def _row(plan: Plan, match: Matcher) -> dict[str, Any]:
    technical = plan.technical
    is_bundled = plan.page.params.get("source") == kinds.BUNDLED
    bandwidth = _figure(technical.get("bandwidth"), "level")
    family = re.sub(r"-\d+$", "", plan.flavor)
    return {
        "provider": "ovh",
        "instance_type": plan.flavor,
        "family": family,
        "series": family,
        "status": _status(plan),
        "arch": ARCH,
        **_cpu_columns(technical["cpu"]),
        "memory_gib": _figure(technical["memory"], "size"),
        **_accelerator_columns(plan, match),
        **_disk_columns(technical.get("storage")),
        "network_gbps_baseline": bandwidth / 1000 if bandwidth else None,
        "spec_source": "bundled" if is_bundled else "api",
        "corrections": [],
        "observed_at": plan.page.retrieved_at,
        "raw_sha256": plan.page.sha256,
    }


def _status(plan: Plan) -> str | None:
    """Return the status; a flavor that is coming soon has none yet, though it has a price."""
    if "legacy" in plan.tags:
        return "previous"
    return "current" if "active" in plan.tags else None


def _cpu_columns(cpu: Mapping[str, Any]) -> dict[str, Any]:
    """Return vCPUs and cores.

    A vCore is a thread, two to a core. Of bare metal (type ``core``) the catalog has both.
    """
    cores, threads = _whole(cpu, "cores"), _whole(cpu, "threads")
    model = cpu.get("model")
    named = [model] if isinstance(model, str) and model not in ("", "vCore") else None
    is_metal = cpu.get("type") == "core"
    if is_metal:
        vcpus, physical = threads, cores
    else:
        vcpus, physical = cores, cores // 2 if cores and cores % 2 == 0 else None
    return {
        "cpu_models": named,
        "vcpus": vcpus,
        "physical_cores": physical,
        "threads_per_core": vcpus // physical if vcpus and physical else None,
        "bare_metal": is_metal,
    }


def _accelerator_columns(plan: Plan, match: Matcher) -> dict[str, Any]:
    """Name the GPU. ``memory.size`` is that of one."""
    gpu = plan.technical.get("gpu")
    if not gpu:
        return {"accelerators": [], "accelerator_kind": "none"}
    model = str(gpu["model"])
    sheet = match(model, plan.flavor)
    memory = _figure(gpu.get("memory"), "size")
    accelerator = {
        "accelerator_id": sheet.accelerator_id if sheet else None,
        "vendor_name": model,
        "count": _figure(gpu, "number"),
        "memory_gib": memory or (sheet.memory_gib if sheet else None),
    }
    return {"accelerators": [accelerator], "accelerator_kind": "gpu"}


def _disk_columns(storage: Any) -> dict[str, Any]:
    """Return the local disks; their size only where the catalog has a unit."""
    disks = (storage or {}).get("disks") or []
    if not disks:
        return {}
    counts = [_whole(disk, "number") or 1 for disk in disks]
    sizes = [_figure(disk, "capacity") for disk in disks]
    units = [GIB.get(str(disk.get("sizeUnit"))) for disk in disks]
    total = [
        count * size * unit
        for count, size, unit in zip(counts, sizes, units, strict=True)
        if size and unit
    ]
    technologies = {str(disk.get("technology") or "").upper() for disk in disks}
    kind = {"NVME": "nvme_ssd", "SSD": "ssd"}.get(technologies.pop())
    return {
        "local_disk_gib": sum(total) if len(total) == len(disks) else None,
        "local_disk_count": sum(counts),
        "local_disk_kind": kind if not technologies else None,
    }


def _figure(item: Mapping[str, Any] | None, name: str) -> float | None:
    """Return a number above 0, None where there is none.

    Raises:
        ValueError: it is something else.
    """
    number = (item or {}).get(name)
    if number is None or number == 0:
        return None
    if isinstance(number, bool) or not isinstance(number, int | Decimal):
        raise ValueError(f"{name} is {str(number)[:40]!r}")
    if not 0 < number <= LARGEST_FIGURE:
        raise ValueError(f"no machine has {name} {number}")
    return float(number)


def _whole(item: Mapping[str, Any], name: str) -> int | None:
    number = _figure(item, name)
    if number is not None and number != int(number):
        raise ValueError(f"{name} {number} is not whole")
    return None if number is None else int(number)
