"""Draw the rows of a SQL query."""

import json
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from rich.console import RenderableType

from hwprices.read.terminal.tables import money, table


def render_result(
    columns: Sequence[str], rows: Sequence[tuple[Any, ...]], shown: int
) -> RenderableType:
    """Draw the first rows of a result. Prices are rounded for reading; --json has them exact."""
    numeric = [
        name
        for index, name in enumerate(columns)
        if any(isinstance(row[index], int | float | Decimal) for row in rows)
    ]
    more = len(rows) > shown
    return table(
        columns,
        [[_cell(value) for value in row] for row in rows[:shown]],
        right=numeric,
        caption=f"the first {shown} rows (--limit, --csv and --json give more)" if more else "",
    )


def _cell(value: Any) -> str:
    match value:
        case None:
            text = ""
        case Decimal():
            text = money(value)
        case datetime():
            text = f"{value:%Y-%m-%d %H:%M}"
        case float():
            text = f"{value:,.6g}"
        case list() if all(isinstance(item, str) for item in value):
            text = ", ".join(value)
        case list() | dict():
            text = json.dumps(value, default=str, ensure_ascii=False)
        case _:
            text = str(value)
    return text
