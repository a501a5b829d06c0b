"""Read machine types from landed pages, and make rows of instance_types.

The pages hold ``machineTypes.aggregatedList``:
https://cloud.google.com/compute/docs/reference/rest/v1/machineTypes/aggregatedList.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import msgspec
import polars as pl
from msgspec import UNSET, UnsetType

from hwprices.landing.pages import Page
from hwprices.providers import Pages, UnreadablePageError, gcp
from hwprices.providers.gcp.listings import BrokenRow, decode_rows, refused_members
from hwprices.providers.gcp.machine_type import (
    WHOLE_INSTANCE_SERIES,
    Machines,
    MachineType,
    accelerator_columns,
    parts_frame,
    price_fault,
    read_accelerator,
    read_tpu_slices,
)
from hwprices.providers.gcp.sheets import LocalDisks, Sheets
from hwprices.rows import prices
from hwprices.rows.frames import origin, origins
from hwprices.rows.vendor_rows import accelerator_totals
from hwprices.schemas.tables import InstanceTypes

LARGEST_FIGURE = {
    "guestCpus": 100_000,
    "memoryMb": 1_000_000_000,
    "guestAcceleratorCount": 100_000,
    "partitionCount": 10_000,
}
"""At least about fifty times the largest machine (1,920 vCPUs, 32 TiB)."""

ARCHITECTURES = {"X86_64": "x86_64", "ARM64": "arm64"}


class _Accelerator(msgspec.Struct, gc=False, omit_defaults=True, rename="camel"):
    guest_accelerator_type: str
    guest_accelerator_count: int


class _BundledLocalSsds(msgspec.Struct, gc=False, omit_defaults=True, rename="camel"):
    partition_count: int | None = None
    default_interface: Any = UNSET


class _MachineType(msgspec.Struct, gc=False, omit_defaults=True, rename="camel"):
    """One machine type as the Compute API lists it in a zone.

    Members that are not read are declared to count names (``bodies.refuse_repeated_names``).
    """

    name: str
    guest_cpus: int
    memory_mb: int
    description: str = ""
    architecture: str | None = None
    is_shared_cpu: bool | UnsetType = UNSET
    accelerators: list[_Accelerator] | None = None
    bundled_local_ssds: _BundledLocalSsds | None = None
    deprecated: dict[str, Any] | None = None
    creation_timestamp: Any = UNSET
    id: Any = UNSET
    image_space_gb: Any = UNSET
    kind: Any = UNSET
    maximum_persistent_disks: Any = UNSET
    maximum_persistent_disks_size_gb: Any = UNSET
    self_link: Any = UNSET
    zone: Any = UNSET


class _Scope(msgspec.Struct, omit_defaults=True, rename="camel"):
    """A zone; without machine types, it has a warning instead of a list."""

    machine_types: list[_MachineType] = []
    warning: Any = UNSET


class _AggregatedList(msgspec.Struct, omit_defaults=True, rename="camel"):
    items: dict[str, _Scope] = {}
    id: Any = UNSET
    kind: Any = UNSET
    next_page_token: Any = UNSET
    self_link: Any = UNSET


class _Offer(msgspec.Struct, frozen=True, gc=False):
    """A machine type listed in a zone by a page."""

    zone: str
    instance_type: str
    page: Page


def nominal_gib(memory_mb: int) -> Decimal:
    """Return the billed memory in GiB.

    Memory is sold in tenths of a GiB, which the API rounds to MiB: 14.4 GiB is listed as 14746 MiB.
    https://cloud.google.com/compute/docs/general-purpose-machines lists the sizes.
    """
    exact = Decimal(memory_mb) / 1024
    tenths = round(exact, 1)
    return tenths if abs(tenths * 1024 - memory_mb) < 1 else exact


def read_machines(pages: Pages, sheets: Sheets) -> Machines:
    """Read every machine type and TPU slice of the run.

    A type is described by the first zone that lists the most kinds of parts for it.

    Raises:
        UnreadablePageError: a page of machine types is not an aggregated list, or most of its rows
            cannot be read. Prices need the machine types.
    """
    offers: list[_Offer] = []
    refused: list[pl.DataFrame] = []
    described: dict[str, tuple[_MachineType, Page]] = {}
    for page in pages.of(gcp.MACHINE_TYPES):
        items, broken, new_members = _listed_types(pages, page)
        refused += [_refused(fault, page) for fault in broken]
        refused.append(refused_members(new_members, page, "instance_types"))
        for zone, listed in items:
            offers.append(_Offer(zone, listed.name, page))
            first = described.get(listed.name)
            if first is None or _kinds_of_parts(listed) > _kinds_of_parts(first[0]):
                described[listed.name] = listed, page
    types = {
        name: _machine_type(listed, page, sheets) for name, (listed, page) in described.items()
    }
    tpus = read_tpu_slices(pages, sheets)
    for zone, tpu_slice in tpus.offers:
        offers.append(_Offer(zone, tpu_slice.name, tpu_slice.page))
        types.setdefault(tpu_slice.name, tpu_slice)
    ordered = [types[name] for name in sorted(types)]
    refused += _unknown_series(ordered)
    return Machines(
        types=ordered,
        offers=_offers_frame(offers),
        parts=parts_frame(ordered, sheets),
        faults={
            machine.name: fault for machine in ordered if (fault := price_fault(machine, sheets))
        },
        unsold=_unsold_frame(ordered, sheets),
        refused=prices.merge_refused([*refused, tpus.refused]),
    )


def _listed_types(
    pages: Pages, page: Page
) -> tuple[list[tuple[str, _MachineType]], list[BrokenRow], list[str]]:
    """Return the types of a page with their zones, the broken rows, and the new members."""
    listing = decode_rows(
        pages,
        page,
        _AggregatedList,
        what="an aggregated list",
        setting="HWPRICES_GCP_COMPUTE_URL",
        rows=lambda document: [
            scope["machineTypes"] for scope in document["items"].values() if "machineTypes" in scope
        ],
        row_type=_MachineType,
    )
    items, broken = [], list(listing.broken)
    for scope, zone in listing.page.items.items():
        for listed in zone.machine_types:
            fault = _impossible_figures(listed)
            if fault:
                broken.append(BrokenRow(msgspec.to_builtins(listed), fault))
            else:
                items.append((scope.removeprefix("zones/"), listed))
    if len(broken) > len(items):
        raise UnreadablePageError(page, broken[0].message)
    return items, broken, listing.new_members


def _refused(fault: BrokenRow, page: Page) -> pl.DataFrame:
    """Make a quarantine row of a machine type that cannot be read."""
    is_figure = fault.message.startswith(_IMPOSSIBLE)
    frame = pl.LazyFrame({"provider": ["gcp"], "instance_type": [fault.text("name")]})
    return prices.refused(
        frame.with_columns(*origin(page)),
        table="instance_types",
        reason="impossible_figure" if is_figure else "unreadable_line",
        message=fault.message,
    ).collect()


def _kinds_of_parts(listed: _MachineType) -> int:
    """Count the kinds of parts that a zone lists for a type."""
    return bool(listed.accelerators) + bool(listed.bundled_local_ssds)


def _machine_type(listed: _MachineType, page: Page, sheets: Sheets) -> MachineType:
    """Complete the API's figures from name, description and sheets."""
    series = sheets.series_of(listed.name)
    disks = sheets.local_disks_of(listed.name)
    return MachineType(
        name=listed.name,
        series=series,
        vcpus=listed.guest_cpus,
        memory_gib=nominal_gib(listed.memory_mb),
        arch=ARCHITECTURES.get(listed.architecture or "", series.arch),
        accelerators=tuple(
            read_accelerator(
                device.guest_accelerator_type,
                Decimal(device.guest_accelerator_count),
                listed.name,
                sheets,
            )
            for device in listed.accelerators or ()
        ),
        page=page,
        spec_source="bundled" if page.params.get("source") == "bundled" else "api",
        shared_core=listed.is_shared_cpu is True,
        disks=disks,
        disk_count=_disk_count(listed, disks),
        deprecated=bool(listed.deprecated),
    )


