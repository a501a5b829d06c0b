"""Which releases, collections and pages stay when a dataset is pruned."""

import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.helpers.releases import fleet, stage

from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.publish import choose, release
from hwprices.publish.prune import Policy, plan, prune
from hwprices.release.manifest import CheckResult
from hwprices.release.versions import read_manifest, versions
from hwprices.storage import layout, manifests
from hwprices.storage.store import Store

NOW = datetime(2026, 12, 31, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def own_scratch(tmp_path_factory, monkeypatch):
    """Prune deletes old folders of downloads too: these tests are ahead of the clock."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path_factory.mktemp("scratch")))


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    """The manifest of a release with one provider."""
    store = Store(tmp_path_factory.mktemp("one"))
    stage(store, "r0", fleet(3))
    return release.publish(store, now=lambda: NOW).release


def prune_as_planned(store, policy, **clock):
    """Prune, after asking what will be deleted: that is what is deleted, and nothing before."""
    before = set(store.keys(""))
    planned = plan(store, policy, **clock)
    assert set(store.keys("")) == before
    pruned = prune(store, policy, **clock)
    assert planned == pruned
    return pruned


def version(time):
    return time.strftime("%Y%m%dT%H%M%SZ")


def put(store, manifest, time, *, run="r0", outcome="pass"):
    """Write a release that is its manifest alone, and point at it."""
    entry = replace(manifest.providers["aws"], run_id=run)
    entry = replace(entry, gate=(CheckResult("aws", "type_gone", outcome, ""),))
    made = replace(manifest, version=version(time), previous=None, providers={"aws": entry})
    store.put(layout.release_manifest(made.version), manifests.encode(made))
    latest = manifests.encode({"version": made.version})
    store.put(layout.LATEST_RELEASE, latest)


def test_of_a_year_of_daily_releases_a_month_stays_and_the_first_of_each_month(tmp_path, manifest):
    store = Store(tmp_path)
    times = [NOW - number * DAY for number in reversed(range(365))]
    for time in times:
        put(store, manifest, time)
    prune_as_planned(store, Policy(), now=NOW)
    firsts = {version(time) for time in times if time.day == 1}
    last_month = {version(time) for time in times if NOW - time <= choose.MONTH}
    assert set(versions(store)) == firsts | last_month | {version(times[0])}
    assert prune_as_planned(store, Policy(), now=NOW).releases == ()


def test_several_releases_a_day_leave_one_a_day_for_the_gate_to_compare_with(tmp_path, manifest):
    store = Store(tmp_path)
    times = [NOW - timedelta(hours=3 * number) for number in reversed(range(40 * 8))]
    for time in times:
        put(store, manifest, time)
    prune_as_planned(store, Policy(releases=5), now=NOW)
    since = NOW - choose.MONTH
    days = [version(time) for time in times if time >= since and (time.hour == 0 or time == since)]
    assert len(days) == 32
    month = version(times[0])
    starts = {version(time) for time in times if (time.day, time.hour) == (1, 0)}
    assert versions(store) == sorted({month, *starts, *days, *map(version, times[-5:])})
    compared = [release.version for release in choose.last_quarter(store, NOW)]
    assert compared == versions(store)


def test_a_release_that_somebody_let_through_stays_for_a_month(tmp_path, manifest):
    """The gate compares with none before it."""
    store = Store(tmp_path)
    accepted = NOW - 3 * DAY
    for hours, outcome in ((1, "pass"), (2, "accepted"), (3, "pass")):
        put(store, manifest, accepted + timedelta(hours=hours), outcome=outcome)
    put(store, manifest, NOW)
    policy = Policy(releases=1)
    prune_as_planned(store, policy, now=NOW + timedelta(hours=2))
    first, let_through = (version(accepted + timedelta(hours=hours)) for hours in (1, 2))
    assert versions(store) == [first, let_through, version(NOW)]
    prune_as_planned(store, policy, now=NOW + 40 * DAY)
    assert versions(store) == [first, version(NOW)]


def test_a_release_that_was_in_force_until_an_hour_ago_stays(tmp_path, manifest):
    """Somebody may just be reading it."""
    store = Store(tmp_path)
    minutes = (300, 240, 50, 0)  # before NOW
    for ago in minutes:
        put(store, manifest, NOW - timedelta(minutes=ago))

    def left(after):
        prune_as_planned(
            store, Policy(releases=1, is_thinned=False), now=NOW + timedelta(minutes=after)
        )
        kept = versions(store)
        return [ago for ago in minutes if version(NOW - timedelta(minutes=ago)) in kept]

    assert [left(after) for after in (0, 9, 11, 59, 61)] == [
        [240, 50, 0],
        [240, 50, 0],
        [50, 0],
        [50, 0],
        [0],
    ]


def test_the_release_in_force_stays_also_where_it_is_not_the_newest(tmp_path, manifest):
    store = Store(tmp_path)
    times = [NOW - 3 * DAY, NOW - 2 * DAY, NOW - DAY]
    for time in (*times, times[0]):  # pointed back at the first
        put(store, manifest, time)
    prune_as_planned(store, Policy(releases=1, is_thinned=False), now=NOW)
    assert versions(store) == [version(times[0]), version(times[2])]


def write_unfinished(store, key, age):
    """Write a file of a run that has no manifest."""
    path = store.local(key)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    os.utime(path, ((NOW - age).timestamp(),) * 2)
    return path


def test_unfinished_staging_stays_for_a_day(tmp_path, manifest):
    """A run may be at work on it. Whole staged tables stay whatever their age."""
    store = Store(tmp_path)
    put(store, manifest, NOW)
    staged = stage(store, "r0", fleet(1))
    for path in (tmp_path / "staged").rglob("*"):
        os.utime(path, ((NOW - 9 * DAY).timestamp(),) * 2)
    young, old = (
        write_unfinished(store, f"staged/aws/{run}/prices/aws/all.parquet", age)
        for run, age in (("r1", DAY / 2), ("r2", DAY * 2))
    )
    first = write_unfinished(store, "staged/aws/r1/zones/aws/all.parquet", DAY * 2)
    assert prune_as_planned(store, Policy(), now=NOW).leftovers == 1
    assert (young.exists(), first.exists(), old.exists()) == (True, True, False)
    assert store.exists(f"{staged.directory}/manifest.json")


@pytest.mark.parametrize("is_local", [True, False])
def test_unfinished_releases_stay_for_a_day_where_no_lock_shows_who_works(
    tmp_path, manifest, monkeypatch, is_local
):
    """In a folder the lock says that nobody is at work on them; an object store has none."""
    store = Store(tmp_path)
    monkeypatch.setattr(store, "is_local", is_local)
    put(store, manifest, NOW)
    young, old = (
        write_unfinished(store, f"releases/{version(NOW + age)}/offers.parquet", age)
        for age in (DAY / 2, DAY * 2)
    )
    deleted = prune_as_planned(store, Policy(), now=NOW).releases
    assert (young.exists(), old.exists()) == (not is_local, False)
    assert len(deleted) == 1 + is_local
    assert versions(store) == [version(NOW)]


def land(store, run, content, *, origin="live"):
    """Record a collection of one page."""
    landing = Landing(layout.landing_root(store.root))
    unit = Unit("aws", "prices", "us-east-1")
    page = landing.land_bytes(unit, content, url="https://vendor.example", retrieved_at=NOW)
    result = UnitResult(unit, "ok", (page,))
    landing.write_run(Run(run, "aws", origin, NOW, "1", (result,)))
    return store.local(f"{layout.RAW}/{page.key}")


def test_pages_stay_that_a_release_or_the_next_collection_needs(tmp_path, manifest):
    store = Store(tmp_path)
    put(store, manifest, NOW - DAY, run="r2")
    stage(store, "r0", fleet(1))
    pages = {
        run: land(store, run, content, origin=origin)
        for run, content, origin in (
            ("r0", b"its tables are staged", "live"),
            ("r1", b"of the sample", "sample"),
            ("r2", b"published", "live"),
            ("r3", b"needed by nobody", "live"),
            ("r4", b"the same as the newest", "live"),
            ("r5", b"also needed by nobody", "live"),
            ("r6", b"the same as the newest", "live"),
        )
    }
    old = (datetime.now(UTC) - 3 * DAY).timestamp()
    for path in pages.values():
        os.utime(path, (old, old))
    os.utime(pages["r5"])  # a run at work has just found it there
    pruned = prune_as_planned(store, Policy(runs=1))
    assert pruned.runs == ("aws/r5", "aws/r4", "aws/r3")
    assert {run for run, path in pages.items() if not path.exists()} == {"r3"}
    assert Landing(layout.landing_root(store.root)).runs("aws") == ["r0", "r1", "r2", "r6"]
    assert read_manifest(store, version(NOW - DAY)).providers["aws"].run_id == "r2"


def test_files_and_folders_of_others_stay(tmp_path, manifest):
    """A root may hold files of others, and so does the folder for temporary files."""
    store = Store(tmp_path / "data")
    put(store, manifest, NOW)
    temporary = Path(tempfile.gettempdir())
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    leftovers = [
        store.local("raw/aws/page.csv.zst#1"),
        store.local(".latest.json.123"),
        temporary / f"hwprices-scratch-{ended.pid}-abcd_123/body",
    ]
    kept = [
        store.local("mine/minutes#7"),
        temporary / "hwprices-backup/precious",
        temporary / "hwprices-scratch-notes/precious",
        temporary / f"hwprices-scratch-{os.getpid()}-abcd_123/body",
    ]
    for path in leftovers + kept:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        for one in (path, path.parent):
            os.utime(one, ((NOW - 2 * DAY).timestamp(),) * 2)
    pruned = prune_as_planned(store, Policy(), now=NOW)
    assert (pruned.leftovers, pruned.scratch) == (2, 1)
    assert [path for path in leftovers if path.exists()] == []
    assert all(path.exists() for path in kept)


def test_a_root_without_data_is_an_error(tmp_path):
    """A mistyped root in a timer would delete nothing for years, while the disk fills."""
    with pytest.raises(HwpricesError, match="holds no release, page or staged table"):
        prune_as_planned(Store(tmp_path / "typo"), Policy())
    assert not (tmp_path / "typo").exists()
