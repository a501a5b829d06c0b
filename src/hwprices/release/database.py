"""Write the tables of a release into one DuckDB file, with their documentation as comments."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hwprices.errors import cannot_write
from hwprices.release import focus

if TYPE_CHECKING:
    import duckdb

STORAGE_VERSION = "v1.3.0"
"""Of the file: DuckDB 1.3 (May 2025) and newer can read it. That of 1.0 takes a third more time to
write (docs/performance.md). https://duckdb.org/docs/stable/internals/storage"""

MEMORY_LIMIT = "1GB"
"""Most memory that writing takes; larger tables go through temporary files beside the target."""

UNIQUE_TEXTS = {"prices": ("price_id", "sku_price_id"), "price_history": ("price_id",)}
"""Columns of the large tables that are packed with zstd: no price_id comes twice, and hardly a
sku_price_id of AWS, which has most of the prices. DuckDB would choose a dictionary for them, which
took 1.6 to 2.7 times as long to make and saved no room (2026-11-23)."""


FOCUS = f"Prices by the draft SKU Price dataset of FOCUS ({focus.DRAFT})."

DISCOUNTED = (
    "Own discounts are applied here, and list_effective_hourly is the list price. Other tables "
    f"have list prices. The view {focus.VIEW}, which is one of list prices, is left out."
)
"""What the comment of the table prices says besides, where own discounts are applied to it."""


def quoted_name(name: str) -> str:
    """Spell a name as a SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """Spell a text as a SQL string."""
    return "'" + text.replace("'", "''") + "'"


def quoted_list(texts: Iterable[str]) -> str:
    """Spell texts as a SQL list of strings."""
    return f"[{', '.join(quoted_text(text) for text in texts)}]"


def build(
    target: Path,
    files: Mapping[str, Sequence[str]],
    package: Mapping[str, Any],
    version: str,
    *,
    discounted: bool = False,
) -> None:
    """Write the file, with the view of FOCUS where there are list prices and no such table.

    Args:
        target: the file; there must be none yet.
        files: Parquet files of each table, on this machine.
        package: the release's datapackage.json, which describes tables and columns.
        version: the release, for the comments on tables.
        discounted: own discounts are applied to ``prices``.

    Raises:
        HwpricesError: it cannot be written.
    """
    import duckdb

    connection = duckdb.connect(
        config={"memory_limit": MEMORY_LIMIT, "temp_directory": f"{target}.tmp"}
    )
    try:
        attach = f"attach {quoted_text(str(target))} as release_file"
        connection.execute(f"{attach} (storage_version {quoted_text(STORAGE_VERSION)})")
        connection.execute("use release_file")
        connection.execute("begin")
        columns = {}
        for table, paths in files.items():
            source = f"read_parquet({quoted_list(paths)}, hive_partitioning = false)"
            kinds = _kinds(connection, source)
            columns[table] = list(kinds)
            connection.execute(_create_table(table, kinds))
            connection.execute(f"insert into {quoted_name(table)} select * from {source}")  # noqa: S608
        has_view = "prices" in files and focus.VIEW not in files and not discounted
        if has_view:
            connection.execute(f"create view {focus.VIEW} as {focus.view_sql()}")
        comments = _comments(columns, package, version, discounted=discounted)
        if has_view:
            comments.append(_comment(f"view {focus.VIEW}", FOCUS))
        elif focus.VIEW in files:
            comments.append(_comment(f"table {focus.VIEW}", FOCUS))
        connection.execute("; ".join(comments))
        connection.execute("commit")
        connection.execute("use memory")
        connection.execute("detach release_file")
    except (duckdb.OperationalError, duckdb.FatalException) as error:  # files, memory, disk
        raise cannot_write(target, error) from error
    finally:
        connection.close()


def _kinds(connection: "duckdb.DuckDBPyConnection", source: str) -> dict[str, str]:
    """Tell the type of each column of Parquet files."""
    columns = connection.execute(f"describe select * from {source}").fetchall()  # noqa: S608
    return {name: kind for name, kind, *_ in columns}


def _create_table(table: str, kinds: Mapping[str, str]) -> str:
    """Write the statement that makes a table with these columns."""
    packed = dict.fromkeys(UNIQUE_TEXTS.get(table, ()), " using compression zstd")
    lines = [f"{quoted_name(name)} {kind}{packed.get(name, '')}" for name, kind in kinds.items()]
    return f"create table {quoted_name(table)} ({', '.join(lines)})"


def _comments(
    columns: Mapping[str, Sequence[str]],
    package: Mapping[str, Any],
    version: str,
    *,
    discounted: bool,
) -> list[str]:
    """Write the comments on tables and columns that are there."""
    comments = []
    for resource in package["resources"]:
        name = resource["name"]
        if name not in columns:
            continue
        table = quoted_name(name)
        note = f" {DISCOUNTED}" if discounted and name == "prices" else ""
        about = f"{resource['description']}{note} Release {version}."
        comments.append(_comment(f"table {table}", about))
        for field in resource["schema"]["fields"]:
            if field["name"] in columns[name]:
                unit = f" Unit: {field['unit']}." if field.get("unit") else ""
                column = f"column {table}.{quoted_name(field['name'])}"
                comments.append(_comment(column, f"{field['description']}{unit}"))
    return comments


def _comment(what: str, text: str) -> str:
    return f"comment on {what} is {quoted_text(text)}"
