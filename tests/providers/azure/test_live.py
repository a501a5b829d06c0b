"""Sizes and locations through Microsoft's own SDK, and the whole way from settings to rows, against servers on loopback."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.helpers.azure_pages import (
    NOW,
    SUBSCRIPTION,
    Landed,
    RetailServer,
    context,
    frame,
    item,
    refused,
    sku,
)
from tests.helpers.stub_server import Reply, Request, StubServer

from hwprices import settings
from hwprices.collect.collector import Collector
from hwprices.errors import HwpricesError
from hwprices.landing.download import FetchError
from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers import Pages, SkippedError, get
from hwprices.providers.azure.settings import Settings

AZURE = get("azure")
SKUS = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Compute/skus"
LOCATIONS = f"/subscriptions/{SUBSCRIPTION}/locations"
UNIT = Unit("azure", "skus", "eastus")


def location(name: str, kind: str = "Physical", geography: str = "United States") -> dict[str, Any]:
    return {
        "id": f"/subscriptions/{SUBSCRIPTION}/locations/{name}",
        "name": name,
        "displayName": name.title(),
        "metadata": {
            "regionType": kind,
            "geography": geography,
            "latitude": "37.3",
            "longitude": "-79.8",
        },
        "availabilityZoneMappings": [{"logicalZone": "1", "physicalZone": f"{name}-az2"}],
    }


def fetch(
    folder: Path, server: StubServer, unit: Unit = UNIT, **more: Any
) -> tuple[list[Any], list[dict[str, Any]]]:
    with context(folder, server, azure_subscription_id=SUBSCRIPTION, **more) as ready:
        pages = AZURE.fetch(ready, unit)
        return pages, [ready.landing.read_json(page) for page in pages]


def test_the_bodies_are_landed_as_they_came(stub: Callable[[], StubServer], tmp_path: Path) -> None:
    server = stub()
    first = json.dumps(
        {"value": [sku("Standard_D2s_v3")], "nextLink": f"{server.url}{SKUS}?page=2"}, indent=3
    ).encode()
    second = json.dumps({"value": [sku("Standard_D4s_v3")]}).encode()
    server.on(SKUS, lambda r: Reply(second if r.query.get("page") else first))
    with context(tmp_path, server, azure_subscription_id=SUBSCRIPTION) as ready:
        pages = AZURE.fetch(ready, UNIT)
        assert [ready.landing.read(page) for page in pages] == [first, second]
    assert server.requests[0].query["$filter"] == "location eq 'eastus'"
    assert all(SUBSCRIPTION not in page.url + str(page.params) + page.key for page in pages)


def test_no_token_goes_over_plain_http(
    stub: Callable[[], StubServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "AZURE_CLIENT_ID": "id",
        "AZURE_CLIENT_SECRET": "hush",
        "AZURE_TENANT_ID": "t",
    }.items():
        monkeypatch.setenv(name, value)
    server = stub().on(SKUS, Reply.json({"value": [sku("Standard_D2s_v3")]}))
    fetch(tmp_path, server)
    assert [h for r in server.requests for h in r.headers if h.lower() == "authorization"] == []
    stored = b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
    assert b"hush" not in stored


def test_over_https_the_credential_is_the_account_s_own_and_nowhere_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from azure.identity import DefaultAzureCredential

    from hwprices.providers.azure.api import resource_manager

    assert isinstance(
        resource_manager._authentication("https://management.azure.com")["credential"],
        DefaultAzureCredential,
    )
    with pytest.raises(FetchError, match="is not https"):
        resource_manager._authentication("http://management.azure.example")
    monkeypatch.setenv("HWPRICES_AZURE_ARM_URL", "http://management.azure.example")
    with pytest.raises(HwpricesError, match="is not https"):
        settings.load_as(Settings)


def test_429_with_retry_after_and_503_are_tried_again(
    stub: Callable[[], StubServer], tmp_path: Path
) -> None:
    good = Reply.json({"value": [sku("Standard_D2s_v3")]})
    server = stub().on(SKUS, [Reply.json({}, status=429, headers={"Retry-After": "0"}), good])
    _, (body,) = fetch(tmp_path, server)
    assert len(body["value"]) == 1
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (
            Reply.json(
                {"error": {"code": "AuthorizationFailed", "message": "no rights"}}, status=403
            ),
            "AuthorizationFailed",
        ),
        (
            Reply.json(
                {"error": {"code": "InvalidAuthenticationToken", "message": "x"}}, status=401
            ),
            "InvalidAuthenticationToken",
        ),
        (Reply(b"<html>", content_type="text/html"), "failed"),
        (Reply(b'{"value": [', content_type="application/json"), "failed"),
        (Reply.json({"value": [sku("Standard_D2s_v3")]}, cut=60), "failed"),
        (Reply.json({}, status=302, headers={"Location": "https://example.org/"}), "failed"),
    ],
    ids=["403", "401", "html", "half json", "cut", "redirect"],
)
def test_what_cannot_be_had_fails_in_one_line(
    stub: Callable[[], StubServer], tmp_path: Path, reply: Reply, words: str
) -> None:
    server = stub().on(SKUS, reply)
    with pytest.raises(FetchError, match=words) as caught:
        fetch(tmp_path, server, attempts=1)
    assert "\n" not in str(caught.value)
    assert SUBSCRIPTION not in str(caught.value)
    assert not (tmp_path / "raw").exists()


def test_pages_in_a_circle_and_on_another_host(
    stub: Callable[[], StubServer], tmp_path: Path
) -> None:
    server, other = stub(), stub()
    server.on(
        SKUS,
        lambda _: Reply.json(
            {"value": [sku("Standard_D2s_v3")], "nextLink": f"{server.url}{SKUS}?page=2"}
        ),
    )
    with pytest.raises(FetchError, match="circle"):
        fetch(tmp_path, server)
    server.on(
        SKUS,
        Reply.json({"value": [sku("Standard_D2s_v3")], "nextLink": f"{other.url}{SKUS}?page=2"}),
    )
    with pytest.raises(FetchError, match="another host"):
        fetch(tmp_path, server)
    assert other.requests == []


def test_a_silent_server_is_given_up(stub: Callable[[], StubServer], tmp_path: Path) -> None:
    server = stub().on(SKUS, Reply.json({"value": []}, cut=0, stall=5))
    with pytest.raises(FetchError, match="failed"):
        fetch(tmp_path, server, attempts=1, read_timeout=0.3)


def test_a_region_that_offers_nothing_is_skipped(
    stub: Callable[[], StubServer], tmp_path: Path
) -> None:
    with pytest.raises(SkippedError, match="lists no sizes in eastus"):
        fetch(tmp_path, stub().on(SKUS, Reply.json({"value": []})))


def everything(server: StubServer) -> RetailServer:
    def sizes(request: Request) -> Reply:
        region = request.query["$filter"].split("'")[1]
        return Reply.json({"value": [sku("Standard_D2s_v3", location=region, zones=["1"])]})

    server.on(SKUS, sizes)
    server.on(
        LOCATIONS,
        Reply.json(
            {
                "value": [
                    location("eastus"),
                    location("westeurope"),
                    location("unitedstates", "Logical"),
                    location("eastusstg", geography="Stage (US)"),
                ]
            }
        ),
    )
    items = [
        item(0.1, armRegionName=r, meterId=r, skuId=f"P/{r}")
        for r in ("eastus", "westeurope", "usgovvirginia")
    ]
    items += [
        item(0.2, productName="Virtual Machines DSv3 Series Windows", meterId="w", skuId="P/w")
    ]
    items += [
        item(
            0.1,
            type="DevTestConsumption",
            productName="Virtual Machines DSv3 Series Windows",
            meterId="w",
            skuId="P/w",
        )
    ]
    items += [item(500.0, type="Reservation", reservationTerm="1 Year", meterId="r", skuId="P/r")]
    return RetailServer(server, items)


def test_plan_with_and_without_an_account(stub: Callable[[], StubServer], tmp_path: Path) -> None:
    server = stub()
    everything(server)
    with context(
        tmp_path, server, azure_subscription_id=SUBSCRIPTION, azure_currencies="usd,eur"
    ) as ready:
        units = {u.name for u in AZURE.plan(ready, None)}
    assert {
        "azure/locations/global",
        "azure/skus/eastus",
        "azure/skus/westeurope",
        "azure/retail_consumption_eur/usgovvirginia",
    } <= units
    assert "azure/skus/usgovvirginia" not in units
    assert not any("eastusstg" in u or "unitedstates" in u for u in units)
    assert len(units) == 1 + 2 + 2 * 3 * 3
    with context(tmp_path, server) as ready:
        bundled = {u.name for u in AZURE.plan(ready, None)}
        assert [
            u.name for u in AZURE.plan(ready, ["WestEurope"]) if u.kind.startswith("retail")
        ] == [
            f"azure/retail_{kind}_usd/westeurope"
            for kind in ("consumption", "devtest", "reservation")
        ]
    assert {
        "azure/locations/global",
        "azure/skus/global",
        "azure/retail_reservation_usd/usgovvirginia",
        "azure/retail_devtest_usd/uksouth",
    } <= bundled


def run_live(monkeypatch: pytest.MonkeyPatch, day: int = 1, **environment: str) -> dict[str, Any]:
    """plan → fetch → record → normalise through the documented settings alone."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    known = settings.load()
    with Collector("azure", known) as collector:
        results = [collector.fetch(unit) for unit in collector.plan()]
        run = collector.record(NOW.replace(day=day), results)
    parts = {part.table: part for part in AZURE.normalise(Pages(run, Landing(f"{known.root}/raw")))}
    return {"run": run, "parts": parts}


