"""Landed machine types → what they are, where they are offered, and which parts they are made of.

The wire shape is ``machineTypes.aggregatedList``: https://cloud.google.com/compute/docs/reference/rest/v1/machineTypes/aggregatedList.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.providers.gcp import sheets
from hwprices.providers.gcp.inventory import tpu
from hwprices.specs.accelerator_names import accelerator_matcher

OWN_SSD = {"c4", "c4a", "c4d"}
"""Series whose local SSD has a SKU of its own (C4 Instance Local SSD …); the others pay "SSD backed Local Storage"."""

SLICED = {"a4", "a4x", "a4xmax"}
"""Series sold by the GPU slice, which holds its share of cores, memory and disks: they have no core or memory SKU."""

EIGHTHS = 8  # G4 below one GPU is sold in eighths of a GPU, all-in: "1/8 vGPU no lssd"

SOURCES: dict[str, Any] = {
    "observed_at": pl.Datetime("us", "UTC"),
    "source_url": pl.String,
    "raw_sha256": pl.String,
}

NEEDS: dict[str, Any] = {
    "instance_type": pl.String,
    "series": pl.String,
    "part": pl.String,
    "component": pl.String,
    "quantity": pl.Decimal(20, 10),
    "unit": pl.String,
    "main": pl.Boolean,
}


@dataclass(frozen=True)
class Machines:
    """``specs``: one mapping a type (API fields and what is derived). ``offers``: zone, region, instance_type and source columns.
    ``needs``: the parts of each type with their quantities; ``main`` marks the part that decides whether an option is sold."""

    specs: list[dict[str, Any]]
    offers: pl.DataFrame
    needs: pl.DataFrame


def nominal_gib(memory_mb: int) -> Decimal:
    """Memory as it is billed. The API rounds to whole MiB what is sold in tenths of a GiB (14.4 GiB → 14746).

    https://cloud.google.com/compute/docs/general-purpose-machines lists the sizes.
    """
    exact = Decimal(memory_mb) / 1024
    tenths = round(exact, 1)
    return tenths if abs(tenths * 1024 - memory_mb) < 1 else exact


def read(pages: Pages) -> Machines:
    """Read every machine type and TPU slice of the run. A type is described by the first zone that lists it.

    Raises:
        HwpricesError: a page is not an aggregated list, or a type has local disks and nothing says how many.
    """
    specs: dict[str, dict[str, Any]] = {}
    offers: list[tuple[str, str, str, int]] = []
    sources: list[dict[str, Any]] = []
    for page in pages.of("machine-types"):
        sources.append(
            {"observed_at": page.retrieved_at, "source_url": page.url, "raw_sha256": page.sha256}
        )
        origin = {
            "source": "bundled" if page.params.get("source") == "bundled" else "api",
            **sources[-1],
        }
        for zone, raw in _listed(pages, page):
            offers.append((zone, zone.rpartition("-")[0], raw["name"], len(sources) - 1))
            if raw["name"] not in specs:
                specs[raw["name"]] = _spec({**raw, **origin})
    for zone, spec in tpu.slices(pages):
        sources.append({key: spec[key] for key in SOURCES})
        offers.append((zone, zone.rpartition("-")[0], spec["instance_type"], len(sources) - 1))
        specs.setdefault(spec["instance_type"], spec)
    ordered = [specs[name] for name in sorted(specs)]
    needs = pl.DataFrame(
        [need for spec in ordered for need in _needs(spec)], schema=NEEDS, orient="row"
    )
    return Machines(ordered, _offers(offers, sources), needs)


def _offers(offers: list[tuple[str, str, str, int]], sources: list[dict[str, Any]]) -> pl.DataFrame:
    columns: dict[str, Any] = {
        "zone": pl.String,
        "region": pl.String,
        "instance_type": pl.String,
        "page": pl.UInt32,
    }
    places = pl.DataFrame(offers, schema=columns, orient="row").unique(
        ["zone", "instance_type"], keep="first", maintain_order=True
    )
    pages = pl.DataFrame(sources, schema=SOURCES).with_row_index("page")
    return places.join(pages, on="page", how="left", maintain_order="left").drop("page")


def _listed(pages: Pages, page: Page) -> Iterator[tuple[str, dict[str, Any]]]:
    """Zone and type. A zone without types carries a warning instead of a list."""
    scopes = json.loads(pages.read(page)).get("items", {})
    if not isinstance(scopes, dict):
        raise HwpricesError(
            f"landed page {page.key} is not an aggregated list",
            "Fetch again; check HWPRICES_GCP_COMPUTE_URL.",
        )
    for scope, listed in scopes.items():
        for raw in listed.get("machineTypes", ()):
            yield scope.removeprefix("zones/"), raw


def _spec(raw: dict[str, Any]) -> dict[str, Any]:
    """One type: the API's figures with what its name and description tell."""
    name = raw["name"]
    series = sheets.series_of(name)
    devices = [_accelerator(name, a) for a in raw.get("accelerators") or ()]
    disks = sheets.disks_of(name)
    return {
        "instance_type": name,
        "series": series,
        "vcpus": int(raw["guestCpus"]),
        "gib": nominal_gib(int(raw["memoryMb"])),
        "arch": {"X86_64": "x86_64", "ARM64": "arm64"}.get(
            raw.get("architecture", ""), series.arch
        ),
        "shared": bool(raw.get("isSharedCpu")),
        "accelerators": devices,
        "disks": disks,
        "disk_count": _disk_count(raw, disks),
        "deprecated": raw.get("deprecated") or {},
        **{key: raw[key] for key in ("source", *SOURCES)},
    }


