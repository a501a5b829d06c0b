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
from tests.helpers.azure_pages import NOW, Landed, answer, frame, item, tables

from hwprices.providers import get
from hwprices.providers.azure.items import (
    AMOUNTS,
    MEMBERS,
    RetailPage,
    decode_items,
    price_units,
    read_items,
)


def test_money_is_exact_whatever_it_looks_like(tmp_path) -> None:
    texts = ["0.0123456789", "3.4E-05", "20363.0", "549999.9912345678", "0.1"]
    body = json.dumps(answer([item(0, armSkuName=f"Standard_D{i}s_v3") for i in range(5)]))
    for text in texts:
        body = body.replace('"retailPrice": 0,', f'"retailPrice": {text},', 1)
    prices = Landed(tmp_path).add("retail_consumption_usd", "eastus", body.encode()).prices()
    assert prices.sort("instance_type")["hourly"].to_list() == [Decimal(text) for text in texts]


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


RETAIL = Path(__file__).parents[2] / "recordings" / "azure" / "retail"


@pytest.mark.parametrize("path", sorted(RETAIL.glob("*.json.gz")), ids=lambda path: path.stem)
def test_pages_as_azure_writes_them_are_read(path: Path) -> None:
    body = gzip.decompress(path.read_bytes())
    if "Items" in json.loads(body):
        assert_has_values(decode_items(body), body)
    else:
        with pytest.raises(ValueError, match="not a Retail Prices answer"):
            decode_items(body)


def assert_has_values(decoded: pl.DataFrame, body: bytes) -> None:
    """Compare items with what Python's decoder makes of them, amounts as they are written."""
    items = json.loads(body, parse_float=str, parse_int=str)["Items"]
    for name in MEMBERS:
        column = f"{name}_text" if name in AMOUNTS else name
        assert decoded[column].to_list() == [item.get(name) for item in items]
    plans = [item.get("savingsPlan") for item in items]
    for column, name in {"plan_terms": "term", "plan_prices_text": "retailPrice"}.items():
        assert decoded[column].to_list() == [
            None if listed is None else [plan.get(name) for plan in listed] for listed in plans
        ]
    amounts = decoded.explode("plan_prices", "plan_prices_text")
    for name in (*AMOUNTS, "plan_prices"):
        texts = amounts[f"{name}_text"]
        exact = [None if text is None else round(Decimal(text), 10) for text in texts]
        assert amounts[name].to_list() == exact


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


@given(ITEMS)
def test_items_are_read_as_they_are_written(items: list[dict[str, Any]]) -> None:
    body = json.dumps(answer(items), separators=(",", ":"), ensure_ascii=False).encode()
    assert_has_values(decode_items(body), body)


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
