"""Read items from Retail Prices pages."""

import json
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest
from tests.helpers.azure_pages import (
    Landed,
    answer,
    frame,
    item,
)

from hwprices.providers import get
from hwprices.providers.azure.prices.items import Answer


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
    parts = {part.table: part for part in get("azure").normalise(pages)}
    refused = parts["prices"].refused
    assert refused is not None
    assert json.loads(refused["row"].item())["retailPrice"] == text


@pytest.mark.parametrize(
    ("member", "value"),
    [("armSkuName", 5), ("isPrimaryMeterRegion", "yes"), ("savingsPlan", {"term": "1 Year"})],
)
def test_a_wrong_shape_names_the_page_and_the_member(
    tmp_path: Path, member: str, value: object
) -> None:
    landed = Landed(tmp_path).retail([item(0.1), item(0.1, **{member: value})])
    (page,) = landed.results[0].pages
    pages = landed.pages()
    list(get("azure").normalise(pages))
    (unreadable,) = pages.unreadable
    assert unreadable.key == page.key
    assert f"$.Items[1].{member}" in unreadable.reason


def test_a_count_that_is_wrong_is_refused(tmp_path: Path) -> None:
    body = json.dumps(answer([item(0.1)], Count=2)).encode()
    pages = Landed(tmp_path).add("retail_consumption_usd", "eastus", body).pages()
    list(get("azure").normalise(pages))
    assert "says Count 2 and holds 1 items" in pages.unreadable[0].reason


@pytest.mark.parametrize("item_text", ["{}", '{"savingsPlan":[{}]}', '{"savingsPlan":[]}'])
def test_what_a_page_leaves_out_is_not_counted_as_a_name(item_text: str) -> None:
    body = f'{{"Items":[{item_text}],"Count":1}}'.encode()
    assert msgspec.json.encode(msgspec.json.decode(body, type=Answer)) == body


@pytest.mark.parametrize("member", ["retailPrice", "unitPrice", "not known yet"])
def test_a_name_twice_costs_the_page(tmp_path: Path, member: str) -> None:
    body = json.dumps(answer([item(0.1)]), separators=(",", ":"))
    body = body.replace('"currencyCode"', f'"{member}":1,"{member}":2,"currencyCode"', 1)
    pages = Landed(tmp_path).add("retail_consumption_usd", "eastus", body.encode()).pages()
    list(get("azure").normalise(pages))
    assert "comes twice in one object" in pages.unreadable[0].reason


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
