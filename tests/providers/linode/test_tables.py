"""Linode's sample, and its lists page by page; answers are in tests/cases/linode/answers.yaml."""

from collections.abc import Callable

import pytest
from tests.helpers.stub_server import Reply, Request, StubServer
from tests.helpers.vendor_tables import Tables

from hwprices import providers


def test_limited_plans_are_priced_where_they_are_available(sample: Tables) -> None:
    sold = sample["prices"].filter(instance_type="g1-gpu-rtx6000-4")["region"]
    assert sold.sort().to_list() == ["ap-south", "ap-west"]
    assert sample["availability"].filter(instance_type="g1-gpu-rtx6000-4").height == 27
    assert sample["prices"].filter(instance_type="g6-standard-2").height == 34


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
