"""Describe a machine type before it becomes rows, with the components that Google bills for it.

A component id is written as text in frames and published tables, and is a ``ComponentId`` in code:

====================== ========= ============== =========
text                   kind      name           variant
====================== ========= ============== =========
core                   core
ram_extended           ram                      extended
premium_core           premium   core
gpu:nvidia-l4          gpu       nvidia-l4
slice:nvidia-b200      slice     nvidia-b200
tpu:v3-pod             tpu       v3             pod
local_ssd              local_ssd
instance               instance
license:windows        license   windows
license:sles:f1-micro  license   sles           f1-micro
====================== ========= ============== =========

Pages of the Cloud TPU API hold ``projects.locations.acceleratorTypes.list``:
https://cloud.google.com/tpu/docs/reference/rest/v2/projects.locations.acceleratorTypes. The number
in a slice's name counts cores up to v4 and v5p and chips after; the topology always counts chips,
and is what is used. Which SKU prices a slice is in data/specs/gcp_tpu.csv: v2 and v3 by boards of
four chips (8 cores), v2-8 and v3-8 as single devices and larger ones as pods; v4 as pods; from v5e
on by the chip.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any, Final, Self

import msgspec
import polars as pl

from hwprices.landing.pages import Page
from hwprices.providers import Pages, gcp
from hwprices.providers.gcp.listings import decode
from hwprices.providers.gcp.sheets import LocalDisks, Series, Sheets, Tpu
from hwprices.rows import prices
from hwprices.rows.frames import origin
from hwprices.units import Money


@dataclass(frozen=True, slots=True)
class _Spelling:
    """How ids of one kind are written: the separators before the name and before the variant."""

    before_name: str = ""
    before_variant: str = ""
    variants: tuple[str, ...] = ()


_CUSTOM = _Spelling(before_variant="_", variants=("custom", "extended"))

SPELLINGS: Final[dict[str, _Spelling]] = {
    "core": _CUSTOM,
    "ram": _CUSTOM,
    "premium": _Spelling(before_name="_"),
    "gpu": _Spelling(before_name=":"),
    "slice": _Spelling(before_name=":", before_variant="-", variants=("eighth",)),
    "tpu": _Spelling(before_name=":", before_variant="-", variants=("pod",)),
    "local_ssd": _Spelling(),
    "instance": _Spelling(),
    "license": _Spelling(before_name=":", before_variant=":", variants=("f1-micro", "g1-small")),
}
"""Every kind of component."""


class ComponentId(msgspec.Struct, frozen=True, gc=False):
    """One component.

    ``kind`` is a key of ``SPELLINGS``. ``name`` is the Compute API's name of a GPU, the generation
    of a TPU, the operating system of a license, or core and ram for M2's premium. ``variant`` marks
    custom and extended cores and memory, an eighth of a GPU, a TPU pod, and the license of one
    shared-core machine.
    """

    kind: str
    name: str = ""
    variant: str = ""

    def __str__(self) -> str:
        """Return the text in tables and frames."""
        spelling = SPELLINGS[self.kind]
        name = self.name and f"{spelling.before_name}{self.name}"
        variant = self.variant and f"{spelling.before_variant}{self.variant}"
        return f"{self.kind}{name}{variant}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the text of ``__str__`` back.

        Raises:
            ValueError: it is not the text of a component id.
        """
        for kind, spelling in SPELLINGS.items():
            if not text.startswith(kind):
                continue
            name, variant = text.removeprefix(kind), ""
            for candidate in spelling.variants:
                if name.endswith(f"{spelling.before_variant}{candidate}"):
                    name = name.removesuffix(f"{spelling.before_variant}{candidate}")
                    variant = candidate
            component = cls(kind, name.removeprefix(spelling.before_name), variant)
            if str(component) == text and bool(component.name) == bool(spelling.before_name):
                return component
        raise ValueError(f"{text!r} is not a component id")

    @property
    def line(self) -> str:
        """The component's name in the lines of one price (``price_components.component``).

        A machine has one line of each kind, except that M2 pays its premium on cores and on memory.
        """
        return "premium_2" if self.kind == "premium" and self.name == "ram" else self.kind


