"""Take a machine type apart into the components that Google bills for it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import polars as pl

from hwprices.providers.gcp.component_id import ComponentId
from hwprices.providers.gcp.inventory.machine_type import MachineType
from hwprices.providers.gcp.sheets import Sheets
from hwprices.units import Money

OWN_LOCAL_SSD_SKU = {"c4", "c4a", "c4d", "h4d"}
"""Series whose local SSD has a SKU of its own ("C4 Instance Local SSD"); the others pay the SKU
"SSD backed Local Storage". https://cloud.google.com/skus"""

SOLD_BY_SLICE = {"a4", "a4x", "a4xmax"}
"""Series sold by the GPU slice, which holds its share of cores, memory and disks: they have no core
or memory SKU. https://cloud.google.com/skus"""

EIGHTHS = 8
"""A G4 machine with less than one GPU is sold in eighths of a GPU, with its share of cores and
memory: the SKU "1/8 vGPU no lssd"."""

WHOLE_INSTANCE_SERIES = {"f1", "g1"}
"""Series that have one SKU for the whole machine, without cores and memory."""

WITH_ACCELERATORS = {"a2", "a3", "a3edge", "a3plus", "a3ultra", "g2", "g4", "tpu", *SOLD_BY_SLICE}
"""Series of which every machine has accelerators.
https://cloud.google.com/compute/docs/accelerator-optimized-machines"""

ANY_SERIES = "any"
"""Series of components that go with machines of several series: GPUs and local SSD."""

PARTS_SCHEMA: dict[str, Any] = {
    "instance_type": pl.String,
    "series": pl.String,
    "component_id": pl.String,
    "component": pl.String,
    "kind": pl.String,
    "quantity": Money,
    "unit": pl.String,
    "main": pl.Boolean,
}


@dataclass(frozen=True)
class MachinePart:
    """One component of one machine type: ``quantity`` of ``unit`` at the price of ``series``' SKU.

    ``main`` marks the part that decides whether a purchase option exists for the machine.
    """

    series: str
    component: ComponentId
    quantity: Decimal
    unit: str
    main: bool = False


def parts_frame(types: Sequence[MachineType], sheets: Sheets) -> pl.DataFrame:
    """Return the parts of all types with the columns of ``PARTS_SCHEMA``.

    ``component_id`` is the key of the rates, ``component`` the name of the line in
    price_components.
    """
    rows = [
        {
            "instance_type": machine.name,
            "series": part.series,
            "component_id": str(part.component),
            "component": part.component.line,
            "kind": part.component.kind,
            "quantity": part.quantity,
            "unit": part.unit,
            "main": part.main,
        }
        for machine in types
        for part in machine_parts(machine, sheets)
    ]
    return pl.DataFrame(rows, schema=PARTS_SCHEMA)


def price_fault(machine: MachineType, sheets: Sheets) -> str | None:
    """Return why the parts of a machine cannot all be priced, None where they can."""
    faults = []
    if not machine.series.known:
        faults.append("unknown_series")
    if machine.disk_count is None:
        faults.append("unknown_local_ssd")
    parts = [part.component.kind for part in machine_parts(machine, sheets)]
    covered = parts.count("gpu") + parts.count("slice") + parts.count("tpu")
    if covered < len(machine.accelerators) or (
        machine.series.name in WITH_ACCELERATORS and not machine.accelerators
    ):
        faults.append("unknown_accelerators")
    return ",".join(sorted(faults)) or None


def machine_parts(machine: MachineType, sheets: Sheets) -> Iterator[MachinePart]:
    """Yield the parts of one machine type, the main one first."""
    series = machine.series.name
    first = machine.accelerators[0] if machine.accelerators else None
    if first and first.vendor_name in sheets.tpus:
        yield _tpu(machine, sheets)
    elif first and series in SOLD_BY_SLICE:
        component = ComponentId("slice", first.vendor_name)
        yield MachinePart(series, component, first.count, "gpu", main=True)
    elif first and series == "g4" and first.count < 1:
        component = ComponentId("slice", first.vendor_name, "eighth")
        yield MachinePart(series, component, first.count * EIGHTHS, "eighth_gpu", main=True)
    elif series in WHOLE_INSTANCE_SERIES:
        yield MachinePart(series, ComponentId("instance"), Decimal(1), "instance", main=True)
    else:
        for device in machine.accelerators:
            component = ComponentId("gpu", device.gpu_name)
            yield MachinePart(ANY_SERIES, component, device.count, "gpu", main=True)
        yield from _core_and_memory(machine, sheets)
        yield from _local_ssd(machine)


def _tpu(machine: MachineType, sheets: Sheets) -> MachinePart:
    device = machine.accelerators[0]
    tpu = sheets.tpus[device.vendor_name]
    unit = "chip" if tpu.chips_per_unit == 1 else f"{tpu.chips_per_unit}_chips"
    component = ComponentId.parse(f"tpu:{tpu.generation}")
    return MachinePart("tpu", component, device.count / tpu.chips_per_unit, unit, main=True)


def _core_and_memory(machine: MachineType, sheets: Sheets) -> Iterator[MachinePart]:
    """Yield core and memory. M2 is M1 with an upgrade premium on both."""
    if machine.vcpus is None or machine.memory_gib is None:
        return
    vcpus = sheets.billed_vcpus(machine.name, machine.vcpus)
    is_m2 = machine.series.name == "m2"
    series = "m1" if is_m2 else machine.series.name
    core_is_main = not machine.accelerators
    yield MachinePart(series, ComponentId("core"), vcpus, "vcpu", main=core_is_main)
    yield MachinePart(series, ComponentId("ram"), machine.memory_gib, "gib")
    if is_m2:
        yield MachinePart("m2", ComponentId("premium", "core"), vcpus, "vcpu")
        yield MachinePart("m2", ComponentId("premium", "ram"), machine.memory_gib, "gib")


def _local_ssd(machine: MachineType) -> Iterator[MachinePart]:
    """Yield the local disks that are billed by themselves."""
    if not machine.disk_gib or (machine.disks and machine.disks.in_slice):
        return
    own_sku = machine.series.name in OWN_LOCAL_SSD_SKU
    series = machine.series.name if own_sku else ANY_SERIES
    yield MachinePart(series, ComponentId("local_ssd"), Decimal(machine.disk_gib), "gib")
