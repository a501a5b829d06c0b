"""The table stock: what a vendor says of its machines, as intervals over publications.

The words are Scaleway's (tests/recordings of August 2026); the days are invented.
"""

import gzip
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from tests.helpers.releases import rows
from tests.helpers.terminal import run

import hwprices
from hwprices import providers
from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers.scaleway import SERVERS, STOCK
from hwprices.publish import release
from hwprices.publish.join.offers import KEY, stock_intervals
from hwprices.publish.reproduce import reproduce
from hwprices.rows import frames
from hwprices.schemas.tables import Stock
from hwprices.stage import stage
from hwprices.storage import layout
from hwprices.storage.store import Store

ZONE = "fr-par-2"
URL = f"https://api.scaleway.com/instance/v1/zones/{ZONE}"
SERVER = {"arch": "x86_64", "ncpus": 24, "ram": 257698037760, "hourly_price": 2.8665}
DAYS = [datetime(2026, 8, day, 4, 17, tzinfo=UTC) for day in (2, 5, 9, 12)]


def publish(store: Store, day: datetime, **words: str) -> release.Published:
    """Land, stage and publish two machines with the stock words of a day."""
    landing = Landing(layout.landing_root(store.root))
    servers = dict.fromkeys(("H100-1-80G", "L4-1-24G"), SERVER)
    named = {name.replace("_", "-"): {"availability": word} for name, word in words.items()}
    results = []
    for kind, listed in ((SERVERS, servers), (STOCK, named)):
        unit, body = Unit("scaleway", kind, ZONE), json.dumps({"servers": listed}).encode()
        page = landing.land_bytes(unit, body, url=f"{URL}/{kind}", retrieved_at=day)
        results.append(UnitResult(unit, "ok", (page,)))
    run_id = f"{day:%Y%m%dT%H%M%S.%fZ}"
    run = Run(run_id, "scaleway", "live", day, "test", tuple(results))
    landing.write_run(run)
    stage(providers.get("scaleway"), run, landing, store, keep=9)
    return release.publish(store, now=lambda: day + timedelta(hours=1))


def test_a_changed_word_ends_an_interval_and_the_history_shows_it(tmp_path: Path) -> None:
    store = Store(tmp_path)
    sold_out = {"H100_1_80G": "shortage", "L4_1_24G": "scarce"}
    outcomes = [
        publish(store, DAYS[0], **sold_out),
        publish(store, DAYS[1], **sold_out),
        publish(store, DAYS[2], **{**sold_out, "H100_1_80G": "available"}),
        publish(store, DAYS[3], H100_1_80G="available"),
    ]
    assert [outcome.new for outcome in outcomes] == [True, False, True, True]
    assert [one.release.providers["scaleway"].rows["stock"] for one in outcomes] == [2, 2, 3, 3]
    table = hwprices.open(store.root).stock.collect()
    assert table.select("instance_type", "state", "available", "first_seen", "ended_at").rows() == [
        ("H100-1-80G", "shortage", False, DAYS[0], DAYS[2]),
        ("H100-1-80G", "available", True, DAYS[2], None),
        ("L4-1-24G", "scarce", True, DAYS[0], DAYS[3]),
    ]
    made = [reproduce(store, outcomes[number].version) for number in (2, 3)]
    assert [(one.exit_status, one.differences) for one in made] == [(0, ())] * 2

    def lines(*arguments: str) -> list[str]:
        outcome = run(*arguments, root=tmp_path)
        return outcome.stdout.splitlines()

    assert lines("history", "H100-1-80G")[-1] == (
        "Scaleway fr-par-2: shortage 2026-08-02 to 2026-08-09"
    )
    found = lines("find", "--in-stock", "--provider", "scaleway", "--csv")
    assert [("H100-1-80G" in line, "L4-1-24G" in line) for line in found[1:]] == [(True, False)]


def test_tables_that_were_staged_are_restored_from_a_release(tmp_path: Path) -> None:
    """The staged files of a provider are gone; its current rows are in the release."""
    store = Store(tmp_path)
    publish(store, DAYS[0], H100_1_80G="shortage", L4_1_24G="scarce")
    publish(store, DAYS[2], H100_1_80G="available", L4_1_24G="scarce")
    for key in list(store.keys(layout.STAGED)):
        store.delete(key)
    before = hwprices.open(store.root).stock.collect()
    release.publish(store, now=lambda: DAYS[3])
    assert_frame_equal(hwprices.open(store.root).stock.collect(), before)


def stated(words: dict[str, str], at: datetime) -> pl.LazyFrame:
    """Make the staged rows of words by machine."""
    row = {"provider": "scaleway", "region": ZONE, "observed_at": at}
    said = [{**row, "instance_type": name, "state": word} for name, word in words.items()]
    return rows("stock", *said).lazy()


WORDS = st.dictionaries(
    st.sampled_from(["a-1", "b-1"]), st.sampled_from(["available", "shortage"]), min_size=0
)


@settings(max_examples=30, deadline=None)
@given(before=WORDS, pages=st.lists(st.tuples(st.integers(0, 6), WORDS), max_size=7))
def test_intervals_of_a_machine_never_overlap(before, pages) -> None:
    """Also where a page is not newer than the one before, and after a release without intervals."""
    table = stated(before, DAYS[0]).collect()
    for hour, words in pages:
        at = DAYS[0] + timedelta(hours=hour)
        table = stock_intervals(stated(words, at), table.lazy())
        current = table.filter(pl.col("ended_at").is_null())
        if words:
            assert dict(current.select("instance_type", "state").rows()) == words
        for own in table.partition_by(KEY):
            ends, starts = own["ended_at"][:-1], own["first_seen"][1:]
            assert ends.null_count() == 0
            assert (ends <= starts).all()
            assert (own["first_seen"] < own["ended_at"]).all()


@pytest.mark.shared
def test_recorded_words_of_two_months_are_intervals(shared: Path, project: Path) -> None:
    """Of 28 machines of fr-par-2 nine changed from 30 July to 25 August 2026."""

    def words(*files: bytes) -> dict[str, str]:
        pages = [json.loads(file)["servers"] for file in files]
        return {name: item["availability"] for page in pages for name, item in page.items()}

    folder = shared / "recordings" / "others" / "scaleway_2026-08"
    july = words(*map(gzip.decompress, map(Path.read_bytes, folder.glob("fr-par-2_avail*"))))
    sources = project / "tools" / "sample" / "sources"
    august = words(*map(Path.read_bytes, sources.glob("scaleway_stock_*")))
    july, august = (
        {n: w for n, w in one.items() if n in july.keys() & august} for one in (july, august)
    )
    days = [datetime(2026, 7, 30, 12, 55, 11, tzinfo=UTC), datetime(2026, 8, 25, tzinfo=UTC)]

    first = stock_intervals(stated(july, days[0]), frames.empty(Stock).lazy())
    table = stock_intervals(stated(august, days[1]), first.lazy())

    assert (first.height, table.height) == (28, 37)
    h100 = table.filter(instance_type="H100-1-80G").select("state", "first_seen", "ended_at")
    assert h100.rows() == [("shortage", *days), ("available", days[1], None)]
