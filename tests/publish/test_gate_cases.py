"""The gate, measured by a hundred mistakes and thirty genuine events: see ``gate_cases``.

``run`` runs a case, ``published`` is the only place that knows the gate. Which cases come out
wrong is the message of a failure.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path

import polars as pl
import pytest
from tests.helpers.nightly import NIGHTLY
from tests.helpers.sample_release import COLLECTED_AT
from tests.publish.gate_cases import (
    CELLS,
    Case,
    Tables,
    advanced,
    differences,
    drop,
    key_of,
    launch,
    rows_that_differ,
    where,
)
from tests.publish.gate_cases.changes import EVENTS, MISTAKES, flagged_spot

from hwprices.publish import choose, gate
from hwprices.publish.gate.compare import LASTING
from hwprices.release.versions import latest_version, read_manifest
from hwprices.storage.store import Store
from hwprices.units import Money

MOST_MISTAKES_PUBLISHED = 0
MOST_EVENTS_HELD = 0
"""How many come out wrong: none, as docs/gates.md says."""

COLLECTIONS = 3
"""An event is published within so many daily collections."""


class Clouds(dict[str, Tables]):
    """The published tables of all providers before the case, which is on the days after began."""

    began = COLLECTED_AT

    @cached_property
    def peers(self) -> pl.LazyFrame:
        """What the gate compares accelerators with."""
        prices, types = (
            pl.concat([cloud[name].lazy() for cloud in self.values() if name in cloud])
            for name in ("prices", "instance_types")
        )
        return gate.per_accelerator(prices, types).collect().lazy()


@dataclass(frozen=True)
class Day:
    """What the gate may know on a day of a case."""

    provider: str
    at: datetime
    collected: Sequence[Tables]
    """The provider's collections since the case began, today's last."""
    published: Sequence[Tables]
    """What was published of it: before the case, and on each day until yesterday."""
    clouds: Clouds
    memory: dict[str, pl.DataFrame]
    """What the gate has kept since the case began: the table held."""


def published(day: Day) -> Tables:
    """Return what is published of a provider on a day: the adapter to the gate as it is now."""

    def candidate(tables: Tables) -> gate.Candidate:
        lazy = {name: frame.lazy() for name, frame in tables.items()}
        return gate.Candidate(day.provider, "live", lazy)

    collected, last = day.collected[-1], day.published[-1]
    past = [candidate(day.published[-days:][0]).table("prices") for days in (7, 30, 90)]
    held_before = day.memory.get("held")
    judgement = gate.judge(
        candidate(collected),
        candidate(last),
        past=past,
        held_before=held_before,
        peers=day.clouds.peers,
        now=day.at,
    )
    day.memory["held"] = judgement.held
    if gate.stopped(judgement.results):
        return last
    return {**collected, **{name: judgement.published(name) for name in judgement.replacements}}


@dataclass(frozen=True)
class Shown:
    """A day of a case: the tables as they ought to be, as collected and as published."""

    right: Tables
    collected: Tables
    published: Tables
    cells: pl.DataFrame
    """What is wrong, or an event's own, as ``Case.wrong`` lists it."""

    def as_collected(self) -> int:
        """Count the altered cells that were published as they came."""
        columns = {
            str(table): {*key_of(str(table)), *cells["column"]}
            for (table,), cells in self.cells.unique(["table", "column"]).group_by("table")
        }
        before, after = (
            {
                name: side[name].select(pl.col(one) for one in side[name].columns if one in altered)
                for name, altered in columns.items()
                if name in side
            }
            for side in (self.right, self.published)
        )
        return self.cells.join(differences(before, after), on=list(CELLS), how="semi").height

    def others_held(self) -> pl.DataFrame:
        """List the rows that the case does not alter and that were not published as they came.

        The parts of a price that it alters are not of others, though their fees are as before.
        """
        held = rows_that_differ(self.collected, self.published)
        prices = self.cells.filter(table="prices")["key"]
        is_part = (pl.col("table") == "price_components") & pl.col("key").str.split(" ").list.get(
            0
        ).is_in(prices.implode())
        return held.filter(~is_part).join(self.cells, on=["table", "key"], how="anti")


