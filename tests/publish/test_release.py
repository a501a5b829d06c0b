"""Publishing: whole or not at all, immutable, nothing new makes no release. Case R2."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from tests.helpers import make

import hwprices
from hwprices.errors import HwpricesError
from hwprices.publish import release
from hwprices.storage.store import Store

T0 = datetime(2026, 8, 1, 4, 17, tzinfo=UTC)


def publish(store, minutes=0, accepted=()):
    return release.publish(store, now=lambda: T0 + timedelta(minutes=minutes), accepted=accepted)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def test_published_rows_come_back(store, tmp_path):
    make.stage_frames(store, "r1", make.world())
    outcome = publish(store)
    data = hwprices.open(tmp_path)
    assert (outcome.new, data.version) == (True, "20260801T041700Z")
    assert data.prices.select(pl.len()).collect().item() == 300
    assert data.scan("prices").filter(pl.col("instance_type") == "m7.large").collect()["hourly"][
        0
    ] == Decimal("0.1")
    assert data.duckdb.sql("select count(*), min(provider) from prices").fetchall() == [
        (300, "aws")
    ]
    assert data.verify() == []


def test_manifest_says_what_is_there_and_where_it_is_from(store, tmp_path):
    make.stage_frames(store, "r1", make.world())
    publish(store)
    manifest = json.loads((tmp_path / "releases/20260801T041700Z/manifest.json").read_text())
    aws = manifest["providers"]["aws"]
    assert (aws["origin"], aws["status"], aws["rows"]["prices"]) == ("live", "fresh", 300)
    assert aws["observed_from"] == aws["observed_to"] == make.AT.isoformat()
    assert {r["check"] for r in aws["gate"]} >= {"baseline", "spot_below_on_demand"}
    package = json.loads((tmp_path / "releases/20260801T041700Z/datapackage.json").read_text())
    prices = next(r for r in package["resources"] if r["name"] == "prices")
    assert prices["path"] == "prices/provider=aws/all.parquet"
    assert (
        next(f for f in prices["schema"]["fields"] if f["name"] == "hourly")["unit"] == "currency/h"
    )


def test_two_builds_of_the_same_are_byte_identical(tmp_path):
    sums = []
    for name in ("a", "b"):
        store = Store(tmp_path / name)
        make.stage_frames(store, "r1", make.world())
        publish(store)
        manifest = json.loads(
            (tmp_path / name / "releases/20260801T041700Z/manifest.json").read_text()
        )
        sums.append(
            {f["key"]: f["sha256"] for t in manifest["tables"].values() for f in t["files"]}
        )
    assert sums[0] == sums[1]


def test_nothing_new_makes_no_release(store, tmp_path):
    make.stage_frames(store, "r1", make.world())
    publish(store)
    seen_later = {
        name: f.with_columns(
            observed_at=pl.lit(make.AT + timedelta(days=1)).cast(f["observed_at"].dtype)
        )
        for name, f in make.world().items()
    }
    make.stage_frames(store, "r2", seen_later)
    outcome = publish(store, minutes=5)
    assert (outcome.new, outcome.version) == (False, "20260801T041700Z")
    assert [r["version"] for r in hwprices.releases(tmp_path)] == ["20260801T041700Z"]


def test_a_stopped_provider_keeps_its_last_good_partition(store, tmp_path):
    make.stage_frames(store, "r1", make.world())
    make.stage_frames(store, "r1", make.world(provider="gcp"), provider="gcp")
    publish(store)
    make.stage_frames(store, "r2", make.world(100))  # two thirds of aws gone
    make.stage_frames(store, "r2", make.world(301, provider="gcp"), provider="gcp")
    outcome = publish(store, minutes=5)
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
    assert {r.check for r in outcome.results if r.outcome == "stop"} == {"rows_lost", "type_gone"}
    publish(store, minutes=10, accepted=["aws:rows_lost", "aws:type_gone"])
    assert (
        hwprices.open(tmp_path).prices.filter(pl.col("provider") == "aws").collect().height == 100
    )


def test_nothing_staged_says_what_to_do(store):
    with pytest.raises(HwpricesError, match="Collect first"):
        publish(store)


def test_an_altered_file_is_found(store, tmp_path):
    make.stage_frames(store, "r1", make.world())
    publish(store)
    base = tmp_path / "releases/20260801T041700Z"
    file = base / "prices/provider=aws/all.parquet"
    file.write_bytes(file.read_bytes()[:-1])
    (base / "regions/provider=aws/all.parquet").unlink()
    (base / "stray.txt").write_text("x")
    faults = hwprices.open(tmp_path).verify()
    assert [
        ("altered" in f, "missing" in f, "not in the manifest" in f)
        for f in sorted(faults, key=lambda f: f.split()[-1])
    ].count((True, False, False)) == 1
    assert len(faults) == 3


def test_a_version_that_is_not_there_lists_those_that_are(store, tmp_path):
    make.stage_frames(store, "r1", make.world())
    publish(store)
    with pytest.raises(HwpricesError, match=r"no release 2020.*20260801T041700Z"):
        hwprices.open(tmp_path, "2020")
    with pytest.raises(HwpricesError, match="no release in"):
        hwprices.open(tmp_path / "elsewhere")


def test_prune_keeps_the_newest_and_the_latest(store, tmp_path):
    for i in range(4):
        make.stage_frames(store, f"r{i}", make.world(300 + i))
        publish(store, minutes=i)
    (tmp_path / "releases/garbage").mkdir()
    (tmp_path / "releases/garbage/x.parquet").write_text("left by a killed publisher")
    gone = release.prune(store, 2)
    assert [r["version"] for r in hwprices.releases(tmp_path)] == [
        "20260801T041900Z",
        "20260801T042000Z",
    ]
    assert "garbage" in gone
    assert hwprices.open(tmp_path).verify() == []


PUBLISHER = """
import sys
from datetime import datetime, UTC
from hwprices.publish import release
from hwprices.storage.store import Store
print("ready", flush=True)
sys.stdin.readline()
try:
    print(release.publish(Store(sys.argv[1]), now=lambda: datetime.fromisoformat(sys.argv[2])).version, flush=True)
