"""Twelve releases with known events: every table, note and command tells exactly those."""

import re
import shutil
from datetime import UTC, datetime
from decimal import Decimal

import polars as pl
import pytest
from tests.helpers import ledger_provider as ledger
from tests.helpers.cases import optional
from tests.helpers.cases import rows as case_rows
from tests.helpers.releases import fleet, stage
from typer.testing import CliRunner

import hwprices
from hwprices.cli import app
from hwprices.publish import history
from hwprices.publish.prune import Policy, prune

A = {"type": "a-2", "vcpus": 2, "cents": 100, "currency": "USD"}
B = {"type": "b-4", "vcpus": 4, "cents": 400, "currency": "USD"}
C = {"type": "c-8", "vcpus": 8, "cents": 800, "currency": "USD"}

pytestmark = pytest.mark.timeout(900)  # of the first test, which publishes all releases

UNREADABLE = b'{"no": "list'


def line(row: dict[str, object], **changes: object) -> dict[str, object]:
    return {**row, **changes}


def _build(cloud: ledger.Ledger) -> None:
    """Publish twelve releases, one a day."""
    stage(cloud.store, "r1", fleet(2))
    a, b, c = A, B, C
    _day(cloud, 1, us=[a, c], eu=[b])

    a = line(a, cents=110)
    _day(cloud, 2, us=[a, c], eu=[b])

    b = line(b, cents=300)
    _day(cloud, 3, us=None, eu=[b])  # us-1 fails and keeps its pages of day 2

    a = line(a, cents=121)
    _day(cloud, 4, us=[a, c], eu=UNREADABLE)  # so that b-4 is not collected

    b = line(b, cents=330)
    _day(cloud, 5, us=[a, c], eu=[b])

    cloud.program("/ CENTS", "/ CENTS * 2")  # it read half of every price until now
    _day(cloud, 6, us=[a, c], eu=[b])

    cloud.program("* 2", "* 4")  # and half of it still
    a = line(a, cents=150)
    _day(cloud, 7, us=[a, c], eu=[b])

    _day(cloud, 8, us=[a], eu=[b])  # c-8 is retired

    wrong = line(a, cents=a["cents"] * 50)
    stage(cloud.store, "r9", fleet(2, price="0.2"))
    cloud.collect(9, {"us-1": [wrong], "eu-1": [line(b, cents=b["cents"] * 50)]})
    cloud.publish(9, accepted=["aws:*"])  # the gate holds Ledger Cloud back

    _day(cloud, 10, us=[a], eu=[b, line(b, currency="EUR", cents=310)])

    _day(cloud, 11, us=[a, line(c, vcpus=16)], eu=[b, line(b, currency="EUR", cents=310)])

    shutil.rmtree(cloud.root / "raw" / ledger.NAME / "prices")  # pages are not kept for ever
    cloud.program("* 4", "* 5")
    a = line(a, cents=160)
    _day(cloud, 12, us=[a, line(c, vcpus=16)], eu=[b, line(b, currency="EUR", cents=310)])


def _day(cloud: ledger.Ledger, day: int, *, us: object, eu: object) -> None:
    cloud.collect(day, {"us-1": us, "eu-1": eu})
    outcome = cloud.publish(day)
    assert (outcome.new, outcome.version) == (True, ledger.version(day))


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    """The twelve releases."""
    with ledger.installed(tmp_path_factory.mktemp("ledger")) as made:
        _build(made)
        yield made


def changes(cloud: ledger.Ledger, day: int) -> list[tuple[object, ...]]:
    """What the table changes of a day says: subject, change, of what, old, new and evidence."""
    rows = hwprices.open(cloud.root, ledger.version(day)).changes.collect()
    told = []
    for row in rows.iter_rows(named=True):
        place = [row[name] for name in ("region", "instance_type", "collection_unit", "field")]
        what = " ".join(str(part) for part in (*place, row["currency"]) if part)
        old, new = row["old_hourly"], row["new_hourly"]
        values = (
            str(float(old)) if old else row["old_value"],
            str(float(new)) if new else row["new_value"],
        )
        told.append(
            (row["subject"], row["change"], what or row["provider"], *values, row["evidence"])
        )
    return sorted(told, key=str)


