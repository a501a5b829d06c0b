"""Read items from Retail Prices pages."""

import gzip
import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal, assert_series_equal
from tests.helpers.azure_pages import NOW, Landed, answer, frame, item, tables

from hwprices.providers import get
from hwprices.providers.azure.prices.items import (
    AMOUNTS,
    COLUMNS,
    RetailPage,
    decimal_text,
    decode_items,
    price_units,
    read_columns,
    read_items,
)


def test_money_is_exact_whatever_it_looks_like(tmp_path: Path) -> None:
    texts = ["0.0123456789", "3.4E-05", "20363.0", "549999.9912345678", "0.1"]
    items = [item(0, armSkuName=f"Standard_D{i}s_v3") for i in range(len(texts))]
    body = json.dumps(answer(items))
    for text in texts:
        body = body.replace('"retailPrice": 0,', f'"retailPrice": {text},', 1)
    prices = (
        Landed(tmp_path)
        .add("retail_consumption_usd", "eastus", body.encode())
        .prices()
        .sort("instance_type")
    )
    assert prices["hourly"].to_list() == [
        Decimal("0.0123456789"),
        Decimal("0.000034"),
        Decimal(20363),
        Decimal("549999.9912345678"),
        Decimal("0.1"),
    ]


@pytest.mark.parametrize("text", ["-3.4E-05", "-0.10", "-123456789012345678901234567890"])
def test_a_refused_amount_is_shown_as_the_vendor_wrote_it(tmp_path: Path, text: str) -> None:
    body = json.dumps(answer([item(0)])).replace('"retailPrice": 0,', f'"retailPrice": {text},')
    pages = Landed(tmp_path).add("retail_consumption_usd", "eastus", body.encode()).pages()
    parts = tables(pages)
    refused = parts["prices"].refused
    assert refused is not None
    assert json.loads(refused["row"].item())["retailPrice"] == text


@pytest.mark.parametrize(
    ("member", "value"),
    [("armSkuName", 5), ("isPrimaryMeterRegion", "yes"), ("savingsPlan", {"term": "1 Year"})],
)
def test_a_wrong_shape_names_the_page_and_the_member(tmp_path, member, value) -> None:
    landed = Landed(tmp_path).retail([item(0.1), item(0.1, **{member: value})])
    (page,) = landed.results[0].pages
    pages = landed.pages()
    list(get("azure").normalise(pages))
    (unreadable,) = pages.unreadable
    assert unreadable.key == page.key
    assert f"$.Items[1].{member}" in unreadable.reason


@pytest.mark.parametrize("wrong", [0, 1, 2])
def test_a_page_that_cannot_be_read_costs_its_unit_alone(tmp_path: Path, wrong: int) -> None:
    """Half of a region's prices would look like prices that Azure has withdrawn."""
    landed = Landed(tmp_path)
    for number in range(9):
        landed.retail([item(0.1)], region=f"region{number}")
    three = [landed.results.pop(3) for _ in range(3)]
    pages = [page for result in three for page in result.pages]
    broken = landed.landing.land_bytes(
        three[0].unit, b'{"Items":[', url="https://prices.azure.com", retrieved_at=NOW
    )
    pages[wrong] = broken
    landed.results.insert(3, replace(three[0], pages=tuple(pages)))
    run = landed.pages()
    items = read_items(run, price_units(run))
    assert [page.key for page in run.unreadable] == [page.key for page in pages]
    assert items.rows["page"].to_list() == [0, 1, 2, 6, 7, 8]
    assert items.pages.height == 9


def test_a_count_that_is_wrong_is_refused(tmp_path: Path) -> None:
    body = json.dumps(answer([item(0.1)], Count=2)).encode()
    pages = Landed(tmp_path).add("retail_consumption_usd", "eastus", body).pages()
    list(get("azure").normalise(pages))
    assert "says Count 2 and holds 1 items" in pages.unreadable[0].reason


@pytest.mark.parametrize("item_text", ["{}", '{"savingsPlan":[{}]}', '{"savingsPlan":[]}'])
def test_what_a_page_leaves_out_is_not_counted_as_a_name(item_text: str) -> None:
    body = f'{{"Items":[{item_text}],"Count":1}}'.encode()
    assert msgspec.json.encode(msgspec.json.decode(body, type=RetailPage)) == body


