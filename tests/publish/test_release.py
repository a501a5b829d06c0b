"""Publish a release: completely or not at all, never changed, and only if there is something new.

tests/reliability interrupts publishers.
"""

import json
import shutil
from datetime import timedelta
from decimal import Decimal

import polars as pl
import pytest
from tests.helpers import releases
from tests.helpers.releases import AT, PUBLISHED_AT, fleet, rows, stage

import hwprices
from hwprices.errors import HwpricesError
from hwprices.schemas.tables import TABLES
from hwprices.storage.store import Store


def publish(store, *tables, minutes=0, **options):
    at = PUBLISHED_AT + timedelta(minutes=minutes)
    return releases.publish(store, *tables, at=at, **options)


def test_a_reader_gets_the_published_rows(store, tmp_path):
    outcome = publish(store, fleet())
    data = hwprices.open(tmp_path)
    assert (outcome.new, data.version) == (True, "20260801T041700Z")
    assert data.prices.select(pl.len()).collect().item() == 300
    machine = data.prices.filter(pl.col("instance_type") == "m7.large").collect()
    assert machine["hourly"].to_list() == [Decimal("0.1")]
    assert data.duckdb.sql("select count(*), min(provider) from prices").fetchall() == [
        (300, "aws")
    ]
    assert data.verify() == []


def test_tables_without_rows_are_there(released, tmp_path):
    data = hwprices.open(tmp_path)
    assert data.tables == list(TABLES)
    for table, model in TABLES.items():
        assert list(data.scan(table).collect_schema()) == list(model.columns)
    assert data.duckdb.sql("select count(*) from quarantine").fetchall() == [(0,)]
    assert data.verify() == []


def test_regions_whose_place_is_the_sheets_have_lost_no_values_and_not_moved(store):
    """AWS names no country, Azure puts two regions into the sea: a release has the sheet's places.

    Staged tables have the vendor's, in every run.
    """
    places = [("us-east-1", "US"), ("us-west-2", "US"), ("eu-west-1", "IE"), ("eu-west-3", "FR")]
    sea = {"latitude": 0.5, "longitude": 0.5}
    regions = rows("regions", *({**sea, "region": region} for region, _ in places))
    world = {**fleet(), "regions": regions}
    publish(store, world)
    assert dict(hwprices.open(store.path).regions.select("region", "country").collect().rows()) == (
        dict(places)
    )
    fewer = {**world, "prices": world["prices"].head(299)}
    outcome = publish(store, fewer, run_id="r2", minutes=5)
    checks = {r.check: r.detail for r in outcome.results}
    assert {checks[name] for name in ("emptied", "facts", "fact")} == {"holds"}


@pytest.mark.parametrize(
    ("left", "name"),
    [("staged", "instance_types/aws/*.parquet"), ("releases", "instance_types.parquet")],
)
def test_tables_get_the_columns_that_were_added_since_they_were_written(
    store, tmp_path, left, name
):
    """Else no release could be made until every provider is collected anew."""
    added = ["block_storage_iops_max", "local_disk_read_iops"]
    stage(store, "r1", fleet())
    if left == "releases":
        publish(store)
        shutil.rmtree(tmp_path / "staged/aws")
    (file,) = (tmp_path / left).glob(f"**/{name}")
    fleet()["instance_types"].drop(added).write_parquet(file)
    assert publish(store, fleet(provider="gcp"), minutes=5).new
    data = hwprices.open(tmp_path)
    types = data.scan("instance_types").collect()
    assert types.height == 600
    assert types.columns == list(TABLES["instance_types"].columns)
    assert types[added].null_count().row(0) == (600, 600)
    assert data.scan("offers").select(pl.col("provider").n_unique()).collect().item() == 2
    assert data.verify() == []
    assert not publish(store, minutes=10).new


def test_the_manifest_lists_rows_origin_and_checks(released, tmp_path):
    manifest = json.loads((tmp_path / "releases/20260801T041700Z/manifest.json").read_text())
    aws = manifest["providers"]["aws"]
    assert (aws["origin"], aws["status"], aws["rows"]["prices"]) == ("live", "fresh", 300)
    assert aws["observed_from"] == aws["observed_to"] == AT.isoformat()
    assert {r["check"] for r in aws["gate"]} >= {"baseline", "order"}
    package = json.loads((tmp_path / "releases/20260801T041700Z/datapackage.json").read_text())
    prices = next(r for r in package["resources"] if r["name"] == "prices")
    assert prices["path"] == "prices/000.parquet"
    assert (
        next(f for f in prices["schema"]["fields"] if f["name"] == "hourly")["unit"] == "currency/h"
    )