except Exception as error:
    print("error:", error, flush=True)
    sys.exit(3)
"""


def start_publisher(root: Path, at: datetime):
    process = subprocess.Popen(
        [sys.executable, "-c", PUBLISHER, str(root), at.isoformat()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    return process


def go(process):
    process.stdin.write("go\n")
    process.stdin.flush()


def test_kill_at_any_point_leaves_the_old_release_or_the_new(store, tmp_path):
    """SIGKILL spread over the whole time a publisher takes; after each a reader sees a whole release."""
    make.stage_frames(store, "r0", make.world(2000))
    publish(store)
    make.stage_frames(store, "r1", make.world(2001))
    probe = start_publisher(tmp_path, T0 + timedelta(minutes=1))
    started = time.monotonic()
    go(probe)
    probe.wait(timeout=60)
    whole = time.monotonic() - started
    seen = set()
    for i in range(10):
        make.stage_frames(store, f"r{i + 2}", make.world(2002 + i))
        process = start_publisher(tmp_path, T0 + timedelta(minutes=2 + i))
        go(process)
        time.sleep(whole * i / 9)
        process.send_signal(signal.SIGKILL)
        process.wait()
        data = hwprices.open(tmp_path)
        assert data.verify() == []
        height = data.prices.select(pl.len()).collect().item()
        assert height in {2000 + 1, *range(2002, 2002 + i + 1)}
        seen.add(height)
    make.stage_frames(store, "r99", make.world(2100))
    publish(store, minutes=60)  # the next publisher is not hindered by what the killed ones left
    assert hwprices.open(tmp_path).prices.select(pl.len()).collect().item() == 2100


def test_two_publishers_at_once_one_wins_the_other_says_so(store, tmp_path):
    make.stage_frames(store, "r1", make.world(3000))
    both = [start_publisher(tmp_path, T0) for _ in range(2)]
    for process in both:
        go(process)
    said = [p.communicate(timeout=90)[0].strip() for p in both]
    assert [r["version"] for r in hwprices.releases(tmp_path)] == ["20260801T041700Z"]
    assert hwprices.open(tmp_path).verify() == []
    assert "20260801T041700Z" in said


def test_a_moved_pointer_is_not_overwritten(store, tmp_path):
    """What an object store's compare-and-swap does, on the same method."""
    store.put("latest.json", b"a")
    tag = store.get_tagged("latest.json").tag
    store.put("latest.json", b"b")
    assert store.swap("latest.json", b"c", tag) is False
    assert store.swap("latest.json", b"c", None) is False
    assert store.get("latest.json") == b"b"


def test_a_full_disk_leaves_the_old_release(store, tmp_path):
    """RLIMIT_FSIZE makes writes fail in the middle, as a full disk does."""
    make.stage_frames(store, "r1", make.world(300))
    publish(store)
    make.stage_frames(store, "r2", make.world(40_000))
    limit = 20_000
    code = PUBLISHER.replace(
        'print("ready"',
        f"import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\nprint('ready'",
        1,
    )
    code = code.replace("print('ready', flush=True)", "print('ready', flush=True)")
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path), (T0 + timedelta(minutes=1)).isoformat()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    out, _ = process.communicate("go\n", timeout=90)
    assert process.returncode == 3
    assert "cannot write" in out
    assert "free space" in out
    data = hwprices.open(tmp_path)
    assert (data.version, data.verify()) == ("20260801T041700Z", [])
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != limit


@pytest.mark.skipif(
    os.geteuid() == 0, reason="root may write anywhere, so the folder cannot be made unwritable"
)
def test_an_unwritable_root_says_so(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(HwpricesError, match="cannot write"):
        Store(tmp_path).check_writable()


def test_a_root_below_a_file_says_so(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(HwpricesError, match="cannot write"):
        Store(tmp_path / "file" / "root").check_writable()
