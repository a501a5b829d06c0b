"""Make rows of instance_types from shapes and the sheets."""

from typing import Any

import polars as pl

from hwprices.providers.oracle import kinds
from hwprices.providers.oracle.inventory.shapes import Machine
from hwprices.providers.oracle.prices.products import Products
from hwprices.providers.oracle.sheets import Sheets
from hwprices.rows import frames
from hwprices.rows.accelerators import accelerator_totals
from hwprices.schemas.inventory import InstanceTypes

GIB_PER_TB = 10**12 / 2**30
"""Oracle sells NVMe disk by the decimal terabyte."""

ARCHITECTURES = {"amd": "x86_64", "intel": "x86_64", "arm": "arm64"}
"""The estimator's processorType → instruction set."""


def instance_type_rows(machines: list[Machine], products: Products, sheets: Sheets) -> pl.DataFrame:
    """Return one row for each machine type, in the order of the pages."""
    rows = [_row(machine, products, sheets) for machine in machines]
    frame = pl.DataFrame(rows, schema=frames.dtypes(InstanceTypes))
    return frame.with_columns(*accelerator_totals())


def arch(machine: Machine) -> str | None:
    """Return the instruction set of a machine.

    The estimator calls hosts of A10 and A100 ``arm``, which they are not, so of a machine with GPUs
    that the sheet does not list nothing is known.
    """
    if machine.series is not None:
        return machine.series.arch
    if machine.gpus:
        return None
    return ARCHITECTURES.get(machine.processor or "")


def _row(machine: Machine, products: Products, sheets: Sheets) -> dict[str, Any]:
    series = machine.series
    memory = machine.quantities.get("ram")
    is_bundled = machine.page.params.get("source") == kinds.BUNDLED
    return {
        "provider": "oracle",
        "instance_type": machine.name,
        "family": machine.shape,
        "series": series.name if series else None,
        "status": series.status if series else None,
        "arch": arch(machine),
        "cpu_vendor": series.cpu_vendor if series else None,
        "cpu_models": (list(series.cpu_models) or None) if series else None,
        **_cpu_columns(machine),
        "memory_gib": None if memory is None else float(memory),
        "bare_metal": machine.bare_metal,
        **_accelerator_columns(machine, products, sheets),
        **_disk_columns(machine),
        "spec_source": "bundled" if is_bundled else "api",
        "corrections": [],
        "observed_at": machine.page.retrieved_at,
        "raw_sha256": machine.page.sha256,
    }


def _cpu_columns(machine: Machine) -> dict[str, Any]:
    """Return vCPUs, cores and threads.

    One OCPU is 2 vCPUs of x86 or AmpereOne and 1 of Ampere Altra or Grace; of an Arm machine that
    the sheet does not list it is not known.
    """
    if machine.ocpus is None:
        return {"vcpus": None, "physical_cores": None, "threads_per_core": None}
    if machine.series is not None:
        vcpus = int(machine.ocpus * machine.series.vcpus_per_ocpu)
        threads = machine.series.threads_per_core
        return {"vcpus": vcpus, "physical_cores": vcpus // threads, "threads_per_core": threads}
    is_x86 = arch(machine) == "x86_64"
    cores = int(machine.ocpus)
    return {
        "vcpus": 2 * cores if is_x86 else None,
        "physical_cores": cores if is_x86 else None,
        "threads_per_core": 2 if is_x86 else None,
    }


def _accelerator_columns(machine: Machine, products: Products, sheets: Sheets) -> dict[str, Any]:
    """Name the GPU by the part that the machine is billed by."""
    if not machine.gpus:
        return {"accelerators": [], "accelerator_kind": "none"}
    name = next((products.gpu_name(part, sheets) for part in machine.parts), None)
    match = sheets.match_accelerator(name, machine.shape)
    memory = match.memory_gib if match else None
    accelerator = {
        "accelerator_id": match.accelerator_id if match else None,
        "vendor_name": name,
        "count": float(machine.gpus),
        "memory_gib": memory or machine.gpu_memory_gib,
    }
    return {"accelerators": [accelerator], "accelerator_kind": "gpu"}


def _disk_columns(machine: Machine) -> dict[str, Any]:
    """Return the local disk that is sold as a part; disks that come with GPUs are not listed."""
    terabytes = machine.quantities.get("local_ssd")
    if terabytes is None:
        return {"local_disk_gib": None, "local_disk_kind": None}
    return {"local_disk_gib": float(terabytes) * GIB_PER_TB, "local_disk_kind": "nvme_ssd"}
