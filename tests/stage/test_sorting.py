"""Sorting by key gives what polars' sort gives, whatever the rows are."""

import string

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwprices.stage import validate

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
def test_rows_are_sorted_as_polars_sorts_them(rows) -> None:
    frame = _frame(rows * 3)  # texts that repeat, and keys that are equal
    texts = {name: frame[name].unique() for name in ("place", "system")}
    assert validate.sort_rows(frame, KEY, texts).equals(_by_polars(frame))


@given(ROWS)
def test_equal_rows_are_noticed(rows: list[tuple[str | None, str | None, int | None]]) -> None:
    frame = _by_polars(_frame(rows))
    assert validate.has_equal_rows(frame, KEY) == frame.select(KEY).is_duplicated().any()


@pytest.mark.parametrize("columns", [1, 20])
def test_keys_without_a_number_are_sorted_by_polars(columns: int) -> None:
    letters = list(string.ascii_lowercase)[::-1] * 2
    key = [f"place {number}" for number in range(columns)]
    frame = pl.DataFrame(dict.fromkeys(key, letters)).with_row_index("row")
    listed = {name: frame[name].unique() for name in key}  # 27 to the power of 20 is too many
    texts = listed if columns > 1 else {}
    assert validate.sort_rows(frame, key, texts).equals(frame.sort(key, maintain_order=True))


def test_texts_that_repeat_are_listed_once() -> None:
    columns = {"place": ["b", "a"] * 50, "id": [str(number) for number in range(100)]}
    frame = pl.DataFrame({**columns, "number": range(100)})
    texts = validate.distinct_texts(frame, sample=10)
    assert set(texts) == {"place"}
    assert texts["place"].sort().to_list() == ["a", "b"]
    assert validate.distinct_texts(frame, sample=100) == {}