@dataclass(frozen=True)
class Accelerator:
    """Accelerators of one kind in a machine.

    ``vendor_name`` is the guestAcceleratorType of the Compute API. ``accelerator_id`` is None if no
    spec sheet matches. ``count`` may be a fraction. ``memory_gib`` is per device.
    """

    accelerator_id: str | None
    vendor_name: str
    count: Decimal
    memory_gib: float | None

    @property
    def gpu_name(self) -> str:
        """Its name without ``-vws``, which is the same GPU with a virtual workstation license."""
        return self.vendor_name.removesuffix("-vws")


def read_accelerator(
    vendor_name: str, count: Decimal, instance_type: str, sheets: Sheets
) -> Accelerator:
    """Make an Accelerator of the API's name and count, which accelerator_names may correct.

    Raises:
        HwpricesError: two equally specific rules disagree.
    """
    match = sheets.match_accelerator(vendor_name, instance_type)
    if match is None:
        return Accelerator(None, vendor_name, count, None)
    corrected = count if match.count is None else Decimal(str(match.count))
    return Accelerator(match.accelerator_id, vendor_name, corrected, match.memory_gib)


def accelerator_columns(accelerators: Sequence[Accelerator], sheets: Sheets) -> dict[str, Any]:
    """Return accelerators and accelerator_kind of one row of instance_types."""
    if not accelerators:
        return {"accelerators": [], "accelerator_kind": "none"}
    return {
        "accelerators": [{**asdict(a), "count": float(a.count)} for a in accelerators],
        "accelerator_kind": "tpu" if is_tpu(accelerators[0].vendor_name, sheets) else "gpu",
    }


def is_tpu(vendor_name: str, sheets: Sheets) -> bool:
    """Check whether an accelerator is a TPU; the sheet lacks new generations."""
    return vendor_name in sheets.tpus or re.fullmatch(r"(?:ct|tpu)\d\w*", vendor_name) is not None


@dataclass(frozen=True)
class MachineType:
    """One machine type of Compute Engine, or one slice of Cloud TPU.

    ``vcpus`` and ``memory_gib`` are None for TPU slices, whose API does not describe the hosts.
    ``disks`` is None if no sheet has local disks of the type. ``disk_count`` is 0 without disks and
    None if their number is unknown. ``spec_source`` is api or bundled. ``page`` is the first landed
    page that lists the type.
    """

    name: str
    series: Series
    vcpus: int | None
    memory_gib: Decimal | None
    arch: str | None
    accelerators: tuple[Accelerator, ...]
    page: Page
    spec_source: str = "api"
    shared_core: bool = False
    disks: LocalDisks | None = None
    disk_count: int | None = 0
    deprecated: bool = False

    @property
    def disk_gib(self) -> int | None:
        """Total size of all local disks, None if unknown."""
        if self.disk_count is None:
            return None
        return self.disk_count * self.disks.gib_each if self.disks else 0


@dataclass(frozen=True)
class Machines:
    """What the run's pages say about machine types.

    ``types`` is sorted by name. ``offers`` has one row per type and zone: zone, region,
    instance_type and the columns of ``frames.origin``. ``parts`` has one row per part of each type,
    see ``PARTS_SCHEMA``. ``faults``: types with an unknown part → reason why they have no price.
    ``unsold`` has the pairs instance_type, purchase_option that Google does not sell. ``refused``
    has quarantine rows of unreadable types and unknown series.
    """

    types: list[MachineType]
    offers: pl.DataFrame
    parts: pl.DataFrame
    faults: Mapping[str, str]
    unsold: pl.DataFrame
    refused: pl.DataFrame


TOPOLOGY = re.compile(r"[1-9][0-9]{0,2}(x[1-9][0-9]{0,2}){0,2}")
"""Two or three sides of at most three digits: the largest slice today is 16x24x24."""


class _Config(msgspec.Struct):
    topology: str = ""


class _Slice(msgspec.Struct, rename="camel"):
    type: str
    accelerator_configs: list[_Config] = []


class _SliceList(msgspec.Struct, rename="camel"):
    accelerator_types: list[_Slice] = []


@dataclass(frozen=True)
class TpuSlices:
    """The slices of all zones.

    ``offers`` are pairs of zone and slice. ``refused`` are quarantine rows of slices without a
    readable topology, and of generations that gcp_tpu.csv does not list.
    """

    offers: list[tuple[str, MachineType]]
    refused: pl.DataFrame


