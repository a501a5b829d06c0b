"""Verda's machine types as tables: collected prices, and each trap of the list."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.helpers.cases import cases, optional
from tests.helpers.vendor_tables import Tables, json_unit, read_units, record_of

TYPE = record_of("verda", "types")


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Tables]:
    """Land a list of machine types."""

    def make(*types: Any) -> Tables:
        return read_units("verda", tmp_path, [json_unit("verda", "instance_types", list(types))])

    return make


@cases("verda/prices")
def test_prices_are_of_the_machine(sample: Tables, machine: str, option: str, hourly: str) -> None:
    row = sample.one("prices", instance_type=machine, purchase_option=option)
    assert (row["hourly"], row["currency"]) == (Decimal(hourly), "USD")
    assert sample.one("regions", region=row["region"])["kind"] == "anywhere"


@cases("verda/gpus", accelerator=optional, arch=optional)
def test_a_gpu_is_what_its_name_says(sample, machine, accelerator, arch) -> None:
    row = sample.one("instance_types", instance_type=machine)
    (device,) = row["accelerators"]
    assert (device["accelerator_id"], row["arch"]) == (accelerator, arch)


@cases("verda/refused", change=yaml.safe_load)
def test_what_is_not_understood_is_refused(read, change, table, reason) -> None:
    tables = read(TYPE | change, TYPE | {"instance_type": "4A6000.40V"})
    assert tables.refused.select("table", "reason").rows() == [(table, reason)]
    assert "4A6000.40V" in set(tables["prices"]["instance_type"])