@pytest.mark.parametrize("member", ["retailPrice", "unitPrice", "not known yet"])
def test_a_name_twice_costs_the_page(tmp_path: Path, member: str) -> None:
    body = json.dumps(answer([item(0.1)]), separators=(",", ":"))
    body = body.replace('"currencyCode"', f'"{member}":1,"{member}":2,"currencyCode"', 1)
    pages = Landed(tmp_path).add("retail_consumption_usd", "eastus", body.encode()).pages()
    list(get("azure").normalise(pages))
    assert "comes twice in one object" in pages.unreadable[0].reason


RETAIL = Path(__file__).parents[2] / "recordings" / "azure" / "retail"


@pytest.mark.parametrize("path", sorted(RETAIL.glob("*.json.gz")), ids=lambda path: path.stem)
def test_pages_as_azure_writes_them_are_read_without_the_decoder(path: Path) -> None:
    body = gzip.decompress(path.read_bytes())
    columns = read_columns([body], [0])
    if "Items" not in json.loads(body):
        assert columns is None
        with pytest.raises(ValueError, match="not a Retail Prices answer"):
            decode_items(body)
    else:
        assert columns is not None
        assert_same_items(columns, decode_items(body))


def assert_same_items(columns: pl.DataFrame, decoded: pl.DataFrame) -> None:
    """Compare items read in both ways: the values, and the amounts as the vendor wrote them."""
    values = [name for name in COLUMNS if not name.endswith("_text")]
    assert_frame_equal(columns.select(values), decoded.select(values))
    for name in AMOUNTS:
        written = columns.select(decimal_text(pl.col(name))).to_series()
        assert_series_equal(written, decoded[f"{name}_text"], check_names=False)


ITEMS = st.lists(
    st.fixed_dictionaries(
        {
            "retailPrice": st.floats(0, 10**8, allow_nan=False) | st.integers(-1, 2),
            "tierMinimumUnits": st.sampled_from([0.0, 100.0, 1e-9]),
        },
        optional={
            "armSkuName": st.text(max_size=5) | st.none(),
            "isPrimaryMeterRegion": st.booleans(),
            "savingsPlan": st.lists(
                st.fixed_dictionaries(
                    {"term": st.sampled_from(["1 Year", "3 Years"])},
                    optional={"retailPrice": st.floats(0, 100, allow_nan=False)},
                ),
                max_size=2,
            ),
        },
    ),
    max_size=4,
)


@given(st.lists(ITEMS, min_size=1, max_size=3))
def test_both_ways_to_read_pages_agree(contents: list[list[dict[str, Any]]]) -> None:
    bodies = [
        json.dumps(answer(items), separators=(",", ":"), ensure_ascii=False).encode()
        for items in contents
    ]
    columns = read_columns(bodies, range(len(bodies)))
    if columns is not None:
        decoded = [
            decode_items(body).with_columns(pl.lit(number, dtype=pl.Int32).alias("page"))
            for number, body in enumerate(bodies)
        ]
        assert_same_items(columns, pl.concat(decoded))
        assert columns["page"].equals(pl.concat(decoded)["page"])


def test_a_page_without_items_gives_no_rows(tmp_path: Path) -> None:
    assert Landed(tmp_path).retail([]).prices().is_empty()


def test_a_list_in_place_of_an_amount_costs_its_item_alone(tmp_path: Path) -> None:
    plans = [{"term": "1 Year", "retailPrice": {"value": 0.05}}]
    items = [
        item(0.1, armSkuName="Standard_D2s_v3"),
        item([2], armSkuName="Standard_D4s_v3"),
        item(3, armSkuName="Standard_D8s_v3", savingsPlan=plans),
    ]
    part = Landed(tmp_path).retail(items).parts()["prices"]
    prices = {row["instance_type"]: row["hourly"] for row in frame(part).iter_rows(named=True)}
    assert prices == {"Standard_D2s_v3": Decimal("0.1"), "Standard_D8s_v3": Decimal(3)}
    assert part.refused is not None
    amounts = {json.loads(row)["retailPrice"] for row in part.refused["row"]}
    assert sorted(part.refused["reason"]) == ["price_not_a_number", "unknown_savings_plan"]
    assert amounts == {"[2]", "3"}
