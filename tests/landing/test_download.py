"""Download over real sockets: a complete page, or one clear line.

The faults are those of known wrong number R3 (docs/known-wrong-numbers.md).
"""

import gzip
import hashlib
import json
import re
import socket
import sys
import time
import traceback

import pytest
from tests.helpers.stub_server import Reply

from hwprices.landing.download import (
    NO_HOST,
    NO_HOST_REMEDY,
    FetchError,
    Http,
    check_endpoint,
    check_same_host,
    public_url,
)
from hwprices.settings import load
from hwprices.storage.packed import pack

BODY = json.dumps({"items": list(range(5000))}).encode()


@pytest.fixture
def http():
    client = Http(load(read_timeout=1, attempts=3), sleep=lambda _: None)
    yield client
    client.close()


@pytest.mark.parametrize(
    ("reply", "packed"),
    [(Reply(BODY), pack(BODY)), (Reply.gzipped(BODY), Reply.gzipped(BODY).body)],
    ids=["plain", "gzip"],
)
def test_a_complete_body_is_kept_packed_and_described(http, stub, tmp_path, reply, packed):
    server = stub().on("/a", reply)
    page = http.download(f"{server.url}/a", tmp_path / "page", params={"region": "us-east-1"})
    assert page.file.path.read_bytes() == packed
    assert page.file.sha256 == hashlib.sha256(packed).hexdigest()
    assert (page.file.stored_bytes, page.file.content_bytes) == (len(packed), len(BODY))
    assert page.read() == BODY
    found = (page.status, page.params, page.content_type)
    assert found == (200, {"region": "us-east-1"}, "application/json")


FAULTS = {  # those that tests/providers/test_faults.py does not try
    "403, as the AWS bulk host answers to crowds": [Reply(status=403)],
    "gzip without its trailer, length agreeing": [
        Reply(gzip.compress(BODY)[:-8], headers={"Content-Encoding": "gzip"})
    ],
    "stalled body": [Reply(BODY, cut=1000, stall=30)],
    "no length and no chunks": [Reply(BODY, length=False)],
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_after_a_fault_the_next_answer_is_taken(http, stub, tmp_path, fault):
    server = stub().on("/a", [*fault, Reply(BODY)])
    assert http.download(f"{server.url}/a", tmp_path / "page").read() == BODY
    assert len(server.requests) == 2


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_that_persists_is_one_clear_line(http, stub, tmp_path, fault):
    server = stub().on("/a", fault)
    with pytest.raises(FetchError) as raised:
        http.download(f"{server.url}/a", tmp_path / "page")
    tries = 2 if fault[0].stall else 3  # a stall is tried again once
    assert len(server.requests) == tries
    assert server.url in str(raised.value)
    assert f"{tries} times" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "page").exists()


def test_a_missing_page_is_requested_once(http, stub, tmp_path):
    server = stub().on("/a", Reply(b"no such file", status=404))
    with pytest.raises(FetchError, match="HTTP 404: no such file"):
        http.download(f"{server.url}/a", tmp_path / "page")
    assert len(server.requests) == 1


def test_a_host_that_refuses_connections_fails_within_seconds(tmp_path):
    started = time.monotonic()
    http = Http(load(attempts=2), sleep=lambda _: None)
    with pytest.raises(FetchError, match="ConnectError"):
        http.download("http://127.0.0.1:9/x", tmp_path / "page")
    assert time.monotonic() - started < 5


def test_a_host_whose_name_is_not_found_is_tried_twice(tmp_path, monkeypatch):
    def unknown(*args, **kwargs):  # as a resolver that answers; without one, it may say EAI_AGAIN
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    pauses = []
    http = Http(load(), sleep=pauses.append)
    with pytest.raises(FetchError) as caught:
        http.download("https://prices.invalid/x", tmp_path / "page")
    assert str(caught.value) == (
        f"https://prices.invalid/x failed 2 times, last: {NO_HOST}. {NO_HOST_REMEDY}"
    )
    assert len(pauses) == 1


