"""Histories as people ask for them: by name, by day, in a terminal."""

import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
import yaml
from tests.helpers import history_world as worlds
from tests.helpers.cases import cases
from tests.helpers.history_world import World
from tests.helpers.releases import Release, machine, price, publish, region, stage, tables
from tests.helpers.terminal import drawn

import hwprices
from hwprices.cli import history
from hwprices.cli.show import render_diff
from hwprices.errors import HwpricesError
from hwprices.publish.history import intervals as publishing
from hwprices.read import past
from hwprices.read.find.names import ReleaseWords
from hwprices.read.find.search import EVERY_WAY
from hwprices.read.past import cheapest
from hwprices.release import versions
from hwprices.release.manifest import Inputs, Reading, UnitInput
from hwprices.rows import frames
from hwprices.schemas.tables import (
    SHEETS,
    InstanceTypes,
    PriceHistory,
    Prices,
    Regions,
)
from hwprices.stage import make_current
from hwprices.storage.store import Store

DEVICES = {"gpu-1": ("nvidia-h100-sxm5-80gb", 1.0), "gpu-8": ("nvidia-h100-sxm5-80gb", 8.0)}

LISTS = {
    "prices": Prices,
    "instance_types": InstanceTypes,
    "regions": Regions,
    "accelerators": SHEETS["accelerators"],
    "cpus": SHEETS["cpus"],
    "cpu_families": SHEETS["cpu_families"],
}
"""Tables in which the words of a question are looked up."""

SEQUENCE = [
    World({"us-1": {"gpu-1": 300, "gpu-8": 2000, "cpu-2": 10}, "eu-1": {"gpu-1": 320}}),
    World({"us-1": {"gpu-1": 250, "gpu-8": 2000, "cpu-2": 10}, "eu-1": {"gpu-1": 320}}),
    World({"us-1": {"gpu-8": 1600, "cpu-2": 10}, "eu-1": {"gpu-1": 320}}),
    World({"us-1": {"gpu-8": 1600, "cpu-2": 10}, "eu-1": {"gpu-1": 320}}, reading=10),
]


@pytest.fixture(scope="module")
def release():
    """The history of four days."""
    rows = frames.empty(PriceHistory)
    for index, world in enumerate(SEQUENCE):
        before = worlds.snapshot(SEQUENCE[index - 1], index - 1) if index else None
        after = worlds.snapshot(world, index)
        rows = publishing.step(rows, before, after, worlds.moment(index)).history
    device = pl.col("instance_type").replace_strict(
        {name: values[0] for name, values in DEVICES.items()}, default=None
    )
    count = pl.col("instance_type").replace_strict(
        {name: values[1] for name, values in DEVICES.items()}, default=None
    )
    rows = rows.with_columns(accelerator_id=device, accelerator_count=count)
    empty = {name: frames.empty(schema) for name, schema in LISTS.items()}
    return Release({**empty, "price_history": rows})


def ask(tables, text="", usual=EVERY_WAY, *, titles=None, **options):
    """Give the intervals that a question asks for, of tables without a manifest."""
    together = past.PastTables(tables)
    search = past.understand(ReleaseWords(together, titles), text, usual, **options)
    return past.run(together, search)


@pytest.fixture(scope="module")
def market(market):
    return hwprices.open(market)


def with_history(market, *parts):
    """Give the market with a history of these rows in place of its own."""
    tables = {name: market.scan(name).collect() for name in LISTS}
    return Release({**tables, "price_history": pl.concat(parts)})


@pytest.mark.parametrize("name", ["gpu-1", "GPU-1", " gpu-1 "])
def test_a_type_is_found_without_its_case(release, name):
    rows = ask(release, name, region="us-1")
    assert rows["effective_hourly"].to_list() == [Decimal(3), Decimal("2.5")]
    assert rows["end_reason"].to_list() == ["price_changed", "removed"]


def test_a_family_is_all_its_types(release):
    assert set(ask(release, type="GPU")["instance_type"]) == {"gpu-1", "gpu-8"}
    assert set(ask(release, type="cpu")["instance_type"]) == {"cpu-2"}


