"""A dataset on an object store: published with compare-and-swap, and read. moto serves S3 here."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from tests.helpers.object_store import s3
from tests.helpers.releases import fleet, stage

import hwprices
from hwprices.errors import HwpricesError
from hwprices.publish import release
from hwprices.storage.store import Store

T0 = datetime(2026, 8, 1, 4, 17, tzinfo=UTC)


@pytest.fixture
def bucket(monkeypatch, request):
    name = request.node.name.replace("_", "-")[:60]
    with s3(monkeypatch, name):
        yield f"s3://{name}/data"


@pytest.mark.slow
def test_a_release_is_published_and_read(bucket):
    store = Store(bucket)
    stage(store, "r1", fleet())
    outcome = release.publish(store, now=lambda: T0)
    data = hwprices.open(bucket)
    assert (outcome.new, data.version) == (True, "20260801T041700Z")
    assert data.prices.select(pl.len()).collect().item() == 300
    assert data.duckdb.sql(
        "select count(*) from prices where instance_type = 'm7.large'"
    ).fetchall() == [(1,)]
    assert data.verify() == []
    stage(store, "r2", fleet(301))
    assert release.publish(store, now=lambda: T0 + timedelta(minutes=1)).new
    assert [r["version"] for r in hwprices.releases(bucket)] == [
        "20260801T041700Z",
        "20260801T041800Z",
    ]


@pytest.mark.slow
def test_a_publisher_that_was_overtaken_leaves_the_pointer_alone(bucket):
    store = Store(bucket)
    stage(store, "r1", fleet())

    def overtaken():
        if not store.exists("latest.json"):
            store.put("latest.json", b'{"version": "other"}')
        return T0

    with pytest.raises(HwpricesError, match="another publisher moved"):
        release.publish(store, now=overtaken)
    assert store.get("latest.json") == b'{"version": "other"}'


def test_a_missing_bucket_is_one_line(bucket):
    with pytest.raises(HwpricesError, match="s3://nowhere") as raised:
        Store("s3://nowhere/x").check_writable()
    assert "\n" not in str(raised.value)


def test_keys_and_swaps_on_an_object_store(bucket):
    store = Store(bucket)
    assert store.get_tagged("latest.json") is None
    assert store.swap("latest.json", b"a", None)
    assert not store.swap("latest.json", b"b", None)
    tag = store.get_tagged("latest.json").tag
    assert store.swap("latest.json", b"b", tag)
    assert not store.swap("latest.json", b"c", tag)
    store.copy(store, "latest.json", "releases/v1/copy.json")
    assert list(store.keys("releases")) == ["releases/v1/copy.json"]
    assert (store.exists("latest.json"), store.exists("none")) == (True, False)
    store.delete("latest.json")
    assert store.get("latest.json") is None
