"""Read the columns that columns.csv declares."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from hwprices import schemas
from hwprices.schemas.vocabulary import VOCABULARIES, Vocabulary, read_sheet
from hwprices.units import Money, Timestamp

Accelerators = pl.List(
    pl.Struct(
        {
            # key of the accelerators table; null when the vendor's name has no match
            "accelerator_id": pl.String,
            # as the vendor's API spells it; null where the API names no model (Azure)
            "vendor_name": pl.String,
            # devices as the cloud counts them; fractions are real (1/8 of an L4)
            "count": pl.Float64,
            # of one whole device
            "memory_gib": pl.Float64,
        }
    )
)
"""Accelerators of one machine."""

DTYPES: dict[str, pl.DataType] = {
    "string": pl.String(),
    "boolean": pl.Boolean(),
    "int32": pl.Int32(),
    "int64": pl.Int64(),
    "float64": pl.Float64(),
    "decimal": Money,
    "date": pl.Date(),
    "timestamp": Timestamp,
    "list of string": pl.List(pl.String()),
    "accelerators": Accelerators,
}
"""The types of columns.csv."""

ARGUMENTS = {
    **dict.fromkeys(("gt", "ge", "lt", "le", "str_matches", "max_length"), 1),
    **{"in_range": 2, "isin": None},
}
"""The checks that columns.csv may name, and how many arguments they have; None: one or more."""

SHARED = "shared"  # The table of columns.csv with the columns that several tables have.


@dataclass(frozen=True)
class Column:
    """One column.

    ``checks`` maps the name of a check (``validation.CHECKS``) to its arguments.
    """

    dtype: pl.DataType
    nullable: bool
    unit: str
    checks: Mapping[str, list[Any]]
    vocabulary: Vocabulary | None
    focus: str
    description: str

    @property
    def notes(self) -> dict[str, str]:
        """What Parquet files and package descriptors say of the column."""
        notes = {
            "description": self.description,
            "unit": self.unit,
            "focus": self.focus,
            "vocabulary": self.vocabulary.name if self.vocabulary else "",
        }
        return {name: note for name, note in notes.items() if note}


def words_of(cell: str) -> list[Any]:
    """Split a cell at spaces. A word in capitals is a constant of ``hwprices.schemas``."""
    words: list[Any] = []
    for word in cell.split():
        value = getattr(schemas, word) if word.isidentifier() and word.isupper() else word
        words += value if isinstance(value, list) else [value]
    return words


def read_columns() -> dict[str, dict[str, Column]]:
    """Return the columns of each table, in order. One without a type is the shared one."""
    tables: dict[str, dict[str, Column]] = {}
    for row in read_sheet("columns.csv"):
        name, columns = row["column"], tables.setdefault(row["table"], {})
        try:
            columns[name] = _column(row) if row["type"] else tables[SHARED][name]
        except (AttributeError, KeyError, ValueError) as error:
            where = f"columns.csv, column {name} of {row['table']}"
            raise ValueError(f"{where}: {error}. See schemas/README.md") from error
    return tables


def _column(row: Mapping[str, str]) -> Column:
    dtype = DTYPES[row["type"]]
    vocabulary = VOCABULARIES[row["vocabulary"]] if row["vocabulary"] else None
    checks: dict[str, list[Any]] = {}
    for check in row["checks"].split("; ") if row["checks"] else []:
        name, *arguments = words_of(check)
        if not arguments or ARGUMENTS[name] not in (None, len(arguments)):
            raise ValueError(f"{check!r} is not a check with its arguments")
        is_number = dtype.is_numeric() or name == "max_length"
        checks[name] = [_number(word) if is_number else word for word in arguments]
    if vocabulary and row["column"] != "flags" and (dtype != pl.String or "isin" in checks):
        raise ValueError("only a text without isin can have a vocabulary")
    if vocabulary and dtype == pl.String:  # rules.flags_are_declared looks at elements of lists
        listed, pattern = {"isin": list(vocabulary)}, {"str_matches": [vocabulary.regex()]}
        checks |= listed if vocabulary.closed else pattern
    return Column(
        dtype=dtype,
        nullable={"": False, "yes": True}[row["nullable"]],
        unit=row["unit"],
        checks=checks,
        vocabulary=vocabulary,
        focus=row["focus"],
        description=row["description"],
    )


def _number(word: Any) -> Any:
    """Read an int, or a float where the text has a point; a constant is one already."""
    return json.loads(word) if isinstance(word, str) else word