def _unknown_series(types: Sequence[MachineType]) -> Iterator[pl.DataFrame]:
    """Yield a quarantine row of each unknown series, whose machines have no price."""
    unknown = {m.series.name: m.page for m in reversed(types) if not m.series.known}
    for series, page in unknown.items():
        names = [machine.name for machine in types if machine.series.name == series]
        frame = pl.LazyFrame({"provider": ["gcp"], "series": [series]})
        yield prices.refused(
            frame.with_columns(*origin(page)),
            table="prices",
            reason="unknown_series",
            message=f"no SKUs are known for the series {series}: {', '.join(names)}",
            word=pl.lit(series.upper()),
            dependants=pl.lit(len(names)),
        ).collect()


_IMPOSSIBLE = "impossible "  # The beginning of the message about an impossible figure


def _impossible_figures(listed: _MachineType) -> str | None:
    """Describe impossible figures, which would overflow the columns or make no price."""
    counts = [device.guest_accelerator_count for device in listed.accelerators or ()]
    disks = listed.bundled_local_ssds.partition_count if listed.bundled_local_ssds else None
    figures = {
        "guestCpus": listed.guest_cpus,
        "memoryMb": listed.memory_mb,
        "guestAcceleratorCount": max(counts, default=1),
        "partitionCount": disks or 1,
    }
    wrong = [name for name, value in figures.items() if not 0 < value <= LARGEST_FIGURE[name]]
    if min(counts, default=1) < 1:
        wrong.append("guestAcceleratorCount")
    return f"{_IMPOSSIBLE}{', '.join(wrong)} of {listed.name[:80]}" if wrong else None


