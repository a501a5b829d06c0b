"""Fetch sizes and locations with Microsoft's SDK, from servers on loopback."""

import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from azure.mgmt.compute import ComputeManagementClient
from tests.helpers.azure_pages import SKUS, SUBSCRIPTION, context, sku
from tests.helpers.stub_server import Reply, StubServer

from hwprices.errors import HwpricesError
from hwprices.landing.download import FetchError
from hwprices.landing.pages import Page, Unit
from hwprices.providers import SkippedError, get
from hwprices.providers.azure import Settings, resource_manager
from hwprices.providers.azure.instance_types import SKU
from hwprices.settings import load_as

AZURE = get("azure")
UNIT = Unit("azure", "skus", "eastus")


def fetch(folder: Path, server: StubServer, **settings: Any) -> list[Page]:
    with context(folder, server, azure_subscription_id=SUBSCRIPTION, **settings) as ready:
        return AZURE.fetch(ready, UNIT)


def test_bodies_are_landed_without_the_subscription_and_else_unchanged(stub, tmp_path) -> None:
    server = stub()
    first = json.dumps(
        {"value": [sku("Standard_D2s_v3")], "nextLink": f"{server.url}{SKUS}?page=2"}, indent=3
    ).encode()
    second = json.dumps({"value": [sku("Standard_D4s_v3")]}).encode()
    server.on(SKUS, lambda r: Reply(second if r.query.get("page") else first))
    with context(tmp_path, server, azure_subscription_id=SUBSCRIPTION) as ready:
        pages = AZURE.fetch(ready, UNIT)
        landed_first = first.replace(SUBSCRIPTION.encode(), b"{subscriptionId}")
        assert [ready.landing.read(page) for page in pages] == [landed_first, second]
    assert server.requests[0].query["$filter"] == "location eq 'eastus'"
    assert all(SUBSCRIPTION not in page.url + str(page.params) + page.key for page in pages)


def test_the_sdk_makes_no_objects_of_what_is_landed(stub, tmp_path, monkeypatch) -> None:
    """They take fifty times as long as everything else, and nobody reads them."""
    from azure.mgmt.compute.models import ResourceSku

    made: list[object] = []
    monkeypatch.setattr(ResourceSku, "__init__", lambda self, *_: made.append(self))
    (page,) = fetch(tmp_path, stub().on(SKUS, Reply.json({"value": [sku("Standard_D2s_v3")]})))
    assert page.content_bytes > 500
    assert made == []


def test_a_link_that_the_sdk_does_not_follow_is_noticed(stub, tmp_path) -> None:
    server = stub()
    two_pages = [
        Reply.json({"value": [sku("Standard_D2s_v3")], "nextLink": f"{server.url}{SKUS}?page=2"}),
        Reply.json({"value": [sku("Standard_D4s_v3")]}),
    ]

    def pages(most: int | None) -> Callable[[dict[str, Any]], Iterator[object]]:
        def list_pages(options: dict[str, Any]) -> Iterator[object]:
            with ComputeManagementClient(subscription_id=SUBSCRIPTION, **options) as client:
                yield from islice(client.resource_skus.list().by_page(), most)

        return list_pages

    with context(tmp_path, server, azure_subscription_id=SUBSCRIPTION) as ready:
        server.on(SKUS, two_pages)
        with pytest.raises(FetchError, match="1 pages for 1 requests, 1 were followed"):
            resource_manager._read_pages(ready, pages(1), SKU)
        server.on(SKUS, two_pages)
        listed = resource_manager._read_pages(ready, pages(None), SKU)
    assert [page.count for page in listed] == [1, 1]


DEEP = b"[" * 100_000
NOT_LISTS = {
    "object": b"{}",
    "list": b"[]",
    "null": b'{"value": null}',
    "no list": b'{"value": {"name": "x"}}',
    "no UTF-8": b'{"value": [{"name": "\xff"}]}',
    "no double": b'{"value": [{"name": 1e999}]}',
    "text": b'{"value": [{"name": "x", "capabilities": "none"}]}',
    "texts": b'{"value": ["x"]}',
    "a name twice": b'{"value": [{"name": "a", "name": "b"}]}',
    "link": b'{"value": [], "nextLink": 3}',
    "deep": b'{"value": ' + DEEP,
    "deep inside": b'{"value": [{"x": ' + DEEP + b"]" * 100_000 + b"}]}",
}


@pytest.mark.parametrize("body", NOT_LISTS)
def test_an_answer_that_is_no_list_is_not_landed(stub, tmp_path, body) -> None:
    server = stub().on(SKUS, Reply(NOT_LISTS[body], content_type="application/json"))
    with pytest.raises(FetchError, match="returned no readable list"):
        fetch(tmp_path, server)
    assert len(server.requests) == 1
    assert not (tmp_path / "raw").exists()