def test_an_accelerator_goes_before_a_family_of_that_name(release):
    """OVH's h100-380 begins with the accelerator's name."""
    rows = release.scan("price_history").collect()
    named = rows.with_columns(pl.col("instance_type").str.replace("gpu-1", "h100-1"))
    other = Release({**release.tables, "price_history": named})
    assert set(ask(other, "h100")["instance_type"]) == {"h100-1", "gpu-8"}


@pytest.mark.parametrize("name", ["h100", "nvidia-h100-sxm5-80gb", "H100 SXM5"])
def test_an_accelerator_is_found_by_words(release, name):
    rows = ask(release, name)
    assert set(rows["instance_type"]) == {"gpu-1", "gpu-8"}
    each = dict(rows.select("effective_hourly", "per_accelerator_hour").iter_rows())
    assert each[Decimal(16)] == Decimal(2)


def test_an_unknown_name_gets_suggestions(release):
    with pytest.raises(HwpricesError) as error:
        ask(release, "gpu-11")
    assert "Did you mean" in str(error.value)
    assert "gpu-1" in str(error.value)


def test_the_cheapest_hour_of_an_accelerator_over_time(release):
    rows = cheapest(ask(release, "h100"))
    told = rows.select("per_accelerator_hour", "instance_type", "valid_from", "valid_to").rows()
    days = [(float(price), name, a.day, b.day if b else None) for price, name, a, b in told]
    assert days == [
        (2.5, "gpu-8", 1, 2),
        (2.5, "gpu-1", 2, 3),
        (2.0, "gpu-8", 3, 4),
        (2.0125, "gpu-8", 4, None),
    ]


def test_the_cheapest_hour_begins_when_its_price_was_seen(release):
    """The first release of the sample is months younger than the pages it was made of."""
    rows = ask(release, "h100")
    seen = pl.lit(datetime(2025, 8, 16, tzinfo=UTC), rows.schema["observed_first"])
    spans = cheapest(rows.with_columns(observed_first=seen))
    assert spans["valid_from"][0] == datetime(2025, 8, 16, tzinfo=UTC)
    later = spans["valid_from"][1:].to_list()
    assert set(later) <= set(rows["valid_from"]), "a change of price is of its release"


def test_a_placeholder_is_no_cheapest_hour(release):
    """RunPod lists 0.50 USD for an MI300X that nobody rents out."""
    rows = ask(release, "gpu-8")
    key = rows.select("price_id", "provider", "instance_type").unique()
    flagged = key.with_columns(flags=pl.lit(["placeholder"]))
    prices = pl.concat([frames.empty(Prices).select(flagged.columns), flagged])
    marked = Release({**release.tables, "prices": prices})
    both = ask(marked, "h100")
    assert both.filter("placeholder").select("instance_type", "valid_to").rows() == [
        ("gpu-8", None)
    ]
    last = cheapest(both).row(-1, named=True)
    assert (last["instance_type"], last["valid_to"]) == ("gpu-1", None)
    lines = history.accelerator_lines(both, width=80, chart=False, limit=5)
    assert lines[-1] == "Left out: 1 placeholder, too far below other prices for a real offer."
    by_type = history.machine_lines(ask(marked, "gpu-8"), width=99, chart=False, limit=5)
    assert [line.endswith("placeholder, no real offer") for line in by_type if " now " in line] == [
        True
    ]


@cases("read/history_options", options=yaml.safe_load)
def test_options_are_those_of_find(market, options):
    titles = {"aws": "Amazon Web Services", "gcp": "Google Cloud"}
    rows = ask(market, "p5.48xlarge", **options, titles=titles)
    assert "on_demand" in rows["purchase_option"].to_list()


@cases("read/history_words")
def test_words_are_those_of_find(market, text):
    known = market.history(text)
    assert "p5.48xlarge" in known["instance_type"].to_list()
    offers = market.find(text, os=None if "linux" in text else "any", tenancy="any", license="any")
    current = known.filter(pl.col("effective_hourly").is_not_null(), software="none")
    assert set(current["price_id"]) == set(offers["price_id"])


