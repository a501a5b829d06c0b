"""Write docs/data-dictionary.md from the schemas."""

from collections.abc import Iterable

import polars as pl

from hwprices.schemas.columns import Column
from hwprices.schemas.tables import TABLES, Table
from hwprices.schemas.vocabulary import Vocabulary
from tools.generated import PROJECT

TARGET = PROJECT / "docs" / "data-dictionary.md"

HEAD = """# Data dictionary

Written from `schemas/` by `make docs`; do not edit by hand. A column name means the same in every
table. «null» marks columns that may be null: the value is not known, or there is none. Columns of
codes link to their [allowed values](#allowed-values). `hwprices show coverage --columns` shows in
how many rows of a release a column has a value, by provider.

FOCUS names the counterpart in version 1.2 of the FinOps Open Cost and Usage Specification, where
there is one. `ProviderName` is called `ServiceProviderName` from 1.3 on. `SkuPriceDetails.…` is a
key in that column, in its own unit (`NetworkMaxThroughput` in Mbps, `GpuCount` for GPUs only).
`ListUnitPrice` is in the currency of the row, which is FOCUS' `PricingCurrency`: a price list has
no billing currency.
"""

ALLOWED_VALUES = """## Allowed values

The values of columns of codes. Where a value holds a number or a name, the regular expression that
it matches is listed.
"""

DTYPE_NAMES = {
    "String": "string",
    "Float64": "float64",
    "Int32": "int32",
    "Int64": "int64",
    "Boolean": "boolean",
    "Date": "date",
}


def render() -> str:
    """Return the whole document."""
    rows = [[f"[{name}](#{name})", model.contents] for name, model in TABLES.items()]
    index = _markdown_table(["table", "contents"], rows)
    tables = [_table_section(name, model) for name, model in TABLES.items()]
    values = [_values_section(used) for used in _used_vocabularies()]
    return "\n".join([HEAD, index, "", *tables, ALLOWED_VALUES, *values])


def _table_section(name: str, model: Table) -> str:
    names = ", ".join(f"`{column}`" for column in model.key)
    head = ["column", "type", "unit", "null", "FOCUS", "meaning"]
    rows = [_column_row(column, declared) for column, declared in model.columns.items()]
    table = _markdown_table(head, rows)
    return "\n".join([f"## {name}", "", model.description, "", f"Key: {names}", "", table, ""])


def _column_row(name: str, declared: Column) -> list[str]:
    return [
        f"`{name}`",
        _dtype(declared.dtype),
        declared.unit,
        "null" if declared.nullable else "",
        declared.focus,
        _meaning(declared),
    ]


def _meaning(declared: Column) -> str:
    text = declared.description
    if declared.vocabulary:
        name = declared.vocabulary.name
        return f"{text} Allowed: [{name}](#{name})."
    if allowed := declared.checks.get("isin"):
        return f"{text} One of: {', '.join(f'`{value}`' for value in allowed)}."
    return text


def _values_section(values: Vocabulary) -> str:
    rows = [[f"`{value}`", sentence] for value, sentence in values.items()]
    rows += [[f"`{pattern}`", sentence] for pattern, sentence in values.patterns.items()]
    return "\n".join([f"### {values.name}", "", _markdown_table(["value", "meaning"], rows), ""])


def _used_vocabularies() -> list[Vocabulary]:
    """Return the vocabularies of published columns, in order of first use."""
    columns = [c for model in TABLES.values() for c in model.columns.values()]
    return list({c.vocabulary.name: c.vocabulary for c in columns if c.vocabulary}.values())


def _markdown_table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head)]
    lines += [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _dtype(dtype: pl.DataType) -> str:
    if isinstance(dtype, pl.List):
        return f"list of {_dtype(dtype.inner)}"  # type: ignore[arg-type]
    if isinstance(dtype, pl.Struct):
        fields = (f"{field.name} {_dtype(field.dtype)}" for field in dtype.fields)  # type: ignore[arg-type]
        return f"struct({', '.join(fields)})"
    if isinstance(dtype, pl.Decimal):
        return f"decimal({dtype.precision},{dtype.scale})"
    return DTYPE_NAMES.get(str(dtype), "timestamp UTC")


if __name__ == "__main__":
    TARGET.write_text(render(), encoding="utf-8")
