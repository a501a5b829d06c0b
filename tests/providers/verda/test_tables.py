"""Verda's machine types as tables: collected prices, and each trap of the list."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.helpers.cases import cases, optional
from tests.helpers.vendor_tables import Tables, json_unit, read_units

TYPE: dict[str, Any] = {
    "instance_type": "2A6000.20V",
    "model": "RTX A6000",
    "name": "RTX A6000 48GB",
    "cpu": {"description": "20 CPU", "number_of_cores": 20},
    "memory": {"description": "120GB RAM", "size_in_gigabytes": 120},
    "gpu": {"description": "2x RTX A6000 48GB", "number_of_gpus": 2},
    "gpu_memory": {"description": "96GB GPU RAM", "size_in_gigabytes": 96},
    "currency": "usd",
    "price_per_hour": "1.98",
    "spot_price": "0.70",
}


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


def test_memory_is_that_of_all_gpus(read: Callable[..., Tables]) -> None:
    row = read(TYPE).one("instance_types", instance_type="2A6000.20V")
    assert (row["accelerator_count"], row["accelerator_memory_gib"]) == (2, 96)
    assert (row["vcpus"], row["memory_gib"]) == (20, 120)


def test_a_machine_without_gpus_has_none(sample: Tables) -> None:
    row = sample.one("instance_types", instance_type="CPU.360V.1440G")
    assert (row["accelerator_kind"], row["vcpus"], row["memory_gib"]) == ("none", 360, 1440)


def test_a_serverless_price_is_a_purchase_option(read: Callable[..., Tables]) -> None:
    """H100 of the API's answer of 2025: 1.99 on demand, 2.19 serverless."""
    h100 = TYPE | {"instance_type": "1H100.80S.30V", "price_per_hour": "1.99"}
    tables = read(h100 | {"serverless_price": "2.19"}, TYPE | {"serverless_price": "0"})
    row = tables.one("prices", purchase_option="serverless")
    assert (row["instance_type"], row["hourly"]) == ("1H100.80S.30V", Decimal("2.19"))
    assert tables.counts == {"out_of_scope:serverless=not_listed": 1}
    bad = read(h100 | {"serverless_price": "-"})
    assert bad.refused["reason"].to_list() == ["price_not_a_number"]


def test_zero_is_no_price(read: Callable[..., Tables]) -> None:
    row = read(TYPE | {"spot_price": "0.00"}).one("prices", purchase_option="spot")
    assert (row["hourly"], row["price_reason"]) == (None, "listed_at_zero")


@cases("verda/refused", change=yaml.safe_load)
def test_what_is_not_understood_is_refused(read, change, table, reason) -> None:
    tables = read(TYPE | change, TYPE | {"instance_type": "4A6000.40V"})
    assert tables.refused.select("table", "reason").rows() == [(table, reason)]
    assert "4A6000.40V" in set(tables["prices"]["instance_type"])
