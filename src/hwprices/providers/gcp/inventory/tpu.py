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
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

import msgspec
import polars as pl

from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.providers.gcp import kinds
from hwprices.providers.gcp.inventory.accelerators import read_accelerator
from hwprices.providers.gcp.inventory.machine_type import MachineType
from hwprices.providers.gcp.listings import decode
from hwprices.providers.gcp.sheets import Series, Sheets, Tpu
from hwprices.rows import quarantine
from hwprices.rows.origin import origin

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


@dataclass(frozen=True)
class TpuSlices:
    """The slices of all zones.

    ``offers`` are pairs of zone and slice. ``refused`` are quarantine rows of slices without a
    topology, each once. ``counts`` says how many are of a generation that gcp_tpu.csv does not
    list, by generation: nothing says what they are made of.
    """

    offers: list[tuple[str, MachineType]]
    refused: pl.DataFrame
    counts: Mapping[str, int]


def read_tpu_slices(pages: Pages, sheets: Sheets) -> TpuSlices:
    """Read the slices of every zone whose page can be read."""
    offers: list[tuple[str, MachineType]] = []
    refused: dict[str, pl.DataFrame] = {}
    counts: Counter[str] = Counter()
    for page in pages.of(kinds.TPU_TYPES):
        zone = page.params.get("location", "")
        with pages.leave_out(page):
            listed = _listed(pages, page)
            offers += [(zone, machine) for machine in _slices(listed, page, sheets)]
            for entry in listed:
                if sheets.tpu_of_slice(entry.type) is None:
                    generation = entry.type.rpartition("-")[0] or entry.type
                    counts[f"out_of_scope:tpu={generation}"] += 1
                elif not entry.accelerator_configs:
                    refused.setdefault(entry.type, _without_topology(entry.type, page))
    return TpuSlices(offers, quarantine.merge_refused(list(refused.values())), dict(counts))


def _listed(pages: Pages, page: Page) -> list[_Slice]:
    """Read what one page lists.

    Raises:
        UnreadablePageError: it is not a list of accelerator types.
    """
    return decode(
        pages, page, _SliceList, what="a list of TPU types", setting="HWPRICES_GCP_TPU_URL"
    ).accelerator_types


def _slices(listed: list[_Slice], page: Page, sheets: Sheets) -> list[MachineType]:
    """Make the slices of one page whose generation and topology are known.

    Raises:
        ValueError: a topology is not one.
    """
    return [
        _machine_type(
            entry.type, tpu, count_chips(entry.accelerator_configs[0].topology), page, sheets
        )
        for entry in listed
        if (tpu := sheets.tpu_of_slice(entry.type)) and entry.accelerator_configs
    ]


def _without_topology(name: str, page: Page) -> pl.DataFrame:
    """Refuse a slice that does not say how many chips it has."""
    frame = pl.LazyFrame([{"provider": "gcp", "instance_type": name}])
    return quarantine.refused(
        frame.with_columns(*origin(page)),
        table="instance_types",
        reason="no_topology",
        message=f"the TPU slice {name} has no topology",
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