def _accelerator(instance_type: str, raw: dict[str, Any]) -> dict[str, Any]:
    """One accelerator entry. ``-vws`` is the same GPU with a workstation licence."""
    name = raw["guestAcceleratorType"]
    match = accelerator_matcher("gcp")(name, instance_type)
    count = (
        Decimal(str(match.count))
        if match and match.count is not None
        else Decimal(raw["guestAcceleratorCount"])
    )
    return {
        "accelerator_id": match.accelerator_id if match else None,
        "vendor_name": name,
        "count": count,
        "memory_gib": match.memory_gib if match else None,
    }


def _disk_count(raw: dict[str, Any], disks: sheets.Disks | None) -> int:
    """Local disks: from bundledLocalSsds, the sheet, or the description ("…, 16 local SSDs"), in this order."""
    if disks is None:
        return 0
    bundled = (raw.get("bundledLocalSsds") or {}).get("partitionCount")
    said = re.search(r"\b(\d+) [Ll]ocal SSDs?$", raw.get("description", ""))
    count = disks.count or bundled or (said and said[1])
    if not count:
        raise HwpricesError(
            f"gcp: {raw['name']} has local SSD, and nothing says how many",
            "Give its number in data/specs/gcp_local_ssd.csv.",
        )
    return int(count)


def _needs(spec: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Rows of NEEDS for one type, the main part first."""
    name, series = spec["instance_type"], spec["series"].series
    accelerators = spec["accelerators"]
    if accelerators and accelerators[0]["vendor_name"] in sheets.tpus():
        device = accelerators[0]
        sold = sheets.tpus()[device["vendor_name"]]
        yield (
            name,
            "tpu",
            f"tpu:{sold.generation}",
            "tpu",
            device["count"] / sold.chips_per_unit,
            _chips(sold.chips_per_unit),
            True,
        )
        return
    if series in SLICED and accelerators:
        yield (
            name,
            series,
            f"slice:{accelerators[0]['vendor_name']}",
            "slice",
            accelerators[0]["count"],
            "gpu",
            True,
        )
        return
    if series == "g4" and accelerators and accelerators[0]["count"] < 1:
        part = f"slice:{accelerators[0]['vendor_name']}-eighth"
        yield name, series, part, "slice", accelerators[0]["count"] * EIGHTHS, "eighth_gpu", True
        return
    if series in ("f1", "g1"):
        yield name, series, "instance", "instance", Decimal(1), "instance", True
        return
    for device in accelerators:
        yield (
            name,
            "any",
            f"gpu:{device['vendor_name'].removesuffix('-vws')}",
            "gpu",
            device["count"],
            "gpu",
            True,
        )
    yield from _core_and_memory(spec, main=not accelerators)
    if spec["disk_count"] and not spec["disks"].in_slice:
        gib = Decimal(spec["disk_count"] * spec["disks"].gib_each)
        yield (
            name,
            series if series in OWN_SSD else "any",
            "local_ssd",
            "local_ssd",
            gib,
            "gib",
            False,
        )


def _core_and_memory(spec: dict[str, Any], *, main: bool) -> Iterator[tuple[Any, ...]]:
    """Core and memory. M2 is M1 with an upgrade premium on both."""
    name, series = spec["instance_type"], spec["series"].series
    vcpus = Decimal(sheets.billed_vcpus().get(name, spec["vcpus"]))
    base = "m1" if series == "m2" else series
    yield name, base, "core", "core", vcpus, "vcpu", main
    yield name, base, "ram", "ram", spec["gib"], "gib", False
    if series == "m2":
        yield name, series, "premium_core", "premium", vcpus, "vcpu", False
        yield name, series, "premium_ram", "premium_2", spec["gib"], "gib", False


def _chips(chips: int) -> str:
    return "chip" if chips == 1 else f"{chips}_chips"
