"""Fetch Vultr's lists over sockets, from cursor to cursor."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.helpers.stub_server import Reply, Request, StubServer

from hwprices import settings
from hwprices.collect.collector import Collector
from hwprices.landing.pages import Unit, UnitResult

PATH = "/plans-metal"


@pytest.fixture
def server(
    stub: Callable[[], StubServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> StubServer:
    """Point the settings to a server."""
    started = stub()
    monkeypatch.setenv("HWPRICES_ROOT", str(tmp_path))
    monkeypatch.setenv("HWPRICES_SOURCE", "live")
    monkeypatch.setenv("HWPRICES_ATTEMPTS", "1")
    monkeypatch.setenv("HWPRICES_VULTR_URL", started.url)
    return started


def fetch() -> UnitResult:
    with Collector("vultr", settings.load()) as collector:
        return collector.fetch(Unit("vultr", "plans_metal"))


def page(following: object) -> Reply:
    return Reply.json({"plans_metal": [{}], "meta": {"links": {"next": following}}})


def test_pages_follow_until_there_is_no_cursor(server: StubServer) -> None:
    def reply(request: Request) -> Reply:
        assert request.query["per_page"] == "500"
        return page("" if request.query.get("cursor") == "bmV4dA==" else "bmV4dA==")

    server.on(PATH, reply)
    assert [dict(landed.params).get("cursor") for landed in fetch().pages] == [None, "bmV4dA=="]


@pytest.mark.parametrize("following", ["again", None, 2])
def test_a_cursor_that_repeats_or_is_none_fails(server: StubServer, following: object) -> None:
    server.on(PATH, page(following))
    result = fetch()
    assert result.status == "failed"
    assert "for its next page" in result.reason
