"""Fetch with Google's real clients from a local server: pages, faults, and where the key goes."""

import json
import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.helpers import vendors
from tests.helpers.gcp_pages import machine_type, sku
from tests.helpers.landed import landed_pages
from tests.helpers.stub_server import Reply, Request, StubServer
from tools.fullsize.environment import GCP_PROJECT

from hwprices import providers
from hwprices.collect import Collector
from hwprices.errors import HwpricesError
from hwprices.landing import pages
from hwprices.landing.download import FetchError, Http
from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers import Context, Pages
from hwprices.providers.gcp import Settings, google_apis
from hwprices.settings import load
from hwprices.stage import stage_run

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SKUS = "/v1/services/6F81-5844-456A/skus"
VERTEX_SKUS = "/v1/services/C7E2-9256-1C43/skus"
TPU_SKUS = "/v1/services/E000-3F24-B8AA/skus"
PROJECT = "/compute/v1/projects/example"
KEY = "AIza-not-a-real-key-000000000000000000"


UNKNOWN = {"aKeyTheClientDoesNotKnow": "kept"}
CORE = sku("N2 Instance Core running in Americas", "0.031611", **UNKNOWN)
RAM = sku("N2 Instance Ram running in Americas", "0.004237", **UNKNOWN)
WARNING = {"code": "NO_RESULTS_ON_PAGE", "message": "There are no results on this page."}
MACHINES = {
    "items": {
        "zones/us-central1-a": {"machineTypes": [machine_type("n2-standard-2", 2, 8192)]},
        "zones/us-central1-b": {"warning": WARNING},
    }
}


@pytest.fixture
def server(stub: Callable[[], StubServer]) -> StubServer:
    return stub()


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def context(server: StubServer, tmp_path: Path, slept: list[float]) -> Context:
    return make_context(server.url, tmp_path, slept)


def make_context(url: str, root: Path, slept: list[float], **more: Any) -> Context:
    settings = Settings(
        root=str(root),
        source="live",
        gcp_billing_url=url,
        gcp_compute_url=url,
        gcp_tpu_url=url,
        attempts=4,
        **more,
    )
    return Context(settings, Landing(root / "raw"), Http(settings, sleep=slept.append), lambda: NOW)


def landed(context: Context, unit: Unit) -> list[bytes]:
    return [context.landing.read(page) for page in providers.get("gcp").fetch(context, unit)]


def two_pages(server: StubServer, *first: Reply) -> tuple[bytes, bytes]:
    bodies = (
        json.dumps({"skus": [CORE], "nextPageToken": "two"}).encode(),
        json.dumps({"skus": [RAM]}, indent=3).encode(),
    )
    faults = list(first)

    def answer(request: Request) -> Reply:
        if request.query.get("pageToken"):
            return Reply(bodies[1])
        return faults.pop(0) if faults else Reply(bodies[0])

    server.on(SKUS, answer)
    prediction = "Vertex AI: Online/Batch Prediction N2 Instance"
    core = sku(f"{prediction} Core running in Americas", "0.036352650", family="Other")
    ram = sku(f"{prediction} Ram running in Americas", "0.004872550", family="Other")
    server.on(VERTEX_SKUS, Reply.json({"skus": [core, ram]}))
    return bodies


def test_every_page_is_landed_as_it_came(server: StubServer, context: Context) -> None:
    bodies = two_pages(server)
    assert landed(context, Unit("gcp", "skus")) == list(bodies)
    assert [r.query.get("pageToken") for r in server.requests] == [None, "two"]
    assert server.requests[0].query["currencyCode"] == "USD"
    assert server.requests[0].query["pageSize"] == "5000"


def test_half_a_json_body_is_tried_again(server: StubServer, context: Context) -> None:
    bodies = two_pages(server, Reply(b'{"skus": [{"skuId": ', content_type="application/json"))
    assert landed(context, Unit("gcp", "skus")) == list(bodies)


def test_giving_up_names_the_endpoint_and_lands_nothing(server, context, slept, tmp_path) -> None:
    first = Reply.json({"skus": [CORE], "nextPageToken": "two"})
    broken = Reply(b"{}", status=503)
    server.on(SKUS, lambda request: broken if request.query.get("pageToken") else first)
    with pytest.raises(FetchError, match="failed 4 times") as caught:
        providers.get("gcp").fetch(context, Unit("gcp", "skus"))
    assert server.url in str(caught.value)
    assert len(slept) == 3
    assert landed_pages(tmp_path) == []


