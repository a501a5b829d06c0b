"""The product list: what is refused of it, its units, and a live run."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from tests.helpers.cases import cases, optional
from tests.helpers.oracle_pages import (
    E4_SHAPE,
    H100,
    H100_SHAPE,
    body,
    memory,
    ocpus,
    product,
    read,
)
from tests.helpers.stub_server import Reply, StubServer

from hwprices import settings
from hwprices.collect import Collector
from hwprices.landing.pages import Landing, Run
from hwprices.providers import Pages, get


@cases("oracle/products", changes=yaml.safe_load, word=optional)
def test_what_is_not_understood_is_in_quarantine_by_itself(changes, reason, word) -> None:
    tables = read([product(**changes), ocpus(), memory()], [H100_SHAPE, E4_SHAPE])
    assert tables.words == [(reason, word)]
    assert H100 in tables.refused["message"].item()
    assert tables.hourly("BM.Standard.E4.128") == Decimal("6.272")
    assert tables.reason("BM.GPU.H100.8") == "slice_sku_missing"


@cases("oracle/units")
def test_o2_a_unit_is_the_same_in_the_plural_and_in_any_case(ocpu, gigabyte, gpu) -> None:
    """Known wrong number O2: "Gigabytes Per Hour" lost 428 of 690 prices."""
    parts = [ocpus(metric=ocpu), memory(metric=gigabyte), product(metric=gpu)]
    tables = read(parts, [H100_SHAPE, E4_SHAPE])
    assert tables.words == []
    assert tables.hourly("BM.Standard.E4.128") == Decimal("6.272")
    assert tables.hourly("BM.GPU.H100.8") == 80


PRODUCTS, SHAPES = "/products/", "/shapes.json"


@pytest.fixture
def oracle(live: Callable[..., StubServer]) -> StubServer:
    """Serve both files."""
    server = live(oracle_prices_url="", oracle_shapes_url=SHAPES)
    server.on(PRODUCTS, Reply.gzipped(body([product(), ocpus(), memory()])))
    return server.on(SHAPES, Reply(body([H100_SHAPE, E4_SHAPE])))


def run_live() -> Run:
    with Collector("oracle", settings.load()) as collector:
        results = [collector.fetch(unit) for unit in collector.plan()]
        return collector.record(datetime.now(UTC), results)


def test_a_live_run_needs_no_account(oracle: StubServer, tmp_path: Path) -> None:
    run = run_live()
    found = {result.unit.name: result.status for result in run.results}
    assert found == {"oracle/products/global": "ok", "oracle/shapes/global": "ok"}
    pages = Pages(run, Landing(tmp_path / "raw"))
    (prices,) = [p.frame for p in get("oracle").normalise(pages) if p.table == "prices"]
    found = dict(prices.lazy().select("instance_type", "hourly").collect().iter_rows())
    assert found == {"BM.GPU.H100.8": 80, "BM.Standard.E4.128": Decimal("6.272")}


def test_dollars_are_asked_for_by_an_honest_name(oracle: StubServer) -> None:
    """One collector was refused with its HTTP library's name."""
    run_live()
    request = next(r for r in oracle.requests if r.path == PRODUCTS)
    assert request.query == {"currencyCode": "USD"}
    assert request.headers["User-Agent"] == "hwprices"
