"""The order catalog: which plans are machines by the hour, and what they cost.

Most catalogs are in tests/cases/ovh/catalogs.yaml.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from tests.helpers.cases import cases, named_cases
from tests.helpers.expected import assert_case
from tests.helpers.ovh_pages import body, plan, read
from tests.helpers.stub_server import Reply, StubServer
from tests.helpers.vendor_tables import sample_pages

from hwprices import settings
from hwprices.collect import Collector
from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing, Run
from hwprices.providers import Pages, get
from hwprices.stage import stage
from hwprices.storage.store import Store


def plan_of(listed: Any) -> Any:
    """Make a plan of a case: a line as it is, or code, price and members that differ."""
    if not isinstance(listed, list):
        return listed
    code, price, *members = listed
    more = dict(*members)
    changed = more.pop("with", {})
    made = plan(code, price, **more) | changed
    return {name: value for name, value in made.items() if value is not None}


@named_cases("ovh/catalogs", "plans", "currency", "refused", "counts")
def test_a_catalog_gives_these_rows(case: Mapping[str, Any]) -> None:
    tables = read(*map(plan_of, case["plans"]), currency=case.get("currency", "EUR"))
    assert_case(tables, case)


@cases("ovh/refused", changes=yaml.safe_load)
def test_what_is_not_understood_is_in_quarantine(changes, reason) -> None:
    """Some plans are stubs that describe no machine."""
    tables = read(plan(), plan("x-1.consumption", **changes))
    assert tables.refused["reason"].to_list() == [reason]
    assert "x-1.consumption" in tables.refused["message"].item()
    assert tables.rows["prices"]["instance_type"].to_list() == ["h100-380"]


@cases("ovh/vcores", cpu=yaml.safe_load, vcpus=int, cores=yaml.safe_load, metal=yaml.safe_load)
def test_a_vcore_is_a_thread(cpu, vcpus, cores, metal) -> None:
    technical = {"cpu": cpu, "memory": {"size": 8}}
    (machine,) = (
        read(plan("x-8.consumption", technical=technical)).rows["instance_types"].to_dicts()
    )
    found = (machine["vcpus"], machine["physical_cores"], machine["bare_metal"])
    assert found == (vcpus, cores, metal)


def test_o9_specifications_of_the_a10_are_the_catalogs(project: Path, tmp_path: Path) -> None:
    """Known wrong number O9: the list that the sample is made of has other figures."""
    pages = sample_pages("ovh", project)
    staged = stage(get("ovh"), pages.run, pages.landing, Store(tmp_path), keep=1)
    (file,) = staged.of("instance_types")
    machines = pl.read_parquet(tmp_path / staged.directory / file.key)
    machines = machines.filter(pl.col("instance_type").str.starts_with("a10-"))
    columns = ("instance_type", "vcpus", "physical_cores", "memory_gib")
    found = machines.select(columns).sort("instance_type").rows()
    assert found == [("a10-45", 30, 15, 45), ("a10-90", 60, 30, 90)]


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