EXPECTED: dict[int, list[tuple[object, ...]]] = {}
for row in case_rows("publish/year", day=int, old=optional, new=optional):
    EXPECTED.setdefault(row.pop("day"), []).append(tuple(row.values()))


@pytest.mark.parametrize("day", EXPECTED)
def test_the_changes_are_exactly_what_happened(cloud, day):
    assert changes(cloud, day) == EXPECTED[day]


def test_a_provider_that_was_held_back_has_no_changes(cloud):
    told = changes(cloud, 9)
    assert told
    assert all("m" in what for _, _, what, *_ in told)  # the types of aws are m0.large and so on
    manifest = hwprices.open(cloud.root, ledger.version(9)).manifest
    assert manifest["providers"]["ledgercloud"]["status"] == "kept"


def spans(cloud: ledger.Ledger, name: str, currency: str = "USD") -> list[tuple[object, ...]]:
    """The intervals of a type: day it began, day it ended, price, why it began and ended."""
    rows = hwprices.open(cloud.root).history(name).filter(currency=currency)
    return [
        (
            row["valid_from"].day,
            row["valid_to"].day if row["valid_to"] else None,
            float(row["hourly"]),
            row["start_reason"],
            row["end_reason"],
        )
        for row in rows.sort("valid_from").iter_rows(named=True)
    ]


def test_the_intervals_are_exactly_what_happened(cloud):
    assert spans(cloud, "a-2") == [
        (1, 2, 1.0, "first_release", "price_changed"),
        (2, 4, 1.1, "price_changed", "price_changed"),
        (4, 6, 1.21, "price_changed", "restated"),
        (6, 7, 2.42, "restated", "changed_and_restated"),
        (7, 12, 6.0, "changed_and_restated", "unclear"),
        (12, None, 8.0, "unclear", None),
    ]
    assert spans(cloud, "b-4") == [
        (1, 3, 4.0, "first_release", "price_changed"),
        (3, 5, 3.0, "price_changed", "price_changed"),
        (5, 6, 3.3, "price_changed", "restated"),
        (6, 7, 6.6, "restated", "restated"),
        (7, 12, 13.2, "restated", "restated"),
        (12, None, 16.5, "restated", None),
    ]
    assert spans(cloud, "b-4", "EUR") == [
        (10, 12, 12.4, "added", "restated"),
        (12, None, 15.5, "restated", None),
    ]
    assert [span[:3] for span in spans(cloud, "c-8")][2:] == [
        (7, 8, 32.0),
        (11, 12, 32.0),
        (12, None, 40.0),
    ]


def test_a_price_that_was_not_collected_says_what_it_waits_for(cloud):
    rows = hwprices.open(cloud.root, ledger.version(4)).history("b-4").row(-1, named=True)
    assert (rows["state"], rows["waits_for"], rows["valid_to"]) == (
        "not_collected",
        "prices/eu-1",
        None,
    )
    assert rows["last_release"] == ledger.version(3)


def test_a_retired_type_keeps_its_last_price_and_date(cloud):
    rows = hwprices.open(cloud.root, ledger.version(9)).history("c-8")
    last = rows.sort("valid_from").row(-1, named=True)
    assert (last["hourly"], last["end_reason"]) == (Decimal("32"), "removed")
    assert last["valid_to"] == datetime(2026, 10, 8, 4, 17, tzinfo=UTC)


def test_the_notes_tell_the_same(cloud):
    folder = cloud.root / "releases" / ledger.version(7)
    text = (folder / "notes.md").read_text()
    assert "- Prices: 1 more expensive, 3 restated by us." in text
    assert "Ledger Cloud a-2 in us-1, on demand, linux: 4.84 to 6 USD/h (+24.0 %)" in text
    retired = (cloud.root / "releases" / ledger.version(8) / "notes.md").read_text()
    assert "- Ledger Cloud, gone: c-8." in retired
    held = (cloud.root / "releases" / ledger.version(9) / "notes.md").read_text()
    assert "Ledger Cloud is as in release 20261008T041700Z" in held
    assert "| Ledger Cloud | " in held
    assert "| stop |" in held
    gap = (cloud.root / "releases" / ledger.version(4) / "notes.md").read_text()
    assert "Not collected: ledgercloud/prices/eu-1. Left as before: 1 price." in gap
    unclear = (cloud.root / "releases" / ledger.version(12) / "notes.md").read_text()
    assert "unclear" in unclear
    assert "is missing" in unclear  # the page that could not be read again


