"""Plan, fetch, record and normalise OVHcloud as a live run does, from a server on loopback."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from tests.helpers.ovh_pages import body, plan
from tests.helpers.stub_server import Reply, StubServer

from hwprices import settings
from hwprices.collect.collector import Collector
from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing, Run
from hwprices.providers import Pages, get

PATH = "/order/catalog/public/cloud"


@pytest.fixture
def ovh(live: Callable[..., StubServer]) -> StubServer:
    """Serve a catalog."""
    return live(ovh_api_url="").on(PATH, Reply.gzipped(body(plan())))


def run_live() -> Run:
    with Collector("ovh", settings.load()) as collector:
        results = [collector.fetch(unit) for unit in collector.plan()]
        return collector.record(datetime.now(UTC), results)


def test_a_live_run_needs_no_account(ovh: StubServer, tmp_path: Path) -> None:
    pages = Pages(run_live(), Landing(tmp_path / "raw"))
    assert [request.query for request in ovh.requests] == [{"ovhSubsidiary": "FR"}]
    (prices,) = [p.frame for p in get("ovh").normalise(pages) if p.table == "prices"]
    row = prices.lazy().select("instance_type", "hourly", "currency", "basis").collect()
    assert row.rows() == [("h100-380", Decimal("2.8"), "EUR", "listed")]


def test_the_catalog_of_another_subsidiary_is_refused(ovh: StubServer) -> None:
    """Its prices would be published in another currency under the same keys."""
    run_live()
    ovh.on(PATH, Reply(body(plan(), currency="USD", subsidiary="US")))
    with pytest.raises(HwpricesError, match="is the catalog of US, not of FR"):
        run_live()
