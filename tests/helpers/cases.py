"""Read cases of a rule from tests/cases: a line is a case, a column an argument of the test.

What does not fit into a line is in a file of YAML: an entry is a case, and its name that of the
test.
"""

import csv
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from hwprices.schemas.tables import TABLES

FOLDER = Path(__file__).resolve().parents[1] / "cases"


BASE = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C is ten times as fast


class Loader(BASE):  # type: ignore[misc]
    """Refuses a repeated name: YAML keeps only its last value."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [name.value for name, _ in node.value if isinstance(name, yaml.ScalarNode)]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(
                f"{', '.join(repeated)} twice in the mapping of line {node.start_mark.line + 1}"
            )
        made: dict[Any, Any] = super().construct_mapping(node, deep)
        return made


NOTE = "note"
"""A column that says why a case is there. No test gets it."""


def optional(text: str) -> str | None:
    """Return None for an empty cell."""
    return text or None


def number(text: str) -> float | None:
    """Return the number in a cell, or None for an empty one."""
    return float(text) if text else None


def rows(name: str, **columns: Callable[[str], Any]) -> list[dict[str, Any]]:
    """Read ``tests/cases/<name>.csv``. Cells are text; ``columns`` names what converts others."""
    with (FOLDER / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return [
            {key: columns.get(key, str)(cell) for key, cell in row.items() if key != NOTE}
            for row in csv.DictReader(file, strict=True)
        ]


def cases(name: str, **columns: Callable[[str], Any]) -> pytest.MarkDecorator:
    """Run a test once for each line of ``tests/cases/<name>.csv``, see `rows`."""
    read = rows(name, **columns)
    return pytest.mark.parametrize(tuple(read[0]), [tuple(row.values()) for row in read])


@cache
def entries(name: str) -> dict[str, Any]:
    """Read ``tests/cases/<name>.yaml``: cases by their names. Read only."""
    text = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    read = yaml.load(text, Loader)
    return {
        case: {k: v for k, v in row.items() if k != NOTE} if isinstance(row, dict) else row
        for case, row in read.items()
    }


def named_cases(name: str, *keys: str) -> pytest.MarkDecorator:
    """Run a test, whose argument is ``case``, for each entry of ``tests/cases/<name>.yaml``.

    ``keys``: those that the test reads besides the tables, unless it reads all. Another one would
    not be checked.
    """
    read = entries(name)
    unread = {key for case in read.values() for key in case} - {*keys, *TABLES}
    if keys and unread:
        raise ValueError(f"{name}.yaml: no test reads {', '.join(sorted(unread))}")
    return pytest.mark.parametrize("case", read.values(), ids=list(read))


def amount(value: float | str) -> Decimal:
    """Return a number of a case, which is a text such as ``=8 * 0.03`` where it is computed."""
    if isinstance(value, str):
        value = pl.select(pl.sql_expr(value.removeprefix("="))).item()
    return Decimal(str(value))
