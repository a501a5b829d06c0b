"""The rules of the history hold for any sequence of releases.

Intervals never overlap, what was not collected is not removed, and what our reading changes is not
a change of price. docs/history.md states them.
"""

from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.helpers import history_world as worlds
from tests.helpers.history_world import World
from tests.helpers.nightly import NIGHTLY

from hwprices.publish import history as history_record
from hwprices.publish.history import changes, from_changes, intervals
from hwprices.publish.history.changes import outcome_of
from hwprices.rows import frames
from hwprices.schemas.tables import Changes, PriceHistory, SoldAccelerators
from hwprices.specs.sheets import load
from hwprices.stage import validate

EXAMPLES = settings(max_examples=300 if NIGHTLY else 5)
"""A step takes some 40 ms. Set HWPRICES_NIGHTLY=1 for more examples."""

pytestmark = pytest.mark.timeout(7200 if NIGHTLY else 900)

REGIONS = ("us-1", "eu-1")
LISTED = st.dictionaries(st.sampled_from(["a", "b"]), st.integers(100, 103), max_size=2)
PAGES = st.fixed_dictionaries(dict.fromkeys(REGIONS, LISTED))
FAILED = st.frozensets(st.sampled_from(REGIONS), max_size=2)
READINGS = st.integers(0, 2)
BASES = st.sampled_from(["listed", "composed"])

COLLECTION = {"not_collected", "collected_again", "first_collected"}


@st.composite
def any_worlds(draw):
    """A sequence of releases in which anything may happen."""
    basis = draw(BASES)
    one = st.builds(World, PAGES, FAILED, READINGS, st.just(basis))
    return draw(st.lists(one, min_size=2, max_size=6))


def record(
    sequence: Sequence[World | None], *, past: pl.DataFrame | None = None, first: int = 0
) -> list[tuple[pl.DataFrame, pl.DataFrame]]:
    """Carry the history through these releases; None is one without the provider."""
    history = frames.empty(PriceHistory) if past is None else past
    results = []
    for index in range(first, len(sequence)):
        older, newer = (sequence[index - 1] if index else None), sequence[index]
        before = worlds.snapshot(older, index - 1) if older else None
        after = worlds.snapshot(newer, index) if newer else None
        read = worlds.re_read(older, newer) if older and newer else None
        prices = read.prices if read else None
        step = intervals.step(history, before, after, worlds.moment(index), prices)
        listed = pl.concat(
            [frames.empty(Changes), *changes.of_provider(worlds.PROVIDER, outcome_of(step))]
        )
        history = step.history
        assert history.equals(history.sort(intervals.ORDER, maintain_order=True))
        results.append((history, listed))
    return results


def ends(history: pl.DataFrame) -> set[str]:
    return set(history["end_reason"].drop_nulls())


def told(results: list[tuple[pl.DataFrame, pl.DataFrame]]) -> set[str]:
    """What the changes after the first release say."""
    return {change for _, listed in results[1:] for change in listed["change"]}


@EXAMPLES
@given(any_worlds())
def test_intervals_of_one_price_never_overlap(sequence):
    history, _ = record(sequence)[-1]
    for _, rows in history.group_by("price_id"):
        spans = rows.sort("valid_from").select("valid_from", "valid_to").rows()
        assert all(start < end for start, end in spans if end is not None)
        assert all(end is not None and end <= start for (_, end), (start, _) in pairwise(spans))


def test_intervals_that_overlap_are_refused():
    listed = {"us-1": {"a": 100, "b": 100}, "eu-1": {}}
    moved = {"us-1": {"a": 101, "b": 100}, "eu-1": {}}
    sequence = [World(page, frozenset(), 0, "listed") for page in (listed, moved)]
    history, _ = record(sequence)[-1]
    assert validate.split(history, PriceHistory, {}).refused.is_empty()
    has_ended = pl.col("valid_to").is_not_null()
    later = pl.col("valid_to") + timedelta(days=1)
    overlapping = history.with_columns(valid_to=pl.when(has_ended).then(later))
    refused = validate.split(overlapping, PriceHistory, {}).refused
    assert refused["reason"].to_list() == ["check:intervals_never_overlap"]


@EXAMPLES
@given(any_worlds())
def test_what_is_valid_at_a_release_are_its_prices_and_those_not_collected(sequence):
    results = record(sequence)
    last, _ = results[-1]
    for index, world in enumerate(sequence):
        at = worlds.moment(index).at
        valid = worlds.as_of(last, at)
        in_release = worlds.snapshot(world, index).prices.collect()
        has = {row["price_id"]: row["hourly"] for row in in_release.iter_rows(named=True)}
        waiting = results[index][0].filter(state="not_collected")["price_id"].to_list()
        assert {
            row["price_id"]: row["hourly"]
            for row in valid.iter_rows(named=True)
            if row["price_id"] not in waiting
        } == has
        assert set(valid["price_id"]) == {*has, *waiting}


@EXAMPLES
@given(PAGES, st.lists(FAILED, min_size=2, max_size=6), st.sets(st.integers(1, 5)), BASES)
def test_a_gap_in_collection_is_no_removal(pages, failures, left_out, basis):
    """The vendor changes nothing and neither do we; units fail, or the provider is left out."""
    sequence = [
        None if index in left_out else World(pages, failed, 0, basis)
        for index, failed in enumerate([frozenset(), *failures])
    ]
    results = record(sequence)
    history, _ = results[-1]
    assert ends(history) == set()
    assert history.height == sum(map(len, pages.values()))
    assert told(results) <= COLLECTION | {"added"}
    for (_, listed), world in zip(results[1:], sequence[1:], strict=True):
        assert world is None or "added" not in listed["change"].to_list() or not any(pages.values())


