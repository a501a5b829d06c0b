"""Voltage Park's lists as tables: the recorded answers, and each trap of their prices."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.helpers.cases import cases
from tests.helpers.stub_server import Reply
from tests.helpers.vendor_tables import Tables, json_unit, read_units

PRESET: dict[str, Any] = {
    "id": "928dc7be-5236-49a7-9d7d-c01ba6d783f5",
    "resources": {
        "gpus": {"h100-sxm5-80gb": {"count": 2}},
        "vcpu_count": 52,
        "ram_gb": 232,
        "storage_gb": 4800,
    },
    "operating_system": "TensorML 24 Everything",
    "compute_rate_hourly": "3.780000",
    "storage_rate_hourly": "0.200000",
    "location_ids_with_availability": [],
}
LOCATION: dict[str, Any] = {
    "id": "a3111bd4-550a-47d0-838a-0a52bff2ae3f",
    "gpu_count_ethernet": 0,
    "gpu_price_ethernet": "1.99",
    "gpu_count_infiniband": 24,
    "gpu_price_infiniband": "2.49",
    "specs_per_node": {"gpu_model": "h100-sxm5-80gb", "gpu_count": 8, "cpu_count": 104},
}


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Tables]:
    """Land one preset and one location, each with its changes."""

    def make(preset: dict[str, Any], location: dict[str, Any]) -> Tables:
        presets, results = [PRESET | preset], {"results": [LOCATION | location]}
        units = [
            json_unit("voltagepark", "presets", presets),
            json_unit("voltagepark", "locations", results),
        ]
        return read_units("voltagepark", tmp_path, units)

    return make


@cases("voltagepark/prices")
def test_a_price_has_all_its_parts(sample: Tables, machine: str, hourly: str) -> None:
    row = sample.one("prices", instance_type=machine)
    assert (row["hourly"], row["currency"], row["basis"]) == (Decimal(hourly), "USD", "composed")


def test_machine_and_disk_of_a_preset_have_rates(sample: Tables) -> None:
    parts = sample["price_components"].filter(instance_type="4x h100-sxm5-80gb").sort("component")
    found = parts.select("component", "unit_price").rows()
    assert found == [("instance", Decimal("7.56")), ("local_ssd", Decimal("0.40"))]


def test_a_machine_has_its_figures(sample: Tables) -> None:
    virtual = sample.one("instance_types", instance_type="2x h100-sxm5-80gb")
    assert (virtual["vcpus"], virtual["memory_gib"], virtual["bare_metal"]) == (52, 232, None)
    (device,) = virtual["accelerators"]
    assert (device["accelerator_id"], device["count"]) == ("nvidia-h100-sxm5-80gb", 2)
    metal = sample.one("instance_types", instance_type="8x h100-sxm5-80gb infiniband")
    assert (metal["vcpus"], metal["physical_cores"], metal["bare_metal"]) == (None, 104, True)
    assert (metal["rdma"], metal["cpu_models"]) == ("infiniband", ["Intel Xeon Platinum 8470"])


def test_stock_is_by_location(read: Callable[..., Tables], sample: Tables) -> None:
    place = LOCATION["id"]
    columns = ("region", "instance_type", "state", "available", "gpus")
    tables = read({"location_ids_with_availability": [place]}, {})
    assert tables["stock"].select(columns).sort("instance_type").rows() == [
        (place, "2x h100-sxm5-80gb", "1 locations", True, None),
        (place, "8x h100-sxm5-80gb ethernet", "0 GPUs", False, 0),
        (place, "8x h100-sxm5-80gb infiniband", "24 GPUs", True, 24),
    ]
    assert set(sample["stock"]["available"]) == {False}


@cases("voltagepark/refused", preset=yaml.safe_load, location=yaml.safe_load)
def test_what_is_not_understood_is_refused(read, preset, location, reason) -> None:
    tables = read(preset, location)
    assert tables.refused["reason"].to_list() == [reason]
    assert tables["prices"].height >= 1


@pytest.mark.parametrize("has_next", [True, None])
def test_a_part_of_the_locations_fails_the_unit(live, fetch, has_next) -> None:
    page = Reply.json({"results": [LOCATION], "has_next": has_next})
    live(voltagepark_url="").on("/bare-metal/locations", page)
    result = fetch("voltagepark", "locations")
    assert (result.status, len(result.pages)) == ("failed", 0)
    assert "is not all of the locations" in result.reason
