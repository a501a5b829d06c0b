"""docs/history.md: the SQL gives what its comments say, by the days of the sample."""

import re
from decimal import Decimal
from pathlib import Path

import hwprices

PAGE = Path(__file__).parents[2] / "docs" / "history.md"


def test_the_sql_of_a_day_means_its_end_in_utc() -> None:
    """The price fell on 2025-06-23 at 13:18 UTC."""
    (block,) = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
    of_a_day, removed = block.strip().removesuffix(";").split(";\n")
    assert "the first of October?" in of_a_day
    data = hwprices.open("sample")
    for day, next_day, usd in [
        ("2025-06-22", "2025-06-23", "98.32"),
        ("2025-06-23", "2025-06-24", "55.04"),
    ]:
        query = of_a_day.replace("2026-10-02 00:00:00+00", f"{next_day} 00:00:00+00")
        assert query.count(next_day) == 2, day
        assert data.duckdb.sql(query).fetchall() == [("us-east-1", Decimal(usd))]
    assert data.duckdb.sql(removed).columns[-1] == "valid_to"
