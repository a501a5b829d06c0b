"""docs/data-dictionary.md from the schemas: ``python -m tools.data_dictionary``; ``--check`` fails when the file is behind."""

import sys
from pathlib import Path
from typing import Any

import polars as pl

from hwprices.schemas.columns import Table, key
from hwprices.schemas.tables import TABLES

TARGET = Path(__file__).resolve().parents[1] / "docs" / "data-dictionary.md"

HEAD = """# Data dictionary

Written from `schemas/` by `make docs`; do not edit by hand. A column name means the same in every table.
FOCUS names the counterpart in the FinOps Open Cost and Usage Specification. «null» marks columns that may be null: not known.
"""


def render() -> str:
    """The whole document."""
    index = [f"- [{name}](#{name}): {_first_line(model)}" for name, model in TABLES.items()]
    return "\n".join([HEAD, *index, "", *(_section(name, model) for name, model in TABLES.items())])


def _section(name: str, model: type[Table]) -> str:
    schema = model.to_schema()
    lines = [
        f"## {name}",
        "",
        " ".join(str(schema.description or "").split()),
        "",
        f"Key: {', '.join(f'`{c}`' for c in key(model))}",
        "",
    ]
    lines += ["| column | type | unit | null | FOCUS | meaning |", "|---|---|---|---|---|---|"]
    for column, declared in schema.columns.items():
        notes = declared.metadata or {}
        cells = [
            f"`{column}`",
            _dtype(declared.dtype.type),
            notes.get("unit") or "",
            "null" if declared.nullable else "",
            notes.get("focus") or "",
            _meaning(declared),
        ]
        lines.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
    return "\n".join([*lines, ""])


def _meaning(declared: Any) -> str:
    allowed = next(
        (
            check.statistics["allowed_values"]
            for check in declared.checks
            if "allowed_values" in (check.statistics or {})
        ),
        None,
    )
    text = str(declared.description or "")
    return text if allowed is None else f"{text} One of: {', '.join(f'`{v}`' for v in allowed)}."


def _dtype(dtype: pl.DataType) -> str:
    if isinstance(dtype, pl.List):
        return f"list of {_dtype(dtype.inner)}"  # type: ignore[arg-type]
    if isinstance(dtype, pl.Struct):
        return "struct(" + ", ".join(f"{f.name} {_dtype(f.dtype)}" for f in dtype.fields) + ")"  # type: ignore[arg-type]
    if isinstance(dtype, pl.Decimal):
        return f"decimal({dtype.precision},{dtype.scale})"
    return {
        "String": "string",
        "Float64": "float64",
        "Int32": "int32",
        "Int64": "int64",
        "Boolean": "boolean",
        "Date": "date",
    }.get(str(dtype), "timestamp UTC")


def _first_line(model: type[Table]) -> str:
    return " ".join(str(model.__doc__ or "").strip().split("\n")[0].split())


def main(arguments: list[str]) -> int:
    """Write the file, or with --check compare it. Returns the exit status."""
    text = render()
    if "--check" in arguments:
        if TARGET.is_file() and TARGET.read_text(encoding="utf-8") == text:
            return 0
        sys.stderr.write(
            f"error: docs/{TARGET.name} does not follow the schemas: run make docs and commit it\n"
        )
        return 1
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
