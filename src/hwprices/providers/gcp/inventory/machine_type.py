"""Describe a machine type before it becomes rows, and read TPU slices as such: made of chips.

Pages of the Cloud TPU API hold ``projects.locations.acceleratorTypes.list``:
https://cloud.google.com/tpu/docs/reference/rest/v2/projects.locations.acceleratorTypes. The number
in a slice's name counts cores up to v4 and v5p and chips after; the topology always counts chips,
and is what is used. Which SKU prices a slice is in data/specs/gcp_tpu.csv: v2 and v3 by boards of
four chips (8 cores), v2-8 and v3-8 as single devices and larger ones as pods; v4 as pods; from v5e
on by the chip.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

import msgspec
import polars as pl

from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.providers.gcp import kinds
from hwprices.providers.gcp.listings import decode
from hwprices.providers.gcp.sheets import LocalDisks, Series, Sheets, Tpu
from hwprices.rows import quarantine
from hwprices.rows.origin import origin


@dataclass(frozen=True)
class Accelerator:
    """Accelerators of one kind in a machine.

    ``vendor_name`` is the guestAcceleratorType of the Compute API. ``accelerator_id`` is None where
    no spec sheet matches. ``count`` may be a fraction. ``memory_gib`` is that of one device.
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
        HwpricesError: two rules of one rank disagree.
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
    """Return whether an accelerator is a TPU; the sheet lacks generations that are new."""
    return vendor_name in sheets.tpus or re.fullmatch(r"(?:ct|tpu)\d\w*", vendor_name) is not None


@dataclass(frozen=True)
class MachineType:
    """One machine type of Compute Engine, or one slice of Cloud TPU.

    ``vcpus`` and ``memory_gib`` are None for TPU slices: their API does not tell those of the
    hosts. ``disks`` is None where no sheet has local disks of the type; ``disk_count`` is 0 then,
    and None where it has an unknown number of them. ``spec_source`` is api or bundled. ``page`` is
    the first landed page that lists the type.
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
        """Size of all local disks together, None where it is unknown."""
        if self.disk_count is None:
            return None
        return self.disk_count * self.disks.gib_each if self.disks else 0


@dataclass(frozen=True)
class Machines:
    """Everything that the run's pages tell about machine types.

    ``types`` is sorted by name. ``offers`` has one row for each type in each zone: zone, region,
    instance_type and the columns of ``rows.origin``. ``parts`` has one row for each part of each
    type, see ``machine_parts.PARTS_SCHEMA``. ``faults`` are the types whose parts are not all
    known, each with the reason that they have no price. ``unsold`` has the pairs instance_type,
    purchase_option that Google does not sell. ``refused`` has quarantine rows of types that are not
    understood.
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


def count_chips(topology: str) -> int:
    """Return the chips of a topology: 16 for 4x4, 8 for 2x2x2."""
    return math.prod(int(side) for side in topology.split("x"))


@dataclass(frozen=True)
class TpuSlices:
    """The slices of all zones.

    ``offers`` are pairs of zone and slice. ``refused`` are quarantine rows, each once: slices
    without a topology that can be read, and those of a generation that gcp_tpu.csv does not list,
    of which nothing says what they are made of.
    """

    offers: list[tuple[str, MachineType]]
    refused: pl.DataFrame


def read_tpu_slices(pages: Pages, sheets: Sheets) -> TpuSlices:
    """Read the slices of every zone whose page can be read."""
    offers: list[tuple[str, MachineType]] = []
    refused: dict[str, pl.DataFrame] = {}
    for page in pages.of(kinds.TPU_TYPES):
        zone = page.params.get("location", "")
        with pages.leave_out(page):
            for entry in _listed(pages, page):
                tpu, chips = sheets.tpu_of_slice(entry.type), _chips(entry)
                if tpu is None or chips is None:
                    refused.setdefault(entry.type, _refused(entry.type, page, tpu))
                else:
                    offers.append((zone, _machine_type(entry.type, tpu, chips, page, sheets)))
    return TpuSlices(offers, quarantine.merge_refused(list(refused.values())))


def _listed(pages: Pages, page: Page) -> list[_Slice]:
    """Read what one page lists."""
    return decode(
        pages, page, _SliceList, what="a list of TPU types", setting="HWPRICES_GCP_TPU_URL"
    ).accelerator_types


def _chips(entry: _Slice) -> int | None:
    """Count the chips of a slice, None where its topology is missing or is not one."""
    topology = entry.accelerator_configs[0].topology if entry.accelerator_configs else ""
    return count_chips(topology) if TOPOLOGY.fullmatch(topology) else None


def _refused(name: str, page: Page, tpu: Tpu | None) -> pl.DataFrame:
    """Refuse a slice of an unknown generation, or one that does not say how many chips it has."""
    frame = pl.LazyFrame([{"provider": "gcp", "instance_type": name}])
    generation = None if tpu else name.rpartition("-")[0] or name
    fault = "has no topology" if tpu else "is of an unknown generation"
    return quarantine.refused(
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
