"""Decide which items are prices, and of what, by the names of products."""

from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.azure_pages import Landed, frame, item, one_row, refused
from tests.helpers.cases import cases, optional, rows

from hwprices.providers.azure import items


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 0, 2], [2, 0, 1]])
def test_z3_the_primary_meter_is_chosen_in_any_order(tmp_path, order: list[int]) -> None:
    items = [
        item(0.123, isPrimaryMeterRegion=False, meterId="b"),
        item(0.096, isPrimaryMeterRegion=True, meterId="a"),
        item(9.9, isPrimaryMeterRegion=False, meterId="c", unitOfMeasure="1/Month"),
    ]
    part = Landed(tmp_path).retail([items[i] for i in order]).parts()["prices"]
    assert one_row(frame(part))["effective_hourly"] == Decimal("0.096")
    assert part.counts == {"out_of_scope:not_primary_meter": 1}
    assert part.refused.select("reason", "word").rows() == [("unknown_unit", "1/Month")]


def test_z4_the_only_item_is_chosen_though_not_primary(tmp_path) -> None:
    prices = Landed(tmp_path).retail([item(0.096, isPrimaryMeterRegion=False)]).prices()
    assert one_row(prices)["effective_hourly"] == Decimal("0.096")


def test_z5_placeholders_are_refused(tmp_path) -> None:
    gpu = {"armSkuName": "Standard_ND96isr_H200_v5", "skuName": "ND96isrH200v5"}
    spot = {**gpu, "skuName": "ND96isrH200v5 Spot", "meterName": "ND96isrH200v5 Spot"}
    items = [
        item(0.01, **gpu),
        item(0.002, meterId="s", **spot),
        item(0.0, armSkuName="Standard_D4s_v3"),
        item(-1.0, armSkuName="Standard_D8s_v3"),
    ]
    part = Landed(tmp_path).retail(items).parts()["prices"]
    assert frame(part).is_empty()
    assert refused(part) == ["placeholder"] * 2 + ["price_not_positive"] * 2


def test_z5_a_small_machine_may_cost_0_002_on_spot(tmp_path) -> None:
    items = [item(0.0104), item(0.002, meterId="s", skuName="D2s v3 Spot")]
    prices = Landed(tmp_path).retail(items).prices()
    assert one_row(prices, purchase_option="spot")["effective_hourly"] == Decimal("0.002")


def test_z8_operating_system_of_a_product(tmp_path: Path) -> None:
    listed = {f"Standard_D{n}s_v3": row for n, row in enumerate(rows("azure/operating_systems"))}
    items = [
        item(0.096, productName=row["product"], armSkuName=name, meterId=name)
        for name, row in listed.items()
    ]
    prices = Landed(tmp_path).retail(items).prices().filter(basis="listed")
    found = sorted(prices.select("instance_type", "os").rows())
    assert found == sorted((name, row["os"]) for name, row in listed.items())


@cases("azure/refused_items", members=yaml.safe_load)
def test_an_item_that_is_not_understood_is_refused(tmp_path, members, reason) -> None:
    part = Landed(tmp_path).retail([item(0.096, **members)]).parts()["prices"]
    assert (frame(part).height, refused(part)) == (0, [reason])
    assert part.refused is not None
    assert part.refused["source_url"][0].startswith("https://azure.test/")
    assert part.refused["message"][0].startswith(f"{reason} type=")


@cases("azure/out_of_scope", members=yaml.safe_load)
def test_an_item_out_of_scope_is_counted(tmp_path, members, reason) -> None:
    part = Landed(tmp_path).retail([item(0.096, **members)]).parts()["prices"]
    found = (frame(part).height, refused(part), dict(part.counts))
    assert found == (0, [], {f"out_of_scope:{reason}": 1})


