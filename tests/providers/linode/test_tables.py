"""Linode's lists as tables: the recorded answers, and each trap of its prices."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from tests.helpers.cases import cases
from tests.helpers.stub_server import Reply, Request, StubServer
from tests.helpers.vendor_tables import Tables, json_unit, read_units, record_of

from hwprices import providers

TYPE = record_of("linode", "types")
REGION = record_of("linode", "places")


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Tables]:
    """Land lists of plans, regions and availability."""

    def make(
        types: list[Any], availability: tuple[Any, ...] = (), regions: tuple[Any, ...] = (REGION,)
    ) -> Tables:
        listed = {"types": types, "regions": regions, "availability": availability}
        units = [json_unit("linode", kind, {"data": list(rows)}) for kind, rows in listed.items()]
        return read_units("linode", tmp_path, units)

    return make


@cases("linode/prices")
def test_a_region_may_have_a_price_of_its_own(sample, region, machine, hourly) -> None:
    row = sample.one("prices", region=region, instance_type=machine)
    assert (row["hourly"], row["currency"]) == (Decimal(hourly), "USD")


def test_limited_plans_are_priced_where_they_are_available(sample: Tables) -> None:
    sold = sample["prices"].filter(instance_type="g1-gpu-rtx6000-4")["region"]
    assert sold.sort().to_list() == ["ap-south", "ap-west"]
    assert sample["availability"].filter(instance_type="g1-gpu-rtx6000-4").height == 27
    assert sample["prices"].filter(instance_type="g6-standard-2").height == 34


@cases("linode/refused", change=yaml.safe_load)
def test_what_is_not_understood_is_refused(read, change, reason) -> None:
    tables = read([TYPE | change, TYPE | {"id": "g6-standard-4"}])
    assert tables.refused.select("table", "reason").rows() == [("prices", reason)]
    assert tables["prices"]["instance_type"].to_list() == ["g6-standard-4"]
    assert tables["instance_types"].filter(pl.col("vcpus") == 2).height == 2


PATH = "/linode/types"


@pytest.fixture
def server(live: Callable[..., StubServer]) -> StubServer:
    return live(linode_url="")


def page(number: int, pages: int) -> Reply:
    return Reply.json({"data": [{"id": f"g6-{number}"}], "page": number, "pages": pages})


def test_pages_follow_until_the_last(server, fetch) -> None:
    server.on(PATH, lambda request: page(int(request.query["page"]), 3))
    result = fetch("linode", "types")
    assert [dict(landed.params)["page"] for landed in result.pages] == ["1", "2", "3"]
    assert {request.query["page_size"] for request in server.requests} == {"500"}


def test_a_server_that_ignores_the_page_is_noticed(server, fetch) -> None:
    server.on(PATH, page(1, 2))
    result = fetch("linode", "types")
    assert (result.status, len(server.requests)) == ("failed", 2)
    assert "is page 1 of 2" in result.reason


def test_pages_without_an_end_are_given_up(server, monkeypatch, fetch) -> None:
    monkeypatch.setattr(providers, "MOST_PAGES", 2)

    def endless(request: Request) -> Reply:
        return page(int(request.query["page"]), 1000)

    server.on(PATH, endless)
    assert "no end after 2 pages" in fetch("linode", "types").reason
    assert len(server.requests) == 2
