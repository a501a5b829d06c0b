"""Ask RunPod over sockets: two queries without an account, with the faults a server can have."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.helpers.cases import cases
from tests.helpers.stub_server import Reply, Request, StubServer
from tests.helpers.vendor_tables import record_of
from tests.providers.runpod.test_tables import H100, ONE_H100
from typer.testing import CliRunner

import hwprices
from hwprices import settings
from hwprices.cli import app
from hwprices.collect import Collector
from hwprices.publish import release
from hwprices.stage import stage_run
from hwprices.storage.store import Store

GOOD = Reply.json({"data": {"gpuTypes": [H100]}})
TWO_H100 = "2x NVIDIA H100 80GB HBM3"


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


def stated(word: str, *counts: int) -> dict[str, Any]:
    """Make an answer with a word for the Secure Cloud, and none for the Community Cloud."""
    secure = {"stockStatus": word, "availableGpuCounts": list(counts)}
    return {"data": {"gpuTypes": [record_of("runpod", "stated") | {"secure": secure}]}}


def refresh(server: StubServer, root: Path, stock: dict[str, Any]) -> list[str]:
    """Fetch prices of one and two H100 and an answer of stock, and publish; return the statuses."""
    prices = Reply.json({"data": {"gpuTypes": [{**H100, "maxGpuCount": 2}]}})

    def answer(request: Request) -> Reply:
        return Reply.json(stock) if b"stockStatus" in request.body else prices

    server.on("/graphql", answer)
    with Collector("runpod", settings.load()) as collector:
        results = [collector.fetch(unit) for unit in collector.plan()]
        stage_run(settings.load(), collector.record(datetime.now(UTC), results))
    release.publish(Store(root))
    return [result.status for result in results]


def test_stock_becomes_intervals_and_a_refused_query_of_it_costs_no_price(server, tmp_path) -> None:
    """The words are those RunPod documents, and one that it does not."""
    assert refresh(server, tmp_path, stated("Low", 1, 2)) == ["ok", "ok"]
    found = CliRunner().invoke(app, ["find", "--in-stock", "--csv", "--root", str(tmp_path)])
    assert [(ONE_H100 in line, TWO_H100 in line) for line in found.stdout.splitlines()[1:]] == [
        (True, False),
        (False, True),
    ]

    refresh(server, tmp_path, stated("Very high", 1))
    before = hwprices.open(str(tmp_path))
    stock = before.stock.filter(region="secure").sort("instance_type", "first_seen").collect()
    columns = stock.select("instance_type", "state", "available", stock["ended_at"].is_null())
    assert columns.rows() == [
        (ONE_H100, "Low", True, False),
        (ONE_H100, "Very high", None, True),
        (TWO_H100, "Low", True, False),
        (TWO_H100, "none", False, True),
    ]
    asked = ["recommend", "30B", "--precision", "bf16", "--csv", "--root", str(tmp_path)]
    note = f"{TWO_H100} at runpod/secure: none in stock on {stock['observed_at'][-1]:%Y-%m-%d}."
    assert CliRunner().invoke(app, asked).stderr.splitlines() == [note]
    community = before.stock.filter(region="community").collect()
    assert community.select("state", "available").rows() == [("none", False)] * 2

    refused = {"errors": [{"message": 'Cannot query field "stockStatus"'}]}
    assert refresh(server, tmp_path, refused) == ["ok", "failed"]
    after = hwprices.open(str(tmp_path))
    assert after.prices.collect().height == before.prices.collect().height == 4
    assert after.stock.collect().equals(before.stock.collect())