def test_secrets_stay_out_of_messages_and_metadata(http, stub, tmp_path):
    server = stub().on("/a", [Reply(status=503)] * 3 + [Reply(BODY)])
    with pytest.raises(FetchError) as raised:
        http.download(
            f"{server.url}/a", tmp_path / "page", params={"key": "SECRET-1", "pageSize": "5"}
        )
    assert "SECRET" not in str(raised.value)
    page = http.download(
        f"{server.url}/a?key=SECRET-2",
        tmp_path / "page",
        params={"key": "SECRET-1", "pageSize": "5"},
    )
    assert "SECRET" not in repr(page)
    assert page.params == {"pageSize": "5"}
    assert public_url("https://user:SECRET@host/p?key=SECRET&a=1") == "https://host/p?a=1"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://H.example:99999/?sig=SECRET", "https://h.example:99999/"),
        ("http://[::1/?sig=SECRET", "(no URL)"),
    ],
)
def test_what_is_no_url_is_refused(url, shown):
    with pytest.raises(FetchError) as refused:
        check_endpoint(url)
    assert str(refused.value).startswith(
        f"{shown} is not a URL, or its port is not from 0 to 65535."
    )


def test_plain_http_is_refused_to_other_machines():
    check_endpoint("https://prices.azure.com/x", credentials=True)
    check_endpoint("http://127.0.0.1:8080/x")
    with pytest.raises(FetchError, match="not https"):
        check_endpoint("http://prices.azure.com/x")
    with pytest.raises(FetchError, match="no credential"):
        check_endpoint("http://127.0.0.1:8080/x", credentials=True)


def test_a_next_page_on_another_host_is_refused():
    check_same_host("https://prices.azure.com/api", "https://prices.azure.com:443/api?$skip=1000")
    for other_host in (
        "https://evil.example/api",
        "http://prices.azure.com/api",
        "https://prices.azure.com:8443/api",
    ):
        with pytest.raises(FetchError, match="another host"):
            check_same_host("https://prices.azure.com/api", other_host)


LOCATIONS = {
    "another host": ("http://elsewhere.example/x", "http://elsewhere.example/x"),
    "no port": ("https://h.example:99999/", "https://h.example:99999/"),
    "IPv6": ("http://[::1]:8080/x", "http://[::1]:8080/x"),
    "another scheme": ("javascript:alert(1)", "javascript:alert(1)"),
    "no name of a host": ("http://xn--/", "http://xn--/"),
    "no URL": ("http://[::1", "(no URL)"),
    "long": (f"https://h.example/{'x' * 5000}", f"https://h.example/{'x' * 182}"),
}


@pytest.mark.parametrize(("location", "shown"), LOCATIONS.values(), ids=LOCATIONS)
def test_a_redirect_is_not_followed_and_is_one_short_line(http, stub, tmp_path, location, shown):
    server = stub().on("/old", Reply(status=302, headers={"Location": location}))
    with pytest.raises(FetchError, match=re.escape(f"HTTP 302 to {shown}. Redirects are not")):
        http.download(f"{server.url}/old", tmp_path / "page")
    assert len(server.requests) == 1


def test_cookies_are_not_kept(http, stub, tmp_path):
    """One that is not ASCII would end every request after it."""
    cookie = Reply(BODY, headers={"Set-Cookie": "session=\xff"})
    server = stub().on("/a", cookie)
    for name in ("one", "two"):
        http.download(f"{server.url}/a", tmp_path / name)
    assert ["Cookie" in request.headers for request in server.requests] == [False, False]


def test_a_header_without_sense_is_quoted_short_and_without_secrets(http, stub, tmp_path):
    encoding = f"Bearer SECRET-1 {'x' * 5000}"
    server = stub().on("/a", Reply(BODY, headers={"Content-Encoding": encoding}))
    with pytest.raises(FetchError, match="Content-Encoding bearer") as raised:
        http.download(f"{server.url}/a", tmp_path / "page")
    assert "secret-1" not in str(raised.value).lower()
    assert len(str(raised.value)) < 500


@pytest.mark.parametrize(
    ("proxy", "words"),
    [
        ("socks5://user:SECRET-1@proxy.example:1080", "a SOCKS proxy is set in HTTPS_PROXY"),
        ("ftp://user:SECRET-1@proxy.example/", "ALL_PROXY is not a proxy URL"),
        ("http://user:SECRET-1/@proxy.example", "ALL_PROXY is not a proxy URL"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_one_line_without_its_password(monkeypatch, proxy, words):
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    monkeypatch.setitem(sys.modules, "socksio", None)  # as where httpx[socks] is not installed
    with pytest.raises(FetchError, match=words) as raised:
        Http(load())
    assert "SECRET" not in "".join(traceback.format_exception(raised.value))
