"""Describe a machine type or TPU slice, as it was read and before it becomes rows."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

import polars as pl

from hwprices.landing.pages import Page
from hwprices.providers.gcp.sheets import LocalDisks, Series, Sheets


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