@EXAMPLES
@given(PAGES, st.lists(st.tuples(FAILED, READINGS), min_size=1, max_size=5), BASES)
def test_a_correction_of_ours_is_never_a_change_of_price(pages, later, basis):
    """The vendor's pages stay as they are; our reading of them changes."""
    sequence = [World(pages, frozenset(), 0, basis)]
    sequence += [World(pages, failed, reading, basis) for failed, reading in later]
    results = record(sequence)
    history, _ = results[-1]
    allowed = {"restated"} if basis == "listed" else {"restated", "unclear"}
    assert ends(history) <= allowed
    assert told(results) <= allowed | COLLECTION


@EXAMPLES
@given(any_worlds())
def test_each_amount_of_a_change_is_the_vendors_or_ours(sequence):
    """Where both changed, the vendor's part is what its pages say, and ours is the rest."""
    for (older, newer), (_, listed) in zip(pairwise(sequence), record(sequence)[1:], strict=True):
        moved = listed.filter(pl.col("subject") == "price")
        vendors = moved.filter(pl.col("change").is_in(["price_up", "price_down"]))
        old, new = older.read(0), newer.read(0)
        for row in vendors.iter_rows(named=True):
            place = (row["region"], row["instance_type"])
            said = new[place] - old[place] if place in old and place in new else None
            if said is not None:
                assert row["new_effective_hourly"] - row["old_effective_hourly"] == said


@EXAMPLES
@given(any_worlds(), st.data())
def test_the_history_is_the_same_when_it_is_made_again(sequence, data):
    """As a whole, or from any release on, and with what was read again taken from the changes."""
    results = record(sequence)
    first = data.draw(st.integers(1, len(sequence) - 1))
    history = results[first - 1][0]
    for index in range(first, len(sequence)):
        read = from_changes(results[index][1], worlds.PROVIDER)
        step = intervals.step(
            history,
            worlds.snapshot(sequence[index - 1], index - 1),
            worlds.snapshot(sequence[index], index),
            worlds.moment(index),
            read.prices,
        )
        history = step.history
        assert history.equals(results[index][0])


SEEN = ("state", "waits_for", "last_release", "observed_first", *intervals.ORIGIN)
"""What a release writes anew in the intervals of a price that is as it was."""


@EXAMPLES
@given(any_worlds())
def test_intervals_that_are_not_touched_are_as_they_were(sequence):
    """So only the others are checked once more."""
    index = len(sequence) - 1
    history, _ = record(sequence[:index])[-1]
    before, after = (worlds.snapshot(sequence[i], i) for i in (index - 1, index))
    step = intervals.step(history, before, after, worlds.moment(index))
    others = step.history.join(step.affected, on="price_id", how="anti").drop(SEEN)
    were = history.join(step.affected, on="price_id", how="anti").drop(SEEN)
    key = ["price_id", "valid_from"]
    assert others.sort(key).equals(were.sort(key))


SIX_TYPES = [
    World(dict.fromkeys(REGIONS, dict.fromkeys(types, cents)))
    for types, cents in (("abcde", 100), ("bcdef", 101))
]


@EXAMPLES
@given(any_worlds())
@example(SIX_TYPES)
def test_a_provider_is_carried_further_type_by_type_as_in_one_piece(sequence):
    """So are providers with more rows than fit into memory at once."""
    index = len(sequence) - 1
    history, _ = record(sequence[:index])[-1]
    before, after = (worlds.snapshot(sequence[i], i) for i in (index - 1, index))
    whole, in_pieces = (
        advance_with(history, before, after, worlds.moment(index), rows) for rows in (1000, 1)
    )
    assert whole.changes.equals(in_pieces.changes)
    rows = [made.intervals[worlds.PROVIDER].collect() for made in (whole, in_pieces)]
    assert rows[0].equals(rows[1])
    types = in_pieces.intervals[worlds.PROVIDER].select("instance_type").unique().collect()
    assert len(in_pieces.files) == max(1, types.height)


def advance_with(history, before, after, moment, rows):
    """Advance with a batch of so many rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(history_record, "BATCH_ROWS", rows)
        sheet = frames.empty(SoldAccelerators)
        past = {worlds.PROVIDER: history.lazy()}
        snapshots = ({worlds.PROVIDER: one} for one in (before, after))
        return history_record.advance(past, *snapshots, moment, {}, (sheet, sheet))


def test_a_change_of_the_accelerator_sheet_is_ours():
    before = load("accelerators")
    watts = pl.when(accelerator_id="nvidia-l4").then(80.0).otherwise("tdp_w").alias("tdp_w")
    after = before.filter(pl.col("accelerator_id") != "nvidia-t4").with_columns(watts)
    told = changes.of_accelerators(before, after)
    columns = ("accelerator_id", "change", "field", "old_value", "new_value", "evidence")
    assert told.select(columns).rows() == [
        ("nvidia-l4", "restated", "tdp_w", "72.0", "80.0", "own_sheet"),
        ("nvidia-t4", "removed", None, None, None, "own_sheet"),
    ]
    assert changes.of_accelerators(before, before).equals(told.clear())
