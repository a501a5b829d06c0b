"""Every provider is tried with the faults of a vendor's server.

All its endpoints are pointed to a server on this machine. While it answers in one wrong way, no
page may be landed, and the error names the server. Once it answers well, the page is landed.
"""

import gzip
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.helpers.aws_pages import line, price_list
from tests.helpers.azure_pages import answer, item
from tests.helpers.gcp_pages import n2_skus
from tests.helpers.landed import landed_pages
from tests.helpers.stub_server import Reply, StubServer
from tests.providers.fuzz.pages import DEEP, sampled

from hwprices import providers
from hwprices.landing.download import FetchError, Http
from hwprices.landing.pages import Landing, Unit
from hwprices.providers import Context, Provider
from hwprices.settings import load

BODY = b'{"items": [], "addons": [], "data": {}}' + b" " * 1000

FAULTS = {
    "not_found": Reply.json({"error": "no such page"}, status=404),
    "forbidden": Reply.json({"type": "denied"}, status=403),
    "sent_elsewhere": Reply(b"", status=302, headers={"Location": "https://elsewhere.test/"}),
    "overloaded": Reply.json({"error": "later"}, status=503),
    "cut": Reply(BODY, cut=20),
    "reset": Reply(BODY, cut=20, reset=True),
    "stalled": Reply(b"", stall=2, length=False),
    "cut_gzip": Reply(b"\x1f\x8b\x08\x00", headers={"Content-Encoding": "gzip"}),
    "a_page_for_people": Reply(b"<html>Access denied</html>", content_type="text/html"),
    "no_json": Reply(b"{"),
    "another_shape": Reply(b"[1, 2]"),
    "nothing_in_it": Reply(b"{}"),
    "an_empty_list": Reply(BODY),
    "nested_deep": Reply(DEEP),
    "a_number_out_of_range": Reply(b'{"items": [1e999999999]}'),
}


def keyless() -> list[str]:
    """List the providers that have endpoints and need no account for anything."""
    chosen = []
    for name in providers.names():
        provider = providers.get(name)
        if endpoints(provider) and provider.about.with_credentials == "nothing more":
            chosen.append(name)
    return chosen


def endpoints(provider: Provider) -> list[str]:
    """List a provider's own settings that are addresses."""
    fields = provider.settings_class.model_fields
    return [name for name in fields if name.startswith(provider.name) and name.endswith("_url")]


def steps(provider: Provider, context: Context) -> list[Callable[[], object]]:
    """List what must fail: fetching a unit of each kind, or the plan where its index is remote."""
    try:
        units = provider.plan(context, None)
    except FetchError:
        return [lambda: provider.plan(context, None)]
    kinds = {unit.kind: unit for unit in units}
    return [partial(provider.fetch, context, unit) for unit in kinds.values()]


def context_at(
    server: StubServer, provider: Provider, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Context:
    """Point all endpoints of a provider to the server."""
    for setting in endpoints(provider):
        monkeypatch.setenv(f"HWPRICES_{setting.upper()}", server.url)
    settings = provider.settings(load(root=str(folder), source="live", attempts=2))
    http = Http(settings, sleep=lambda _: None)
    return Context(settings, Landing(folder / "raw"), http, http.now)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", keyless())
def test_a_fault_lands_nothing_and_names_the_server(name, fault, stub, tmp_path, monkeypatch):
    server = stub().on("/*", FAULTS[fault])
    if FAULTS[fault].stall:  # the others may take their time on a busy machine
        monkeypatch.setenv("HWPRICES_READ_TIMEOUT", "0.2")
    context = context_at(server, providers.get(name), tmp_path, monkeypatch)
    for step in steps(providers.get(name), context):
        with pytest.raises(FetchError, match=r"127\.0\.0\.1"):
            step()
    context.http.close()
    assert landed_pages(tmp_path) == []


def test_there_are_such_providers() -> None:
    assert {"oracle", "ovh"} <= set(keyless())


PRICES = {"price_type": "Consumption", "currency": "USD"}
PAGES = {
    "aws": (Unit("aws", "prices", "us-east-1"), price_list([line()] * 50)),
    "azure": (
        Unit("azure", "retail_consumption_usd", "eastus", PRICES),
        json.dumps(answer([item(0.1)])).encode(),
    ),
    "gcp": (Unit("gcp", "skus"), json.dumps({"skus": n2_skus()}).encode()),
    "runpod": (Unit("runpod", "gpu_types"), sampled("runpod", "gpu_types")),
    "scaleway": (
        Unit("scaleway", "servers", "fr-par-2"),
        sampled("scaleway", "servers", "fr-par-2"),
    ),
}
"""A unit whose answer is one page. The SDKs of Azure and EC2 have tests of their own."""


def passing(body: bytes) -> dict[str, Reply]:
    """Make the faults that pass, with known wrong number R3: a body that is not complete."""
    packed, gzipped = gzip.compress(body), {"Content-Encoding": "gzip"}
    return {
        "too_many": Reply(b"{}", status=429, headers={"Retry-After": "7"}),
        "broken": Reply(b"{}", status=500),
        "overloaded": Reply(b"busy", status=503, content_type="text/plain"),
        "cut": Reply(body, cut=40),
        "reset": Reply(body, cut=40, reset=True),
        "cut_gzip": Reply(packed, headers=gzipped, cut=60),
        "half_a_gzip": Reply(packed[: len(packed) // 2], headers=gzipped),
        "a_page_for_people": Reply(b"<html>busy</html>", content_type="text/html"),
    }


@pytest.mark.parametrize("fault", passing(b""))
@pytest.mark.parametrize("name", PAGES)
def test_r3_a_fault_that_passes_is_tried_again_and_one_that_lasts_lands_nothing(
    name, fault, stub, tmp_path, monkeypatch
) -> None:
    server = stub()
    unit, body = PAGES[name]
    provider = providers.get(unit.provider)
    if name == "aws":
        unit = Unit("aws", unit.kind, unit.region, {"url": f"{server.url}/index.csv"})
    wrong = passing(body)[fault]
    good = Reply(body, content_type="text/csv" if name == "aws" else "application/json")
    waits: list[float] = []
    context = context_at(server, provider, tmp_path, monkeypatch)
    context.http.sleep = waits.append
    server.on("/*", wrong)
    with pytest.raises(FetchError, match=r"127\.0\.0\.1"):
        provider.fetch(context, unit)
    assert landed_pages(tmp_path) == []
    server.on("/*", [wrong, good])
    (page,) = provider.fetch(context, unit)
    assert context.landing.read(page) == body
    assert len(server.requests) == 4
    assert waits == [7.0, 7.0] or (fault != "too_many" and len(waits) == 2)
    context.http.close()
