"""Changes that vendors make from one day to the next: known prices stay, new words are named.

Each change is made to recorded pages, which are then normalised and staged. ``python -m
tests.future`` says why a cell fails; outcomes.csv lists those that are known to.
"""

import pytest

from hwprices import providers
from tests.future import document
from tests.future.judge import OK
from tests.future.table import base_of, changes, tried, verdict

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


def test_every_provider_is_tried() -> None:
    folders = {n for n in providers.names() if not providers.get(n).about.is_price_sheet}
    assert folders < set(tried())


def test_the_table_of_the_documents_has_these_outcomes() -> None:
    assert document.TARGET.read_text(encoding="utf-8") == document.page(document.read_outcomes())
