"""Rows made of a vendor's items: one bad item takes no other, twins are settled."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from hwprices.landing.bodies import (
    RefusedItemError,
    figure,
    items,
    member,
    money,
    number,
    text,
    whole,
)
from hwprices.landing.pages import Page
from hwprices.rows.vendor_rows import VendorRows
from hwprices.schemas.tables import Availability, InstanceTypes, PriceComponents, Prices


def page(day: int) -> Page:
    """A landed page of a day of November 2026."""
    at = datetime(2026, 11, day, tzinfo=UTC)
    url = "https://vendor.test/prices"
    return Page(f"{day}", f"{day}" * 32, 1, 1, url, {}, 200, "application/json", at)


PAGE, LATER = page(24), page(25)


def price(hourly: str | None, **more: Any) -> dict[str, Any]:
    return {
        "region": "eu-1",
        "instance_type": "m-1",
        "purchase_option": "on_demand",
        "currency": "EUR",
        "hourly": None if hourly is None else Decimal(hourly),
    } | more


def made(*rows: dict[str, Any]) -> tuple[list[Decimal | None], list[str]]:
    """Return the prices of rows, and the reasons of those refused."""
    table = VendorRows("ovh")
    for row in rows:
        table.add(Prices, PAGE, row)
    return table.prices()["hourly"].to_list(), table.refused(Prices)["reason"].to_list()


@pytest.mark.parametrize(
    ("rows", "hourly", "refused"),
    [
        ((price("1"),), ["1"], []),
        ((price("1"), price("1")), ["1"], []),
        ((price("1"), price(None)), ["1"], ["zero_price"]),
        ((price(None), price("1")), ["1"], ["zero_price"]),
        ((price(None), price(None)), [None], []),
        ((price("1"), price("3")), [], ["duplicate_key"] * 2),
        ((price("1"), price("3", os="windows")), ["1", "3"], []),
        ((price("1"), price("3", currency="USD")), ["1", "3"], []),
        ((price("1"), price("1", os="linux")), ["1"], []),
    ],
)
def test_of_rows_with_one_key_the_price_is_published_or_none(rows, hourly, refused) -> None:
    expected = [None if each is None else Decimal(each) for each in hourly]
    assert made(*rows) == (expected, refused)


@pytest.mark.parametrize("failure", [KeyError("x"), TypeError("x"), ZeroDivisionError("x")])
def test_an_item_that_fails_is_quarantined_whole_and_by_itself(failure) -> None:
    rows = VendorRows("ovh", "code")
    for code in ("a", "b"):
        with rows.reading(PAGE, {"code": code, "deep": {"price": Decimal("1.5")}}, Prices, "eu-1"):
            if code == "a":
                raise failure
            rows.add(Prices, PAGE, price("1", instance_type=code))
    assert rows.prices()["instance_type"].to_list() == ["b"]
    (refused,) = rows.refused(Prices).to_dicts()
    found = (refused["reason"], refused["word"], refused["region"])
    assert found == ("unreadable_line", None, "eu-1")
    assert refused["message"].startswith("a: ")
    assert json.loads(refused["row"]) == {"code": "a", "deep": {"price": "1.5"}}
    assert (refused["source_url"], refused["raw_sha256"]) == (PAGE.url, PAGE.sha256)


def test_equal_refusals_are_counted_and_tables_told_apart() -> None:
    rows = VendorRows("ovh")
    for model in (Prices, Prices, InstanceTypes):
        with rows.reading(PAGE, 5, model):
            raise RefusedItemError("unknown_unit", "priced per cycle", "cycle")
    columns = ("table", "reason", "word", "occurrences", "row")
    assert rows.refused(Prices).select(columns).rows() == [
        ("prices", "unknown_unit", "cycle", 2, '{"item": 5}')
    ]
    assert rows.refused(InstanceTypes)["table"].to_list() == ["instance_types"]
    assert rows.refused(Availability).is_empty()


def test_rows_that_differ_by_their_page_only_are_one() -> None:
    rows = VendorRows("ovh")
    for each in (PAGE, LATER):
        rows.add(Availability, each, {"region": "r", "instance_type": "m", "offered": True})
    rows.add(Availability, LATER, {"region": "r", "instance_type": "m", "offered": False})
    table = rows.table(Availability)
    found = table.select("offered", "raw_sha256").rows()
    assert found == [(True, PAGE.sha256), (False, LATER.sha256)]


def test_a_machine_that_cannot_be_is_refused_before_it_reaches_a_column() -> None:
    rows = VendorRows("ovh", "name")
    with rows.reading(PAGE, {"name": "m-1"}, InstanceTypes):
        rows.add(InstanceTypes, PAGE, {"instance_type": "m-1", "vcpus": 10**12})
    assert rows.table(InstanceTypes).is_empty()
    assert rows.refused(InstanceTypes)["reason"].to_list() == ["impossible_figure"]


def test_parts_of_a_price_carry_its_id() -> None:
    rows = VendorRows("ovh")
    part = {"component": "gpu", "unit": "gpu", "sku_id": "s", "unit_price": Decimal(2)}
    rows.add(Prices, PAGE, price("1"))
    rows.add(Prices, PAGE, price("4", instance_type="m-2", parts=[part | {"quantity": Decimal(2)}]))
    prices = rows.prices()
    (line,) = rows.table(PriceComponents).to_dicts()
    assert line["price_id"] == prices.filter(pl.col("hourly") == 4)["price_id"].item()
    assert (line["instance_type"], line["currency"], line["quantity"]) == ("m-2", "EUR", 2)


@pytest.mark.parametrize(
    ("read", "value", "expected"),
    [
        (number, "0.0638", Decimal("0.0638")),
        (number, Decimal("0.30000000000000004"), Decimal("0.3")),
        (number, 10**17, 10**17),
        (number, None, None),
        (whole, "24", 24),
        (figure, 0, None),
        (figure, Decimal("1.5"), 1.5),
    ],
)
def test_members_are_read(read, value, expected) -> None:
    assert read({"x": value}, "x") == expected


@pytest.mark.parametrize(
    ("read", "value", "reason"),
    [
        (number, "NaN", "unreadable_line"),
        (number, "-1", "unreadable_line"),
        (number, True, "unreadable_line"),
        (number, 10**19, "impossible_figure"),
        (whole, Decimal("2.5"), "unreadable_line"),
        (text, " ", "unreadable_line"),
        (text, 5, "unreadable_line"),
        (items, {}, "unreadable_line"),
    ],
)
def test_members_of_another_type_or_size_are_refused(read, value, reason) -> None:
    with pytest.raises(RefusedItemError) as refusal:
        read({"x": value}, "x")
    assert (refusal.value.reason, refusal.value.word) == (reason, None)


@pytest.mark.parametrize(
    ("value", "reason"),
    [(-1, "price_not_positive"), ("a lot", "price_not_a_number"), (10**6, "price_not_a_number")],
)
def test_money_says_what_is_wrong_with_a_price(value, reason) -> None:
    with pytest.raises(RefusedItemError) as refusal:
        money({"usd": value}, "usd", 10**5)
    assert refusal.value.reason == reason


def test_a_missing_member_is_a_word_that_is_new() -> None:
    with pytest.raises(RefusedItemError) as refusal:
        member({"priceNew": 1}, "price")
    assert (refusal.value.reason, refusal.value.word) == ("unknown_column", "price")
    assert figure({"priceNew": 1}, "price") is None
