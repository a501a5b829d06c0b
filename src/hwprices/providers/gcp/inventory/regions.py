"""Regions, zones and machine types as table rows."""

import json
from collections.abc import Iterator
from typing import Any

import polars as pl

from hwprices.providers import Pages, Part
from hwprices.providers.gcp import sheets
from hwprices.providers.gcp.inventory.instance_types import Machines
from hwprices.rows import frames
from hwprices.schemas.catalog import InstanceTypes, Regions, Zones


def places(pages: Pages, machines: Machines, wanted: list[str] | None) -> Iterator[Part]:
    """regions and zones: from the API's lists where they were fetched, else those that machine types are listed in."""
    zones = (
        _listed(pages, "zones")
        or machines.offers.select("zone", "region", "observed_at", "raw_sha256")
        .unique("zone", keep="first")
        .to_dicts()
    )
    regions = _listed(pages, "regions") or [{**zone, "zone": None} for zone in zones]
    known = {row["region"]: row for row in sheets.sheet("gcp_regions")}
    unique = {
        row["region"]: row for row in reversed(regions) if wanted is None or row["region"] in wanted
    }
    frame = pl.DataFrame(
        [_region(row, known.get(name, {})) for name, row in sorted(unique.items())],
        schema_overrides=frames.dtypes(Regions),
    )
    yield Part("regions", frames.conform(frame.lazy(), Regions).collect())
    rows = [
        {
            "provider": "gcp",
            "region": z["region"],
            "zone": z["zone"],
            "kind": "zone",
            "observed_at": z["observed_at"],
            "raw_sha256": z["raw_sha256"],
        }
        for z in sorted(zones, key=lambda z: str(z["zone"]))
        if z["region"] in unique
    ]
    yield Part(
        "zones",
        frames.conform(
            pl.DataFrame(rows, schema_overrides=frames.dtypes(Zones)).lazy(), Zones
        ).collect(),
    )


def _listed(pages: Pages, kind: str) -> list[dict[str, Any]]:
    """Items of ``regions.list`` or ``zones.list``, https://cloud.google.com/compute/docs/reference/rest/v1/zones/list."""
    rows = []
    for page in pages.of(kind):
        for item in json.loads(pages.read(page)).get("items", ()):
            region = item["name"] if kind == "regions" else item["region"].rpartition("/")[2]
            rows.append(
                {
                    "region": region,
                    "zone": item["name"],
                    "status": item.get("status"),
                    "observed_at": page.retrieved_at,
                    "raw_sha256": page.sha256,
                }
            )
    return rows


def _region(row: dict[str, Any], known: dict[str, str]) -> dict[str, Any]:
    """One row of regions; place and coordinates from data/specs/gcp_regions.csv."""
    return {
        "provider": "gcp",
        "region": row["region"],
        "display_name": known.get("display_name"),
        "kind": "region",
        "status": {"UP": "available", "DOWN": "unreachable"}.get(row.get("status") or ""),
        "country": known.get("country"),
        "continent": known.get("continent"),
        "latitude": float(known["latitude"]) if known else None,
        "longitude": float(known["longitude"]) if known else None,
        "observed_at": row["observed_at"],
        "raw_sha256": row["raw_sha256"],
    }


def instance_types(machines: Machines) -> pl.DataFrame:
    """One row a machine type, in the order of their names."""
    rows = [_type(spec) for spec in machines.specs]
    return frames.conform(
        pl.DataFrame(rows, schema_overrides=frames.dtypes(InstanceTypes)).lazy(), InstanceTypes
    ).collect()


def _type(spec: dict[str, Any]) -> dict[str, Any]:
    name, series = spec["instance_type"], spec["series"]
    generation = next((c for c in name.split("-")[0] if c.isdigit()), None)
    threads = None if spec["shared"] or spec["vcpus"] is None else series.threads_per_core
    return {
        "provider": "gcp",
        "instance_type": name,
        "family": "-".join(name.split("-")[:2]),
        "series": series.series,
        "generation": generation,
        "status": "retiring" if spec["deprecated"] else "current",
        "arch": spec["arch"],
        "cpu_vendor": series.cpu_vendor,
        "cpu_models": list(series.cpu_models) if series.cpu_models else None,
        "vcpus": spec["vcpus"],
        "vcpus_billed": None
        if spec["vcpus"] is None or series.series in ("f1", "g1")
        else float(sheets.billed_vcpus().get(name, spec["vcpus"])),
        "physical_cores": (spec["vcpus"] // threads or None)
        if threads
        else None,  # n1-standard-1 is half a core
        "threads_per_core": threads,
        "memory_gib": None if spec["gib"] is None else float(spec["gib"]),
        "burstable": spec["shared"],
        "bare_metal": name.endswith("-metal"),
        **_devices(spec),
        **_disks(spec),
        **_network(name),
        "spec_source": spec["source"],
        "corrections": [],
        "observed_at": spec["observed_at"],
        "raw_sha256": spec["raw_sha256"],
    }


def _devices(spec: dict[str, Any]) -> dict[str, Any]:
    devices = [{**d, "count": float(d["count"])} for d in spec["accelerators"]]
    kind = "none" if not devices else "tpu" if devices[0]["vendor_name"] in sheets.tpus() else "gpu"
    sizes = [d["memory_gib"] * d["count"] for d in devices if d["memory_gib"]]
    return {
        "accelerators": devices,
        "accelerator_kind": kind,
        "accelerator_count": sum(d["count"] for d in devices),
        "accelerator_memory_gib": sum(sizes) if devices and len(sizes) == len(devices) else None,
    }


def _network(name: str) -> dict[str, Any]:
    known = sheets.network_of(name)
    return {
        "network_gbps_max": float(known["network_gbps_max"]) if known else None,
        "rdma": known.get("rdma"),
        "accelerator_interconnect": known.get("accelerator_interconnect"),
    }


def _disks(spec: dict[str, Any]) -> dict[str, Any]:
    count = spec["disk_count"]
    return {
        "local_disk_gib": float(count * spec["disks"].gib_each) if count else 0.0,
        "local_disk_count": count,
        "local_disk_kind": "nvme_ssd" if count else None,
    }
