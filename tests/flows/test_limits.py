"""Interrupt units whose servers never come to a body, in httpx and in the vendors' SDKs."""

import importlib
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import chain, repeat

import pytest

from hwprices.collect import Collector
from hwprices.landing.pages import Unit, UnitResult
from hwprices.settings import load

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

ANSWERS = {
    "answers that are none": lambda: repeat(CONTINUE),
    "a header without end": lambda: chain([b"HTTP/1.1 200 OK\r\nX: "], repeat(b"x")),
}

Parts = Callable[[], Iterable[bytes]]

UNITS = [
    Unit("aws", "instance_types", "us-east-1"),  # botocore
    Unit("azure", "skus", "eastus"),  # requests, within azure-core
    Unit("azure", "prices", "eastus"),  # httpx
    Unit("gcp", "skus"),  # requests, within google-auth
]


SDKS = ("boto3", "azure.identity", "azure.mgmt.compute", "google.cloud.billing_v1")
"""Imported before the units are fetched: an import that the deadline interrupts leaves half of a
module, and another thread gets it."""


@pytest.fixture
def serve() -> Iterator[Callable[[Parts], str]]:
    """Start a server that sends each connection the parts, with a pause after each."""
    listeners: list[socket.socket] = []

    def send(connection: socket.socket, parts: Parts) -> None:
        with connection, suppress(OSError):
            connection.recv(65536)
            for part in parts():
                connection.sendall(part)
                time.sleep(0.02)

    def accept(listener: socket.socket, parts: Parts) -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=send, args=(connection, parts), daemon=True).start()

    def start(parts: Parts) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)
        threading.Thread(target=accept, args=(listener, parts), daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    yield start
    for listener in listeners:
        with suppress(OSError):  # macOS refuses it for a socket that listens
            listener.shutdown(socket.SHUT_RDWR)  # ends accept, which a close would not
        listener.close()


@pytest.mark.parametrize("answer", ANSWERS)
def test_headers_without_end_fail_their_unit(serve, tmp_path, monkeypatch, answer) -> None:
    from hwprices.flows import endings

    for name in SDKS:
        importlib.import_module(name)
    url = serve(ANSWERS[answer])
    variables = {
        "AWS_ACCESS_KEY_ID": "AKIASAMPLE",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AZURE_SUBSCRIPTION_ID": "00000000-0000-0000-0000-000000000000",
    }
    names = ("AWS_ENDPOINT_URL_EC2", "HWPRICES_AZURE_ARM_URL", "HWPRICES_AZURE_RETAIL_URL")
    endpoints = dict.fromkeys((*names, "HWPRICES_GCP_BILLING_URL"), url)
    for name, value in {**variables, **endpoints}.items():
        monkeypatch.setenv(name, value)
    settings = load(root=str(tmp_path), source="live", unit_deadline=1, read_timeout=1)

    def fetch(unit: Unit) -> UnitResult:
        with Collector(unit.provider, settings) as collector:
            return collector.fetch(unit, endings.stop_after)

    with ThreadPoolExecutor(len(UNITS)) as threads:
        results = list(threads.map(fetch, UNITS))
    for unit, result in zip(UNITS, results, strict=True):
        assert result.status == "failed"
        assert f"{unit.name} takes longer than" in result.reason
