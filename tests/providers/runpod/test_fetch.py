"""Ask RunPod over sockets: one query without an account, with the faults a server can have."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.helpers.stub_server import Reply, StubServer
from tests.providers.runpod.test_tables import H100

from hwprices import settings
from hwprices.collect.collector import Collector
from hwprices.landing.pages import UnitResult

GOOD = Reply.json({"data": {"gpuTypes": [H100]}})


@pytest.fixture
def server(
    stub: Callable[[], StubServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> StubServer:
    """Answer the query, and point the setting to the server."""
    started = stub().on("/graphql", GOOD)
    monkeypatch.setenv("HWPRICES_ROOT", str(tmp_path))
    monkeypatch.setenv("HWPRICES_SOURCE", "live")
    monkeypatch.setenv("HWPRICES_ATTEMPTS", "1")
    monkeypatch.setenv("HWPRICES_RUNPOD_URL", f"{started.url}/graphql")
    return started


def fetch() -> UnitResult:
    with Collector("runpod", settings.load()) as collector:
        (unit,) = collector.plan()
        return collector.fetch(unit)


def test_one_query_is_posted_without_an_account(server: StubServer) -> None:
    result = fetch()
    assert result.status == "ok"
    (request,) = server.requests
    assert (request.method, request.query) == ("POST", {})
    query = json.loads(request.body)["query"]
    assert query.startswith("query GpuTypes { gpuTypes { id ")
    assert "maxGpuCount" in query
    assert "Authorization" not in request.headers
    assert result.pages[0].params == {}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"errors": [{"message": "Not authenticated"}]}, "Not authenticated"),
        ({"data": {"gpuTypes": []}}, "lists no GPU type"),
        ({"data": {"gpuTypes": {}}}, "no list data.gpuTypes"),
        ({"data": None}, "no list data.gpuTypes"),
    ],
)
def test_a_refused_query_fails_the_unit_in_one_line(server, content, words) -> None:
    server.on("/graphql", Reply.json(content))
    result = fetch()
    assert result.status == "failed"
    assert words in result.reason
    assert "\n" not in result.reason
