"""Open DuckDB over the tables of a release, so that a query can only read these tables.

Both the dataset and the query may be untrusted:

- DuckDB's settings deny access to files other than those of the release, to the network and to
  extensions. They are locked.
- DuckDB has no setting that allows reading but not writing a file: ``copy … to`` could replace a
  file of the release. ``check`` refuses such statements; ``frame`` and the command ``query`` call
  it.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any

import polars as pl

from hwprices.errors import HwpricesError, first_line
from hwprices.release import database
from hwprices.release.database import quoted_list, quoted_name, quoted_text
from hwprices.release.release import DAMAGED, Release

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
"""DuckDB's names of statements that read tables or change tables in memory. Under the settings they
cannot write files."""

_EXPLAIN = re.compile(r"\s*explain\s+(analyze\s+|\([^()]*\)\s*)?", re.IGNORECASE)
_PIVOT = re.compile(r"\s*(pivot|pivot_wider|select|from|with)\b", re.IGNORECASE)
_LOCK = Lock()  # DuckDB refuses a call to a connection that is busy in another thread
REMEDY = "Run it with --unsafe (in Python: unsafe_duckdb()) if you trust the dataset and the query."


def connect(**settings: Any) -> "DuckDBPyConnection":
    """Open a DuckDB in memory that shows times in UTC. ``settings``: of DuckDB, by name."""
    import duckdb

    connection = duckdb.connect(config=settings)
    connection.execute("set global TimeZone = 'UTC'")  # global: for its cursors too
    return connection


def open_locked(release: Release, max_memory: str = "") -> "DuckDBPyConnection":
    """Open a connection with a view for each table of a release, and access to nothing else.

    Raises:
        HwpricesError: a table cannot be read.
    """
    connection = open_views(release, max_memory, **NO_EXTENSIONS)
    if max_memory:  # fail instead of writing temporary files into the working directory
        connection.execute("set temp_directory = ''")
    return lock(connection, [file for table in release.tables for file in local(release, table)])


def open_views(release: Release, max_memory: str = "", **settings: Any) -> "DuckDBPyConnection":
    """Open a connection with a view for each table of a release.

    On an object store, polars reads the files, because DuckDB would download an extension and need
    the credentials again.

    Raises:
        HwpricesError: a table cannot be read, or pyarrow is missing for one on an object store.
    """
    import duckdb

    connection = connect(**settings)
    for table in release.tables:
        if release.store.is_local:
            create_view(connection, table, local(release, table))
        elif find_spec("pyarrow") is None:
            raise HwpricesError(
                f"SQL over {release.store.root} needs pyarrow",
                "pip install pyarrow, or use scan(table), which does not.",
            )
        else:
            connection.register(table, release.scan(table))
    # a damaged dataset may lack columns of the price list
    with suppress(duckdb.Error):
        connection.execute(f"create view {database.FOCUS_VIEW} as {database.focus_sql()}")
    if max_memory:
        set_memory(connection, max_memory)
    return connection


def local(release: Release, table: str) -> list[str]:
    """Return the absolute paths of a table's files; none on an object store."""
    if not release.store.is_local:
        return []
    return [str(Path(file).absolute()) for file in release.files(table)]


def create_view(connection: "DuckDBPyConnection", table: str, files: Sequence[str]) -> None:
    """Make Parquet files readable as a table.

    Raises:
        HwpricesError: a file is missing or is not a Parquet file.
    """
    import duckdb

    # names and paths come from the manifest: both are quoted
    source = f"read_parquet({quoted_list(files)}, hive_partitioning = false)"
    try:
        connection.execute(f"create view {quoted_name(table)} as select * from {source}")  # noqa: S608
    except duckdb.Error as error:
        raise HwpricesError(f"cannot read table {table}: {first_line(error)}", DAMAGED) from None


def set_memory(connection: "DuckDBPyConnection", memory: str) -> None:
    """Limit the memory of queries to a size (4GB) or a share of the machine's memory (50%).

    Raises:
        HwpricesError: the value is invalid, or less than the connection already uses.
    """
    import duckdb

    try:
        connection.execute(f"set memory_limit = {quoted_text(memory)}")
    except duckdb.Error as error:
        raise HwpricesError(
            f"cannot limit memory to {memory!r}: {first_line(error)}",
            "--max-memory takes a size, such as 4GB, or a share of the machine's memory: 50%.",
        ) from None


