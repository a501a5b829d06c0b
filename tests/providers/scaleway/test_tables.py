"""Scaleway's products as tables: the recorded zone, and each trap of its list."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.helpers.cases import cases
from tests.helpers.vendor_tables import Tables, json_unit, read_units

SERVER: dict[str, Any] = {
    "arch": "x86_64",
    "ncpus": 24,
    "ram": 257698037760,
    "gpu": 1,
    "gpu_info": {"gpu_manufacturer": "NVIDIA", "gpu_name": "H100-PCIe", "gpu_memory": 85899345920},
    "mig_profile": None,
    "monthly_price": 2092.545,
    "hourly_price": 2.8665,
    "network": {"sum_internal_bandwidth": 10000000000},
    "block_bandwidth": 2097152000,
    "end_of_service": False,
}


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Tables]:
    """Land a page for each zone, with machines that differ from SERVER, and ``raw`` ones."""

    def make(
        zones: dict[str, dict[str, Any]] | None = None,
        raw: dict[str, Any] | None = None,
        **machines: Any,
    ) -> Tables:
        units = []
        for zone, servers in (zones or {"fr-par-2": machines}).items():
            rows = {name: {**SERVER, **change} for name, change in servers.items()} | (raw or {})
            units.append(json_unit("scaleway", "servers", {"servers": rows}, zone))
        return read_units("scaleway", tmp_path, units)

    return make


def test_euros_stay_euros_to_the_last_digit(sample: Tables) -> None:
    row = sample.one("prices", instance_type="L40S-4-48G")
    assert (row["hourly"], row["currency"]) == (Decimal("5.879664"), "EUR")
    assert set(sample["prices"]["purchase_option"]) == {"on_demand"}


def test_stock_is_the_vendors_word(sample: Tables) -> None:
    """Sold out is not gone: the machine keeps its price."""
    rows = sample["stock"]
    words = rows.group_by("state", "available").len().sort("state").rows()
    assert words == [("available", True, 14), ("scarce", True, 5), ("shortage", False, 10)]
    (sold_out,) = rows.filter(instance_type="L4-8-24G").to_dicts()
    found = (sold_out["state"], sold_out["region"], sold_out["gpus"])
    assert found == ("shortage", "fr-par-2", None)
    assert sample.one("prices", instance_type="L4-8-24G")["hourly"] == Decimal("6.3")


@pytest.mark.parametrize(("gpus", "hourly"), [(2, "18.96"), (4, "34.08"), (8, "60.00")])
def test_a_price_need_not_follow_the_number_of_gpus(sample: Tables, gpus: int, hourly: str) -> None:
    name = f"B300-SXM-{gpus}-288G"
    assert sample.one("prices", instance_type=name)["hourly"] == Decimal(hourly)
    assert sample.one("instance_types", instance_type=name)["accelerator_count"] == gpus


@cases("scaleway/form_factors")
def test_the_form_factor_is_the_apis(sample: Tables, machine: str, accelerator: str) -> None:
    (device,) = sample.one("instance_types", instance_type=machine)["accelerators"]
    assert device["accelerator_id"] == accelerator


def test_memory_is_of_one_gpu_and_bytes_become_gib(sample: Tables) -> None:
    machine = sample.one("instance_types", instance_type="H100-SXM-8-80G")
    assert (machine["memory_gib"], machine["accelerator_memory_gib"]) == (960, 640)


@pytest.mark.parametrize("figures", [{"ncpus": 10**10}, {"ram": 10**40}, {"gpu": 10**20}])
def test_a_machine_with_an_impossible_figure_is_in_quarantine(read, figures) -> None:
    made = read(**{"H100-1-80G": {}, "H100-2-80G": figures})
    assert made["instance_types"]["instance_type"].to_list() == ["H100-1-80G"]
    assert made["prices"].height == 2
    ((reason, message, word),) = made.refused.select("reason", "message", "word").rows()
    assert (reason, message[:10], word) == ("impossible_figure", "H100-2-80G", None)


def test_the_network_is_in_bits_and_block_storage_in_bytes(read, sample: Tables) -> None:
    # 10 Gbit/s, and 2,097,152,000 bytes in a second
    h100 = sample.one("instance_types", instance_type="H100-1-80G")
    assert (h100["network_gbps_max"], h100["block_storage_gbps_max"]) == (10.0, 16.777216)
    assert h100["block_storage_gbps_baseline"] is None
    for figure in (0, "2097152000", None):
        machine = read(A={"block_bandwidth": figure}).one("instance_types", instance_type="A")
        assert machine["block_storage_gbps_max"] is None


def test_a_machine_without_gpus_has_none(sample: Tables) -> None:
    machine = sample.one("instance_types", instance_type="BASIC2-A2C-4G")
    found = (machine["arch"], machine["accelerators"], machine["accelerator_count"])
    assert found == ("arm64", [], 0)


def test_a_zone_is_a_region_with_its_country(sample: Tables) -> None:
    (region,) = sample["regions"].to_dicts()
    found = (region["region"], region["country"], region["display_name"])
    assert found == ("fr-par-2", "FR", "Paris 2")


def test_a_slice_is_a_fraction_of_a_gpu(read) -> None:
    made = read(**{"H100-1-MIG": {"mig_profile": "1g.10gb"}})
    (device,) = made.one("instance_types", instance_type="H100-1-MIG")["accelerators"]
    assert device["count"] == pytest.approx(1 / 7)
    assert device["memory_gib"] is None


def test_a_slice_of_an_unknown_shape_has_no_count(read) -> None:
    made = read(**{"H100-1-MIG": {"mig_profile": "half"}})
    assert made.one("instance_types", instance_type="H100-1-MIG")["accelerator_count"] is None


def test_a_machine_that_is_named_for_windows_includes_it(read) -> None:
    made = read(**{"POP2-2C-8G-WIN": {"gpu": 0, "gpu_info": None}, "POP2-2C-8G": {"gpu": 0}})
    assert made.one("prices", instance_type="POP2-2C-8G-WIN")["os"] == "windows"
    assert made.one("prices", instance_type="POP2-2C-8G")["os"] == "linux"


@cases("scaleway/refused", price=yaml.safe_load)
def test_what_is_no_price_is_in_quarantine(read, price, reason: str) -> None:
    made = read(A={"hourly_price": price}, B={})
    assert made["prices"]["instance_type"].to_list() == ["B"]
    assert made.refused["reason"].to_list() == [reason]


def test_a_type_at_the_end_of_its_service_is_marked(read) -> None:
    made = read(OLD={"end_of_service": True}, NEW={})
    assert made.one("instance_types", instance_type="OLD")["status"] == "retiring"
    assert made.one("instance_types", instance_type="NEW")["status"] == "current"


def test_zones_have_prices_of_their_own(read) -> None:
    made = read({"fr-par-2": {"A": {}}, "pl-waw-2": {"A": {"hourly_price": 3}}})
    prices = made["prices"].sort("region").select("region", "hourly").rows()
    assert prices == [("fr-par-2", Decimal("2.8665")), ("pl-waw-2", Decimal(3))]
    assert made["availability"].height == 2
    assert made["instance_types"].height == 1


@pytest.mark.parametrize(
    "change", [{"ram": "240 GB"}, {"ncpus": -1}, {"gpu": 1.5}, {"gpu_info": {"gpu_memory": "x"}}]
)
def test_a_figure_that_cannot_be_read_takes_its_machine_and_no_other(read, change) -> None:
    made = read(A=change, B={})
    assert made["instance_types"]["instance_type"].to_list() == ["B"]
    assert made["prices"]["instance_type"].to_list() == ["A", "B"]
    assert made.refused.select("reason", "word").rows() == [("unreadable_line", None)]
    assert made.pages.unreadable == []


@pytest.mark.parametrize("name", ["hourly_price", "ncpus", "ram", "gpu", "arch"])
def test_o7_a_renamed_member_is_named_and_takes_no_other_line(read, name: str) -> None:
    """Known wrong number O7: without its GPUs a machine looked like one that has none."""
    renamed = {f"{key}New" if key == name else key: value for key, value in SERVER.items()}
    made = read({"fr-par-2": {"A": {}}}, raw={"B": renamed})
    assert made.refused.select("reason", "word").rows() == [("unknown_column", name)]
    assert made.one("prices", instance_type="A")["hourly"] == Decimal("2.8665")
    table = "prices" if name == "hourly_price" else "instance_types"
    assert made[table]["instance_type"].to_list() == ["A"]


def test_o6_the_month_is_an_estimate_and_no_price(read) -> None:
    """Known wrong number O6: 34 of 758 recorded lines are not 730 hours, POP2-6C-24G 2 % less."""
    made = read(**{"POP2-6C-24G": {"gpu": 0, "hourly_price": 0.225, "monthly_price": 160.965}})
    price = made.one("prices", instance_type="POP2-6C-24G")
    assert (price["hourly"], price["term_months"]) == (Decimal("0.225"), 0)
    assert made["prices"].height == 1


def test_numbers_as_text_are_numbers(read) -> None:
    made = read(A={"hourly_price": "2.8665", "ncpus": "24", "ram": "257698037760", "gpu": "1"})
    assert made.one("prices", instance_type="A")["hourly"] == Decimal("2.8665")
    machine = made.one("instance_types", instance_type="A")
    assert (machine["vcpus"], machine["memory_gib"], machine["accelerator_count"]) == (24, 240, 1)
    assert made.refused.is_empty()
