"""status.json: what publications and failed collections write there; the line of a shortfall."""

import json
import threading
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
import yaml
from tests.helpers import releases
from tests.helpers.cases import FOLDER, cases
from tests.helpers.manifests import inputs
from tests.helpers.releases import PUBLISHED_AT, fleet, prices, stage

from hwprices.errors import HwpricesError
from hwprices.landing.pages import Unit, UnitResult
from hwprices.publish import status
from hwprices.release.manifest import Trouble
from hwprices.stage import Staged, make_current
from hwprices.storage import layout

FIRST, SECOND = "20260801T040000.000000Z", "20260802T040000.000000Z"
FIRST_AT, SECOND_AT = "2026-08-01T04:00:00+00:00", "2026-08-02T04:00:00+00:00"


def publish(store, *arguments, hours=0, **options):
    return releases.publish(store, *arguments, at=PUBLISHED_AT + timedelta(hours=hours), **options)


def entry(store, provider="aws"):
    return json.loads(store.get(layout.STATUS))["providers"][provider]


def fail(store, provider="aws", *, at=SECOND_AT, results=()):
    status.record_failure(
        store,
        provider,
        f"{provider}: none of 2 units\ncould be fetched",
        started_at=datetime.fromisoformat(at),
        origin="live",
        results=results,
    )


def test_a_publication_writes_every_provider(store):
    stage(store, FIRST, fleet(provider="gcp"))
    published = publish(store, fleet(), run_id=FIRST)
    assert set(published.status.providers) == {"aws", "gcp"}
    assert published.release.providers["gcp"].title == "Google Cloud"
    assert entry(store, "gcp") == {
        "title": "Google Cloud",
        "outcome": "published",
        "reason": "",
        "checks": [],
        "last_try": FIRST_AT,
        "last_success": FIRST_AT,
        "complete_since": FIRST_AT,
        "sheet_seen_on": None,
        "origin": "live",
        "run_id": FIRST,
        "release": "20260801T041700Z",
        "units": {"fetched": 1, "failed": 0, "carried": 0, "skipped": 0, "not_requested": 0},
        "troubles": [],
        "prices_fetched": True,
        "new_words": 0,
        "held": 0,
    }


def test_equal_tables_are_unchanged_and_still_a_success(released):
    publish(released, hours=1)
    assert entry(released)["outcome"] == "published"  # the same run
    publish(released, fleet(), run_id=SECOND, hours=24)
    now = entry(released)
    assert (now["outcome"], now["last_success"]) == ("unchanged", SECOND_AT)
    assert now["release"] == "20260801T041700Z"


def test_a_first_release_that_is_stopped_is_in_the_status_too(store):
    """Nothing is published, so status.json is the only place that says why."""
    world = {**fleet(), "prices": prices({"hourly": 0, "effective_hourly": 1})}
    with pytest.raises(HwpricesError, match="the gate stopped the first release"):
        publish(store, world, run_id=FIRST)
    now = entry(store)
    assert (now["outcome"], now["last_success"], now["release"]) == ("held_back", None, None)
    assert now["checks"] == ["sum"]


def test_a_failure_stays_until_a_later_collection_succeeds(released):
    """The refresh publishes what was staged before; that must not hide the failure."""
    results = [
        UnitResult(Unit("aws", "prices", "us-east-1"), "failed", reason="no answer"),
        UnitResult(Unit("aws", "spot", "us-east-1"), "skipped", reason="not enabled"),
    ]
    fail(released, results=results)
    publish(released, hours=25)
    now = entry(released)
    assert (now["outcome"], now["last_try"], now["last_success"]) == ("failed", SECOND_AT, FIRST_AT)
    assert now["reason"] == "aws: none of 2 units could be fetched"
    assert (now["units"]["failed"], now["units"]["skipped"]) == (1, 1)
    assert [trouble["unit"] for trouble in now["troubles"]] == [
        "aws/prices/us-east-1",
        "aws/spot/us-east-1",
    ]
    publish(released, fleet(), run_id="20260803T040000.000000Z", hours=49)
    assert (entry(released)["outcome"], entry(released)["reason"]) == ("unchanged", "")


def test_a_failure_before_any_release_is_written(store):
    fail(store, "gcp")
    now = entry(store, "gcp")
    assert (now["outcome"], now["title"], now["last_success"]) == ("failed", "Google Cloud", None)


def test_a_narrowed_run_does_not_make_the_tables_younger(released):
    """Spot prices every hour must not hide that the price list was last fetched days ago."""
    staged = stage(released, SECOND, fleet())
    units = {"ok": 1, "not_requested": 3}
    make_current(released, replace(staged, units=units, oldest_run=FIRST))
    publish(released, hours=24)
    now = entry(released)
    assert (now["last_success"], now["complete_since"]) == (SECOND_AT, FIRST_AT)
    assert (now["units"]["fetched"], now["units"]["not_requested"]) == (1, 3)


def put_partial(store, run_id=SECOND, *, price_units, carried_from=FIRST):
    """Stage the same tables again, of a run in which a unit of prices was carried over."""
    staged = stage(store, run_id, fleet())
    trouble = Trouble("aws/prices/us-east-1", "carried", "x: HTTP 500", carried_from=carried_from)
    units = {"ok": 1, **price_units}
    make_current(
        store,
        replace(
            staged,
            units=units,
            price_units=price_units,
            troubles=(trouble,),
            oldest_run=carried_from,
        ),
    )


