"""Plan, fetch, record and normalise Azure as a live run does, from servers on loopback."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from tests.helpers.azure_pages import (
    LOCATIONS,
    NOW,
    SKUS,
    SUBSCRIPTION,
    Landed,
    RetailServer,
    context,
    frame,
    item,
    license_item,
    location,
    refused,
    sku,
    tables,
)
from tests.helpers.stub_server import Reply, Request, StubServer

from hwprices import settings
from hwprices.collect import Collector
from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing, Run, UnitResult
from hwprices.providers import Pages, Part, get

AZURE = get("azure")
REGIONS = ["eastus", "westeurope", "usgovvirginia"]


def start_vendor(server: StubServer) -> RetailServer:
    """Serve sizes, locations and prices of a few regions."""

    def sizes(request: Request) -> Reply:
        region = request.query["$filter"].split("'")[1]
        return Reply.json({"value": [sku("Standard_D2s_v3", location=region, zones=["1"])]})

    places = [location(name) for name in ("eastus", "westeurope")]
    places += [location("unitedstates", "Logical"), location("eastusstg", geography="Stage (US)")]
    server.on(SKUS, sizes).on(LOCATIONS, Reply.json({"value": places}))
    windows = {"productName": "Virtual Machines DSv3 Series Windows", "meterId": "w"}
    items = [
        *(item(0.1, armRegionName=region, meterId=region) for region in REGIONS),
        item(0.2, **windows),
        license_item("Red Hat Enterprise Linux", "2 vCPU VM License", 0.0288),
        item(0.1, type="DevTestConsumption", **windows),
        item(500.0, type="Reservation", reservationTerm="1 Year", meterId="r"),
    ]
    return RetailServer(server, items)


def test_plan_with_and_without_an_account(stub, tmp_path) -> None:
    server = stub()
    start_vendor(server)
    account = {"azure_subscription_id": SUBSCRIPTION, "azure_currencies": "usd,eur"}
    with context(tmp_path, server, **account) as ready:
        units = {unit.name.removeprefix("azure/") for unit in AZURE.plan(ready, None)}
    assert "retail_consumption_eur/usgovvirginia" in units
    assert {unit for unit in units if "retail" not in unit} == {
        *("locations/global", "skus/eastus", "skus/westeurope"),
        "licenses_usd/global",
        "licenses_eur/global",
    }
    assert len(units) == 1 + 2 + 2 * (3 * 3 + 1)
    with context(tmp_path, server) as ready:
        bundled = {unit.name.removeprefix("azure/") for unit in AZURE.plan(ready, None)}
        planned = AZURE.plan(ready, ["WestEurope"])
    retail = [unit.name for unit in planned if unit.kind.startswith("retail")]
    kinds = ("consumption", "devtest", "reservation")
    assert retail == [f"azure/retail_{kind}_usd/westeurope" for kind in kinds]
    assert {"locations/global", "skus/global"} <= bundled
    assert {"retail_reservation_usd/usgovvirginia", "retail_devtest_usd/uksouth"} <= bundled


def test_a_misspelt_region_names_those_that_are_spelled_alike(stub, tmp_path) -> None:
    server = stub()
    start_vendor(server)
    with context(tmp_path, server, azure_subscription_id=SUBSCRIPTION) as ready:
        with pytest.raises(HwpricesError, match=r"no region eastsu. Did you mean .*eastus"):
            AZURE.plan(ready, ["eastsu", "westeurope"])
        priced_only = {unit.region for unit in AZURE.plan(ready, ["usgovvirginia"])}
    assert priced_only == {"global", "usgovvirginia"}


def test_a_region_without_a_common_size_is_asked_for(stub, tmp_path) -> None:
    server = stub()
    vendor = start_vendor(server)
    vendor.items.append(item(9.0, armSkuName="Standard_HB1rs", armRegionName="attdallas1"))
    with context(tmp_path, server) as ready:
        assert "attdallas1" not in {unit.region for unit in AZURE.plan(ready, None)}
        planned = {unit.region for unit in AZURE.plan(ready, ["attdallas1", "eastus"])}
        with pytest.raises(HwpricesError, match="no region attdallas2"):
            AZURE.plan(ready, ["attdallas1", "attdallas2"])
    assert planned == {"global", "attdallas1", "eastus"}


@dataclass(frozen=True)
class LiveRun:
    """A recorded run and its tables."""

    run: Run
    parts: dict[str, Part]

    def rows(self, table: str) -> pl.DataFrame:
        return frame(self.parts[table])

    def status(self, kind: str) -> set[str]:
        return {result.status for result in self.run.results if result.unit.kind == kind}


def run_live(monkeypatch, folder: Path, vendor: RetailServer, day: int = 1, **more: str) -> LiveRun:
    """Plan, fetch, record and normalise with nothing but the documented settings.

    Without sizes from an account all 70 regions of the bundled ones would be tried.
    """
    monkeypatch.setenv("HWPRICES_ROOT", str(folder))
    monkeypatch.setenv("HWPRICES_SOURCE", "live")
    monkeypatch.setenv("HWPRICES_AZURE_RETAIL_URL", vendor.url)
    monkeypatch.setenv("HWPRICES_AZURE_ARM_URL", vendor.server.url)
    for name, value in more.items():
        monkeypatch.setenv(name, value)
    common = settings.load()
    with Collector("azure", common) as collector:
        results = [collector.fetch(unit) for unit in collector.plan(REGIONS)]
        run = collector.record(NOW.replace(day=day), results)
    return LiveRun(run, tables(Pages(run, Landing(f"{common.root}/raw"))))


def test_a_live_run_with_an_account(stub, tmp_path, monkeypatch) -> None:
    vendor = start_vendor(stub())
    live = run_live(monkeypatch, tmp_path, vendor, AZURE_SUBSCRIPTION_ID=SUBSCRIPTION)
    assert {r.unit.name: r.status for r in live.run.results if r.status != "ok"} == {
        f"azure/retail_{kind}_usd/{region}": "skipped"
        for kind in ("devtest", "reservation")
        for region in ("usgovvirginia", "westeurope")
    }
    prices = live.rows("prices")
    assert refused(live.parts["prices"]) == []
    columns = ("os", "license_model", "purchase_option", "payment_option")
    assert sorted(prices.filter(region="eastus").select(columns).rows()) == [
        ("linux", "included", "on_demand", "none"),
        ("linux", "included", "reserved", "all_upfront"),
        ("linux", "included", "reserved", "monthly"),
        ("rhel", "byol", "on_demand", "none"),
        ("rhel", "byol", "reserved", "monthly"),
        ("rhel", "included", "on_demand", "none"),
        ("rhel", "included", "reserved", "monthly"),
        ("windows", "byol", "on_demand", "none"),
        ("windows", "byol", "reserved", "all_upfront"),
        ("windows", "byol", "reserved", "monthly"),
        ("windows", "included", "dev_test", "none"),
        ("windows", "included", "on_demand", "none"),
    ]
    linux = prices.filter(purchase_option="on_demand", os="linux").select("region", "flags")
    flags = {"eastus": [], "westeurope": [], "usgovvirginia": ["availability_unknown"]}
    assert dict(linux.rows()) == flags
    assert set(live.rows("instance_types")["spec_source"]) == {"api"}
    kinds = dict(live.rows("regions").select("region", "kind").rows())
    assert kinds == {"eastus": "region", "usgovvirginia": "gov", "westeurope": "region"}
    assert SUBSCRIPTION not in (tmp_path / f"raw/azure/runs/{live.run.run_id}.json").read_text()


def test_a_live_run_without_an_account_takes_the_bundled_sizes(stub, tmp_path, monkeypatch) -> None:
    vendor = start_vendor(stub())
    monkeypatch.delenv("AZURE_SUBSCRIPTION_ID", raising=False)
    live = run_live(monkeypatch, tmp_path, vendor, HWPRICES_AZURE_ARM_URL="http://127.0.0.1:9")
    types = live.rows("instance_types")
    assert set(types["spec_source"]) == {"bundled"}
    assert types["observed_at"].max().year == 2026
    prices = live.rows("prices").filter(purchase_option="on_demand", os="linux", region="eastus")
    assert prices["flags"].to_list() == [[]]


def test_a_login_that_fails_costs_no_prices(stub, tmp_path, monkeypatch, caplog) -> None:
    """DefaultAzureCredential may use the environment only, which holds no credential."""
    vendor = start_vendor(stub())
    for name in ("AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_TENANT_ID"):
        monkeypatch.delenv(name, raising=False)
    live = run_live(
        monkeypatch,
        tmp_path,
        vendor,
        HWPRICES_AZURE_ARM_URL=vendor.server.url.replace("http://", "https://"),
        AZURE_SUBSCRIPTION_ID=SUBSCRIPTION,
        AZURE_TOKEN_CREDENTIALS="EnvironmentCredential",
    )
    assert live.status("locations") == live.status("skus") == {"failed"}
    assert live.status("retail_consumption_usd") == {"ok"}
    assert live.status("retail_devtest_usd") == {"ok", "skipped"}
    (locations,) = [r for r in live.run.results if r.unit.kind == "locations"]
    assert "failed to retrieve a token" in locations.reason
    assert "az login" in locations.reason
    prices = live.rows("prices").filter(purchase_option="on_demand", os="linux")
    assert set(prices["region"]) == set(REGIONS)
    assert [record for record in caplog.records if record.name.startswith("azure.identity")] == []


def test_a_failed_partition_keeps_its_last_good_pages(stub, tmp_path, monkeypatch) -> None:
    vendor = start_vendor(stub())
    own = {"HWPRICES_ATTEMPTS": "1", "AZURE_SUBSCRIPTION_ID": SUBSCRIPTION}
    first = run_live(monkeypatch, tmp_path, vendor, **own)
    # The Linux item is lost, the Windows item stays.
    vendor.items = [i for i in vendor.items if i["meterId"] != "eastus"]
    second = run_live(monkeypatch, tmp_path, vendor, 2)
    results = {result.unit.name: result for result in second.run.results}
    east = results["azure/retail_consumption_usd/eastus"]
    assert (east.status, east.carried_from) == ("carried", first.run.run_id)
    before, after = (
        run.rows("prices").filter(region="eastus", purchase_option="on_demand")
        for run in (first, second)
    )
    assert before.height == 5
    assert after.equals(before)  # with the observed_at of the first run


def test_the_order_of_units_does_not_change_the_rows(tmp_path: Path) -> None:
    landed = Landed(tmp_path).skus(sku("Standard_D2s_v3")).retail([item(0.1)])
    forward = landed.prices()
    landed.results = [UnitResult(r.unit, "ok", r.pages) for r in reversed(landed.results)]
    assert landed.prices().equals(forward)
