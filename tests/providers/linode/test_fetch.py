"""Fetch Linode's lists over sockets, page by page."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.helpers.stub_server import Reply, Request, StubServer

from hwprices import providers, settings
from hwprices.collect.collector import Collector
from hwprices.landing.pages import Unit, UnitResult

PATH = "/linode/types"


@pytest.fixture
def server(
    stub: Callable[[], StubServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> StubServer:
    """Point the settings to a server."""
    started = stub()
    monkeypatch.setenv("HWPRICES_ROOT", str(tmp_path))
    monkeypatch.setenv("HWPRICES_SOURCE", "live")
    monkeypatch.setenv("HWPRICES_ATTEMPTS", "1")
    monkeypatch.setenv("HWPRICES_LINODE_URL", started.url)
    return started


def fetch() -> UnitResult:
    with Collector("linode", settings.load()) as collector:
        return collector.fetch(Unit("linode", "types"))


def page(number: int, pages: int) -> Reply:
    return Reply.json({"data": [{"id": f"g6-{number}"}], "page": number, "pages": pages})


def test_pages_follow_until_the_last(server: StubServer) -> None:
    server.on(PATH, lambda request: page(int(request.query["page"]), 3))
    result = fetch()
    assert [dict(landed.params)["page"] for landed in result.pages] == ["1", "2", "3"]
    assert {request.query["page_size"] for request in server.requests} == {"500"}


def test_a_server_that_ignores_the_page_is_noticed(server: StubServer) -> None:
    server.on(PATH, page(1, 2))
    result = fetch()
    assert (result.status, len(server.requests)) == ("failed", 2)
    assert "is page 1 of 2" in result.reason


def test_pages_without_an_end_are_given_up(
    server: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(providers, "MOST_PAGES", 2)

    def endless(request: Request) -> Reply:
        return page(int(request.query["page"]), 1000)

    server.on(PATH, endless)
    assert "no end after 2 pages" in fetch().reason
    assert len(server.requests) == 2
