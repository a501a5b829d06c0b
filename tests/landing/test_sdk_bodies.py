"""Limits hold for the vendors' SDKs too: real clients against servers that misbehave."""

import gc
import gzip
import itertools
import json
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from tests.helpers.landed import landed_pages
from tests.helpers.stub_server import Reply

from hwprices import providers
from hwprices.errors import FetchError
from hwprices.landing import bodies
from hwprices.landing.download import Http
from hwprices.landing.limits import Limits
from hwprices.landing.pages import Landing, Unit
from hwprices.providers import Context
from hwprices.providers.aws import ec2
from hwprices.settings import load

MEGABYTE = 1 << 20

UNITS = {
    "aws": Unit("aws", "instance_types", "us-east-1"),
    "azure": Unit("azure", "skus", "eastus"),
    "gcp": Unit("gcp", "skus"),
}

XML = "text/xml"


@pytest.fixture
def fetch(stub, tmp_path, monkeypatch):
    """Fetch a provider's unit from a server with one answer; it must fail. Returns line, server."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIASAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AZURE_SUBSCRIPTION_ID", "00000000-0000-0000-0000-000000000000")
    clients = []

    def run(name, answer, **settings):
        server = stub().on("/*", answer)
        monkeypatch.setenv("AWS_ENDPOINT_URL_EC2", server.url)
        monkeypatch.setenv("HWPRICES_GCP_BILLING_URL", server.url)
        monkeypatch.setenv("HWPRICES_AZURE_ARM_URL", server.url)
        provider = providers.get(name)
        common = load(root=str(tmp_path), source="live", **settings)
        made = provider.settings(common)
        clients.append(Http(made, sleep=lambda _: None))
        http = clients[-1].for_unit(UNITS[name].name)
        context = Context(made, Landing(tmp_path / "raw"), http, lambda: datetime.now(UTC))
        with pytest.raises((FetchError, providers.SkippedError)) as raised:
            provider.fetch(context, UNITS[name])
        assert landed_pages(tmp_path) == []
        assert server.url in str(raised.value) or UNITS[name].name in str(raised.value)
        return str(raised.value), server

    yield run
    for client in clients:
        client.close()


@pytest.mark.parametrize("provider", UNITS)
def test_a_body_without_end_is_refused_while_it_comes(fetch, provider):
    reply = Reply(endless=b" " * 65536, content_type=XML if provider == "aws" else "text/json")
    line, server = fetch(provider, reply, max_page_bytes=MEGABYTE)
    assert "larger than 1048576 bytes" in line
    assert len(server.requests) == 1


@pytest.mark.parametrize("provider", UNITS)
def test_a_slow_drip_ends_at_the_deadline_of_the_page(fetch, provider):
    line, server = fetch(provider, Reply(endless=b" ", pause=0.02), page_deadline=0.3)
    assert "takes longer than 0.3 s" in line
    assert len(server.requests) == 1


@pytest.mark.parametrize("provider", ["azure", "gcp"])  # botocore asks for no compression
def test_a_decompression_bomb_is_refused(fetch, provider):
    packed = gzip.compress(b" " * MEGABYTE) * 50
    reply = Reply(packed, headers={"Content-Encoding": "gzip"})
    line, _server = fetch(provider, reply, max_page_bytes=5 * MEGABYTE)
    assert "larger than 5242880 bytes" in line


@pytest.mark.parametrize("provider", UNITS)
@pytest.mark.parametrize("where", ["before the answer", "in the body"])
def test_a_server_that_stalls_is_asked_twice(fetch, provider, where):
    reply = Reply(b" " * 100, cut=0 if where == "before the answer" else 50, stall=30)
    _line, server = fetch(provider, reply, read_timeout=0.3, attempts=4)
    assert len(server.requests) == 2


@pytest.fixture
def no_garbage_collection():
    """A finalizer of other tests' objects fails if it runs where the stack is nearly full."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_garbage_collection")
def test_json_nested_100000_deep_is_one_line(fetch):
    deep = Reply(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
    line, server = fetch("gcp", deep, attempts=1)
    assert server.url in line
    assert "\n" not in line


@pytest.mark.parametrize("user", ["{other}\\", "{other}", ""])
def test_a_next_page_is_on_the_first_host_for_every_parser_of_urls(fetch, stub, user):
    """Some parsers end a host at a backslash, and send the token to what stands before it."""
    other = stub().on("/*", Reply.json({"value": []}))
    address = other.url.removeprefix("http://")

    def page(request):
        host = request.headers["Host"] if user else address
        at = f"{user.format(other=address)}@" if user else ""
        return Reply.json({"value": [{}], "nextLink": f"http://{at}{host}/next"})

    line, server = fetch("azure", page)
    assert "gives a link that is not a URL" in line or "is on another host" in line
    assert len(server.requests) == 1
    assert other.requests == []


def test_ec2_tokens_without_end_are_noticed(fetch, monkeypatch):
    """Every page names another one. Pages that came are kept, but the unit fails."""
    monkeypatch.setattr(ec2, "MAX_PAGES", 5)
    numbers = itertools.count()

    def page(_request):
        token = "x" * next(numbers)
        body = f"<instanceTypeSet/><nextToken>{token}y</nextToken>"
        text = f"<DescribeInstanceTypesResponse>{body}</DescribeInstanceTypesResponse>"
        return Reply(text.encode(), content_type=XML)

    monkeypatch.setattr(ec2, "_land", lambda *_args, **_more: None)
    line, server = fetch("aws", page)
    assert "has more than 5 pages" in line
    assert len(server.requests) == 5


def test_google_tokens_without_end_stop_at_the_bytes_of_a_unit(fetch):
    numbers = itertools.count()
    blanks = " " * 300_000

    def page(_request):
        return Reply(
            json.dumps({"nextPageToken": f"{next(numbers)}{blanks}"[:50]}).encode()
            + blanks.encode()
        )

    line, server = fetch("gcp", page, max_unit_bytes=MEGABYTE)
    assert "gcp/skus/global has more than 1048576 bytes" in line
    assert len(server.requests) == 4


def test_a_body_that_was_read_already_is_left_as_it_is():
    session = SimpleNamespace(hooks={"response": []})
    bodies.bound_requests(session, Limits(load()), "a unit")
    response = SimpleNamespace(_content=b"read")
    session.hooks["response"][0](response)
    assert response._content == b"read"