def test_from_settings_to_rows_with_an_account(
    stub: Callable[[], StubServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = stub()
    vendor = everything(server)
    done = run_live(
        monkeypatch,
        HWPRICES_ROOT=str(tmp_path),
        HWPRICES_SOURCE="live",
        HWPRICES_AZURE_RETAIL_URL=vendor.url,
        HWPRICES_AZURE_ARM_URL=server.url,
        AZURE_SUBSCRIPTION_ID=SUBSCRIPTION,
    )
    run: Run = done["run"]
    assert {r.unit.name: r.status for r in run.results if r.status != "ok"} == {
        f"azure/retail_{kind}_usd/{region}": "skipped"
        for kind in ("devtest", "reservation")
        for region in ("usgovvirginia", "westeurope")
    }
    prices = frame(done["parts"]["prices"])
    assert refused(done["parts"]["prices"]) == []
    assert sorted(
        prices.filter(region="eastus")
        .select("os", "license_model", "purchase_option", "payment_option")
        .rows()
    ) == [
        ("linux", "included", "on_demand", "none"),
        ("linux", "included", "reserved", "all_upfront"),
        ("linux", "included", "reserved", "monthly"),
        ("windows", "byol", "on_demand", "none"),
        ("windows", "byol", "reserved", "all_upfront"),
        ("windows", "byol", "reserved", "monthly"),
        ("windows", "included", "dev_test", "none"),
        ("windows", "included", "on_demand", "none"),
    ]
    assert dict(
        prices.filter(purchase_option="on_demand", os="linux")
        .select("region", pl.col("flags").list.join(","))
        .rows()
    ) == {
        "eastus": "",
        "westeurope": "",
        "usgovvirginia": "availability_unknown",
    }
    assert set(frame(done["parts"]["instance_types"])["spec_source"]) == {"api"}
    assert sorted(frame(done["parts"]["regions"]).select("region", "kind").rows()) == [
        ("eastus", "region"),
        ("usgovvirginia", "gov"),
        ("westeurope", "region"),
    ]
    assert SUBSCRIPTION not in (tmp_path / f"raw/azure/runs/{run.run_id}.json").read_text()


def test_without_an_account_the_sizes_are_bundled(
    stub: Callable[[], StubServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = stub()
    vendor = everything(server)
    monkeypatch.delenv("AZURE_SUBSCRIPTION_ID", raising=False)
    done = run_live(
        monkeypatch,
        HWPRICES_ROOT=str(tmp_path),
        HWPRICES_SOURCE="live",
        HWPRICES_AZURE_RETAIL_URL=vendor.url,
        HWPRICES_AZURE_ARM_URL="http://127.0.0.1:9",
    )
    types = frame(done["parts"]["instance_types"])
    assert set(types["spec_source"]) == {"bundled"}
    assert types["observed_at"].max().year == 2026  # type: ignore[union-attr]
    assert frame(done["parts"]["prices"]).filter(
        purchase_option="on_demand", os="linux", region="eastus"
    )["flags"].to_list() == [[]]


def test_a_login_that_fails_costs_no_prices(
    stub: Callable[[], StubServer],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """DefaultAzureCredential may use the environment only, which holds no credential."""
    server = stub()
    vendor = everything(server)
    for name in ("AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_TENANT_ID"):
        monkeypatch.delenv(name, raising=False)
    done = run_live(
        monkeypatch,
        HWPRICES_ROOT=str(tmp_path),
        HWPRICES_SOURCE="live",
        HWPRICES_AZURE_RETAIL_URL=vendor.url,
        HWPRICES_AZURE_ARM_URL=server.url.replace("http://", "https://"),
        AZURE_SUBSCRIPTION_ID=SUBSCRIPTION,
        AZURE_TOKEN_CREDENTIALS="EnvironmentCredential",
    )
    by_kind = {(r.unit.kind, r.status) for r in done["run"].results}
    assert {
        ("locations", "failed"),
        ("skus", "failed"),
        ("retail_consumption_usd", "ok"),
    } <= by_kind
    assert not any(status == "failed" for kind, status in by_kind if kind.startswith("retail_"))
    (locations,) = [r for r in done["run"].results if r.unit.kind == "locations"]
    assert "failed to retrieve a token" in locations.reason
    assert "az login" in locations.reason
    prices = frame(done["parts"]["prices"]).filter(purchase_option="on_demand", os="linux")
    assert set(prices["region"]) == {"eastus", "westeurope", "usgovvirginia"}
    assert [record for record in caplog.records if record.name.startswith("azure.identity")] == []


def test_a_failed_partition_stands_on_its_last_good_pages(
    stub: Callable[[], StubServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = stub()
    vendor = everything(server)
    environment = {
        "HWPRICES_ROOT": str(tmp_path),
        "HWPRICES_SOURCE": "live",
        "HWPRICES_AZURE_RETAIL_URL": vendor.url,
        "HWPRICES_ATTEMPTS": "1",
        "HWPRICES_AZURE_ARM_URL": server.url,
    }
    first = run_live(monkeypatch, AZURE_SUBSCRIPTION_ID=SUBSCRIPTION, **environment)
    vendor.items = [
        i for i in vendor.items if i["meterId"] != "eastus"
    ]  # the Linux row is lost, the Windows row stays
    second = run_live(monkeypatch, 2, **environment)
    (east,) = [
        r for r in second["run"].results if r.unit.name == "azure/retail_consumption_usd/eastus"
    ]
    assert (east.status, east.carried_from) == ("carried", first["run"].run_id)
    before, after = (
        frame(run["parts"]["prices"]).filter(region="eastus", purchase_option="on_demand")
        for run in (first, second)
    )
    assert before.height == 3
    assert after.equals(before)  # with the observed_at of the first run


def test_a_manifest_of_results_can_be_replayed(tmp_path: Path) -> None:
    """Normalising reads the manifest alone: the units' order does not matter."""
    landed = Landed(tmp_path).skus(sku("Standard_D2s_v3")).retail([item(0.1)])
    forward = landed.prices()
    landed.results = [UnitResult(r.unit, "ok", r.pages) for r in reversed(landed.results)]
    assert landed.prices().equals(forward)