def test_a_refusal_is_not_tried_again(server, context, slept) -> None:
    error = {"code": 403, "message": "API key not valid", "status": "PERMISSION_DENIED"}
    server.on(SKUS, Reply.json({"error": error}, status=403))
    with pytest.raises(FetchError, match="HWPRICES_GCP_API_KEY"):
        providers.get("gcp").fetch(context, Unit("gcp", "skus"))
    assert slept == []


def test_a_page_token_that_comes_twice_is_an_error(server: StubServer, context: Context) -> None:
    server.on(SKUS, Reply.json({"skus": [CORE], "nextPageToken": "again"}))
    with pytest.raises(FetchError, match="repeats a page token"):
        providers.get("gcp").fetch(context, Unit("gcp", "skus"))


def test_a_list_without_end_is_an_error(server, context, monkeypatch) -> None:
    """Every page names a new token, so no token comes twice."""
    monkeypatch.setattr(google_apis, "MAX_PAGES", 5)
    pages = (Reply.json({"skus": [CORE], "nextPageToken": f"page {n}"}) for n in range(100))
    server.on(SKUS, lambda _request: next(pages))
    with pytest.raises(FetchError, match="a list of more than 5 pages"):
        providers.get("gcp").fetch(context, Unit("gcp", "skus"))
    assert len(server.requests) == 5


def test_redirects_are_not_followed(server, stub, context) -> None:
    elsewhere = stub().on(SKUS, Reply.json({"skus": []}))
    server.on(SKUS, Reply(b"", status=302, headers={"Location": elsewhere.url + SKUS}))
    with pytest.raises(FetchError, match="TooManyRedirects"):
        providers.get("gcp").fetch(context, Unit("gcp", "skus"))
    assert elsewhere.requests == []


def test_a_zone_that_could_not_be_reached_is_a_gap_and_no_list(server, tmp_path, slept) -> None:
    warning = {"code": "UNREACHABLE", "message": "down"}
    gap = {"items": {"zones/us-central1-a": {"warning": warning}}}
    server.on(f"{PROJECT}/aggregated/machineTypes", [Reply.json(gap), Reply.json(MACHINES)])
    context = make_context(server.url, tmp_path, slept, gcp_project="example")
    (body,) = landed(context, Unit("gcp", "machine_types"))
    assert json.loads(body) == MACHINES
    assert len(slept) == 1


def test_plain_http_gets_no_key_and_no_credentials(server, tmp_path, slept, caplog) -> None:
    two_pages(server)
    context = make_context(server.url, tmp_path, slept, gcp_api_key=KEY)
    with caplog.at_level(logging.DEBUG):
        providers.get("gcp").fetch(context, Unit("gcp", "skus"))
    assert server.requests
    for request in server.requests:
        assert KEY not in str(request)
        assert "authorization" not in {name.lower() for name in request.headers}
    assert KEY not in caplog.text


def test_without_key_or_login_the_remedy_is_named(tmp_path, slept, monkeypatch) -> None:
    from google.auth import exceptions

    def no_login(**_: Any) -> Any:
        raise exceptions.DefaultCredentialsError("none")

    monkeypatch.setattr("google.auth.default", no_login)
    context = make_context("https://cloudbilling.googleapis.com", tmp_path, slept)
    with pytest.raises(FetchError, match="HWPRICES_GCP_API_KEY"):
        providers.get("gcp").fetch(context, Unit("gcp", "skus"))


def run_all(context: Context) -> Run:
    gcp = providers.get("gcp")
    units = gcp.plan(context, ["us-central1"])
    results = tuple(UnitResult(unit, "ok", tuple(gcp.fetch(context, unit))) for unit in units)
    return Run("20261121T120000.000000Z", "gcp", "live", NOW, "1", results)


