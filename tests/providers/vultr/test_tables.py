"""Vultr's lists as tables: published plans, and each trap of their prices."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.helpers.cases import cases, optional
from tests.helpers.stub_server import Reply, Request, StubServer
from tests.helpers.vendor_tables import Tables, json_unit, read_units

PLAN: dict[str, Any] = {
    "id": "vc2-2c-4gb",
    "vcpu_count": 2,
    "ram": 4096,
    "disk": 80,
    "disk_count": 1,
    "hourly_cost": 0.027,
    "type": "vc2",
    "locations": ["fra"],
    "gpu_brand": "none",
    "cpu_vendor": "AMD",
    "deploy_ondemand": True,
    "deploy_preemptible": False,
    "location_cost": {},
}
QUARTER = PLAN | {
    "id": "vcg-a40-6c-30g-12vram",
    "gpu_brand": "NVIDIA",
    "gpu_type": "NVIDIA_A40",
    "gpu_vram_gb": 12,
    "gpu_count": "1/4",
}
UNNAMED = PLAN | {"id": "vcg-x900-4c-16g-32vram", "gpu_brand": "AMD"}


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Tables]:
    """Land a list of plans."""

    def make(*plans: Any) -> Tables:
        return read_units("vultr", tmp_path, [json_unit("vultr", "plans", {"plans": plans})])

    return make


@cases("vultr/prices")
def test_prices_are_by_region_and_option(sample, region, machine, option, hourly) -> None:
    row = sample.one("prices", region=region, instance_type=machine, purchase_option=option)
    assert (row["hourly"], row["currency"]) == (Decimal(hourly), "USD")


def test_a_plan_without_a_place_has_no_price(sample: Tables) -> None:
    assert "vbm-256c-3072gb-8-b200-gpu" not in set(sample["prices"]["instance_type"])
    assert sample.counts == {"out_of_scope:locations=none": 2}


@cases("vultr/gpus", accelerator=optional, count=yaml.safe_load, memory=yaml.safe_load)
def test_a_gpu_is_what_the_plan_or_its_rule_says(sample, machine, accelerator, count, memory):
    (device,) = sample.one("instance_types", instance_type=machine)["accelerators"]
    found = (device["accelerator_id"], device["count"], device["memory_gib"])
    assert found == (accelerator, count, memory)


def test_a_share_of_a_gpu_has_its_share_of_the_memory(read: Callable[..., Tables]) -> None:
    row = read(QUARTER).one("instance_types", instance_type=QUARTER["id"])
    assert (row["accelerator_count"], row["accelerator_memory_gib"]) == (0.25, 12)


def test_a_gpu_plan_that_names_none_has_an_unknown_one(read: Callable[..., Tables]) -> None:
    tables = read(UNNAMED, PLAN | {"id": "vbm-8-new-gpu"}, PLAN)
    rows = tables["instance_types"].sort("instance_type")
    assert rows["accelerator_kind"].to_list() == ["gpu", "none", "gpu"]
    assert rows["accelerator_count"].to_list() == [None, 0, None]


def test_a_place_may_have_prices_of_its_own(read: Callable[..., Tables]) -> None:
    costs = {"sao": {"hourly_cost": 0.041, "monthly_cost": 30}}
    tables = read(PLAN | {"locations": ["fra", "sao", ""], "location_cost": costs})
    rows = tables["prices"].select("region", "hourly").sort("region").rows()
    assert rows == [("fra", Decimal("0.027")), ("sao", Decimal("0.041"))]
    assert tables["availability"].height == 2


def test_a_free_plan_has_no_price(read: Callable[..., Tables]) -> None:
    row = read(PLAN | {"hourly_cost": 0}).one("prices", region="fra")
    assert (row["hourly"], row["price_reason"]) == (None, "listed_at_zero")


def test_a_machine_has_its_figures(read: Callable[..., Tables]) -> None:
    metal = PLAN | {"id": "vbm-4c", "cpu_threads": 8, "disk": 960, "disk_count": 2}
    network_only = PLAN | {"id": "vx1-g-2c-8g", "storage_type": "block_storage"}
    del metal["vcpu_count"]
    rows = read(metal, network_only)["instance_types"].sort("instance_type").to_dicts()
    found = [(row["vcpus"], row["memory_gib"], row["arch"]) for row in rows]
    assert found == [(8, 4, "x86_64"), (2, 4, "x86_64")]
    assert [round(row["local_disk_gib"]) for row in rows] == [1788, 0]


@cases("vultr/refused", change=yaml.safe_load)
def test_what_is_not_understood_is_refused(read, change, reason) -> None:
    tables = read(PLAN | change, PLAN | {"id": "vc2-1c-1gb"})
    assert tables.refused.select("table", "reason").rows() == [("prices", reason)]
    assert tables["prices"]["instance_type"].to_list() == ["vc2-1c-1gb"]


def test_a_renamed_flag_is_refused(read: Callable[..., Tables]) -> None:
    plan = {name: value for name, value in PLAN.items() if name != "deploy_ondemand"}
    assert read(plan).refused["word"].to_list() == ["deploy_ondemand"]


PATH = "/plans-metal"


@pytest.fixture
def server(live: Callable[..., StubServer]) -> StubServer:
    return live(vultr_url="")


def page(following: object) -> Reply:
    return Reply.json({"plans_metal": [{}], "meta": {"links": {"next": following}}})


def test_pages_follow_until_there_is_no_cursor(server, fetch) -> None:
    def reply(request: Request) -> Reply:
        assert request.query["per_page"] == "500"
        return page("" if request.query.get("cursor") == "bmV4dA==" else "bmV4dA==")

    server.on(PATH, reply)
    assert [
        dict(landed.params).get("cursor") for landed in fetch("vultr", "plans_metal").pages
    ] == [None, "bmV4dA=="]


@pytest.mark.parametrize("following", ["again", None, 2])
def test_a_cursor_that_repeats_or_is_none_fails(server, following, fetch) -> None:
    server.on(PATH, page(following))
    result = fetch("vultr", "plans_metal")
    assert result.status == "failed"
    assert "for its next page" in result.reason