def test_two_builds_of_the_same_tables_are_byte_identical(tmp_path):
    sums = []
    for name in ("a", "b"):
        store = Store(tmp_path / name)
        publish(store, fleet())
        manifest = json.loads(
            (tmp_path / name / "releases/20260801T041700Z/manifest.json").read_text()
        )
        sums.append(
            {f["key"]: f["sha256"] for t in manifest["tables"].values() for f in t["files"]}
        )
    assert sums[0] == sums[1]


def test_rows_that_were_only_seen_later_make_no_release(released, tmp_path):
    seen_later = releases.seen_at(AT + timedelta(days=1), fleet())
    outcome = publish(released, seen_later, run_id="r2", minutes=5)
    assert (outcome.new, outcome.version) == (False, "20260801T041700Z")
    assert [r["version"] for r in hwprices.releases(tmp_path)] == ["20260801T041700Z"]


@pytest.mark.parametrize(
    ("count", "price", "check"),
    [
        (100, "0.1", "retired"),  # two thirds of the types have left every list of the provider
        (300, "100", "leap"),  # a thousand times as much
    ],
)
def test_a_stopped_provider_keeps_its_last_good_partition(store, tmp_path, count, price, check):
    first, second = "20260801T040000.000000Z", "20260801T042000.000000Z"
    stage(store, first, fleet())
    publish(store, fleet(provider="gcp"))
    stage(store, second, fleet(count, price=price))
    outcome = publish(store, fleet(301, provider="gcp"), run_id=second, minutes=5)
    data = hwprices.open(tmp_path)
    counts = dict(data.prices.group_by("provider").len().sort("provider").collect().iter_rows())
    assert outcome.new
    assert counts == {"aws": 300, "gcp": 301}
    assert (
        data.manifest["providers"]["aws"]["status"],
        data.manifest["providers"]["aws"]["kept_from"],
    ) == ("kept", "20260801T041700Z")
    assert data.manifest["providers"]["gcp"]["status"] == "fresh"
    assert data.regions.select("provider").collect()["provider"].to_list() == [
        "aws",
        "gcp",
    ]  # the kept provider's regions too
    assert data.regions.filter(pl.col("provider") == "aws").collect()["country"].to_list() == ["US"]
    assert {r.check for r in outcome.results if r.outcome == "stop"} == {check}
    [stop] = outcome.held_back["aws"]
    aws = json.loads((tmp_path / "status.json").read_text())["providers"]["aws"]
    assert (aws["outcome"], aws["checks"]) == ("held_back", [check])
    assert (aws["last_try"][:16], aws["last_success"][:16]) == (
        "2026-08-01T04:20",
        "2026-08-01T04:00",
    )
    assert aws["reason"].startswith(f"{check}: {stop.detail[:20]}")
    assert aws["release"] == data.version  # new, because its table held is
    assert data.scan("held").collect()["reason"].unique().to_list() == [check]
    publish(store, minutes=10, accepted=[f"aws:{check}"])
    prices = hwprices.open(tmp_path).prices.filter(provider="aws").collect()
    assert prices["hourly"].to_list() == [Decimal(price)] * count


def test_nothing_staged_says_what_to_do(store):
    with pytest.raises(HwpricesError, match="Collect first"):
        publish(store)


def test_altered_missing_and_foreign_files_are_named(released, tmp_path):
    base = tmp_path / "releases/20260801T041700Z"
    file = base / "prices/000.parquet"
    file.write_bytes(file.read_bytes()[:-1])
    (base / "regions.parquet").unlink()
    (base / "stray.txt").write_text("x")
    faults = sorted(hwprices.open(tmp_path).verify())
    altered, missing, foreign = faults
    assert altered.startswith(f"{file} was altered")
    assert missing == f"{base / 'regions.parquet'} is missing"
    assert foreign == f"{base / 'stray.txt'} is not in the manifest"
