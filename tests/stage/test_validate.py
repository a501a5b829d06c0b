"""Split rows into good and refused: no row is lost, and no wrong one gets through."""

from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandera.errors import SchemaErrors
from tests.helpers.nightly import NIGHTLY
from tests.helpers.releases import prices, rows

import hwprices
from hwprices.errors import HwpricesError
from hwprices.rows.prices import merge_refused
from hwprices.schemas.tables import TABLES, Prices
from hwprices.schemas.validation import fits
from hwprices.stage import validate


def reasons(split):
    return split.refused["reason"].sort().to_list()


BAD = {
    "check:effective_hourly:greater_than": {"hourly": Decimal("-1")},
    "check:os:isin": {"os": "dos"},
    "check:currency:str_matches": {"currency": "usd"},
    "check:no_sentinel": {"hourly": Decimal("700")},
    "check:price_or_reason": {"effective_hourly": None},
    "check:region:not_nullable": {"region": None},
    "check:term_months:isin": {"term_months": 13},
}


@pytest.mark.parametrize(("reason", "change"), BAD.items())
def test_a_wrong_row_is_refused_and_the_right_one_kept(reason, change):
    split = validate.split(prices({}, {"instance_type": "m5.xlarge", **change}), Prices, {})
    assert split.good["instance_type"].to_list() == ["m5.large"]
    assert reasons(split) == [reason]
    assert "m5.xlarge" in split.refused["row"][0]


def test_zero_is_not_a_price():
    split = validate.split(prices({"hourly": Decimal(0)}), Prices, {})
    assert (split.good.height, reasons(split)) == (0, ["check:effective_hourly:greater_than"])


def test_an_unknown_price_with_a_reason_is_published():
    split = validate.split(prices({"hourly": None, "price_reason": "gpu_sku_missing"}), Prices, {})
    assert (split.good.height, split.refused.height) == (1, 0)


def test_two_rows_for_one_key_are_both_refused():
    split = validate.split(
        prices({}, {"hourly": Decimal("0.123")}, {"instance_type": "c5.large"}), Prices, {}
    )
    assert split.good["instance_type"].to_list() == ["c5.large"]
    assert reasons(split) == ["duplicate_key", "duplicate_key"]


def test_a_row_at_zero_does_not_contradict_a_price():
    zero = {"hourly": None, "price_reason": "listed_at_zero"}
    split = validate.split(prices(zero, {}, zero), Prices, {})
    assert split.good["hourly"].to_list() == [Decimal("0.096")]
    assert reasons(split) == ["zero_price", "zero_price"]


def test_a_row_at_zero_does_not_settle_which_of_two_prices_holds():
    zero = {"hourly": None, "price_reason": "listed_at_zero"}
    split = validate.split(prices(zero, {}, {"hourly": Decimal("0.123")}), Prices, {})
    assert (split.good.height, reasons(split)) == (0, ["duplicate_key"] * 3)


def test_two_rows_with_null_in_the_key_are_duplicates():
    """zone is null for regional prices."""
    split = validate.split(
        prices({"zone": None}, {"zone": None}, {"zone": "us-east-1a"}), Prices, {}
    )
    assert split.good["zone"].to_list() == ["us-east-1a"]


def test_a_refused_row_keeps_its_page_and_url():
    types, urls = rows("instance_types", {"vcpus": 0}), {"0" * 64: "https://v.example/t"}
    refused = validate.split(types, TABLES["instance_types"], urls).refused
    assert refused["source_url"][0] == "https://v.example/t"
    assert refused["raw_sha256"][0] == "0" * 64


def test_a_frame_of_another_shape_is_an_error():
    with pytest.raises(HwpricesError, match="does not fit the table prices"):
        validate.split(prices({}).drop("currency"), Prices, {})
    with pytest.raises(HwpricesError, match="does not fit the table prices"):
        validate.split(prices({}).with_columns(pl.col("hourly").cast(pl.Float64)), Prices, {})


@settings(max_examples=100 if NIGHTLY else 30)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["m5.large", "c5.large", "r5.large"]), st.decimals(-2, 2, places=4)
        ),
        min_size=1,
        max_size=12,
    )
)
def test_every_row_is_either_good_or_refused(rows):
    frame = prices(*({"instance_type": name, "hourly": price} for name, price in rows))
    split = validate.split(frame, Prices, {})
    assert split.good.height + split.refused["occurrences"].sum() == frame.height
    assert split.good["price_id"].n_unique() == split.good.height
    assert (split.good["effective_hourly"] > 0).all()


def test_equal_refused_rows_are_counted_once():
    refused = validate.split(prices({"os": "dos"}, {"os": "dos"}), Prices, {}).refused
    merged = merge_refused([refused, refused])
    assert merged["occurrences"].to_list() == [4]


def test_a_duplicate_key_in_a_table_of_the_project_is_an_error():
    with pytest.raises(HwpricesError, match="duplicate_key"):
        validate.check(prices({}, {}), Prices)


ODD = {
    pl.String: ["", "-", "no such word"],
    pl.Float64: [-1.0, 0.0, 1e9, float("nan")],
    pl.Int32: [-1, 0, 10**9],
    pl.Decimal: [Decimal(-1), Decimal(0), Decimal(700)],
}


@pytest.mark.parametrize("name", ["prices", "instance_types", "regions", "cpus"])
def test_a_row_fits_where_pandera_refuses_it_for_nothing(name, project):
    """A real row of each table, with null and odd values in each of its columns in turn."""
    model = TABLES[name]
    row = hwprices.open(project / "data/demo").scan(name).head(1).collect()
    changed = [
        row.with_columns(pl.lit(value, dtype).alias(column))
        for column, dtype in row.schema.items()
        for value in (None, *ODD.get(dtype.base_type(), []))
    ]
    rows = pl.concat([row, *changed])
    with pytest.raises(SchemaErrors) as error:
        model.schema.validate(rows, lazy=True)
    refused = set(error.value.failure_cases["index"])
    assert 0 not in refused
    assert refused == {i for i in range(rows.height) if not fits(rows[i], model.schema)}
