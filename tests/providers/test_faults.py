"""Every provider that needs no account is tried with the faults of a vendor's server.

All its endpoints are pointed to a server on this machine that always answers in one wrong way. No
page may be landed, and the error names the server.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.helpers.landed import landed_pages
from tests.helpers.stub_server import Reply, StubServer
from tests.providers.fuzz.pages import DEEP

from hwprices import providers
from hwprices.landing.download import FetchError, Http
from hwprices.landing.pages import Landing
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
    """List what must fail: the fetching of each unit, or the plan where its index is remote."""
    try:
        units = provider.plan(context, None)
    except FetchError:
        return [lambda: provider.plan(context, None)]
    return [partial(provider.fetch, context, unit) for unit in units]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", keyless())
def test_a_fault_lands_nothing_and_names_the_server(
    name: str,
    fault: str,
    stub: Callable[[], StubServer],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = stub().on("/*", FAULTS[fault])
    if FAULTS[fault].stall:  # the others may take their time on a busy machine
        monkeypatch.setenv("HWPRICES_READ_TIMEOUT", "0.5")
    provider = providers.get(name)
    for setting in endpoints(provider):
        monkeypatch.setenv(f"HWPRICES_{setting.upper()}", server.url)
    settings = provider.settings(load(root=str(tmp_path), source="live", attempts=2))
    http = Http(settings, sleep=lambda _: None)
    context = Context(settings, Landing(tmp_path / "raw"), http, http.now)
    for step in steps(provider, context):
        with pytest.raises(FetchError, match=r"127\.0\.0\.1"):
            step()
    http.close()
    assert landed_pages(tmp_path) == []


def test_there_are_such_providers() -> None:
    assert {"oracle", "ovh"} <= set(keyless())
