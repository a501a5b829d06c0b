"""Fetch Scaleway over sockets: page by page, zone by zone, with the faults a server can have."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.helpers.stub_server import Reply, Request, StubServer
from tests.providers.scaleway.test_tables import SERVER

from hwprices import settings
from hwprices.collect import Collector
from hwprices.landing.pages import Landing, Run
from hwprices.providers import Pages, get
from hwprices.providers import scaleway as products

PATH = "/zones/fr-par-2/products/servers"


def servers(count: int, start: int = 0) -> dict[str, Any]:
    return {"servers": {f"TYPE-{number}": SERVER for number in range(start, start + count)}}


@pytest.fixture
def server(live: Callable[..., StubServer], monkeypatch: pytest.MonkeyPatch) -> StubServer:
    """Serve one zone."""
    monkeypatch.setenv("HWPRICES_SCALEWAY_ZONES", "fr-par-2")
    return live(scaleway_url="").on(PATH, Reply.json(servers(3)))


def test_zones_are_a_setting(server: StubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HWPRICES_SCALEWAY_ZONES", "pl-waw-2, fr-par-1")
    with Collector("scaleway", settings.load()) as collector:
        assert [unit.region for unit in collector.plan()] == ["fr-par-1", "pl-waw-2"] * 2
        planned = collector.plan(regions=["nl-ams-1"])
        found = [(u.kind, u.region) for u in planned]
        assert found == [("servers", "nl-ams-1"), ("stock", "nl-ams-1")]


def test_pages_follow_until_one_is_not_full(server, tmp_path, fetch) -> None:
    """136 machine types are two pages of 100."""

    def page(request: Request) -> Reply:
        assert request.query["per_page"] == "100"
        first = request.query["page"] == "1"
        return Reply.gzipped(Reply.json(servers(100) if first else servers(36, 100)).body)

    server.on(PATH, page)
    result = fetch("scaleway", "servers", "fr-par-2")
    assert [dict(landed.params)["page"] for landed in result.pages] == ["1", "2"]
    run = Run("r", "scaleway", "live", result.pages[0].retrieved_at, "0", (result,))
    pages = Pages(run, Landing(tmp_path / "raw"))
    (prices,) = [p.frame for p in get("scaleway").normalise(pages) if p.table == "prices"]
    assert prices.lazy().collect().height == 136


def test_stock_is_another_list(server, fetch) -> None:
    words = {"servers": {"L4-1-24G": {"availability": "scarce"}}}
    server.on(f"{PATH}/availability", Reply.json(words))
    result = fetch("scaleway", "stock", "fr-par-2")
    assert (result.status, len(result.pages)) == ("ok", 1)


def test_a_last_page_that_is_empty_is_the_end(server, fetch) -> None:
    replies = {"1": servers(100), "2": {"servers": {}}}
    server.on(PATH, lambda request: Reply.json(replies[request.query["page"]]))
    assert len(fetch("scaleway", "servers", "fr-par-2").pages) == 1


def test_a_server_that_ignores_the_page_is_noticed(server, fetch) -> None:
    server.on(PATH, Reply.json(servers(100)))
    result = fetch("scaleway", "servers", "fr-par-2")
    assert result.status == "failed"
    assert "page 2" in result.reason
    assert "repeats TYPE-0 of an earlier page" in result.reason
    assert len(server.requests) == 2


def test_pages_without_an_end_are_given_up(server, monkeypatch, fetch) -> None:
    monkeypatch.setattr(products, "MOST_PAGES", 2)

    def endless(request: Request) -> Reply:
        return Reply.json(servers(100, 100 * int(request.query["page"])))

    server.on(PATH, endless)
    assert "no end after 2 pages" in fetch("scaleway", "servers", "fr-par-2").reason


@pytest.mark.parametrize(
    ("content", "words"),
    [({"servers": {}}, "lists no machine type"), ({"servers": []}, "has no object servers")],
)
def test_a_page_without_machine_types_fails_the_zone(server, content, words, fetch) -> None:
    server.on(PATH, Reply.json(content))
    result = fetch("scaleway", "servers", "fr-par-2")
    assert result.status == "failed"
    assert words in result.reason