def test_two_prices_of_one_key_are_both_refused(tmp_path) -> None:
    items = [item(0.096, meterId="a"), item(0.1, meterId="b")]
    part = Landed(tmp_path).retail(items).parts()["prices"]
    assert (frame(part).height, refused(part)) == (0, ["duplicate_key", "duplicate_key"])
    assert "0.0960000000, 0.1000000000" in part.refused["message"][0]


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
@pytest.mark.parametrize(
    ("newer", "flags"),
    [(0.101, ["newest_of_two_rows"]), (0.081, ["newest_of_two_rows"]), (0.096, [])],
)
def test_z9_of_two_rows_of_one_meter_the_later_one_holds(tmp_path, order, newer, flags) -> None:
    rows = [
        item(0.096, effectiveStartDate="2022-01-01T00:00:00Z"),
        item(newer, effectiveStartDate="2026-06-01T00:00:00Z"),
    ]
    part = Landed(tmp_path).retail([rows[i] for i in order]).parts()["prices"]
    row = one_row(frame(part))
    assert row["effective_hourly"] == Decimal(str(newer))
    assert [flag for flag in row["flags"] if flag != "availability_unknown"] == flags
    assert part.counts == {"out_of_scope:expired": 1}


@cases("azure/new_words", members=yaml.safe_load, word=optional)
def test_z10_a_word_that_is_not_known_is_named_and_leaves_known_prices(
    tmp_path, members, reason, word
) -> None:
    rows = [item(0.096), item(9.9, **{"meterId": "new", "reservationTerm": "1 Year", **members})]
    part = Landed(tmp_path).retail(rows).parts()["prices"]
    assert one_row(frame(part))["effective_hourly"] == Decimal("0.096")
    assert part.refused is not None
    assert part.refused.select("reason", "word").rows() == [(reason, word)]


def test_two_equal_items_give_one_row(tmp_path) -> None:
    items = [item(0.096, meterId="b"), item(0.096, meterId="a")]
    part = Landed(tmp_path).retail(items).parts()["prices"]
    assert one_row(frame(part))["sku_price_id"] == "a"
    assert (refused(part), part.counts) == ([], {"out_of_scope:same_price_again": 1})


@pytest.mark.parametrize("unit", ["1 Hour", "1 Hours", "1 hour"])
def test_z10_an_hour_in_another_spelling_is_an_hour(tmp_path: Path, unit: str) -> None:
    row = one_row(Landed(tmp_path).retail([item(0.096, unitOfMeasure=unit)]).prices())
    assert row["effective_hourly"] == Decimal("0.096")


LETTERS = "abcdefghijklmnopqrstuvwxyz"
SPACES = st.sampled_from([" ", "\u00a0", "  ", " \u202f", "\t"])


def facts(product: str) -> tuple[str, str, str]:
    tidied = pl.DataFrame({"productName": [product]}).select(items.tidy("productName"))[
        "productName"
    ]
    return (
        items.product_facts(tidied).select("product_kind", "product_os", "product_tenancy").row(0)
    )


@given(
    words=st.lists(
        st.sampled_from(["Dasv5", "Esv6", "NCads", "A100", "v4", "Series", "Srs", "-series"]),
        min_size=1,
        max_size=4,
    ),
    space=SPACES,
    end=st.sampled_from(["Windows", "Win"]),
)
def test_a_name_that_ends_in_windows_is_windows(words: list[str], space: str, end: str) -> None:
    assert facts(space.join(["Virtual Machines", *words, end]))[:2] == ("vm", "windows")


@given(
    series=st.text(LETTERS, min_size=1, max_size=8),
    space=SPACES,
    joined=st.booleans(),
    start=st.sampled_from(["", "Virtual Machines "]),
    end=st.sampled_from(["", " Windows", " Linux"]),
)
def test_cloud_services_is_not_a_machine(series, space, joined, start, end) -> None:
    words = "CloudServices" if joined else f"Cloud{space}Services"
    assert facts(f"{start}{series}{space}Series{space}{words}{end}")[0] == "cloud_services"


@given(st.text(max_size=60))
def test_tidy_twice_is_tidy_once_and_every_name_has_facts(text: str) -> None:
    once = pl.DataFrame({"n": [text]}).select(items.tidy("n"))
    assert once.select(items.tidy("n")).equals(once)
    kind, os, tenancy = facts(text)
    assert kind in ("vm", "host", "cloud_services", "promo", "unknown")
    assert os
    assert tenancy in ("shared", "host")
