"""Bodies that are not what they should be: one line, without credentials that they repeat."""

import pytest
from tests.helpers.stub_server import Reply

from hwprices.collect.collector import Collector
from hwprices.landing.pages import Unit
from hwprices.settings import load

SECRET = "hf_SECRET" + 50 * "0"
"""Longer than what errors quote of a name: the beginning of a secret is not recognised."""

BODIES = {
    "a name twice": Reply(f'{{"{SECRET}": 1, "{SECRET}": 2}}'.encode()),
    "an error": Reply.json({"errors": [{"message": f"{'x' * 150} {SECRET}"}]}),
    "another subsidiary": Reply.json({"addons": [1], "locale": {"subsidiary": SECRET}}),
}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("unit", [Unit("runpod", "gpu_types"), Unit("ovh", "catalog")])
def test_an_error_repeats_no_credential(stub, tmp_path, monkeypatch, unit, body) -> None:
    server = stub().on("/*", BODIES[body])
    monkeypatch.setenv("HF_TOKEN", SECRET)
    monkeypatch.setenv("HWPRICES_RUNPOD_URL", server.url)
    monkeypatch.setenv("HWPRICES_OVH_API_URL", server.url)
    with Collector(unit.provider, load(root=str(tmp_path), source="live")) as collector:
        result = collector.fetch(unit)
    assert result.status == "failed"
    assert result.reason.startswith(server.url)
    assert SECRET[:5] not in result.reason
