"""Histories as people ask for them: by name, by day, in a terminal."""

import doctest
import io
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import polars as pl
import pytest
from rich.console import Console
from tests.helpers import history_world as worlds
from tests.helpers.history_world import World
from tests.helpers.small_release import Release

import hwprices
from hwprices.errors import HwpricesError
from hwprices.publish.history import intervals as publishing
from hwprices.read.find.vocabulary import Vocabulary
from hwprices.read.history import diff, intervals, moment
from hwprices.read.history.cheapest import cheapest
from hwprices.read.terminal import chart, history
from hwprices.rows import frames
from hwprices.schemas.history import PriceHistory
from hwprices.schemas.price import Prices

DEVICES = {"gpu-1": ("nvidia-h100-sxm5-80gb", 1.0), "gpu-8": ("nvidia-h100-sxm5-80gb", 8.0)}

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
    return Release({"price_history": rows, "prices": frames.empty(Prices)})


@pytest.fixture(scope="module")
def market(market):
    return hwprices.open(market)


@pytest.mark.parametrize("module", [moment, chart, intervals])
def test_the_examples_in_the_docstrings_are_true(module):
    assert doctest.testmod(module).failed == 0
    assert doctest.testmod(module).attempted


@pytest.mark.parametrize("name", ["gpu-1", "GPU-1", " gpu-1 "])
def test_a_type_is_found_without_its_case(release, name):
    rows = intervals.history(release, name, region="us-1")
    assert rows["effective_hourly"].to_list() == [Decimal(3), Decimal("2.5")]
    assert rows["end_reason"].to_list() == ["price_changed", "removed"]


def test_a_family_is_all_its_types(release):
    assert set(intervals.history(release, "GPU")["instance_type"]) == {"gpu-1", "gpu-8"}
    assert set(intervals.history(release, "cpu")["instance_type"]) == {"cpu-2"}


def test_an_accelerator_goes_before_a_family_of_that_name(release):
    """OVH's h100-380 begins with the accelerator's name."""
    rows = release.scan("price_history").collect()
    named = rows.with_columns(pl.col("instance_type").str.replace("gpu-1", "h100-1"))
    other = Release({**release.tables, "price_history": named})
    assert set(intervals.history(other, "h100")["instance_type"]) == {"h100-1", "gpu-8"}


@pytest.mark.parametrize("name", ["h100", "nvidia-h100-sxm5-80gb", "H100 SXM5"])
def test_an_accelerator_is_found_by_words(release, name):
    rows = intervals.history(release, name)
    assert set(rows["instance_type"]) == {"gpu-1", "gpu-8"}
    each = dict(rows.select("effective_hourly", "per_accelerator_hour").iter_rows())
    assert each[Decimal(16)] == Decimal(2)


def test_an_unknown_name_gets_suggestions(release):
    with pytest.raises(HwpricesError) as error:
        intervals.history(release, "gpu-2")
    assert "Did you mean" in str(error.value)
    assert "gpu-1" in str(error.value)


def test_the_cheapest_hour_of_an_accelerator_over_time(release):
    rows = cheapest(intervals.history(release, "h100"))
    told = rows.select("per_accelerator_hour", "instance_type", "valid_from", "valid_to").rows()
    days = [(float(price), name, a.day, b.day if b else None) for price, name, a, b in told]
    assert days == [
        (2.5, "gpu-8", 1, 2),
        (2.5, "gpu-1", 2, 3),
        (2.0, "gpu-8", 3, 4),
        (2.0125, "gpu-8", 4, None),
    ]


def test_a_placeholder_is_no_cheapest_hour(release):
    """RunPod lists 0.50 USD for an MI300X that nobody rents out."""
    rows = intervals.history(release, "gpu-8")
    flagged = rows.select("price_id", flags=pl.lit(["placeholder"])).unique()
    marked = Release({**release.tables, "prices": flagged})
    both = intervals.history(marked, "h100")
    assert both.filter("placeholder").select("instance_type", "valid_to").rows() == [
        ("gpu-8", None)
    ]
    last = cheapest(both).row(-1, named=True)
    assert (last["instance_type"], last["valid_to"]) == ("gpu-1", None)
    lines = history.of_accelerator(both, width=80, chart=False, limit=5)
    assert lines[-1] == "Left out: 1 placeholder, too far below other prices for a real offer."
    by_type = history.of_type(intervals.history(marked, "gpu-8"), width=99, chart=False, limit=5)
    assert [line.endswith("placeholder, no real offer") for line in by_type if " now " in line] == [
        True
    ]


