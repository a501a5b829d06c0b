"""Write the tables of a release into one DuckDB file, with their documentation as comments."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hwprices.read import focus
from hwprices.read.export.errors import cannot_write
from hwprices.read.sql import quoted_list, quoted_name, quoted_text

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
takes 1.6 to 2.7 times as long to make and saves no room (docs/performance.md)."""


def build(
    target: Path, files: Mapping[str, Sequence[str]], package: Mapping[str, Any], version: str
) -> None:
    """Write the file.

    Args:
        target: the file; there must be none yet.
        files: Parquet files of each table, on this machine.
        package: the release's datapackage.json, which describes tables and columns.
        version: the release, for the comment of the table ``release``.

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
        for table, paths in files.items():
            source = f"read_parquet({quoted_list(paths)}, hive_partitioning = false)"
            connection.execute(_create_table(connection, table, source))
            connection.execute(f"insert into {quoted_name(table)} select * from {source}")  # noqa: S608
        if "prices" in files:
            connection.execute(f"create view {focus.VIEW} as {focus.view_sql()}")
        connection.execute("; ".join(_comments(files, package, version)))
        connection.execute("commit")
        connection.execute("use memory")
        connection.execute("detach release_file")
    except (duckdb.OperationalError, duckdb.FatalException) as error:  # files, memory, disk
        raise cannot_write(target, error) from error
    finally:
        connection.close()


def _create_table(connection: "duckdb.DuckDBPyConnection", table: str, source: str) -> str:
    """Write the statement that makes a table with the columns of its files."""
    columns = connection.execute(f"describe select * from {source}").fetchall()  # noqa: S608
    packed = dict.fromkeys(UNIQUE_TEXTS.get(table, ()), " using compression zstd")
    lines = [f"{quoted_name(name)} {kind}{packed.get(name, '')}" for name, kind, *_ in columns]
    return f"create table {quoted_name(table)} ({', '.join(lines)})"


def _comments(
    tables: Mapping[str, Sequence[str]], package: Mapping[str, Any], version: str
) -> list[str]:
    """Write the comments on tables and columns."""
    comments = []
    for resource in package["resources"]:
        name = resource["name"]
        if name not in tables:
            continue
        table = quoted_name(name)
        about = f"{resource['description']} Release {version}."
        comments.append(f"comment on table {table} is {quoted_text(about)}")
        for field in resource["schema"]["fields"]:
            unit = f" Unit: {field['unit']}." if field.get("unit") else ""
            text = quoted_text(f"{field['description']}{unit}")
            comments.append(f"comment on column {table}.{quoted_name(field['name'])} is {text}")
    if "prices" in tables:
        about = f"Prices by the draft SKU Price dataset of FOCUS ({focus.DRAFT})."
        comments.append(f"comment on view {focus.VIEW} is {quoted_text(about)}")
    return comments