def run(case: Case, clouds: Clouds, *, to_the_end: bool = True) -> Iterator[Shown]:
    """Run a case: each day's collection goes through the gate, on top of what it published.

    Without a gate all that a case alters would be published: it alters something every day.
    A day between the first and the last is left out if all that the first held is held for good:
    how often that was seen makes no difference; without ``to_the_end`` the last day too. What
    creeps for weeks, creeps in a third of the machine types, at night in a seventh of all.
    """
    before = clouds[case.provider]
    if case.slack:
        before = of_some_types(before, 7 if NIGHTLY else 3)
    collected: list[Tables] = []
    shown = [before]
    memory: dict[str, pl.DataFrame] = {}
    for day in range(1, case.days + 1):
        is_left_out = 1 < day < case.days + (not to_the_end)
        if is_left_out and not case.slack and held_for_good(memory):
            continue
        right = advanced(before, day)
        collected.append(case.apply(right, day))
        at = clouds.began + timedelta(days=day)
        shown.append(
            published(Day(case.provider, at, tuple(collected), tuple(shown), clouds, memory))
        )
        if not case.slack or day == case.days:
            cells = case.wrong(right, collected[-1])
            assert not cells.is_empty(), f"{case.id} alters nothing"
            yield Shown(right, collected[-1], shown[-1], cells)


def of_some_types(frames: Tables, count: int, also: pl.Expr | bool = False) -> Tables:
    """Return the rows of one in ``count`` machine types and ``also`` others, and those of none."""
    types = frames["instance_types"].sort("instance_type").with_row_index()
    types = types.filter((pl.col("index") % count == count - 1) | also)
    return {
        name: frame.join(types, on="instance_type", how="semi")
        if "instance_type" in frame.columns
        else frame
        for name, frame in frames.items()
    }


def held_for_good(memory: dict[str, pl.DataFrame]) -> bool:
    """Return whether something is held, and nothing of it can be released without a person."""
    rows = memory.get("held")
    return rows is not None and rows.height > 0 and rows["reason"].is_in(LASTING).all()


def leaked(mistake: Case, clouds: Clouds, *, to_the_end: bool = True) -> int:
    """Count the wrong cells that are published on the first day on which some are.

    Of a mistake that creeps: the prices that are far from the right ones on the last day.
    """
    for day in run(mistake, clouds, to_the_end=to_the_end):
        if mistake.slack:
            assert _apart(day.right, day.collected, mistake.slack), f"{mistake.id} does not creep"
            return _apart(day.right, day.published, mistake.slack)
        if count := day.as_collected():
            return count
    return 0


def _apart(right: Tables, shown: Tables, slack: float) -> int:
    pairs = right["prices"].join(shown["prices"], on="price_id", suffix="_shown")
    ratio = pl.col("effective_hourly_shown").cast(float) / pl.col("effective_hourly").cast(float)
    return pairs.filter((ratio - 1).abs() > slack).height


def held(event: Case, clouds: Clouds) -> tuple[int, int]:
    """Count what an event holds back: cells of its own on the last day, and rows of others ever."""
    days = list(run(event, clouds))
    others = pl.concat([day.others_held() for day in days]).unique()
    return days[-1].cells.height - days[-1].as_collected(), others.height


def scanned(root: Path) -> dict[str, dict[str, pl.LazyFrame]]:
    """Open the tables of each provider in the latest release below a root."""
    store = Store(root)
    version = latest_version(store)
    assert version is not None
    release = read_manifest(store, version)
    tables = {}
    for name in release.providers:
        source = choose.from_release(store, name, release)
        assert source is not None
        tables[name] = choose.scan(store, [source])
    return tables


def clouds_of(root: Path) -> Clouds:
    """Read the tables of each provider in the latest release below a root."""
    return Clouds(
        (name, {table: frame.collect() for table, frame in frames.items()})
        for name, frames in scanned(root).items()
    )


@pytest.fixture(scope="module")
def clouds(sample_root: Path) -> Clouds:
    """The tables of each provider in the release of the sample; by day a quarter of large ones."""
    clouds = clouds_of(sample_root)
    for name in () if NIGHTLY else ("azure", "gcp"):
        prices = clouds[name]["prices"].filter(where(purchase_option="reserved"))
        some = (
            (pl.col("accelerator_count") > 0)
            | pl.col("instance_type").is_in(prices["instance_type"].unique().implode())
            | where(instance_type="Standard_E*ads_v5")
        )
        clouds[name] = of_some_types(clouds[name], 4, also=some)
    return clouds


def test_there_are_a_hundred_mistakes_and_thirty_events_of_all_clouds(clouds):
    assert len({case.id for case in MISTAKES}) == len(MISTAKES) == 100
    assert len({case.id for case in EVENTS}) == len(EVENTS) == 30
    assert {case.provider for case in MISTAKES} <= clouds.keys()
    assert {case.days for case in EVENTS} == {COLLECTIONS}


