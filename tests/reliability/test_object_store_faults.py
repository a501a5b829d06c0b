"""An object store that answers writes with 503, loses its answers, or is slow. moto serves S3."""

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from moto.server import DomainDispatcherApplication, create_backend_app
from tests.helpers import releases
from tests.helpers.nightly import NIGHTLY
from tests.helpers.object_store import make_bucket
from werkzeug.serving import make_server

import hwprices
from hwprices.errors import HwpricesError
from hwprices.publish.prune import Policy, prune
from hwprices.publish.release import Published
from hwprices.storage.store import Store

KEYS = ["latest.json", "releases/", "staged/aws/r2/", "status.json"]
T0 = datetime(2026, 8, 1, 4, 17, tzinfo=UTC)

pytestmark = pytest.mark.slow


class FaultyS3:
    """moto's S3 behind a fault. ``fault(key, n, serve)`` answers the n-th PUT of a key."""

    def __init__(self) -> None:
        self._moto = DomainDispatcherApplication(create_backend_app)
        self._tries: Counter[str] = Counter()
        self.fault: Callable[..., int | None] = lambda _key, _number, _serve: None

    def __call__(self, environ: dict, start_response: Callable) -> Iterable[bytes]:
        key = environ["PATH_INFO"].partition("/data/")[2]
        if environ["REQUEST_METHOD"] != "PUT" or not key:
            return self._moto(environ, start_response)
        self._tries[key] += 1
        answer: list = []

        def serve() -> None:
            body = self._moto(environ, lambda *head: answer.append(head))
            answer.append(list(body))

        status = self.fault(key, self._tries[key], serve)
        if status is not None:
            start_response(f"{status} Fault", [("Content-Length", "0")])
            return [b""]
        if not answer:
            serve()
        start_response(*answer[0])
        return answer[1]


@pytest.fixture(scope="module")
def s3() -> Iterator[tuple[FaultyS3, str]]:
    application = FaultyS3()
    server = make_server("127.0.0.1", 0, application, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield application, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()


@pytest.fixture
def bucket(s3, monkeypatch, request) -> Iterator[tuple[FaultyS3, str]]:
    application, url = s3
    name = re.sub("[^a-z0-9]+", "-", request.node.name)[-60:].strip("-")
    make_bucket(monkeypatch, url, name)
    yield application, f"s3://{name}/data"
    application.fault = lambda _key, _number, _serve: None


def publish(bucket: str, number: int) -> Published:
    at, tables = T0 + timedelta(minutes=number), releases.fleet(30 + number)
    return releases.publish(Store(bucket), tables, run_id=f"r{number}", at=at)


def height(bucket: str) -> int:
    data = hwprices.open(bucket)
    assert data.verify() == []
    return data.prices.select(pl.len()).collect().item()


def failing_then_lost(_key: str, number: int, serve: Callable[[], None]) -> int | None:
    """Fail once; then do what is asked and answer that it failed; then work."""
    if number == 1:
        return 503
    if number == 2:
        serve()
        return 500
    return None


def slow(_key: str, _number: int, _serve: Callable[[], None]) -> None:
    time.sleep(0.1)


@pytest.mark.parametrize("fault", [failing_then_lost, slow])
def test_writes_that_fail_for_a_while_or_are_slow_change_nothing(bucket, fault) -> None:
    application, root = bucket
    application.fault = fault
    published = publish(root, 1)
    assert published.new
    assert height(root) == 31
    assert [entry["version"] for entry in hwprices.releases(root)] == [published.version]


@pytest.mark.parametrize("key", KEYS if NIGHTLY else KEYS[:2])
def test_writes_that_keep_failing_leave_what_is_in_force(bucket, key) -> None:
    application, root = bucket
    publish(root, 1)
    application.fault = lambda written, _number, _serve: 503 if written.startswith(key) else None
    with pytest.raises(HwpricesError, match=f"cannot write {root}/{key}") as raised:
        publish(root, 2)
    is_published = key == "status.json"
    assert ("is published, but" in str(raised.value)) == is_published
    application.fault = lambda _key, _number, _serve: None
    assert height(root) == (32 if is_published else 31)
    assert publish(root, 3).new
    assert height(root) == 33
    if key == "latest.json":
        prune(Store(root), Policy(1, is_thinned=False), now=T0 + timedelta(days=2))
        assert [entry["version"] for entry in hwprices.releases(root)] == ["20260801T042000Z"]
