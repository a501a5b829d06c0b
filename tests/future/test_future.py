"""Changes that vendors make from one day to the next: known prices stay, new words are named.

Each change is made to recorded pages, which are then normalised and staged. ``python -m
tests.future`` says why a cell fails; outcomes.csv lists those that are known to.
"""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hwprices import providers
from hwprices.publish.release import publish
from hwprices.stage.stage import stage
from hwprices.storage.store import Store
from tests.future import document
from tests.future.judge import OK
from tests.future.table import base_of, change, changes, tried, verdict, world_of

CELLS = [(provider, name) for provider in tried() for name in changes(provider)]


@pytest.mark.slow
@pytest.mark.parametrize(("provider", "name"), CELLS)
def test_a_change_is_taken(provider: str, name: str) -> None:
    listed = document.read_outcomes().get((provider, name))
    outcome = verdict(provider, name)
    if outcome is None:
        assert listed is None
    elif listed in {None, OK}:
        assert outcome.word == OK, outcome.detail
    else:
        assert outcome.word != OK, f"it is mended: python -m tests.future --write {provider}"


@pytest.mark.slow
@pytest.mark.parametrize("provider", tried())
def test_the_pages_that_are_changed_have_prices(provider: str) -> None:
    assert base_of(provider).priced


@pytest.mark.slow
def test_changed_pages_are_published_over_those_before(tmp_path: Path) -> None:
    changed = {"gcp": "new_region", "ovh": "new_family", "runpod": "new_family"}
    store = Store(tmp_path)
    days = (datetime(2026, 11, 24, tzinfo=UTC), datetime(2026, 11, 25, tzinfo=UTC))
    for day in days:
        for provider, name in changed.items():
            future = change(provider, name)
            assert future is not None
            world = world_of(provider) if day == days[0] else future.world
            landing, run = world.land(tmp_path / "raw")
            run = replace(run, run_id=f"{day:%Y%m%dT%H%M%S.%fZ}")
            stage(providers.get(provider), run, landing, store, keep=2)
        published = publish(store, now=lambda day=day: day)  # type: ignore[misc]
        assert published.held_back == {}
        assert published.new
    assert published.version.startswith("20261125")
