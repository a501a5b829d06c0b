"""Pin the columns of the published tables for the current schema version.

``python -m tools.published_columns`` writes tests/schemas/published_columns/<version>.json, a map
from table to column to dtype. It adds columns to the file of the current version, but refuses to
remove a column or change its dtype there: readers rely on them, so that takes a new version.
``--check`` compares.
"""

import json
import sys

from hwprices.errors import HwpricesError
from hwprices.schemas import SCHEMA_VERSION
from hwprices.schemas.tables import TABLES
from tools.generated import PROJECT, write_or_check

FOLDER = PROJECT / "tests" / "schemas" / "published_columns"

Columns = dict[str, dict[str, str]]


def current() -> Columns:
    """Return the published columns and dtypes that the schemas declare now."""
    return {
        name: {column: str(dtype) for column, dtype in model.dtypes.items()}
        for name, model in TABLES.items()
    }


def pinned(version: str = SCHEMA_VERSION) -> Columns:
    """Return the pinned columns of a schema version; empty where it has no file yet."""
    file = FOLDER / f"{version}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def broken(pins: Columns, columns: Columns) -> list[str]:
    """List the pinned columns that are gone, moved to another place or of another dtype."""
    problems = []
    for table, declared in pins.items():
        now = columns.get(table, {})
        for column, dtype in declared.items():
            if column not in now:
                problems.append(f"{table}.{column} is gone")
            elif now[column] != dtype:
                problems.append(f"{table}.{column} was {dtype} and is {now[column]}")
        kept = [column for column in now if column in declared]
        if kept != [column for column in declared if column in now]:
            problems.append(f"{table} has its columns in another order")
    return problems


def require_compatible(version: str, pins: Columns, columns: Columns) -> None:
    """Refuse columns that would break readers of the version.

    Raises:
        HwpricesError: names each column and what to do.
    """
    if problems := broken(pins, columns):
        raise HwpricesError(
            f"readers of schema version {version} would break: {'; '.join(problems)}",
            "Keep the columns, or raise SCHEMA_VERSION in schemas/__init__.py, run"
            " `python -m tools.published_columns` and add a line to CHANGELOG.md"
            " (docs/compatibility.md).",
        )


def main(arguments: list[str]) -> int:
    """Write the file of the current version, or with ``--check`` compare it."""
    columns = current()
    try:
        require_compatible(SCHEMA_VERSION, pinned(), columns)
    except HwpricesError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    FOLDER.mkdir(exist_ok=True)
    text = json.dumps(columns, indent=1) + "\n"
    return write_or_check(FOLDER / f"{SCHEMA_VERSION}.json", text, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