@pytest.mark.parametrize(
    "options",
    [
        {"provider": "AWS", "os": "any"},
        {"provider": "amazon,google", "os": "all"},
        {"os": "Linux", "purchase_option": "On-Demand"},
        {"region": "US-East-1", "purchase_option": "on_demand, spot"},
        {"provider": ""},
    ],
)
def test_options_are_names_as_people_write_them(market, options):
    names = Vocabulary(market, {"aws": "Amazon Web Services", "gcp": "Google Cloud"})
    rows = intervals.history(market, "p5.48xlarge", **options, names=names)
    assert "on_demand" in rows["purchase_option"].to_list()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"provider": "nope"}, "no provider 'nope'. There are: aws, azure, gcp."),
        ({"provider": "azur"}, "no provider 'azur'. Did you mean azure"),
        ({"region": "us-east"}, "no region 'us-east'. Did you mean us-east4, us-east-1"),
        ({"region": "x"}, "no region 'x'. hwprices coverage lists"),
        ({"os": "window"}, "no os 'window'. Did you mean windows?"),
        ({"purchase_option": "demand"}, "no purchase option 'demand'. Did you mean on_demand"),
    ],
)
def test_an_option_that_the_history_does_not_know_is_an_error(market, options, message):
    """It gave no rows without a word, which reads as: never sold."""
    with pytest.raises(HwpricesError) as error:
        intervals.history(market, "p5.48xlarge", **options)
    assert str(error.value).startswith(f"the price history has {message}")
    assert intervals.history(market, "p5.48xlarge", region="westeurope").is_empty()


def test_diff_tells_the_vendors_changes_from_ours(release):
    first, third, last = (worlds.moment(index).at for index in (0, 2, 3))
    rows = diff.diff(release, first, third)
    assert dict(rows.select("instance_type", "change").iter_rows()) == {
        "gpu-8": "price_down",
        "gpu-1": "removed",
    }
    ours = diff.diff(release, third, last)
    assert set(ours["change"]) == {"restated"}
    both = diff.diff(release, first, last).filter(instance_type="gpu-8").row(0, named=True)
    assert (both["change"], both["partly_restated"]) == ("price_down", True)


def test_diff_before_the_first_release_says_when_it_begins(release):
    with pytest.raises(HwpricesError, match="does not go back to 2020-01-01"):
        diff.diff(release, datetime(2020, 1, 1, tzinfo=UTC), worlds.moment(1).at)


def test_diff_with_a_day_to_come_is_refused(release):
    """Nothing is known of its prices, which is not the same as that none differs."""
    last = worlds.moment(3).at
    with pytest.raises(HwpricesError, match="2027-01-01 23:59 UTC is after the release of"):
        diff.diff(release, moment.instant("2027-01-01"), last)
    assert diff.diff(release, last, last).is_empty()


@pytest.mark.parametrize(
    "when", ["yesterday", "2026-13-01", "", "\x1b[31m", "20261123T999999Z", "20260231T000000Z"]
)
def test_what_is_no_day_is_refused(when):
    with pytest.raises(HwpricesError, match="is no day, time or version"):
        moment.instant(when)


@pytest.mark.parametrize(
    "when",
    [
        "9999-12-31T23:59:59-05:00",
        "0001-01-01T00:00+09:00",
        datetime.max.replace(tzinfo=timezone(-timedelta(hours=5))),
    ],
)
def test_a_time_that_no_year_has_in_utc_is_refused(when):
    with pytest.raises(HwpricesError, match="is in no year from 1 to 9999 in UTC"):
        moment.instant(when)


@pytest.mark.parametrize("width", [40, 80, 160])
def test_lines_fit_the_screen(release, width):
    rows = intervals.history(release, "gpu-1")
    lines = history.of_type(rows, width=width, chart=True, limit=5)
    assert max(map(len, lines[2:])) <= width
    assert any(bar in line for line in lines for bar in chart.BARS)
    device = intervals.history(release, "h100")
    assert max(map(len, history.of_accelerator(device, width=width, chart=True, limit=5))) <= max(
        width, 78
    )
    changed = diff.diff(release, worlds.moment(0).at, worlds.moment(3).at)
    screen = Console(width=max(width, 78), record=True, file=io.StringIO())
    screen.print(history.of_diff(changed, "2026-10-01", "now", limit=5))
    drawn = screen.export_text().splitlines()
    assert max(map(len, drawn)) <= max(width, 78)
    assert any(line.startswith("gpu-8") and "partly restated" in line for line in drawn)


def test_in_a_pipe_there_is_no_chart(release):
    rows = intervals.history(release, "gpu-1")
    lines = history.of_type(rows, width=10_000, chart=False, limit=5)
    assert not any(bar in line for line in lines for bar in chart.BARS)
