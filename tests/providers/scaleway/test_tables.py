"""Scaleway's products as tables: the recorded zone, and each trap of its list."""

from pathlib import Path
from typing import Any

import yaml
from tests.helpers.cases import cases
from tests.helpers.vendor_tables import Tables, json_unit, read_units, record_of

SERVER = record_of("scaleway", "servers")


def test_stock_is_the_vendors_word(sample: Tables) -> None:
    words = sample["stock"].group_by("state", "available").len().sort("state").rows()
    assert words == [("available", True, 14), ("scarce", True, 5), ("shortage", False, 10)]


@cases("scaleway/form_factors")
def test_the_form_factor_is_the_apis(sample: Tables, machine: str, accelerator: str) -> None:
    (device,) = sample.one("instance_types", instance_type=machine)["accelerators"]
    assert device["accelerator_id"] == accelerator


@cases("scaleway/refused", price=yaml.safe_load)
def test_what_is_no_price_is_in_quarantine(tmp_path: Path, price: Any, reason: str) -> None:
    servers = {"A": {**SERVER, "hourly_price": price}, "B": SERVER}
    unit = json_unit("scaleway", "servers", {"servers": servers}, "fr-par-2")
    made = read_units("scaleway", tmp_path, [unit])
    assert made["prices"]["instance_type"].to_list() == ["B"]
    assert made.refused["reason"].to_list() == [reason]