@contextmanager
def bounded(connection: "DuckDBPyConnection", seconds: float, memory: str) -> Iterator[None]:
    """Interrupt the connection after a time, and report which limit a query exceeds.

    ``seconds``: the limit for all queries together. ``memory``: the limit that ``set_memory`` has
    set, for the error.

    Raises:
        HwpricesError: a query takes longer, or needs more memory.
    """
    import duckdb

    timer = Timer(seconds, connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    except duckdb.InterruptException:
        raise HwpricesError(
            f"the query takes longer than {seconds:g} s", "Ask for less, or raise --max-seconds."
        ) from None
    except (duckdb.OutOfMemoryException, MemoryError):
        raise HwpricesError(
            f"the query needs more memory than {memory}", "Ask for less, or raise --max-memory."
        ) from None
    finally:
        timer.cancel()
        timer.join()  # it holds the connection, which DuckDB would report as leaked on exit


def lock(connection: "DuckDBPyConnection", files: Sequence[str]) -> "DuckDBPyConnection":
    """Permanently deny access to other files, to the network and to extensions.

    Views over the files keep working. The order of the settings matters: without external access,
    the list of allowed files cannot be changed.
    """
    connection.execute(f"set allowed_paths = {quoted_list(files)}")
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")
    return connection


def check(connection: "DuckDBPyConnection", query: str, *, may_write: bool = False) -> None:
    """Refuse a query without a statement, or one that may write files. Only parses; runs nothing.

    Raises:
        HwpricesError: the query is empty, or a statement is refused.
    """
    statements = connection.extract_statements(query)
    if not statements:
        raise HwpricesError("the query is empty", "Write SQL: 'select count(*) from offers'.")
    for statement in statements:
        kind, text = _kind(statement), statement.query
        if not may_write and not _in_memory(connection, kind, text):
            raise HwpricesError(
                f"the query may not read or write files ({kind.lower()} is refused)", REMEDY
            )


def _kind(statement: Any) -> str:
    try:
        return str(statement.type.name)
    except ValueError:  # DuckDB's Python package has no name for "update extensions"
        return "this statement"


def _in_memory(connection: "DuckDBPyConnection", kind: str, text: str) -> bool:
    if kind == "EXPLAIN":  # explain analyze runs the statement, and copy would write
        match = _EXPLAIN.match(text)
        explained = connection.extract_statements(text[match.end() if match else 0 :])
        return [statement.type.name for statement in explained] == ["SELECT"]
    if kind == "MULTI":  # DuckDB turns one pivot into several statements
        return _PIVOT.match(text) is not None
    return kind in MEMORY_ONLY


def refusal(error: "duckdb.Error") -> HwpricesError | None:
    """Explain an error that the locked settings cause; None for any other error."""
    import duckdb

    text = first_line(error)
    if isinstance(error, duckdb.PermissionException) or "configuration has been locked" in text:
        reason = text.partition(": ")[2] or text
        return HwpricesError(f"the query may not read or write files ({reason})", REMEDY)
    return None


@contextmanager
def clear_errors(tables: Sequence[str]) -> Iterator[None]:
    """Turn DuckDB's errors into one line.

    Raises:
        HwpricesError: a query is wrong, or the locked settings refuse it.
    """
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise refusal(error) or mistake(error, tables) from None


def frame(connection: "DuckDBPyConnection", query: str, tables: Sequence[str]) -> pl.DataFrame:
    """Run a query and return its rows; an empty frame for a statement without rows.

    Unlike DuckDB's own ``pl()``, it does not need pyarrow.

    Raises:
        HwpricesError: the query is empty, wrong or refused, or it has two columns of the same name,
            or a column of a type that polars does not have.
    """
    from hwprices.read.export.cells import check_names

    with _LOCK, clear_errors(tables):
        check(connection, query)
        relation = connection.sql(query)
        if relation is None:
            return pl.DataFrame()
        check_names(relation.columns)
        kinds = zip(relation.columns, map(str, relation.types), strict=True)
        # polars would panic on intervals
        if spans := [name for name, kind in kinds if "INTERVAL" in kind]:
            raise HwpricesError(
                f"polars has no type for the interval {spans[0]}", "Cast it: as varchar."
            )
        try:
            return pl.DataFrame(_Rows(relation))
        except pl.exceptions.ComputeError as error:  # DuckDB fails in a row after the first
            line = first_line(error).removeprefix("got external error: ")
            raise HwpricesError(line, "Correct the query.") from None


class _Rows:
    """The rows of a relation, for polars.

    Polars caches the class of its input; DuckDB's own class would be reported as leaked on exit.
    """

    def __init__(self, relation: "DuckDBPyRelation") -> None:
        self._relation = relation

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        return self._relation.__arrow_c_stream__(requested_schema)


def mistake(error: "duckdb.Error", tables: Sequence[str]) -> HwpricesError:
    """Explain an error in a query: DuckDB's message, with the names it proposes or the tables."""
    lines = [line.strip() for line in str(error).split("\n")]
    proposals = [line for line in lines[1:] if line.startswith(("Candidate", "Did you mean"))]
    if not proposals or "Catalog Error" in lines[0]:
        proposals.append(f"Tables: {', '.join(tables)}.")
    return HwpricesError(lines[0], " ".join(proposals))
