"""Compare tables with the rows that a case of tests/cases says."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import polars as pl

from hwprices.schemas.tables import TABLES
from tests.helpers.vendor_tables import Tables


def plain(value: Any) -> Any:
    """Write numbers of every type in one way; floats have twelve digits."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return [plain(one) for one in value] if isinstance(value, list) else value
    text = f"{value:.12g}" if isinstance(value, float) else str(value)
    return f"{Decimal(text).normalize():f}"


def assert_rows(frame: pl.DataFrame, expected: Sequence[Mapping[str, Any]]) -> None:
    """Check that a table has these rows, in any order, and no other; other columns do not count."""
    columns = [*dict.fromkeys(column for row in expected for column in row)]
    assert frame.height == len(expected), frame.to_dicts()
    found = [[plain(value) for value in row] for row in frame.select(columns).rows()]
    wanted = [[plain(row[column]) for column in columns] for row in expected]
    assert sorted(found, key=str) == sorted(wanted, key=str)


def assert_has_rows(frame: pl.DataFrame, expected: Sequence[Mapping[str, Any]]) -> None:
    """Check that a table has a row with these values, for each row expected."""
    for row in expected:
        found = [[plain(value) for value in one] for one in frame.select(list(row)).rows()]
        assert [plain(value) for value in row.values()] in found, row


def assert_case(tables: Tables, case: Mapping[str, Any]) -> None:
    """Check the tables that a case names, and that no other line was refused."""
    found = tables.refused.select("reason", "word", "occurrences").rows()
    refused = [[reason, word] for reason, word, times in found for _ in range(times)]
    assert sorted(refused, key=str) == sorted(case.get("refused", []), key=str)
    for table in case.keys() & TABLES.keys():
        assert_rows(tables[table], case[table])
    assert case.get("counts", {}).items() <= tables.counts.items()
    assert tables.pages.unreadable == []
