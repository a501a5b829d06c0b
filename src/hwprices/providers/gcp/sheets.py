"""The provider's rules that are data: data/specs/gcp_*.csv, each row with its source and date."""

import csv
import io
import re
from dataclasses import dataclass
from functools import cache

from hwprices.errors import HwpricesError
from hwprices.specs import sheet_directory


@dataclass(frozen=True)
class Series:
    """What a machine type's name tells: the series whose SKUs price it, and its CPU as Google documents it."""

    series: str
    arch: str | None
    cpu_vendor: str | None
    cpu_models: tuple[str, ...] | None
    threads_per_core: int | None


@dataclass(frozen=True)
class Disks:
    """Local disks that come with a type. ``count`` is None where the API tells it; ``in_slice``: paid with the GPU slice."""

    count: int | None
    gib_each: int
    in_slice: bool


@dataclass(frozen=True)
class Tpu:
    """How a TPU machine maps to SKUs: one unit of the SKU is ``chips_per_unit`` chips of ``generation``."""

    generation: str
    chips_per_unit: int
    accelerator_id: str


@cache
def sheet(name: str) -> list[dict[str, str]]:
    """Rows of data/specs/<name>.csv.

    Raises:
        HwpricesError: it is missing.
    """
    file = sheet_directory() / f"{name}.csv"
    if not file.is_file():
        raise HwpricesError(f"the sheet {name}.csv is missing", "Restore it from the repository.")
    return list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"))))


@cache
def _patterns(name: str) -> tuple[tuple[re.Pattern[str], dict[str, str]], ...]:
    return tuple((re.compile(row["instance_type_pattern"]), row) for row in sheet(name))


def _only(name: str, instance_type: str) -> dict[str, str] | None:
    """The one row whose pattern is the whole name; two are a fault of the sheet."""
    rows = [row for pattern, row in _patterns(name) if pattern.fullmatch(instance_type)]
    if len(rows) > 1:
        raise HwpricesError(
            f"{name}.csv: {len(rows)} patterns fit {instance_type}", "Make them exclude each other."
        )
    return rows[0] if rows else None


@cache
def series_of(instance_type: str) -> Series:
    """The series of a type. A type that the sheet does not know is its own first word, of which nothing else is known."""
    row = _only("gcp_series", instance_type)
    if row is None:
        return Series(instance_type.partition("-")[0], None, None, None, None)
    models = tuple(row["cpu_models"].split(";")) if row["cpu_models"] else None
    threads = int(row["threads_per_core"]) if row["threads_per_core"] else None
    return Series(row["series"], row["arch"] or None, row["cpu_vendor"] or None, models, threads)


@cache
def disks_of(instance_type: str) -> Disks | None:
    """Local disks that are part of the type, or None."""
    row = _only("gcp_local_ssd", instance_type)
    return (
        None
        if row is None
        else Disks(
            int(row["disks"]) if row["disks"] else None,
            int(row["gib_per_disk"]),
            row["billed"] == "slice",
        )
    )


def not_sold(instance_type: str) -> frozenset[str]:
    """Purchase options that Google does not sell the type by."""
    return frozenset(
        row["purchase_option"]
        for pattern, row in _patterns("gcp_not_sold")
        if pattern.fullmatch(instance_type)
    )


@cache
def network_of(instance_type: str) -> dict[str, str]:
    """network_gbps_max, rdma and accelerator_interconnect of types with accelerators, as documented; empty where not known."""
    row = _only("gcp_network", instance_type)
    return (
        {
            name: row[name]
            for name in ("network_gbps_max", "rdma", "accelerator_interconnect")
            if row[name]
        }
        if row
        else {}
    )


@cache
def billed_vcpus() -> dict[str, str]:
    """Type → vCPUs billed, where they are not those the API tells."""
    return {row["instance_type"]: row["vcpus_billed"] for row in sheet("gcp_billed_vcpus")}


@cache
def tpus() -> dict[str, Tpu]:
    """guestAcceleratorType → how its chips are priced."""
    return {
        row["machine_accelerator"]: Tpu(
            row["generation"], int(row["chips_per_unit"]), row["accelerator_id"]
        )
        for row in sheet("gcp_tpu")
    }


@cache
def tpu_slice(name: str) -> tuple[str, Tpu] | None:
    """A slice of the Cloud TPU API (v5litepod-16): its chip's machine accelerator and how it is priced, or None."""
    rows = [
        row
        for row in sheet("gcp_tpu")
        if row["slice_pattern"] and re.fullmatch(row["slice_pattern"], name)
    ]
    if len(rows) > 1:
        raise HwpricesError(
            f"gcp_tpu.csv: {len(rows)} patterns fit {name}", "Make them exclude each other."
        )
    return (
        (rows[0]["machine_accelerator"], tpus()[rows[0]["machine_accelerator"]]) if rows else None
    )


def preferred_places() -> list[dict[str, str]]:
    """Rows (region, preferred, over): which of two SKUs for one thing holds."""
    return sheet("gcp_places")