def test_no_token_goes_over_plain_http(stub, tmp_path, monkeypatch) -> None:
    for name, value in {
        "AZURE_CLIENT_ID": "id",
        "AZURE_CLIENT_SECRET": "client-secret",
        "AZURE_TENANT_ID": "t",
    }.items():
        monkeypatch.setenv(name, value)
    server = stub().on(SKUS, Reply.json({"value": [sku("Standard_D2s_v3")]}))
    fetch(tmp_path, server)
    assert [h for r in server.requests for h in r.headers if h.lower() == "authorization"] == []
    stored = b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
    assert b"client-secret" not in stored


def test_the_default_credential_is_used_over_https_only(stub, tmp_path, monkeypatch) -> None:
    from azure.identity import DefaultAzureCredential

    with context(tmp_path, stub()) as ready:
        for _ in range(2):
            options = resource_manager._authentication(ready, "https://management.azure.com")
            assert options["credential"] is ready.shared["login"]
        assert ready.shared["login"]._make is DefaultAzureCredential
        with pytest.raises(FetchError, match="is not https"):
            resource_manager._authentication(ready, "http://management.azure.example")
    monkeypatch.setenv("HWPRICES_AZURE_ARM_URL", "http://management.azure.example")
    with pytest.raises(HwpricesError, match="is not https"):
        load_as(Settings)


def test_429_and_503_are_tried_again_after_the_pause_the_server_asks_for(stub, tmp_path) -> None:
    """The pause is capped by the setting max_retry_after."""
    replies = [
        Reply.json({}, status=429, headers={"Retry-After": "7"}),
        Reply.json({}, status=503, headers={"Retry-After": "9999"}),
        Reply.json({"value": [sku("Standard_D2s_v3")]}),
    ]
    server = stub().on(SKUS, replies)
    waits: list[float] = []
    with context(tmp_path, server, azure_subscription_id=SUBSCRIPTION) as ready:
        ready.http.sleep = waits.append
        (page,) = AZURE.fetch(ready, UNIT)
        assert len(json.loads(ready.landing.read(page))["value"]) == 1
    assert waits == [7.0, 120.0]
    assert len(server.requests) == 3


def refusal(status: int, code: str) -> Reply:
    return Reply.json({"error": {"code": code, "message": "no rights"}}, status=status)


FAILURES = {
    "403": (refusal(403, "AuthorizationFailed"), "AuthorizationFailed"),
    "401": (refusal(401, "InvalidAuthenticationToken"), "InvalidAuthenticationToken"),
    "html": (Reply(b"<html>", content_type="text/html"), "failed"),
    "half json": (Reply(b'{"value": [', content_type="application/json"), "failed"),
    "cut": (Reply.json({"value": [sku("Standard_D2s_v3")]}, cut=60), "failed"),
    "redirect": (Reply(status=302, headers={"Location": "https://example.org/"}), "failed"),
}


@pytest.mark.parametrize(("reply", "message"), FAILURES.values(), ids=FAILURES)
def test_a_failure_is_one_line_without_the_subscription(stub, tmp_path, caplog, reply, message):
    server = stub().on(SKUS, reply)
    with pytest.raises(FetchError, match=message) as caught:
        fetch(tmp_path, server, attempts=1)
    assert [record for record in caplog.records if record.name.startswith("azure")] == []
    assert "\n" not in str(caught.value)
    assert SUBSCRIPTION not in str(caught.value)
    assert not (tmp_path / "raw").exists()


def test_pages_in_a_loop_or_on_another_host_are_refused(stub, tmp_path) -> None:
    server, other = stub(), stub()
    for host, words in ((server, "circle"), (other, "another host")):
        page = {"value": [sku("Standard_D2s_v3")], "nextLink": f"{host.url}{SKUS}?page=2"}
        server.on(SKUS, Reply.json(page))
        with pytest.raises(FetchError, match=words):
            fetch(tmp_path, server)
    assert other.requests == []


def test_a_region_without_sizes_is_skipped(stub: Callable[[], StubServer], tmp_path: Path) -> None:
    with pytest.raises(SkippedError, match="lists no sizes in eastus"):
        fetch(tmp_path, stub().on(SKUS, Reply.json({"value": []})))


def test_a_refused_connection_is_not_blamed_on_the_account(stub, tmp_path) -> None:
    """A login (az login) opens no port."""
    server = stub()
    server.stop()
    with pytest.raises(FetchError) as raised:
        fetch(tmp_path, server, attempts=1)
    assert raised.value.remedy.startswith("Try again later")
    refused = stub().on(SKUS, Reply.json({"error": {"code": "AuthorizationFailed"}}, status=403))
    with pytest.raises(FetchError) as raised:
        fetch(tmp_path, refused, attempts=1)
    assert "az login" in raised.value.remedy
