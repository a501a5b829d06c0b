"""Open DuckDB over the tables of a release, so that a query can read these tables and no more.

A dataset and a query may both come from somebody else. Two locks hold them, because neither is
enough alone:

- DuckDB's settings refuse every file but those of the release, the network and extensions, and
  cannot be changed back.
- DuckDB has no setting that allows a file to be read but not to be written (``copy … to`` one of
  the release's own files would replace it), so that statements that write files are refused before
  DuckDB gets them.
"""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

from hwprices.errors import HwpricesError, first_line

if TYPE_CHECKING:
    import duckdb
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

NO_EXTENSIONS = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
}
"""Settings of a new connection. Parquet, JSON and time zones are built in and still work."""

MEMORY_ONLY = {
    "SELECT",  # also describe, show, summarize, values, from
    "CREATE",
    "INSERT",
    "UPDATE",
    "DELETE",
    "DROP",
    "ALTER",
    "TRANSACTION",
}
"""DuckDB's names of the statements that read tables, or change tables in memory. With files refused
by the settings, none of them can write one."""

_EXPLAIN = re.compile(r"\s*explain\s+(analyze\s+|\([^()]*\)\s*)?", re.IGNORECASE)
_PIVOT = re.compile(r"\s*(pivot|pivot_wider|select|from|with)\b", re.IGNORECASE)

REMEDY = "Run it with --unsafe (in Python: unsafe_duckdb()) if you trust the dataset and the query."


def quoted_name(name: str) -> str:
    """Spell a name as a SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """Spell a text as a SQL string."""
    return "'" + text.replace("'", "''") + "'"


def quoted_list(texts: Iterable[str]) -> str:
    """Spell texts as a SQL list of strings."""
    return f"[{', '.join(quoted_text(text) for text in texts)}]"


def create_view(connection: "DuckDBPyConnection", table: str, files: Sequence[str]) -> None:
    """Make Parquet files readable as a table.

    Raises:
        HwpricesError: a file is missing or is no Parquet file.
    """
    import duckdb

    # names and paths come from the manifest: both are quoted
    source = f"read_parquet({quoted_list(files)}, hive_partitioning = false)"
    try:
        connection.execute(f"create view {quoted_name(table)} as select * from {source}")  # noqa: S608
    except duckdb.Error as error:
        raise HwpricesError(
            f"cannot read table {table}: {first_line(error)}",
            "hwprices verify names the files that are missing or altered.",
        ) from None


def lock(connection: "DuckDBPyConnection", files: Sequence[str]) -> "LockedConnection":
    """Refuse every file but these, the network and extensions, for good.

    Views over the files keep working. The order matters: without external access the list of
    allowed files cannot be changed.
    """
    connection.execute(f"set allowed_paths = {quoted_list(files)}")
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")
    return LockedConnection(connection)


class LockedConnection:
    """A DuckDB connection that refuses statements that write files.

    It has the methods of DuckDB's connection: ``sql(…)`` gives a relation, ``execute(…)`` the
    connection itself.
    """

    def __init__(self, connection: "DuckDBPyConnection") -> None:
        self._connection = connection

    def sql(self, query: Any, **settings: Any) -> "DuckDBPyRelation":
        """Run a query and give its result as a relation, or None for a statement without one.

        Raises:
            HwpricesError: it has a statement that may write files.
        """
        check(self._connection, query)
        return self._connection.sql(query, **settings)

    query = from_query = sql

    def execute(self, query: Any, *parameters: Any, **named: Any) -> Self:
        """Run a query; ``fetchall()`` and the like then give its rows.

        Raises:
            HwpricesError: it has a statement that may write files.
        """
        check(self._connection, query)
        self._connection.execute(query, *parameters, **named)
        return self

    def executemany(self, query: Any, *parameters: Any, **named: Any) -> Self:
        """Run a query once for each list of parameters. See ``execute``."""
        check(self._connection, query)
        self._connection.executemany(query, *parameters, **named)
        return self

    def cursor(self) -> "LockedConnection":
        """Give another connection to the same tables."""
        return LockedConnection(self._connection.cursor())

    duplicate = cursor

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self._connection, name)


def check(connection: "DuckDBPyConnection", query: Any) -> None:
    """Refuse a query that has a statement that may write files, or an option that cannot be set.

    Args:
        connection: its parser is used; nothing is run.
        query: SQL, or a statement that the connection has parsed.

    Raises:
        HwpricesError: a statement is refused.
    """
    statements = connection.extract_statements(query) if isinstance(query, str) else [query]
    for statement in statements:
        kind, text = statement.type.name, statement.query
        if not _in_memory(connection, kind, text):
            raise HwpricesError(
                f"the query may not read or write files ({kind.lower()} is refused)", REMEDY
            )


def _in_memory(connection: "DuckDBPyConnection", kind: str, text: str) -> bool:
    if kind == "EXPLAIN":  # explain analyze runs the statement, and copy would write
        rest = connection.extract_statements(text[_match_end(_EXPLAIN, text) :])
        return [statement.type.name for statement in rest] == ["SELECT"]
    if kind == "MULTI":  # DuckDB makes several statements of one pivot
        return _PIVOT.match(text) is not None
    return kind in MEMORY_ONLY


def _match_end(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.match(text)
    return match.end() if match else 0


def refusal(error: "duckdb.Error") -> HwpricesError | None:
    """Explain an error of DuckDB that comes of the locks; None for any other error."""
    import duckdb

    text = first_line(error)
    if isinstance(error, duckdb.PermissionException) or "configuration has been locked" in text:
        reason = text.partition(": ")[2] or text
        return HwpricesError(f"the query may not read or write files ({reason})", REMEDY)
    return None


def mistake(error: "duckdb.Error", tables: Sequence[str]) -> HwpricesError:
    """Explain an error in a query: DuckDB's line, the names it proposes, and else the tables."""
    lines = [line.strip() for line in str(error).split("\n")]
    proposals = [line for line in lines[1:] if line.startswith(("Candidate", "Did you mean"))]
    if not proposals or "Catalog Error" in lines[0]:
        proposals.append(f"Tables: {', '.join(tables)}.")
    return HwpricesError(lines[0], " ".join(proposals))