def test_every_system_and_tenancy_counts_unless_a_word_or_an_option_says_which(market):
    assert set(market.history("m7g.large")["os"]) == {"linux", "windows"}
    assert set(market.history("m7g.large", plain=True)["os"]) == {"linux", "windows"}
    assert set(market.history("m7g windows")["os"]) == {"windows"}
    own = market.scan("price_history").filter(instance_type="g6.xlarge").collect()
    both = with_history(market, own, own.with_columns(tenancy=pl.lit("dedicated")))
    assert ask(both, "g6")["tenancy"].to_list() == ["shared", "dedicated"]
    assert ask(both, "g6", past.PLAIN)["tenancy"].to_list() == ["shared"]
    lines = history.machine_lines(ask(both, "g6"), width=80, chart=False, limit=5)
    assert [line for line in lines if line.startswith("us-")] == [
        "us-east-1  on demand  linux",
        "us-east-1  on demand  linux dedicated",
    ]
    assert ask(both, "g6", past.PLAIN, tenancy="dedicated")["tenancy"].to_list() == ["dedicated"]


def asked(function, *args, **options):
    """Return the error of a question."""
    with pytest.raises(HwpricesError) as error:
        function(*args, **options)
    return str(error.value)


@pytest.mark.parametrize("option", [("region", "us-eas"), ("os", "window"), ("regoin", "us-east")])
def test_an_option_that_is_not_understood_is_the_error_of_find(market, option):
    errors = {asked(ask, "p5.48xlarge", **dict([option])) for ask in (market.history, market.find)}
    assert len(errors) == 1
    assert market.history("p5.48xlarge", region="westeurope").is_empty()


@pytest.mark.parametrize("text", ["p5.48xlarg", "h100 untied states", "p5 x86 arm64", "h100 cpu"])
def test_a_word_that_is_not_understood_is_the_error_of_find(market, text):
    assert asked(market.history, text) == asked(market.find, text)


@cases("read/no_history", options=yaml.safe_load)
def test_what_no_history_can_answer_is_refused(market, text, options, message):
    assert asked(market.history, text, **options).startswith(message)


def test_what_is_gone_is_found_by_its_place_and_accelerator(market):
    """``gpu-x`` and its region in the east are in no list of the release any more."""
    past_prices = market.scan("price_history").collect()
    gone = past_prices.filter(instance_type="p5.48xlarge").with_columns(
        instance_type=pl.lit("gpu-x"), region=pl.lit("us-east-9"), accelerator_count=4.0
    )
    release = with_history(market, past_prices, gone)
    for text in ("gpu-x", "4xh100", "h100 us-east-9", "4 gpus us-east ondemand", "gpu"):
        assert "us-east-9" in ask(release, text)["region"].to_list()
    assert "us-east-9" not in ask(release, "h100 us-east-1")["region"].to_list()
    assert ask(release, "gpu-x europe").is_empty()


def test_a_name_of_many_words_is_that_machine(market):
    """Its words mean other things to ``find``: an accelerator, processors only."""
    name = "NVIDIA L40S with AMD CPU"
    own = market.scan("price_history").filter(instance_type="g6.xlarge").collect()
    release = with_history(market, own.with_columns(instance_type=pl.lit(name)))
    assert set(ask(release, name.lower())["instance_type"]) == {name}


def test_diff_tells_the_vendors_changes_from_ours(release):
    first, third, last = (worlds.moment(index).at for index in (0, 2, 3))
    rows = past.diff(release, first, third)
    assert dict(rows.select("instance_type", "change").iter_rows()) == {
        "gpu-8": "price_down",
        "gpu-1": "removed",
    }
    ours = past.diff(release, third, last)
    assert set(ours["change"]) == {"restated"}
    both = past.diff(release, first, last).filter(instance_type="gpu-8").row(0, named=True)
    assert (both["change"], both["partly_restated"]) == ("price_down", True)


