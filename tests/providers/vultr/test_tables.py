"""Vultr's lists as tables: published plans, and each trap of their prices."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.helpers.cases import cases, optional
from tests.helpers.stub_server import Reply, Request, StubServer
from tests.helpers.vendor_tables import Tables, json_unit, read_units, record_of

PLAN = record_of("vultr", "plans")


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


@cases("vultr/refused", change=yaml.safe_load)
def test_what_is_not_understood_is_refused(read, change, reason) -> None:
    tables = read(PLAN | change, PLAN | {"id": "vc2-1c-1gb"})
    assert tables.refused.select("table", "reason").rows() == [("prices", reason)]
    assert tables["prices"]["instance_type"].to_list() == ["vc2-1c-1gb"]


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
