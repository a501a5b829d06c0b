"""Pages of AWS in tests/cases/aws/price_lists.yaml, and the rows that come out."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.helpers.aws_pages import (
    HEADER,
    LandedPages,
    line,
    price_list,
    quotes,
    reserved,
    savings_plans,
)
from tests.helpers.cases import named_cases
from tests.helpers.expected import assert_rows

from hwprices.schemas.tables import TABLES
from hwprices.stage import validate

Case = Mapping[str, Any]


def lines_of(case: Case) -> list[dict[str, str]]:
    """Make the lines of the price list of a case."""
    lines = [line(**columns) for columns in case.get("lines", [])]
    for *term, hourly, fee, columns in (
        row if isinstance(row[-1], dict) else [*row, {}] for row in case.get("reserved", [])
    ):
        lines += reserved(*term, hourly, fee, **columns)
    return lines


def landed(folder: Path, case: Case, *, is_turned: bool) -> LandedPages:
    """Land the pages of a case."""
    region, pages = case.get("region", "us-east-1"), LandedPages(folder)
    if lines := lines_of(case):
        changes = case.get("header", [])
        lost = {change[1:] for change in changes if change[0] == "-"}
        header = [name for name in HEADER if name not in lost] + ["usageType"] * bool(lost)
        header += [change[1:] for change in changes if change[0] == "+"]
        listed = lines[::-1] if is_turned else lines
        pages.add("prices", region, price_list(listed, [*dict.fromkeys(header)]))
    if "plans" in case:
        plans = [(*plan, [*rates.items()]) for *plan, rates in case["plans"]]
        pages.add("savings_plans", region, savings_plans(region, *plans), suffix="json")
    if "quotes" in case:
        pages.add("spot", region, quotes(*case["quotes"]), suffix="xml")
    return pages


@named_cases(
    "aws/price_lists",
    *("region", "header", "lines", "reserved", "plans", "quotes", "any_order"),
    *("refused", "refused_by_staging", "accounted", "counts"),
)
def test_pages_give_these_rows(tmp_path: Path, case: Case) -> None:
    for is_turned in (False, True) if case.get("any_order") else (False,):
        pages = landed(tmp_path / str(is_turned), case, is_turned=is_turned)
        for table in case.keys() & TABLES.keys():
            assert_rows(pages.table(table), case[table])
        refused = pages.refused()
        if "accounted" in case:
            assert refused["occurrences"].sum() + refused["dependants"].sum() == case["accounted"]
        else:
            expected = [[*row, 0][:3] for row in case.get("refused", [])]
            found = refused.select("reason", "word", "dependants").rows()
            assert sorted(map(list, found), key=str) == sorted(expected, key=str)
        assert pages.counts() == case.get("counts", pages.counts())
        staged = validate.split(pages.unchecked("prices"), TABLES["prices"], {}).refused
        assert staged["reason"].to_list() == case.get("refused_by_staging", [])