OFFERS = {  # amount and flags on the first and on the second day
    "was-token": (("0.5", ["placeholder"]), ("3.5", [])),
    "is-token": (("3.5", []), ("0.5", ["placeholder"])),
    "stays-token": (("0.5", ["placeholder"]), ("0.6", ["placeholder"])),
    "new-token": (None, ("0.5", ["placeholder"])),
    "gone-token": (("0.5", ["placeholder"]), None),
    "known-token": ((None, []), ("0.5", ["placeholder"])),
    "real": (("2", []), ("3", [])),
}


@pytest.fixture(scope="module")
def with_placeholders(tmp_path_factory):
    """Two releases, one a day, with prices that are placeholders in one of them or in both."""
    store = Store(tmp_path_factory.mktemp("placeholders"))
    for day in (0, 1):
        offered = {name: days[day] for name, days in OFFERS.items() if days[day]}
        rows = [
            price("aws", "us-east-1", name, amount, flags=flags, purchase_option="spot")
            for name, (amount, flags) in offered.items()
        ]
        types = [machine("aws", name) for name in OFFERS]
        own = tables(rows, types, [region("aws", "us-east-1", country="US")])
        staged = stage(store, f"run-{day}", own, origin="sample")
        units = (UnitInput("prices/us-east-1", "ok", (f"page of day {day}",)),)
        inputs = Inputs(Reading("the same program", "", ""), f"pages of day {day}", units)
        make_current(store, replace(staged, inputs=inputs))
        publish(store, accepted=["aws:*"], at=datetime(2026, 8, 1 + day, tzinfo=UTC))
    return Path(store.root)


def test_diff_to_or_from_a_placeholder_is_no_rise_or_fall(with_placeholders):
    """A token of 0.50 USD that became an offer of 3.50 was 600 % up, before all others."""
    rows = hwprices.open(with_placeholders).diff()
    columns = ("change", "change_percent", "old_placeholder", "new_placeholder")
    marks = {row["instance_type"]: tuple(row[name] for name in columns) for row in rows.to_dicts()}
    assert marks == {
        "real": ("price_up", 50.0, False, False),
        "was-token": ("placeholder", None, True, False),
        "is-token": ("placeholder", None, False, True),
        "stays-token": ("placeholder", None, True, True),
        "known-token": ("placeholder", None, False, True),
        "new-token": ("added", None, None, True),
        "gone-token": ("removed", None, True, None),
    }
    assert rows["instance_type"][0] == "real"


def test_changes_to_or_from_a_placeholder_are_no_rises_or_falls(with_placeholders):
    data = hwprices.open(with_placeholders)
    rows = data.scan("changes").filter(subject="price").collect()
    changes = {row["instance_type"]: row for row in rows.iter_rows(named=True)}
    assert {name: (row["change"], row["change_percent"]) for name, row in changes.items()} == {
        "real": ("price_up", 50.0),
        "was-token": ("placeholder", None),
        "is-token": ("placeholder", None),
        "stays-token": ("placeholder", None),
        "known-token": ("placeholder", None),
        "new-token": ("added", None),
        "gone-token": ("removed", None),
    }
    text = (with_placeholders / "releases" / data.version / "notes.md").read_text()
    assert "4 to or from a placeholder" in text
    of_prices = [line for line in text.splitlines() if "aws:" not in line]
    assert not [line for line in of_prices if "was-token" in line]  # but as a price let through


def comparison(rows):
    """Draw a comparison as a terminal of 80 columns has it."""
    return drawn(render_diff(rows, "before", "now", limit=20), width=80)


def test_diff_shows_as_many_digits_as_a_change_has(with_placeholders):
    rows = hwprices.open(with_placeholders).diff().filter(change="price_up").head(1)
    amounts = {
        "old_effective_hourly": Decimal("98.3210"),
        "new_effective_hourly": Decimal("98.324"),
    }
    changed = rows.with_columns(
        change_percent=pl.lit(0.003), **{k: pl.lit(v) for k, v in amounts.items()}
    )
    line = next(line.split() for line in comparison(changed).splitlines() if "%" in line)
    assert line[-5:-1] == ["98.321", "98.324", "+<0.1", "%"], line


