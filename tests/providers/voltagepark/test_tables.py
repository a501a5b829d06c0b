"""Voltage Park's lists as tables: the recorded answers, and each trap of their prices."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.helpers.cases import cases
from tests.helpers.stub_server import Reply
from tests.helpers.vendor_tables import Tables, json_unit, read_units, record_of

PRESET = record_of("voltagepark", "presets")
LOCATION = record_of("voltagepark", "locations")


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
