"""The harness itself: pages are written as they were read, and each kind of wrong is told."""

from dataclasses import replace
from decimal import Decimal

import pytest

from hwprices.providers import get
from tests.future import table
from tests.future.judge import CHANGED, INVENTED, LOST, OK, UNNAMED, Outcome, judge
from tests.future.mutations import FACTOR, Future, Vendor
from tests.future.pages import decode, encode
from tests.helpers.aws_pages import line, price_list, quotes

NEW_WORD = {"word": "Haiku", "reason": "unknown_platform", "row": "{}"}


@pytest.fixture(scope="module")
def base() -> Outcome:
    return table.base_of("ovh")


@pytest.fixture
def future() -> Future:
    words = {"z9-": "b3-"}
    return Future(table.world_of("ovh"), words=words, must_name=True, new=("Haiku",))


@pytest.mark.parametrize(
    ("body", "suffix"),
    [
        (b'{"servers": {"A": {"a": 1, "b": 2, "c": 0.1, "d": []}}, "total": 1}', "json"),
        (price_list([line(), line(SKU="W")]), "csv"),
        (quotes(("a", "b", "c", "0.1", "d"), ("e", "f", "g", "0.2", "h")), "xml"),
    ],
    ids=["json", "csv", "xml"],
)
def test_a_page_is_written_as_it_was_read(body: bytes, suffix: str) -> None:
    content = decode(body, suffix)
    assert decode(encode(content, suffix), suffix) == content


def test_a_new_word_in_quarantine_is_right(base: Outcome, future: Future) -> None:
    assert judge(base, future, replace(base, refused=(NEW_WORD,)), None).word == OK


def test_a_new_word_that_is_not_listed_is_told(base: Outcome, future: Future) -> None:
    assert judge(base, future, base, None).word == UNNAMED
    got = replace(base, refused=(NEW_WORD | {"word": None},))
    assert judge(base, future, got, None).word == UNNAMED


def test_a_price_that_differs_in_its_last_digit_is_told(base: Outcome, future: Future) -> None:
    price_id, row = next(iter(base.prices.items()))
    other = row | {"hourly": row["hourly"] + Decimal("1e-10")}
    got = replace(base, prices=base.prices | {price_id: other}, refused=(NEW_WORD,))
    assert judge(base, future, got, None).word == CHANGED


def test_a_price_that_is_gone_is_told(base: Outcome, future: Future) -> None:
    prices = dict(list(base.prices.items())[1:])
    got = replace(base, prices=prices, refused=(NEW_WORD,))
    assert judge(base, future, got, None).word == CHANGED


@pytest.mark.parametrize(
    ("name", "factor", "word"),
    [("z9-16", FACTOR, OK), ("z9-16", 1, INVENTED), ("x", FACTOR, INVENTED)],
)
def test_a_new_machine_has_the_price_of_its_line(base, future, name, factor, word) -> None:
    known = next(row for row in base.prices.values() if row["instance_type"] == "b3-16")
    amounts = {column: known[column] * factor for column in ("hourly", "effective_hourly")}
    new = known | amounts | {"instance_type": name}
    got = replace(base, prices=base.prices | {"new": new})
    assert judge(base, future, got, None).word == word


def test_a_provider_that_is_stopped_is_told(base: Outcome, future: Future) -> None:
    assert judge(base, future, Outcome({}, (), None, "too many rows"), None).word == LOST


def test_a_provider_without_words_gets_the_changes_of_any_page(monkeypatch) -> None:
    monkeypatch.setattr(table, "VENDORS", {})
    assert table.vendor_of("scaleway") == Vendor(prices="*")
    assert get("scaleway").name in table.tried()
    names = table.changes("scaleway", every_member=True)
    assert {*table.ANY_PAGE, "renamed:hourly_price", "missing:ncpus"} <= set(names)
    future = table.change("scaleway", "renamed:hourly_price")
    assert future is not None
    assert "hourly_priceNew" in str(future.world.bodies[0])
