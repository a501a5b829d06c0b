"""Decide which items are prices, and of what, by the names of products."""

from decimal import Decimal
from pathlib import Path

import polars as pl
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.azure_pages import Landed, frame, item, one_row, refused
from tests.helpers.cases import cases, optional, rows

from hwprices.providers.azure import items


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


@cases("azure/new_words", members=yaml.safe_load, word=optional)
def test_z10_a_word_that_is_not_known_is_named_and_leaves_known_prices(
    tmp_path, members, reason, word
) -> None:
    rows = [item(0.096), item(9.9, **{"meterId": "new", "reservationTerm": "1 Year", **members})]
    part = Landed(tmp_path).retail(rows).parts()["prices"]
    assert one_row(frame(part))["effective_hourly"] == Decimal("0.096")
    assert part.refused is not None
    assert part.refused.select("reason", "word").rows() == [(reason, word)]


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
