"""Ask RunPod over sockets: two queries without an account, with the faults a server can have."""

import json
from collections.abc import Callable

import pytest
import yaml
from tests.helpers.cases import cases
from tests.helpers.stub_server import Reply, StubServer
from tests.providers.runpod.test_tables import H100

GOOD = Reply.json({"data": {"gpuTypes": [H100]}})


@pytest.fixture
def server(live: Callable[..., StubServer]) -> StubServer:
    """Answer both queries as that for prices."""
    return live(runpod_url="/graphql").on("/graphql", GOOD)


def test_one_query_of_prices_is_posted_without_an_account(server: StubServer, fetch) -> None:
    result = fetch("runpod", "gpu_types")
    assert result.status == "ok"
    (request,) = server.requests
    assert (request.method, request.query) == ("POST", {})
    query = json.loads(request.body)["query"]
    assert query.startswith("query GpuTypes { gpuTypes { id ")
    assert "maxGpuCount" in query
    assert "Authorization" not in request.headers
    assert result.pages[0].params == {}


@cases("runpod/refused_queries", content=yaml.safe_load)
def test_a_refused_query_fails_the_unit_in_one_line(server, fetch, content, words) -> None:
    server.on("/graphql", Reply.json(content))
    result = fetch("runpod", "gpu_types")
    assert result.status == "failed"
    assert words in result.reason
    assert "\n" not in result.reason