@pytest.mark.parametrize(("fetched", "prices_fetched"), [(2, True), (0, False)])
def test_a_run_with_a_unit_carried_over_is_partial_and_no_success(
    released, fetched, prices_fetched
):
    put_partial(released, price_units={"ok": fetched, "carried": 1})
    publish(released, hours=24)
    now = entry(released)
    assert (now["outcome"], now["prices_fetched"]) == ("partial", prices_fetched)
    assert (now["last_try"], now["last_success"], now["complete_since"]) == (
        SECOND_AT,
        FIRST_AT,
        FIRST_AT,
    )
    assert now["reason"] == (
        f"1 of {fetched + 1} price unit{'s' * (fetched > 0)} failed (HTTP 500);"
        " prices of 2026-08-01 kept"
    )
    publish(released, fleet(), run_id="20260803T040000.000000Z", hours=49)
    assert (entry(released)["outcome"], entry(released)["reason"]) == ("unchanged", "")
    assert entry(released)["prices_fetched"]


def test_a_provider_that_is_skipped_keeps_its_tables_and_their_age(released):
    began = datetime.fromisoformat(SECOND_AT)
    status.record_failure(released, "aws", "no key", started_at=began, outcome="skipped")
    publish(released, hours=25)
    now = entry(released)
    assert (now["outcome"], now["reason"]) == ("skipped", "no key")
    assert (now["last_success"], now["complete_since"]) == (FIRST_AT, FIRST_AT)


def test_failures_of_several_processes_at_once_are_all_kept(store):
    names = ["aws", "azure", "gcp"] * 4
    threads = [threading.Thread(target=fail, args=(store, name)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(json.loads(store.get(layout.STATUS))["providers"]) == {"aws", "azure", "gcp"}


def test_a_damaged_status_does_not_keep_anybody_from_publishing(store):
    store.put(layout.STATUS, b"{")
    publish(store, fleet(), run_id=FIRST)
    assert entry(store)["outcome"] == "published"


# Sample beside live


def test_the_sample_is_left_out_beside_live_figures(store):
    stage(store, FIRST, fleet(provider="gcp"), origin="sample")
    published = publish(store, fleet(), run_id=FIRST)
    assert list(published.release.providers) == ["aws"]
    [stop] = published.held_back["gcp"]
    assert stop.check == "sample_beside_live"
    now = entry(store, "gcp")
    assert (now["outcome"], now["release"]) == ("held_back", None)
    accepted = publish(store, hours=1, accepted=["gcp:sample_beside_live"])
    assert list(accepted.release.providers) == ["aws", "gcp"]
    gate = accepted.release.providers["gcp"].gate
    assert [r.check for r in gate if r.outcome == "accepted"] == ["sample_beside_live"]


def test_a_released_sample_goes_when_another_provider_becomes_live(store):
    for name in ("aws", "gcp"):
        stage(store, FIRST, fleet(provider=name), origin="sample")
    assert publish(store).held_back == {}
    published = publish(store, fleet(), run_id=SECOND, hours=24)
    origins = {name: one.origin for name, one in published.release.providers.items()}
    assert origins == {"aws": "live"}


# Names given to --accept


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("aws", r"it names no part"),
        ("ibm:m5.large", r"no provider 'ibm'. There are: aws, azure, .*gcp"),
        ("aws:", r"it names no part"),
    ],
)
def test_an_unknown_name_is_not_accepted(store, name, message):
    with pytest.raises(HwpricesError, match=message):
        publish(store, accepted=[name])
    assert store.get(layout.STATUS) is None


RUN = "20261124T041700.000000Z"
DOWN = "https://prices.azure.com/api failed 4 times, last: HTTP 500. Try again later."


def price(region: str, reason: str = DOWN, run: str = RUN, *, requested: bool = True) -> Trouble:
    """A unit of prices that has the pages of an earlier run, or none where ``run`` is empty."""
    return Trouble(f"azure/retail/{region}", "carried" if run else "failed", reason, requested, run)


def staged(price_units: dict[str, int], **more: Any) -> Staged:
    more |= {"inputs": inputs(RUN), "price_units": price_units}
    return Staged("azure", RUN, "live", (), **more)


def line_of(troubles: list[Trouble], price_units: dict[str, int], **more: Any) -> str:
    return status.shortfall_line(staged(price_units, troubles=tuple(troubles), **more))


CASES = yaml.safe_load((FOLDER / "publish/price_shortfalls.yaml").read_text())


@pytest.mark.parametrize("case", CASES)
def test_the_line_says_what_failed_why_and_what_is_kept(case) -> None:
    price_units = case["price_units"]
    units = {**price_units, "ok": price_units.get("ok", 0) + 2}
    troubles = [price(**trouble) for trouble in case["troubles"]]
    assert line_of(troubles, price_units, units=units) == case["expected"]


def test_units_without_prices_have_a_line_and_skipped_ones_none() -> None:
    reason = "login refused. Log in."
    sizes = Trouble("azure/skus/eastus", "failed", reason, holds_prices=False)
    line = line_of([sizes], {"ok": 5}, units={"ok": 6, "failed": 1})
    assert line == "1 of 2 other units failed (login refused)"
    skipped = Trouble("azure/retail/a", "skipped", "not sold")
    assert line_of([skipped], {"ok": 1, "skipped": 1}, units={"ok": 3, "skipped": 1}) == ""


def test_many_reasons_are_counted() -> None:
    names = [f"r{number}" for number in range(6)]
    troubles = [price(name, f"azure/retail/{name} has no items.") for name in names]
    line = line_of(troubles, {"carried": 6})
    assert "retail/r3 has no items, and 2 more: hwprices admin status)" in line


@cases("publish/shortfalls", price_units=yaml.safe_load, expected=yaml.safe_load)
def test_a_run_without_one_unit_of_prices_is_known(price_units, expected) -> None:
    assert status.has_no_prices(staged(price_units)) == expected
