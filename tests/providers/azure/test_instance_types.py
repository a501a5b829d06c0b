"""Read specifications of sizes from resource SKUs, and where they are offered."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from tests.helpers.azure_pages import (
    Landed,
    frame,
    instance_types,
    one_size,
    recording,
    refused,
    restriction,
    sku,
)
from tests.helpers.cases import cases, number, optional
from tests.helpers.cases import rows as case_rows

from hwprices.schemas.tables import TABLES
from hwprices.stage import validate


def test_z7_a_constrained_size_has_fewer_vcpus(tmp_path) -> None:
    figures = {"vCPUs": "8", "vCPUsAvailable": "4", "MemoryGB": "64"}
    row = one_size(tmp_path, "Standard_E8-4s_v5", "standardESv5Family", **figures)
    assert (row["vcpus"], row["vcpus_billed"], row["memory_gib"]) == (4, 8.0, 64.0)
    assert row["physical_cores"] is None
    assert (row["series"], row["generation"], row["cpu_vendor"]) == ("Esv5", "v5", "Intel")


@cases("azure/capabilities", capabilities=yaml.safe_load, columns=yaml.safe_load)
def test_disks_rdma_confidential_and_arch(tmp_path, name, family, capabilities, columns) -> None:
    row = one_size(tmp_path, name, family, **capabilities)
    assert {column: row[column] for column in columns} == columns


@pytest.mark.parametrize(
    ("date_text", "status", "day"),
    [
        ("11/15/2028", "retiring", date(2028, 11, 15)),
        ("01/01/9999", "current", None),
        (None, None, None),
        ("soon", None, None),
    ],
)
def test_retirement(tmp_path, date_text, status, day) -> None:
    row = one_size(tmp_path, "Standard_D2s_v3", RetirementDateUtc=date_text)
    assert (row["status"], row["retirement_date"]) == (status, day)


DISK_SPEEDS = [
    *("block_storage_gbps_baseline", "block_storage_iops_baseline"),
    *("block_storage_gbps_max", "block_storage_iops_max"),
    *("local_disk_read_iops", "local_disk_write_iops"),
]


@pytest.mark.parametrize(
    ("uncached", "nvme", "speeds"),
    [
        (("3750", "85000000"), (None, None), (0.68, 3750, None, None, None, None)),
        (("15200", "360000000"), ("550000", "220000"), (2.88, 15200, None, None, 550000, 220000)),
        (("0", "0"), (None, None), (None,) * 6),
        ((None, None), (None, None), (None,) * 6),
    ],
)
def test_disk_speeds_are_those_without_bursts(tmp_path, uncached, nvme, speeds) -> None:
    """D2s_v5 has 85 MB/s, L8as_v4 has 360."""
    names = (
        "UncachedDiskIOPS",
        "UncachedDiskBytesPerSecond",
        "NvmeMaxReadIops",
        "NvmeMaxWriteIops",
    )
    capabilities = dict(zip(names, (*uncached, *nvme), strict=True))
    cached = {"CombinedTempDiskAndCachedIOPS": "9000"}
    row = one_size(tmp_path, "Standard_D2s_v5", "family", **capabilities, **cached)
    assert tuple(row[column] for column in DISK_SPEEDS) == speeds


@cases("azure/networks", gbps=number)
def test_the_network_is_that_of_the_sheet(tmp_path, name, rdma, gbps) -> None:
    row = one_size(tmp_path, name, "standardDSv5Family", RdmaEnabled=rdma)
    assert (row["network_gbps_max"], row["network_gbps_baseline"]) == (gbps, None)


def test_other_resources_are_counted_and_nameless_sizes_refused(tmp_path) -> None:
    disk = {**sku("x"), "resourceType": "disks"}
    landed = Landed(tmp_path).skus(sku("Standard_D2s_v3"), disk, disk, {**sku("z"), "name": None})
    part = landed.parts()["instance_types"]
    assert (frame(part).height, refused(part)) == (1, ["sku_without_name"])
    assert part.counts == {"out_of_scope:resource_type=disks": 2}


@cases("azure/impossible_figures", figures=yaml.safe_load)
def test_a_size_with_an_impossible_figure_is_in_quarantine(tmp_path, figures) -> None:
    landed = Landed(tmp_path).skus(sku("Standard_D2s_v3"), sku("Standard_D4s_v3", **figures))
    part = landed.parts()["instance_types"]
    assert frame(part)["instance_type"].to_list() == ["Standard_D2s_v3"]
    assert part.refused is not None
    assert part.refused.select("reason", "message").rows() == [
        ("impossible_figure", "Standard_D4s_v3 has a figure that no machine has")
    ]


def test_the_api_goes_before_the_bundled_sizes(tmp_path) -> None:
    bundled = [sku("Standard_D2s_v3", MemoryGB="9"), sku("Standard_D4s_v3")]
    bundled.append(sku("Standard_D8s_v3", location="westus"))
    landed = Landed(tmp_path).skus(*bundled, region="global", params={"bundled": "2026-08-31"})
    parts = landed.skus(sku("Standard_D2s_v3")).parts()
    types = {row["instance_type"]: row for row in frame(parts["instance_types"]).to_dicts()}
    of_api, bundled_one = types["Standard_D2s_v3"], types["Standard_D8s_v3"]
    assert (of_api["spec_source"], of_api["memory_gib"]) == ("api", 8.0)
    assert (bundled_one["spec_source"], bundled_one["memory_gib"]) == ("bundled", 8.0)
    offered = sorted(frame(parts["availability"]).select("region", "instance_type").rows())
    assert offered == [("eastus", "Standard_D2s_v3"), ("westus", "Standard_D8s_v3")]


def test_every_recorded_sku_is_read(tmp_path) -> None:
    body = recording("skus_westus_2024-10.json.gz")
    names = {value["name"] for value in json.loads(body)["value"]}
    parts = Landed(tmp_path).add("skus", "westus", body).parts()
    types, places = frame(parts["instance_types"]), frame(parts["availability"])
    assert len(names) == 732
    assert set(types["instance_type"]) == set(places["instance_type"]) == names
    assert (refused(parts["instance_types"]), dict(parts["instance_types"].counts)) == ([], {})
    columns = ("vcpus", "memory_gib", "arch", "series", "local_disk_gib")
    assert types.select(columns).null_count().row(0) == (0,) * 5
    constrained = types.filter(pl.col("vcpus").cast(pl.Float64) != pl.col("vcpus_billed"))
    assert types["physical_cores"].null_count() == constrained.height
    for name, rows in (("instance_types", types), ("availability", places)):
        assert validate.split(rows, TABLES[name], {}).refused.is_empty()


def test_zones_and_restrictions(tmp_path) -> None:
    """Zones in any order, restrictions of both kinds, a zone that only a restriction names."""
    closed, zonal = restriction("Location", "eastus"), restriction("Zone", "eastus", ["1"])
    landed = Landed(tmp_path).skus(
        sku(
            "Standard_D2s_v3",
            location="EastUS",
            zones=["2", "3", "1"],
            restrictions=[restriction("Zone", "EastUS", ["3", "4"])],
        ),
        sku("Standard_D4s_v3", zones=["1"], restrictions=[closed, zonal]),
        sku("Standard_D8s_v3"),
        sku("Standard_D16s_v3", restrictions=[restriction("Zone", "eastus", ["2"])]),
    )
    columns = ("instance_type", "region", "zone", "restriction_reason")
    rows = frame(landed.parts()["availability"]).select(*columns, "restricted")
    no = "NotAvailableForSubscription"
    assert sorted(rows.select(columns).rows(), key=str) == [
        ("Standard_D16s_v3", "eastus", "2", no),
        ("Standard_D2s_v3", "eastus", "1", None),
        ("Standard_D2s_v3", "eastus", "2", None),
        ("Standard_D2s_v3", "eastus", "3", no),
        ("Standard_D2s_v3", "eastus", "4", no),
        ("Standard_D4s_v3", "eastus", "1", no),
        ("Standard_D8s_v3", "eastus", None, None),
    ]
    assert rows["restricted"].equals(rows["restriction_reason"].is_not_null().rename("restricted"))


def test_zones_of_a_recorded_answer(tmp_path) -> None:
    body = recording("skus_eastus_2023.json.gz")
    machines = [s for s in json.loads(body)["value"] if s["resourceType"] == "virtualMachines"]
    parts = Landed(tmp_path).add("skus", "eastus", body).parts()
    types, places = frame(parts["instance_types"]), frame(parts["availability"])
    assert set(types["instance_type"]) == {machine["name"] for machine in machines}
    assert set(places.filter(instance_type="Standard_D2_v2")["zone"]) == {"1", "2", "3"}


def accelerators_of(row: dict[str, Any]) -> tuple[Any, ...]:
    (device,) = row["accelerators"]
    figures = (device["count"], row["accelerator_count"], row["accelerator_memory_gib"])
    return (device["accelerator_id"], row["accelerator_kind"], *figures)


def test_z7_accelerators_of_sizes(tmp_path: Path) -> None:
    first, *others = case_rows("azure/accelerators", gpus=optional, count=number, gib=int)
    for folder, listed in (("first", [first]), ("others", others)):  # one size is in both
        skus = [sku(case["name"], "family", GPUs=case["gpus"]) for case in listed]
        types = instance_types(tmp_path / folder, *skus).iter_rows(named=True)
        assert {row["instance_type"]: accelerators_of(row) for row in types} == {
            case["name"]: (
                *(case["accelerator"], "gpu"),
                *(pytest.approx(case[name]) for name in ("count", "count", "gib")),
            )
            for case in listed
        }


def test_an_fpga_is_not_a_gpu(tmp_path: Path) -> None:
    row = one_size(tmp_path, "Standard_NP20s", "standardNPSFamily", GPUs="2")
    assert (row["accelerator_kind"], row["accelerator_count"]) == ("fpga", 2.0)


def test_an_accelerator_without_a_sheet_keeps_its_place(tmp_path: Path) -> None:
    row = one_size(tmp_path, "Standard_ND256isr_R300_v9", "standardNDv9Family")
    assert (row["accelerator_kind"], row["accelerator_count"]) == ("gpu", None)
    assert row["accelerators"] == [
        {"accelerator_id": None, "vendor_name": None, "count": None, "memory_gib": None}
    ]


def test_recorded_locations(tmp_path: Path) -> None:
    body = recording("locations.json.gz")
    parts = (
        Landed(tmp_path)
        .add("locations", "global", body)
        .skus(sku("Standard_D2s_v3", location="austriaeast"), region="austriaeast")
        .parts()
    )
    regions = frame(parts["regions"])
    found = (regions.height, dict(parts["regions"].counts))
    assert found == (55, {"out_of_scope:logical_or_test_location": 43})
    west = regions.filter(region="westeurope").row(0, named=True)
    assert (west["display_name"], west["country"]) == ("West Europe", "NL")
    assert (west["continent"], west["latitude"]) == ("europe", 52.3667)
    assert regions.filter(pl.col("country").is_null())["region"].to_list() == ["austriaeast"]
    assert regions.filter(region="brazilus")["latitude"].to_list() == [None]
    zones = frame(parts["zones"]).filter(region="eastus").select("zone", "zone_id").rows()
    assert zones == [("1", "eastus-az2"), ("2", "eastus-az3"), ("3", "eastus-az1")]
    for table in ("regions", "zones"):
        assert validate.split(frame(parts[table]), TABLES[table], {}).refused.is_empty()


@cases("azure/region_kinds")
def test_kind_of_a_region(tmp_path: Path, region: str, kind: str) -> None:
    parts = Landed(tmp_path).skus(sku("Standard_D2s_v3", location=region), region=region).parts()
    assert frame(parts["regions"]).select("region", "kind").rows() == [(region, kind)]
