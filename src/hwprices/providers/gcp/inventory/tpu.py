"""Read TPU slices from landed pages of the Cloud TPU API as machine types made of chips.

The pages hold ``projects.locations.acceleratorTypes.list``:
https://cloud.google.com/tpu/docs/reference/rest/v2/projects.locations.acceleratorTypes. The number
in a slice's name counts cores up to v4 and v5p and chips after; the topology always counts chips,
and is what is used. Which SKU prices a slice is in data/specs/gcp_tpu.csv: v2 and v3 by boards of
four chips (8 cores), v2-8 and v3-8 as single devices and larger ones as pods; v4 as pods; from v5e
on by the chip.
"""

import math
import re
from collections.abc import Iterator
from decimal import Decimal

import msgspec

from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.providers.gcp import kinds
from hwprices.providers.gcp.inventory.accelerators import read_accelerator
from hwprices.providers.gcp.inventory.machine_type import MachineType
from hwprices.providers.gcp.listings import decode
from hwprices.providers.gcp.sheets import Series, Sheets, Tpu

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
    """Return the chips of a topology: 16 for 4x4, 8 for 2x2x2.

    Raises:
        ValueError: it is not numbers joined by x, or not one that a slice can have.
    """
    match = TOPOLOGY.fullmatch(topology)
    if match is None:
        raise ValueError(f"{topology[:40]!r} is not a TPU topology")
    return math.prod(int(side) for side in topology.split("x"))


def read_tpu_slices(pages: Pages, sheets: Sheets) -> Iterator[tuple[str, MachineType]]:
    """Yield (zone, slice) for every slice whose generation is listed in gcp_tpu.csv."""
    for page in pages.of(kinds.TPU_TYPES):
        zone = page.params.get("location", "")
        slices: list[MachineType] = []
        with pages.leave_out(page):
            slices = _slices(pages, page, sheets)
        yield from ((zone, tpu_slice) for tpu_slice in slices)


def _slices(pages: Pages, page: Page, sheets: Sheets) -> list[MachineType]:
    """Read the slices of one page.

    Raises:
        UnreadablePageError: it is not a list of accelerator types.
        ValueError: a topology is not one.
    """
    listing = decode(
        pages, page, _SliceList, what="a list of TPU types", setting="HWPRICES_GCP_TPU_URL"
    )
    slices: list[MachineType] = []
    for listed in listing.accelerator_types:
        tpu = sheets.tpu_of_slice(listed.type)
        if tpu is not None and listed.accelerator_configs:
            chips = count_chips(listed.accelerator_configs[0].topology)
            slices.append(_machine_type(listed.type, tpu, chips, page, sheets))
    return slices


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
