"""Normalise pages recorded from Google (tests/recordings/gcp/README.md)."""

from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from tests.helpers.gcp_pages import Tables, normalise_pages, recording

from hwprices.providers import gcp
from hwprices.schemas.tables import TABLES
from hwprices.stage import validate


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    bodies = {
        gcp.SKUS: [recording("skus_2023-03")],
        gcp.MACHINE_TYPES: [recording("machine_types_2026-08-17")],
        gcp.REGIONS: [recording("regions_2025-03")],
        gcp.ZONES: [recording("zones_2025-03")],
    }
    return normalise_pages(Path(tmp_path_factory.mktemp("landing")), bodies)


def test_an_a100_machine_is_core_memory_and_gpu(tables: Tables) -> None:
    """A2 in Iowa in March 2023: 12 × 0.031611 + 85 × 0.004237 + 2.933908 dollars."""
    price = tables.prices("a2-highgpu-1g")[("on_demand", 0)]
    assert price["hourly"] == Decimal("3.673385")
    lines = tables.components(price["price_id"])
    assert {name: (line["quantity"], line["unit_price"]) for name, line in lines.items()} == {
        "core": (12, Decimal("0.031611")),
        "ram": (85, Decimal("0.004237")),
        "gpu": (1, Decimal("2.933908")),
    }
    assert lines["gpu"]["sku_id"] == "039F-D0DA-4055"
    assert price["effective_from"].isoformat() == "2023-03-24T10:52:50.681000+00:00"


def test_gpus_of_a_machine_are_multiplied(tables: Tables) -> None:
    assert tables.hourly("a2-highgpu-8g") == 8 * tables.hourly("a2-highgpu-1g")


def test_prices_in_another_currency_are_refused(tables: Tables) -> None:
    refused = [row for row in tables.refused if row["reason"] != "unknown_column"]
    assert [(row["reason"], row["word"]) for row in refused] == [("unknown_currency", "IDR")] * 4
    # The recording has members that its maker added.
    members = {row["word"] for row in tables.refused} - {"IDR"}
    assert members == {"EffectiveTime", "node", "pv"}
    e2 = tables.prices("e2-standard-4")[("on_demand", 0)]
    assert (e2["hourly"], e2["price_reason"]) == (None, "core_sku_missing,ram_sku_missing")


def test_regions_and_zones_are_those_of_the_lists(tables: Tables) -> None:
    regions = tables.table("regions")
    assert regions.height == 42
    assert set(regions["status"]) == {"available"}
    assert regions["latitude"].null_count() == 0
    zones = tables.table("zones")
    assert zones.height == 127
    iowa = zones.filter(region="us-central1")["zone"].to_list()
    assert iowa == ["us-central1-a", "us-central1-b", "us-central1-c", "us-central1-f"]


def test_machine_types_are_read_with_disks_and_accelerators(tables: Tables) -> None:
    h100 = tables.instance_type("a3-highgpu-8g")
    assert (h100["vcpus"], h100["memory_gib"], h100["accelerator_count"]) == (208, 1872.0, 8.0)
    assert (h100["local_disk_count"], h100["local_disk_gib"]) == (16, 6000.0)
    assert h100["accelerator_memory_gib"] == 640.0
    shared_core = tables.instance_type("e2-small")
    assert (shared_core["vcpus"], shared_core["vcpus_billed"]) == (2, 0.5)
    assert shared_core["burstable"]
    assert tables.instance_type("c4-standard-8-lssd")["local_disk_count"] == 1


def test_availability_is_by_zone(tables: Tables) -> None:
    offered = tables.table("availability").filter(instance_type="a2-highgpu-1g")
    assert set(offered["zone"]) >= {"us-central1-a"}
    assert tables.table("availability").height == 277


def test_the_rows_pass_validation(tables: Tables) -> None:
    for name in ("regions", "zones", "instance_types", "availability", "prices"):
        refused = validate.split(tables.table(name), TABLES[name], {}).refused
        assert refused.is_empty(), (name, refused.select(pl.col("message").head(3)))
