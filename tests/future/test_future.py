"""Changes that vendors make from one day to the next: known prices stay, new words are named.

Each change is made to recorded pages, which are then normalised and staged. ``python -m
tests.future`` says why one is not taken.
"""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hwprices import providers
from hwprices.publish.release import publish
from hwprices.stage import stage
from hwprices.storage.store import Store
from tests.future.judge import OK
from tests.future.table import base_of, change, changes, tried, verdict, world_of

CELLS = [(provider, name) for provider in tried() for name in changes(provider)]
WITHOUT_TEXT = ("azure", "coreweave", "linode", "oracle", "ovh", "runpod", "scaleway")
UNCHANGED = {
    *((name, "text_as_numbers") for name in WITHOUT_TEXT),
    *(("aws", "numbers_as_text"), ("scaleway", "twin"), ("scaleway", "dearer_twin")),
    *(("coreweave", f"renamed:{name}") for name in ("price", "unit", "gpus", "currency")),
    *(("coreweave", "extra_member"), ("coreweave", "numbers_as_text")),
}
"""Changes that these pages cannot have: text without numbers, names that are keys, our format."""


@pytest.mark.slow
@pytest.mark.parametrize(("provider", "name"), CELLS)
def test_a_change_is_taken(provider: str, name: str) -> None:
    outcome = verdict(provider, name)
    assert (outcome is None) == ((provider, name) in UNCHANGED)
    assert outcome is None or outcome.word == OK, outcome.detail


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
