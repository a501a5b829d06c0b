"""Describe a machine type or TPU slice, as it was read and before it becomes rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

import polars as pl

from hwprices.landing.pages import Page
from hwprices.providers.gcp.inventory.accelerators import Accelerator
from hwprices.providers.gcp.sheets import LocalDisks, Series


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
