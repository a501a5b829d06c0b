"""Tables packed for the page hold the values that went in."""

import base64
import gzip
import json
from array import array
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from tests.helpers.releases import Release

import hwprices
from hwprices.read.report import index
from hwprices.read.report.files import CODE_TYPES, Payload, code_width, rows


def unpacked(text: str) -> dict[str, Any]:
    """Read a payload as the page does: facts, and each table as columns of values."""
    data = gzip.decompress(base64.b64decode(text))
    length = int.from_bytes(data[:4], "little")
    header = json.loads(data[4 : 4 + length])
    codes = data[4 + length :]
    tables = {}
    for name, table in header["tables"].items():
        tables[name] = {
            column: values(packed, codes, table["rows"])
            for column, packed in table["columns"].items()
        }
    return {"facts": header["facts"], "tables": tables}


def values(packed: dict[str, Any], codes: bytes, height: int) -> list[Any]:
    begin, width = packed["offset"], packed["width"]
    assert begin % width == 0
    numbers = array(CODE_TYPES[width], codes[begin : begin + height * width])
    return [None if code == 0 else packed["values"][code - 1] for code in numbers]


def test_a_table_comes_out_as_it_went_in() -> None:
    frame = pl.DataFrame(
        {
            "name": ["b", None, "a", "b"],
            "price": [Decimal("0.0000000001"), Decimal("98.3199999999"), None, Decimal(7)],
            "vcpus": [1, 2, None, 192],
            "seen": [datetime(2026, 11, 1, tzinfo=UTC)] * 4,
        }
    )
    payload = Payload({"about": "ü <b>"})
    payload.add_table("offers", frame)
    result = unpacked(payload.packed())
    assert result["facts"] == {"about": "ü <b>"}
    assert result["tables"]["offers"] == {
        "name": ["b", None, "a", "b"],
        "price": [1e-10, 98.3199999999, None, 7],
        "vcpus": [1, 2, None, 192],
        "seen": ["2026-11-01T00:00:00.000000+00:00"] * 4,
    }


def test_codes_rise_with_the_values_so_that_the_page_can_sort_by_them() -> None:
    payload = Payload()
    payload.add_table("t", pl.DataFrame({"x": [3.5, 0.1, 12.0, 3.5]}))
    assert payload.tables["t"]["columns"]["x"]["values"] == [0.1, 3.5, 12.0]


@pytest.mark.parametrize(
    ("different", "width"), [(0, 1), (255, 1), (256, 2), (65_535, 2), (65_536, 4)]
)
def test_a_code_has_room_for_null_and_every_value(different: int, width: int) -> None:
    assert code_width(different) == width


def test_the_history_has_one_order() -> None:
    """Intervals that began together came in any order: the page was another file in each run."""
    sample = hwprices.open("sample")
    tables = {name: sample.scan(name).collect() for name in ("price_history", "prices")}
    reverse = {**tables, "price_history": tables["price_history"].reverse()}
    history = index.history(Release(tables))
    assert history.height
    assert history.equals(index.history(Release(reverse)))


def test_the_same_table_gives_the_same_bytes() -> None:
    def packed() -> str:
        payload = Payload()
        payload.add_table("t", pl.DataFrame({"x": ["b", "a"]}))
        return payload.packed()

    assert packed() == packed()


def test_rows_leave_out_what_is_not_known() -> None:
    frame = pl.DataFrame({"id": ["a"], "price": [None], "list": [[]], "n": [Decimal("1.50")]})
    assert rows(frame) == [{"id": "a", "n": 1.5}]
