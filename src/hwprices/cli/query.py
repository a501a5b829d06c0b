"""The command ``hwprices query``: SQL over a release."""

import json
import sys
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import typer
from duckdb import DuckDBPyConnection
from rich.console import RenderableType

from hwprices.cli.common import call, described, open_dataset
from hwprices.cli.tables import money, print_table, table
from hwprices.read.export import cells
from hwprices.read.export.cells import to_csv, to_json
from hwprices.read.sql import bounded, check, clear_errors

MAX_ROWS = 200  # shown in a terminal; --json prints all
BATCH = 10_000  # rows of --json and --csv in memory


@described()
def query(
    sql: str,
    max_seconds: float = 300,  # 100 times the slowest example of the documentation
    max_memory: str = "50%",
    unsafe: bool = False,
) -> None:
    """Query the dataset in SQL."""
    dataset = open_dataset()
    open_duckdb = dataset.unsafe_duckdb if unsafe else dataset.locked_duckdb
    with (
        open_duckdb(max_memory) as connection,
        clear_errors(dataset.tables),
        bounded(connection, max_seconds, max_memory),
    ):
        check(connection, sql, may_write=unsafe)
        result = connection.execute(sql)
        if call().for_programs:
            _print_batches(result)
        else:
            shown = call().limit or MAX_ROWS
            rows = result.fetchmany(shown + 1)
            print_table(render_result(_columns(result), rows, shown))


def _columns(result: "DuckDBPyConnection") -> list[str]:
    return [column[0] for column in result.description or ()]


def _print_batches(result: "DuckDBPyConnection") -> None:
    """Print the rows of a query as JSON or CSV, a batch at a time to bound memory."""
    columns = _columns(result)
    cells.check_names(columns)
    limit, printed = call().limit or sys.maxsize, 0
    while True:
        rows = result.fetchmany(min(limit - printed, BATCH))
        if call().as_json:
            array = to_json(
                [dict(zip(columns, row, strict=True)) for row in rows], indent=1, ascii_only=True
            )
            text = ("," if printed and rows else "" if printed else "[") + array[1:-1].rstrip()
        else:
            text = to_csv(cells.to_frame(columns, rows), header=not printed)
        typer.echo(text, nl=False)
        printed += len(rows)
        if not rows or printed == limit:
            break
    if call().as_json:
        typer.echo("\n]" if printed else "]")


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
