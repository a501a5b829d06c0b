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
    hosts. ``disks`` is None where no local disks belong to the type; ``disk_count`` is 0 then.
    ``spec_source`` is api or bundled. ``page`` is the first landed page that lists the type.
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
    disk_count: int = 0
    deprecated: bool = False

    @property
    def disk_gib(self) -> int:
        """Size of all local disks together."""
        return self.disk_count * self.disks.gib_each if self.disks else 0


@dataclass(frozen=True)
class Machines:
    """Everything that the run's pages tell about machine types.

    ``types`` is sorted by name. ``offers`` has one row for each type in each zone: zone, region,
    instance_type and the columns of ``rows.origin``. ``parts`` has one row for each part of each
    type, see ``machine_parts.PARTS_SCHEMA``. ``unsold`` has the pairs instance_type,
    purchase_option that Google does not sell. ``refused`` has quarantine rows of types that are not
    understood, ``counts`` how many others were left out, by reason.
    """

    types: list[MachineType]
    offers: pl.DataFrame
    parts: pl.DataFrame
    unsold: pl.DataFrame
    refused: pl.DataFrame
    counts: Mapping[str, int]
