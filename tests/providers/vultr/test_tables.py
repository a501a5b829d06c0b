"""Vultr's sample, and its lists page by page; answers are in tests/cases/vultr/answers.yaml."""

from collections.abc import Callable

import pytest
from tests.helpers.stub_server import Reply, Request, StubServer
from tests.helpers.vendor_tables import Tables


def test_a_plan_without_a_place_has_no_price(sample: Tables) -> None:
    assert "vbm-256c-3072gb-8-b200-gpu" not in set(sample["prices"]["instance_type"])
    assert sample.counts == {"out_of_scope:locations=none": 2}


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
