"""JSON with a name twice in one object is refused, whether names are counted or read one by one."""

import json
from typing import Any

import msgspec
import pytest
from tests.helpers.cases import cases, number
from tests.helpers.stub_server import Reply

from hwprices.collect import Collector
from hwprices.landing import bodies
from hwprices.landing.pages import Unit
from hwprices.settings import load


class Price(msgspec.Struct, omit_defaults=True):
    """An object with an inner one, and a member that may be anything."""

    name: str | None = None
    amount: Any = msgspec.UNSET
    inner: "Price | None" = None


@cases("landing/repeated_names", content=str.encode)
def test_a_name_twice_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="comes twice in one object"):
        bodies.refuse_repeated_names(content, msgspec.json.decode(content, type=Price))


@pytest.mark.parametrize(
    "content",
    [
        b'{"name":"a","amount":null,"inner":{"name":"x: \'\\u0026 :"}}',
        b'{"name":"a","unread":{"unread":[1]}}',
        b'{"name": "\\"quoted\\": yes"}',
        json.dumps({"name": "é", "inner": {"amount": [{"a": 1.5}]}}, indent=2).encode(),
        b'{"name" : ":x", "amount" : " : y", "inner" : {"name" : "x : y  : z"}}',
        rb'{"name":"\u003ax","amount":"\u0020:x"}',
    ],
)
def test_a_page_without_a_repeated_name_passes(content: bytes) -> None:
    price = msgspec.json.decode(content, type=Price)
    bodies.refuse_repeated_names(content, price)
    assert price.name


@cases("landing/counted_names", content=str.encode, names=number)
def test_names_are_counted_with_and_without_a_blank_before_the_colon(content, names):
    assert bodies.count_names(content) == names


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