def test_the_changelog_has_every_release_newest_first(cloud):
    text = (cloud.root / "releases" / "CHANGELOG.md").read_text()
    listed = re.findall(r"^## (\S+)", text, re.MULTILINE)
    assert listed == [ledger.version(day) for day in range(12, 0, -1)]


def test_diff_tells_the_same_over_any_time(cloud):
    data = hwprices.open(cloud.root)

    def told(rows: pl.DataFrame) -> dict[str, str]:
        own = rows.filter(provider="ledgercloud")
        names = pl.format("{} {}", "instance_type", "currency")
        return dict(own.select(names, "change").iter_rows())

    week = hwprices.open(cloud.root, ledger.version(7))
    assert told(week.diff()) == {
        "a-2 USD": "price_up",
        "b-4 USD": "restated",
        "c-8 USD": "restated",
    }
    assert told(data.at("2026-10-05").diff("2026-10-01")) == {
        "a-2 USD": "price_up",
        "b-4 USD": "price_down",
    }
    assert told(data.at("2026-10-09").diff("2026-10-07")) == {"c-8 USD": "removed"}
    assert told(data.at("2026-10-04").diff()) == {"a-2 USD": "price_up"}  # b-4 is no removal


def test_at_opens_the_release_of_a_day(cloud):
    data = hwprices.open(cloud.root)
    assert data.at("2026-10-07").version == ledger.version(7)
    assert data.at("2026-10-07T00:00").version == ledger.version(6)
    for day in (5, 8, 12):
        then = data.at(f"2026-10-{day:02}")
        prices = then.prices.select("price_id", "hourly").sort("price_id").collect()
        moment = then.price_history.filter(pl.col("valid_to").is_null())
        valid = moment.filter(state="current").select("price_id", "hourly").sort("price_id")
        assert valid.collect().equals(prices)


def run(cloud: ledger.Ledger, *arguments: str) -> str:
    result = CliRunner().invoke(app, [*arguments, "--root", str(cloud.root)])
    assert result.exit_code == 0, result.output
    return result.output


def test_the_commands_tell_the_same(cloud):
    told = run(cloud, "history", "C-8", "--version", ledger.version(9))
    assert "c-8 (ledgercloud): 1 price since 2026-10-01" in told
    assert "2026-10-07 to 2026-10-08       32.00" in told
    assert "no longer sold" in told
    assert "restated by us" in told
    assert "Prices: 1 gone." in run(cloud, "diff", "2026-10-07", ledger.version(8))
    assert run(cloud, "history", "a-2", "--csv").count("\n") == 7
    wrong = CliRunner().invoke(app, ["history", "c-9", "--root", str(cloud.root)])
    assert wrong.exit_code == 2


def test_the_history_comes_out_the_same_again(cloud):
    """Program and pages have changed since; what was read again is in the releases."""
    made = history.rebuild(cloud.store)
    assert len(made) == 12
    assert [history.differences(cloud.store, one) for one in made] == [[]] * 12


def test_releases_that_are_deleted_leave_their_history(cloud, tmp_path):
    copy = tmp_path / "data"
    shutil.copytree(cloud.root, copy)
    store = ledger.Ledger(copy, cloud.package).store
    prune(store, Policy(3, is_thinned=False))
    data = hwprices.open(copy)
    assert data.history("a-2").equals(hwprices.open(cloud.root).history("a-2"))
    both = [hwprices.open(root).diff("2026-10-01") for root in (copy, cloud.root)]
    flags = [rows["old_placeholder"].null_count() == rows.height for rows in both]
    assert flags == [True, False]  # only the release itself had them
    assert both[0].drop("old_placeholder").equals(both[1].drop("old_placeholder"))
    made = history.rebuild(store)
    assert [one.release.version for one in made] == [ledger.version(11), ledger.version(12)]
    assert [history.differences(store, one) for one in made] == [[], []]
    assert data.verify() == []
