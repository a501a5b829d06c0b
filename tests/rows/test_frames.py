"""Shape frames, hash price ids, and compute the effective price of an hour."""

import hashlib
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.cases import cases, optional
from tests.helpers.releases import prices

from hwprices.rows import frames
from hwprices.rows.prices import effective_hourly
from hwprices.schemas import PRICE_KEY
from hwprices.schemas.tables import Prices


def test_price_id_is_stable():
    """Readers keep these ids over releases: a change breaks every history of a price."""
    parts = [
        *("aws", "us-east-1", "\x00", "m5.large", "linux", "none", "included", "shared"),
        *("on_demand", "\x00", "0", "none", "USD"),
    ]
    by_hand = hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:24]
    assert prices({})["price_id"][0] == by_hand == "4317bee3313865c706b66ed0"


def test_price_id_depends_on_every_key_column_and_nothing_else():
    base = prices({})
    other = {"zone": "z", "term_months": 12, "commitment_plan": "standard"}
    for column in PRICE_KEY:
        changed = prices({column: other.get(column, "other")})
        assert changed["price_id"][0] != base["price_id"][0], column
    assert prices({"hourly": Decimal("9")})["price_id"][0] == base["price_id"][0]


def effective(hourly, upfront, months):
    money = pl.Decimal(20, 10)
    schema = {"hourly": money, "upfront": money, "term_months": pl.Int32}
    frame = pl.DataFrame([(hourly, upfront, months)], schema=schema, orient="row")
    return frame.select(effective_hourly()).item()


@cases("rows/effective_hourly", hourly=optional, upfront=optional, months=int, expected=optional)
def test_effective_hourly(hourly, upfront, months, expected):
    values = [Decimal(v) if v is not None else None for v in (hourly, upfront)]
    assert effective(*values, months) == (Decimal(expected) if expected else None)


@given(
    st.decimals("0.0001", 1000, places=4),
    st.decimals(1, 10**6, places=2),
    st.sampled_from([12, 36, 60]),
)
def test_partial_upfront_is_the_sum_not_the_larger(hourly, upfront, months):
    """Known wrong number A1: the larger of the two, instead of their sum, halves the price."""
    price = effective(hourly, upfront, months)
    assert abs(price - (hourly + upfront / (months * 730))) < Decimal("1e-9")
    assert price > max(hourly, upfront / (months * 730)) - Decimal("1e-9")


def test_conform_refuses_undeclared_columns():
    with pytest.raises(ValueError, match="colour"):
        frames.conform(pl.LazyFrame({"colour": ["red"]}), Prices)


def test_columns_are_replaced_by_name_and_no_others_are_taken():
    frame = pl.DataFrame({"a": [1, 2], "b": [3, 4]})
    replaced = frames.replace(frame, pl.Series("b", ["x", "y"]))
    assert replaced.to_dict(as_series=False) == {"a": [1, 2], "b": ["x", "y"]}
    assert frame.to_dict(as_series=False) == {"a": [1, 2], "b": [3, 4]}
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="c"):
        frames.replace(frame, pl.Series("c", [5, 6]))


def test_a_frame_itself_is_sorted_as_polars_sorts_it():
    """Nulls first, equal rows in their order, rows in several chunks; the caller gets the order."""
    first = pl.DataFrame({"a": ["b", None, "a"], "b": [2, 1, 2], "row": [0, 1, 2]})
    later = pl.DataFrame({"a": ["b", "a", None], "b": [2, 1, 1], "row": [3, 4, 5]})
    frame = pl.concat([first, later], rechunk=False)
    expected = frame.sort("a", "b", nulls_last=False, maintain_order=True)
    order = frames.sort_in_place(frame, ["a", "b"])
    assert frame.equals(expected)
    assert frame["row"].to_list() == order.to_list() == [1, 5, 4, 2, 0, 3]
    assert frames.sort_in_place(frame, ["a", "b"]).to_list() == list(range(6))
    assert frame.equals(expected)
