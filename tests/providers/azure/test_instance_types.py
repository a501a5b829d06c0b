"""Read specifications of sizes from resource SKUs, and where they are offered."""

import json
from collections.abc import Mapping
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
from tests.helpers.cases import cases, named_cases, number, optional
from tests.helpers.cases import rows as case_rows
from tests.helpers.expected import plain

from hwprices.schemas.tables import TABLES
from hwprices.stage import validate


@named_cases("azure/sizes", "size", "family", "capabilities", "columns")
def test_a_listed_size_has_these_columns(tmp_path: Path, case: Mapping[str, Any]) -> None:
    family = [case["family"]] if "family" in case else []
    row = one_size(tmp_path, case["size"], *family, **case.get("capabilities", {}))
    for column, value in case["columns"].items():
        assert plain(row[column]) == plain(value), column


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