def test_an_ordinary_day_is_published(clouds):
    """The cases tell nothing if a day on which nothing happened is held."""
    for name in clouds:
        collected = advanced(clouds[name], 1)
        at = COLLECTED_AT + timedelta(days=1)
        shown = published(Day(name, at, [collected], [clouds[name]], clouds, {}))
        assert rows_that_differ(collected, shown).is_empty(), name


ORDINARY_DAYS = 100 if NIGHTLY else 20  # by day fewer, to save time
MOST_HELD = 1 / 100_000
"""Share of rows that may be held on ordinary days."""

MACHINE = ["region", "instance_type"]


def a_day(frames: Tables, draw: random.Random) -> Tables:
    """Return what a cloud lists on the next ordinary day.

    A family is repriced by up to a tenth and its licenses stay, one spot price in fourteen moves
    (tools/simulate_history.py), a type is launched and another one is retired.
    """
    prices, types = frames["prices"], frames["instance_types"]
    factor, seed = draw.uniform(0.9, 1.1), draw.randrange(2**32)
    families = types.filter(pl.col("accelerator_count") == 0)["family"].drop_nulls().unique().sort()
    family = draw.choice(families.to_list())
    names = types.filter(family=family)["instance_type"].sort().to_list()
    rate = pl.col("effective_hourly").cast(float)
    plain = prices.filter(
        where(os="linux", purchase_option="on_demand", tenancy="shared", software="none"),
        where(instance_type=names),
    )
    delta = plain.group_by(MACHINE).agg(delta=rate.first() * (factor - 1))
    share = pl.col("price_id").hash(seed) % 1000 / 1000
    plans = where(purchase_option=["reserved", "savings_plan"], payment_option="no_upfront")
    moved = (
        pl.when(where(purchase_option="spot") & (share < 1 / 14))
        .then(rate * (0.9 + 2.8 * share))
        .when(where(purchase_option="on_demand") & pl.col("delta").is_not_null())
        .then(rate + pl.col("delta"))
        .when(plans & pl.col("delta").is_not_null())
        .then(rate * factor)
    )
    joined = prices.join(delta, on=MACHINE, how="left", maintain_order="left")
    money = [pl.coalesce(moved.cast(Money), c).alias(c) for c in ("hourly", "effective_hourly")]
    day = flagged_spot({**frames, "prices": joined.with_columns(money).drop("delta")}, 1)
    launched, retired = draw.choice(names), draw.choice(types["instance_type"].sort().to_list())
    new = launch(where(instance_type=launched), instance_type=f"{launched}-{seed}")(day, 1)
    tables = [name for name in new if "instance_type" in new[name]]
    return drop(where(instance_type=retired), tables)(new, 1)


def test_ordinary_days_hold_hardly_a_row(clouds):
    draw, rows, held_rows = random.Random(11), 0, 0
    names = ("aws", "azure")
    shown: dict[str, Tables] = {}
    for name in names:
        some = of_some_types(clouds[name], 5)
        shown[name] = {table: some[table] for table in ("prices", "instance_types")}
    lists: dict[str, Sequence[Tables]] = {name: [tables] for name, tables in shown.items()}
    for number in range(ORDINARY_DAYS):
        name = names[number % len(names)]
        day = a_day(advanced(shown[name], 1), draw)
        at = COLLECTED_AT + timedelta(days=number + 1)
        memory: dict[str, pl.DataFrame] = {}
        published(Day(name, at, [day], lists[name], clouds, memory))
        held_rows += memory["held"].height if "held" in memory else day["prices"].height
        rows += sum(frame.height for frame in day.values())
        shown[name], lists[name] = day, [*lists[name], day][-40:]
    assert held_rows <= MOST_HELD * rows, f"{held_rows} of {rows:,} rows are held"


def test_mistakes_are_not_published(clouds):
    """By day what is held for good on the first day is collected again of one case in five only."""
    counts = {
        case.id: leaked(case, clouds, to_the_end=NIGHTLY or number % 5 == 0)
        for number, case in enumerate(MISTAKES)
    }
    wrong = [f"{name}: {count:,} cells" for name, count in counts.items() if count]
    assert len(wrong) <= MOST_MISTAKES_PUBLISHED, _report("mistakes are published", wrong)


def test_events_are_published_and_hold_nothing_else(clouds):
    counts = {case.id: held(case, clouds) for case in EVENTS}
    wrong = [
        f"{name}: {own:,} cells of its own, {others:,} rows of others"
        for name, (own, others) in counts.items()
        if own or others
    ]
    assert len(wrong) <= MOST_EVENTS_HELD, _report("events are held", wrong)


def _report(what: str, lines: Sequence[str]) -> str:
    return "\n  ".join([f"{len(lines)} {what}", *lines])
