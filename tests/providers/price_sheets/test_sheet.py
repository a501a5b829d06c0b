"""Reading a price sheet: what is a price, what is none and why, and which lines are refused."""

from datetime import date
from decimal import Decimal

import pytest
import yaml
from tests.helpers.cases import cases

from hwprices.errors import HwpricesError
from hwprices.providers import price_sheets
from hwprices.providers.price_sheets.fetch import COLUMNS, Sheet, parse

GOOD = {
    "id": "na/hgx-h100/on_demand",
    "vendor": "CoreWeave",
    "region": "north-america",
    "page_region": "NORTH AMERICA",
    "instance_type": "NVIDIA HGX H100",
    "page_label": "NVIDIA HGX H100",
    "form_factor": "sxm",
    "unit": "machine",
    "gpus": "8",
    "gpu_memory_gb": "80",
    "vcpus": "128",
    "memory_gib": "2048",
    "local_disk": "61.44 TB",
    "purchase_option": "on_demand",
    "page_option": "On-Demand Price",
    "currency": "USD",
    "price": "$49.24",
    "seen_on": "2026-08-22",
    "source_url": "https://www.coreweave.com/pricing",
    "license": "Apache-2.0 (facts via github.com/getcomputable/gpu-index)",
    "note": "",
}


def sheet(*changes: dict[str, str]) -> Sheet:
    """Parse a sheet with one line for each change of GOOD."""
    rows = [",".join(COLUMNS), *(",".join({**GOOD, **change}.values()) for change in changes)]
    return parse("\n".join(rows).encode())


def test_a_sheet_may_begin_with_the_mark_of_excels_utf_8() -> None:
    rows = "\n".join([",".join(COLUMNS), ",".join(GOOD.values())])
    assert parse(rows.encode("utf-8-sig")) == parse(rows.encode())


def test_a_line_is_read_as_the_page_prints_it() -> None:
    (line,) = sheet({}).lines
    assert (line.price, line.unit, line.gpus) == (Decimal("49.24"), "machine", 8)
    assert line.local_disk_gib == pytest.approx(57_220.46, abs=0.01)  # 61.44 × 10^12 / 2^30
    assert line.seen_on == date(2026, 8, 22)


@cases("price_sheets/words")
def test_words_are_no_price_and_are_the_reason(printed: str, reason: str) -> None:
    (line,) = sheet({"price": printed}).lines
    assert (line.price, line.price_reason) == (None, reason)


@pytest.mark.parametrize(
    ("printed", "unit", "price"),
    [("$3.90/GPU-hr", "gpu", "3.90"), ("$4.41 per hour", "machine", "4.41"), ("2.5", "gpu", "2.5")],
)
def test_prices_of_every_page_are_read(printed: str, unit: str, price: str) -> None:
    (line,) = sheet({"price": printed, "unit": unit}).lines
    assert line.price == Decimal(price)


@cases("price_sheets/refused")
def test_a_line_that_is_not_understood_is_refused(column, value, reason, words) -> None:
    read = sheet({column: value})
    assert read.lines == ()
    assert read.problems[0].reason == reason
    assert words in str(read.problems[0])


@cases("price_sheets/contradictions", second=yaml.safe_load)
def test_lines_that_contradict_each_other_are_both_refused(second, words) -> None:
    read = sheet({}, second)
    assert read.lines == ()
    assert [words in str(problem) for problem in read.problems] == [True, True]


def test_a_line_that_comes_twice_is_one_price() -> None:
    read = sheet({}, {})
    assert (len(read.lines), read.problems) == (1, ())


def test_o12_a_line_at_zero_leaves_the_price_of_another_line() -> None:
    read = sheet({"price": "$0.00", "id": "zero"}, {})
    assert [str(line.price) for line in read.lines] == ["49.24"]
    assert [problem.reason for problem in read.problems] == ["duplicate_key"]


@cases("price_sheets/new_words", change=yaml.safe_load)
def test_o12_a_word_that_is_not_known_is_named(change, reason, word) -> None:
    read = sheet({}, {"id": "new", "region": "europe", **change})
    assert len(read.lines) == 1
    assert [(problem.reason, problem.word) for problem in read.problems] == [(reason, word)]


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe", b"a,b\n1,2\n", (",".join(COLUMNS) + '\n"a\nb"\n').encode(), b'"' * 200_000],
)
def test_what_is_no_sheet_is_an_error_with_a_remedy(content: bytes) -> None:
    with pytest.raises(HwpricesError, match="price sheet"):
        parse(content)


@pytest.mark.parametrize("name", price_sheets.names())
def test_every_sheet_of_the_project_can_be_used(name: str) -> None:
    read = parse(price_sheets.sheet_file(name).read_bytes())
    assert read.problems == ()
    assert len(read.lines) >= 3
    assert len({line.seen_on for line in read.lines}) == 1


@pytest.mark.parametrize("unit", ["machines", "Machine"])
def test_o12_a_unit_in_another_spelling_is_the_unit(unit: str) -> None:
    assert sheet({"unit": unit}).lines[0].unit == "machine"