def test_key_alone_gives_prices_with_the_bundled_machines(server, context) -> None:
    two_pages(server)
    server.on(TPU_SKUS, Reply.json({"skus": []}))
    run = run_all(context)
    assert [r.unit.kind for r in run.results] == [
        *("skus", "tpu_skus", "vertex_skus", "machine_types")
    ]
    parts = list(providers.get("gcp").normalise(Pages(run, context.landing)))
    types = next(p.frame for p in parts if p.table == "instance_types")
    prices = next(p for p in parts if p.table == "prices")
    assert prices.region == "us-central1"
    serverless = prices.frame.filter(purchase_option="serverless", instance_type="n2-standard-2")
    assert str(serverless["hourly"].item()) == "0.1116857000"  # 1.15 × 0.097118
    rows = {
        r["instance_type"]: r
        for r in prices.frame.to_dicts()
        if r["os"] == "linux" and r["purchase_option"] == "on_demand"
    }
    assert str(rows["n2-standard-2"]["hourly"]) == "0.0971180000"  # 2 × 0.031611 + 8 × 0.004237
    assert rows["n2-standard-2"]["observed_at"] == NOW
    assert rows["c3-standard-4"]["price_reason"] == "core_sku_missing,ram_sku_missing"
    assert set(types["spec_source"]) == {"bundled"}
    assert types["observed_at"].unique().to_list() == [datetime(2026, 8, 17, tzinfo=UTC)]


def test_damaged_or_missing_bundled_machines_are_named(context, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(pages, "data_directory", lambda: tmp_path)
    unit = Unit("gcp", "machine_types")
    with pytest.raises(HwpricesError, match="bundled GCP machine table is missing"):
        providers.get("gcp").fetch(context, unit)
    pages.directory("gcp").mkdir(parents=True)
    (pages.directory("gcp") / "pages.json").write_text("{}")
    with pytest.raises(HwpricesError, match="are damaged"):
        providers.get("gcp").fetch(context, unit)


def test_with_a_project_machines_zones_and_tpus_are_live(server, tmp_path, slept) -> None:
    vendors.serve_gcp(server)
    context = make_context(server.url, tmp_path, slept, gcp_project=GCP_PROJECT)
    run = run_all(context)

    def tables_of(run: Run) -> dict[str, pl.DataFrame]:
        parts = list(providers.get("gcp").normalise(Pages(run, context.landing)))
        names = {part.table for part in parts}
        return {
            n: pl.concat([p.frame.lazy().collect() for p in parts if p.table == n]) for n in names
        }

    tables = tables_of(run)
    regions = dict(tables["regions"].select("region", "status").rows())
    assert regions == {"us-central1": "available"}
    assert tables["zones"]["zone"].to_list() == ["us-central1-a"]
    types = tables["instance_types"]
    assert {"n2-standard-2", "v5litepod-16"} <= set(types["instance_type"])
    assert set(types["spec_source"]) == {"api"}
    where = {"region": "us-central1", "os": "linux", "purchase_option": "on_demand"}
    linux = dict(tables["prices"].filter(**where).select("instance_type", "hourly").rows())
    assert str(linux["v5litepod-16"]) == "19.2000000000"  # 16 chips × 1.2
    assert tables["availability"].height == types.height

    without = replace(run, results=tuple(r for r in run.results if r.unit.kind != "tpu_skus"))
    prices = tables_of(without)["prices"].filter(region="us-central1")
    reasons = dict(prices.select("instance_type", "price_reason").rows())
    assert reasons["v5litepod-16"] == "tpu_catalog_not_fetched"
    assert reasons["n2-standard-2"] is None


def test_the_documented_settings_are_enough(server, tmp_path, monkeypatch) -> None:
    """Plan, fetch, record and stage with variables alone, as the flows do.

    SKUs that are not understood in other regions are not those of the run. The member that the
    client does not know is in three lists.
    """
    two_pages(server, Reply(b"{}", status=429, headers={"Retry-After": "0"}))
    paris = {"regions": ["europe-west9"], **UNKNOWN}
    new = "N9 Instance Core running in Paris"
    elsewhere = [sku(new, "0.01", sku_id=f"E{i}", **paris) for i in range(15)]
    server.on(TPU_SKUS, Reply.json({"skus": elsewhere}))
    urls = dict.fromkeys(("GCP_BILLING_URL", "GCP_COMPUTE_URL"), server.url)
    for name, value in {"ROOT": str(tmp_path), "SOURCE": "live", **urls}.items():
        monkeypatch.setenv(f"HWPRICES_{name}", value)
    settings = load()
    collector = Collector("gcp", settings)
    results = [collector.fetch(unit) for unit in collector.plan(["us-central1"])]
    assert {r.status for r in results} == {"ok"}
    staged = stage_run(settings, collector.record(NOW, results))
    assert [file.key for file in staged.of("prices")] == ["prices/gcp/us-central1.parquet"]
    assert staged.quarantined == {"unknown_column": 3}
