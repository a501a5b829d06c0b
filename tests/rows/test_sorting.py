"""Sorting by key gives what polars' sort gives, whatever the rows are."""

import string

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwprices.rows import sorting

WORDS = st.one_of(st.none(), st.text("aAzZ é𝄞-", max_size=3))
ROWS = st.lists(st.tuples(WORDS, WORDS, st.one_of(st.none(), st.integers(-5, 40))), max_size=60)
SCHEMA = {"place": pl.String, "system": pl.String, "months": pl.Int32}
KEY = ["place", "system", "months"]


def _frame(rows: list[tuple[str | None, str | None, int | None]]) -> pl.DataFrame:
    """Make a frame whose column ``row`` tells rows with one key apart."""
    return pl.DataFrame(rows, SCHEMA, orient="row").with_row_index("row")


def _by_polars(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.sort(KEY, nulls_last=False, maintain_order=True)


@given(ROWS)
def test_rows_are_sorted_as_polars_sorts_them(
    rows: list[tuple[str | None, str | None, int | None]],
) -> None:
    frame = _frame(rows * 3)  # texts that repeat, and keys that are equal
    texts = {name: frame[name].unique() for name in ("place", "system")}
    assert sorting.sort(frame, KEY, texts).equals(_by_polars(frame))


@given(ROWS)
def test_equal_rows_are_noticed(rows: list[tuple[str | None, str | None, int | None]]) -> None:
    frame = _by_polars(_frame(rows))
    assert sorting.has_equal_rows(frame, KEY) == frame.select(KEY).is_duplicated().any()


@pytest.mark.parametrize("words", ["differ", "are too many"])
def test_keys_without_a_number_are_sorted_by_polars(words: str) -> None:
    letters = list(string.ascii_lowercase)
    if words == "differ":
        frame = pl.DataFrame({"place": letters[::-1], "row": range(26)})
        key = ["place"]
    else:
        key = [f"place {number}" for number in range(20)]  # 27 to the power of 20
        frame = pl.DataFrame(dict.fromkeys(key, letters[::-1] * 2))
    texts = {name: frame[name].unique() for name in key}
    assert sorting.sort(frame, key, texts).equals(frame.sort(key))


def test_texts_that_repeat_are_listed_once() -> None:
    columns = {"place": ["b", "a"] * 50, "id": [str(number) for number in range(100)]}
    texts = sorting.distinct_texts(pl.DataFrame(columns), sample=10)
    assert texts["place"].sort().to_list() == ["a", "b"]
    assert texts["id"].to_list() == columns["id"]


@pytest.mark.parametrize("sample", [1, 100])
def test_texts_of_lists_are_listed_too(sample: int) -> None:
    frame = pl.DataFrame({"flags": [["a", "b"], [], ["a", "a"], ["b"], ["a"]], "count": range(5)})
    texts = sorting.distinct_texts(frame, sample)
    assert set(texts) == {"flags"}
    assert set(texts["flags"].drop_nulls()) == {"a", "b"}