def _disk_count(listed: _MachineType, disks: LocalDisks | None) -> int | None:
    """Count local disks: from the sheet, bundledLocalSsds or the description, in this order.

    Descriptions end like "…, 16 local SSDs". The number is unknown if no source has it, or if the
    API has disks that the sheet lacks.
    """
    bundled = listed.bundled_local_ssds.partition_count if listed.bundled_local_ssds else None
    in_words = re.search(r"\b(\d+) [Ll]ocal SSDs?$", listed.description)
    stated = bundled or (in_words and int(in_words[1])) or None
    if disks is None:
        has_disks = stated or listed.bundled_local_ssds or _DISKS_IN_NAME.search(listed.name)
        return None if has_disks else 0
    if disks.count and bundled and bundled > disks.count:
        return None
    return disks.count or stated


_DISKS_IN_NAME = re.compile(r"-(?!no)\w*lssd(?:-|$)")
"""Part of the names of types with local disks: c3-standard-4-lssd, z4d-highmem-8-highlssd."""


def _offers_frame(offers: Sequence[_Offer]) -> pl.DataFrame:
    """Return one row per zone and type, from the first page that lists the pair."""
    # By identity, because pages of equal content share a key but differ in URL and time.
    pages = {id(offer.page): offer.page for offer in offers}
    number = {page: place for place, page in enumerate(pages)}
    columns = {
        "zone": [offer.zone for offer in offers],
        "region": [offer.zone.rpartition("-")[0] for offer in offers],
        "instance_type": [offer.instance_type for offer in offers],
        "page": [number[id(offer.page)] for offer in offers],
    }
    rows = pl.DataFrame(columns, schema={**dict.fromkeys(columns, pl.String), "page": pl.Int32})
    rows = rows.unique(["zone", "instance_type"], keep="first", maintain_order=True)
    page_origins = origins(list(pages.values()))
    return rows.join(page_origins, on="page", how="left", maintain_order="left").drop("page")


def _unsold_frame(types: Sequence[MachineType], sheets: Sheets) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"instance_type": machine.name, "purchase_option": option}
            for machine in types
            for option in sorted(sheets.unsold_options(machine.name))
        ],
        schema={"instance_type": pl.String, "purchase_option": pl.String},
    )


def instance_type_rows(machines: Machines, sheets: Sheets) -> pl.DataFrame:
    """Return one row of instance_types per machine type, sorted by name."""
    rows = [_row(machine, sheets) for machine in machines.types]
    frame = pl.DataFrame(rows, schema=InstanceTypes.dtypes)
    return frame.with_columns(*accelerator_totals())


def _row(machine: MachineType, sheets: Sheets) -> dict[str, Any]:
    name, series = machine.name, machine.series
    network = sheets.network_of(name)
    return {
        "provider": "gcp",
        "instance_type": name,
        "family": "-".join(name.split("-")[:2]),
        "series": series.name,
        "generation": next((c for c in name.split("-")[0] if c.isdigit()), None),
        "status": "retiring" if machine.deprecated else "current",
        "cpu_vendor": series.cpu_vendor,
        "cpu_models": list(series.cpu_models) or None,
        **_size_columns(machine, sheets),
        "bare_metal": name.endswith("-metal"),
        **accelerator_columns(machine.accelerators, sheets),
        **_disk_columns(machine),
        "network_gbps_max": network.gbps_max,
        "network_gbps_max_at_extra_charge": network.gbps_max_at_extra_charge,
        "rdma": network.rdma,
        "accelerator_interconnect": network.accelerator_interconnect,
        "spec_source": machine.spec_source,
        "corrections": [],
        "observed_at": machine.page.retrieved_at,
        "raw_sha256": machine.page.sha256,
    }


def _size_columns(machine: MachineType, sheets: Sheets) -> dict[str, Any]:
    """Return cores, threads and memory."""
    memory = machine.memory_gib
    return {
        "arch": machine.arch,
        "vcpus": machine.vcpus,
        "vcpus_billed": _billed_vcpus(machine, sheets),
        **_core_columns(machine),
        "memory_gib": None if memory is None else float(memory),
        "burstable": machine.shared_core,
    }


def _billed_vcpus(machine: MachineType, sheets: Sheets) -> float | None:
    if machine.vcpus is None or machine.series.name in WHOLE_INSTANCE_SERIES:
        return None
    return float(sheets.billed_vcpus(machine.name, machine.vcpus))


def _core_columns(machine: MachineType) -> dict[str, Any]:
    """Return cores and threads; null for shared-core machines."""
    threads = machine.series.threads_per_core
    if machine.vcpus is None or machine.shared_core or threads is None:
        return {"physical_cores": None, "threads_per_core": None}
    # n1-standard-1 has half a core, which becomes null.
    return {"physical_cores": machine.vcpus // threads or None, "threads_per_core": threads}


def _disk_columns(machine: MachineType) -> dict[str, Any]:
    return {
        "local_disk_gib": None if machine.disk_gib is None else float(machine.disk_gib),
        "local_disk_count": machine.disk_count,
        "local_disk_kind": "nvme_ssd" if machine.disk_count else None,
    }