def test_diff_says_which_amount_is_a_placeholder(with_placeholders):
    text = comparison(hwprices.open(with_placeholders).diff())
    assert "Prices: 1 more expensive, 1 new, 1 gone, 4 to or from a placeholder." in text
    notes = {line.split()[0]: line for line in text.splitlines() if "-token" in line}
    assert "was placeholder" in notes["was-token"]
    assert "now placeholder" in notes["is-token"]
    assert "new, now placeholder" in notes["new-token"]
    assert "gone, was placeholder" in notes["gone-token"]
    assert not any("%" in line for line in notes.values())
    assert "not kept" not in text


def test_diff_says_what_it_cannot_know_of_a_release_that_is_not_kept(with_placeholders, tmp_path):
    copy = tmp_path / "data"
    shutil.copytree(with_placeholders, copy)
    shutil.rmtree(copy / "releases" / "20260801T000000Z")
    rows = hwprices.open(copy).diff()
    assert set(rows["old_placeholder"]) == {None}
    assert rows.filter(instance_type="is-token")["change"].item() == "placeholder"
    assert "Up or down since a release that is not kept: 2 prices." in comparison(rows)


def test_diff_names_the_damaged_file_of_the_earlier_release(with_placeholders, tmp_path):
    copy = tmp_path / "data"
    shutil.copytree(with_placeholders, copy)
    file = next((copy / "releases" / "20260801T000000Z").rglob("prices/**/*.parquet"))
    file.unlink()
    with pytest.raises(HwpricesError, match=f"{file} is missing"):
        hwprices.open(copy).diff()


def test_diff_before_the_first_release_says_when_it_begins(release):
    with pytest.raises(HwpricesError, match="does not go back to 2020-01-01"):
        past.diff(release, datetime(2020, 1, 1, tzinfo=UTC), worlds.moment(1).at)


def test_diff_with_a_day_to_come_is_refused(release):
    """Nothing is known of its prices, which is not the same as that none differs."""
    last = worlds.moment(3).at
    with pytest.raises(HwpricesError, match="2027-01-01 23:59 UTC is after the release of"):
        past.diff(release, versions.instant("2027-01-01"), last)
    assert past.diff(release, last, last).is_empty()


@pytest.mark.parametrize(
    "when", ["yesterday", "2026-13-01", "", "\x1b[31m", "20261123T999999Z", "20260231T000000Z"]
)
def test_what_is_no_day_is_refused(when):
    with pytest.raises(HwpricesError, match="is not a day, time or version"):
        versions.instant(when)


@pytest.mark.parametrize(
    "when",
    [
        "9999-12-31T23:59:59-05:00",
        "0001-01-01T00:00+09:00",
        datetime.max.replace(tzinfo=timezone(-timedelta(hours=5))),
    ],
)
def test_a_time_that_no_year_has_in_utc_is_refused(when):
    with pytest.raises(HwpricesError, match="in UTC is not from 1 to 9999"):
        versions.instant(when)


@pytest.mark.parametrize("width", [40, 80, 160])
def test_lines_fit_the_screen(release, width):
    rows = ask(release, "gpu-1")
    lines = history.machine_lines(rows, width=width, chart=True, limit=5)
    assert max(map(len, lines[2:])) <= width
    assert (width > 40) or any(line.endswith("…") for line in lines), "a line that is cut says so"
    assert any(bar in line for line in lines for bar in history.BARS)
    device = ask(release, "h100")
    assert max(
        map(len, history.accelerator_lines(device, width=width, chart=True, limit=5))
    ) <= max(width, 78)
    changed = past.diff(release, worlds.moment(0).at, worlds.moment(3).at)
    shown = drawn(
        render_diff(changed, "2026-10-01", "now", limit=5), width=max(width, 78)
    ).splitlines()
    assert max(map(len, shown)) <= max(width, 78)
    assert any(line.startswith("gpu-8") and "partly restated" in line for line in shown)


def test_in_a_pipe_there_is_no_chart(release):
    rows = ask(release, "gpu-1")
    lines = history.machine_lines(rows, width=10_000, chart=False, limit=5)
    assert not any(bar in line for line in lines for bar in history.BARS)
