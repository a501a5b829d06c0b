"""Compare tables with the rows that a case of tests/cases says."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import polars as pl


def plain(value: Any) -> Any:
    """Write numbers of every type in one way."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return [plain(one) for one in value] if isinstance(value, list) else value
    return f"{Decimal(str(value)).normalize():f}"


def assert_rows(frame: pl.DataFrame, expected: Sequence[Mapping[str, Any]]) -> None:
    """Check that a table has these rows, in any order, and no other; other columns do not count."""
    columns = [*dict.fromkeys(column for row in expected for column in row)]
    assert frame.height == len(expected), frame.to_dicts()
    found = [[plain(value) for value in row] for row in frame.select(columns).rows()]
    wanted = [[plain(row[column]) for column in columns] for row in expected]
    assert sorted(found, key=str) == sorted(wanted, key=str)