def read_tpu_slices(pages: Pages, sheets: Sheets) -> TpuSlices:
    """Read the slices of every zone with a readable page."""
    offers: list[tuple[str, MachineType]] = []
    refused: dict[str, pl.DataFrame] = {}
    for page in pages.of(gcp.TPU_TYPES):
        zone = page.params.get("location", "")
        with pages.leave_out(page):
            for entry in _listed(pages, page):
                tpu, chips = sheets.tpu_of_slice(entry.type), _chips(entry)
                if tpu is None or chips is None:
                    refused.setdefault(entry.type, _refused(entry.type, page, tpu))
                else:
                    offers.append((zone, _machine_type(entry.type, tpu, chips, page, sheets)))
    return TpuSlices(offers, prices.merge_refused(list(refused.values())))


def _listed(pages: Pages, page: Page) -> list[_Slice]:
    return decode(
        pages, page, _SliceList, what="a list of TPU types", setting="HWPRICES_GCP_TPU_URL"
    ).accelerator_types


def _chips(entry: _Slice) -> int | None:
    """Count the chips of a slice: 16 for 4x4; None if its topology is missing or invalid."""
    topology = entry.accelerator_configs[0].topology if entry.accelerator_configs else ""
    if not TOPOLOGY.fullmatch(topology):
        return None
    return math.prod(int(side) for side in topology.split("x"))


def _refused(name: str, page: Page, tpu: Tpu | None) -> pl.DataFrame:
    """Refuse a slice of an unknown generation or with an unknown number of chips."""
    frame = pl.LazyFrame([{"provider": "gcp", "instance_type": name}])
    generation = None if tpu else name.rpartition("-")[0] or name
    fault = "has no topology" if tpu else "is of an unknown generation"
    return prices.refused(
        frame.with_columns(*origin(page)),
        table="instance_types",
        reason="no_topology" if tpu else "unknown_series",
        message=f"the TPU slice {name} {fault}",
        word=pl.lit(generation, dtype=pl.String),
    ).collect()


def _machine_type(name: str, tpu: Tpu, chips: int, page: Page, sheets: Sheets) -> MachineType:
    device = read_accelerator(tpu.machine_accelerator, Decimal(chips), name, sheets)
    return MachineType(
        name=name,
        series=Series("tpu"),
        vcpus=None,
        memory_gib=None,
        arch=None,
        accelerators=(device,),
        page=page,
    )


OWN_LOCAL_SSD_SKU = {"c4", "c4a", "c4d", "h4d"}
"""Series with a separate SKU for local SSD ("C4 Instance Local SSD"); the others pay the SKU "SSD
backed Local Storage". https://cloud.google.com/skus"""

SOLD_BY_SLICE = {"a4", "a4x", "a4xmax"}
"""Series sold by the GPU slice, which includes cores, memory and disks, so that they have no SKUs
for these. https://cloud.google.com/skus"""

EIGHTHS = 8
"""A G4 machine with less than one GPU is sold in eighths of a GPU, including cores and memory: the
SKU "1/8 vGPU no lssd"."""

WHOLE_INSTANCE_SERIES = {"f1", "g1"}
"""Series with one SKU per machine, which includes cores and memory."""

WITH_ACCELERATORS = {"a2", "a3", "a3edge", "a3plus", "a3ultra", "g2", "g4", "tpu", *SOLD_BY_SLICE}
"""Series whose machines all have accelerators.
https://cloud.google.com/compute/docs/accelerator-optimized-machines"""

ANY_SERIES = "any"
"""Series of components for machines of several series: GPUs and local SSD."""

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

    ``main`` marks the part whose SKUs determine the purchase options of the machine.
    """

    series: str
    component: ComponentId
    quantity: Decimal
    unit: str
    main: bool = False


def parts_frame(types: Sequence[MachineType], sheets: Sheets) -> pl.DataFrame:
    """Return the parts of all types with the columns of ``PARTS_SCHEMA``.

    ``component_id`` is the key of the rates, ``component`` the name in price_components.
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
    """Return why a part of a machine cannot be priced, None if all can."""
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
    """Yield the local disks that are billed separately."""
    if not machine.disk_gib or (machine.disks and machine.disks.in_slice):
        return
    own_sku = machine.series.name in OWN_LOCAL_SSD_SKU
    series = machine.series.name if own_sku else ANY_SERIES
    yield MachinePart(series, ComponentId("local_ssd"), Decimal(machine.disk_gib), "gib")
