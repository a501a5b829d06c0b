"""What is new from a vendor is listed by its word: how much of it, since when, and where it is.

The lines are those of AWS's list of October 2025, whose operation codes end in :box; Azure's second
sentence is an invented one.
"""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from tests.helpers.aws_pages import LandedPages, line, price_list, savings_plans
from tests.helpers.releases import fleet, prices, publish
from tests.helpers.terminal import run

import hwprices
from hwprices import providers
from hwprices.publish import release
from hwprices.release import notes
from hwprices.rows.prices import merge_refused, refused
from hwprices.stage import stage
from hwprices.storage import layout
from hwprices.storage.store import Store

DAYS = [datetime(2026, 11, day, 4, 17, tzinfo=UTC) for day in (23, 24, 25)]

BOX = {
    "Operating System": "Windows",
    "License Model": "License Included - Infrastructure",
    "operation": "RunInstances:0006:box",
}
"""SQL Server Standard without its Windows: a code that AWS does not have yet."""

KNOWN = [line(SKU=f"K{n}", **{"Instance Type": f"m5.{n}xlarge"}) for n in range(2, 9)]
RATES = [("BOX", "0.05"), ("K2", "0.07")]


def boxes(count):
    return [
        line(SKU="BOX" if n == 0 else f"BOX{n}", **{"Instance Type": f"c5.{n + 1}xlarge"}, **BOX)
        for n in range(count)
    ]


def refresh(store, lines, day):
    """Land, stage and publish AWS's list and plans of a day."""
    pages = LandedPages(store.root + "/raw")
    kinds = [("ComputeSavingsPlans", term, "No Upfront") for term in ("1yr", "3yr")]
    plans = [(f"P{number}", *kind, RATES) for number, kind in enumerate(kinds)]
    pages.add("prices", "us-east-1", price_list(lines), at=day)
    pages.add(
        "savings_plans", "us-east-1", savings_plans("us-east-1", *plans), suffix="json", at=day
    )
    run = replace(pages.pages().run, run_id=f"{day:%Y%m%dT%H%M%S.%fZ}")
    stage(providers.get("aws"), run, pages.landing, store, keep=3)
    return release.publish(store, now=lambda: day + timedelta(hours=1))


def words(store):
    return hwprices.open(store.root).new_words.collect()


def test_a_word_is_one_row_with_its_lines_its_dependants_and_a_page(store):
    outcome = refresh(store, [*KNOWN, *boxes(3)], DAYS[0])
    assert words(store).drop("example", "raw_sha256").to_dicts() == [
        {
            "provider": "aws",
            "reason": "unknown_operation",
            "word": "RunInstances:0006:box",
            "lines": 3,
            "dependants": 2,  # BOX has a rate in each of two plans
            "source_url": "https://aws.test/prices",
            "first_seen": DAYS[0],
            "last_seen": DAYS[0],
        }
    ]
    assert outcome.new_words == (("aws", "RunInstances:0006:box"),)
    assert outcome.release.providers["aws"].rows["new_words"] == 1
    assert outcome.status.providers["aws"].new_words == 1
    prices = hwprices.open(store.root).prices.collect()
    assert prices.height == len(KNOWN) + 2  # the rates of K2


def test_since_when_a_word_is_there_is_carried_over(store):
    refresh(store, [*KNOWN, *boxes(1)], DAYS[0])
    again = refresh(store, [*KNOWN, *boxes(2)], DAYS[1])
    assert words(store).select("lines", "first_seen", "last_seen").rows() == [(2, DAYS[0], DAYS[1])]
    assert again.new_words == ()
    unchanged = refresh(store, [*KNOWN, *boxes(2)], DAYS[2])
    assert not unchanged.new
    assert unchanged.status.providers["aws"].new_words == 1


def test_a_word_that_is_understood_later_leaves_the_table(store):
    refresh(store, [*KNOWN, *boxes(1)], DAYS[0])
    gone = refresh(store, KNOWN, DAYS[1])
    assert words(store).is_empty()
    assert gone.status.providers["aws"].new_words == 0


def refused_row(word, reason="unknown_unit", **more):
    return refused(
        prices({"instance_type": f"{word}.large"}).lazy(),
        table="prices",
        reason=reason,
        message=f"{word} is unknown",
        word=pl.lit(word),
        **more,
    ).collect()


def test_rates_without_their_sku_are_lines_of_their_own(store):
    rows = merge_refused([refused_row("Fortnights", "refused_sku", dependants=pl.lit(7))])
    publish(store, {**fleet(), "quarantine": rows})
    assert words(store).select("reason", "lines", "dependants").rows() == [("refused_sku", 1, 7)]


def test_known_kinds_are_no_words(store):
    rows = refused(
        prices({}).lazy(), table="prices", reason="no_price", message="no price"
    ).collect()
    publish(store, {**fleet(), "quarantine": rows})
    assert words(store).is_empty()


@pytest.fixture(scope="module")
def seven(tmp_path_factory):
    """A release with seven words of AWS. Read only."""
    store = Store(tmp_path_factory.mktemp("seven"))
    rows = merge_refused([refused_row(f"Unit {n}") for n in range(7)])
    publish(store, {**fleet(), "quarantine": rows}, at=DAYS[0])
    return store


def test_the_notes_list_five_words_and_count_the_others(seven):
    data = hwprices.open(seven.root)
    assert [word.word for word in notes.read(data).new_words] == [f"Unit {n}" for n in range(7)]
    text = seven.get(layout.release_file(data.version, layout.NOTES[0])).decode()
    lines = [row for row in text.splitlines() if "unknown\\_unit |" in row and "Unit" in row]
    assert len(lines) == 5
    assert lines[0] == (
        "| aws | Unit 0 | unknown\\_unit | 1 | 0 | 2026-07-30 |"
        " Unit 0 is unknown (https:\\/\\/vendor.example/prices) |"
    ).replace("| aws", "| AWS")
    assert "| AWS | … and 2 more |" in text


def test_the_command_lists_every_word(seven):
    command = ["coverage", "--unknown", "--root", seven.root]
    done = run(*command, "--json")
    listed = json.loads(done.stdout)
    assert [row["word"] for row in listed] == [f"Unit {n}" for n in range(7)]
    assert set(listed[0]) == set(words(seven).columns)
    drawn = run(*command).stdout
    assert all(f"Unit {n}" in drawn for n in range(7))
    assert "Unit 2" not in run(*command, "--limit", "2").stdout
    assert "word" in run(*command, "--csv").stdout.splitlines()[0]
    assert run(*command, "--columns").exit_code == 2
