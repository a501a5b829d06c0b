"""Commands about releases as a whole: show, query, releases, verify."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from hwprices.cli.common import (
    LATEST,
    AsCsv,
    AsJson,
    Limit,
    Release,
    ReleaseArgument,
    ReleaseOption,
    Root,
    check_one_format,
    default_root,
    either,
    open_dataset,
    print_csv,
    print_frame,
    print_json,
    print_table,
)
from hwprices.errors import HwpricesError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Sql = Annotated[str, typer.Argument(help="A query in DuckDB's SQL.")]

Unsafe = Annotated[
    bool,
    typer.Option(
        "--unsafe",
        help="Let the query read and write any file of yours, and load extensions from the "
        "network. For queries of your own over a dataset that you trust.",
    ),
]

Newest = Annotated[int | None, typer.Option("--limit", min=1, help="Only so many, the newest.")]

Seconds = Annotated[
    float, typer.Option("--max-seconds", min=0.001, help="How long the query may take.")
]
Memory = Annotated[
    str,
    typer.Option(
        "--max-memory", help="Memory that the query may need: 4GB, or 50% of the machine's."
    ),
]

MAX_ROWS = 200  # of a query shown in a terminal; --json prints all

ROWS_AT_ONCE = 10_000
"""Rows of --json and --csv that are in memory at the same time."""


def show(
    version: ReleaseArgument = LATEST,
    version_option: ReleaseOption = "",
    root: Root = "",
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Summarize a release in a screenful.

    Prints the rows of each table by provider, the cheapest hour of an H100 in each cloud, when the
    figures were fetched, and commands to try next. --csv gives a line for each provider.

    Example:

        hwprices show
    """
    from hwprices.read import summary

    check_one_format(as_json, as_csv)
    dataset = open_dataset(root, either(version, version_option))
    if as_json:
        print_json(summary.to_json(dataset))
        return
    print_frame(
        summary.providers(dataset), as_json, lambda _: summary.render(dataset), as_csv=as_csv
    )


def query(
    sql: Sql,
    root: Root = "",
    version: Release = "latest",
    limit: Limit = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    max_seconds: Seconds = 300,  # 100 times the slowest example of the documentation
    max_memory: Memory = "50%",
    unsafe: Unsafe = False,
) -> None:
    """Ask the dataset in SQL.

    Each table of the release is a view: prices, offers, instance_types and so on;
    docs/data-dictionary.md lists them with their columns. Prints the rows of the result. The query
    reads these tables only: other files, the network and extensions are refused, and so is writing
    a file (copy … to) unless --unsafe is given. Times are in UTC.

    Example:

        hwprices query "select count(*) from offers where region = 'us-east-1'"
    """
    from hwprices.read.sql import bounded, check, check_not_empty, clear_errors
    from hwprices.read.terminal.query import render_result

    check_one_format(as_json, as_csv)
    dataset = open_dataset(root, version)
    open_duckdb = dataset.unsafe_duckdb if unsafe else dataset.locked_duckdb
    with (
        open_duckdb(max_memory) as connection,
        clear_errors(dataset.tables),
        bounded(connection, max_seconds, max_memory),
    ):
        check_not_empty(connection, sql)
        if not unsafe:
            check(connection, sql)
        result = connection.execute(sql)
        if as_json or as_csv:
            _print_pieces(result, limit, as_json=as_json)
        else:
            shown = limit or MAX_ROWS
            rows = result.fetchmany(shown + 1)
            print_table(render_result(_columns(result), rows, shown))


def _columns(result: "DuckDBPyConnection") -> list[str]:
    return [column[0] for column in result.description or ()]


def _print_pieces(result: "DuckDBPyConnection", limit: int | None, *, as_json: bool) -> None:
    """Print the rows of a query as JSON or CSV, some at a time: there may be any number of them.

    Raises:
        HwpricesError: two columns have the same name.
    """
    from hwprices.read.export import query_rows
    from hwprices.read.export.cells import to_csv
    from hwprices.read.export.plain_json import to_json

    columns = _columns(result)
    query_rows.check_names(columns)
    most, printed = limit or sys.maxsize, 0
    while True:
        rows = result.fetchmany(min(most - printed, ROWS_AT_ONCE))
        if as_json:
            array = to_json(
                [dict(zip(columns, row, strict=True)) for row in rows], indent=1, ascii_only=True
            )
            text = ("," if printed and rows else "" if printed else "[") + array[1:-1].rstrip()
        else:
            text = to_csv(query_rows.to_frame(columns, rows), header=not printed)
        typer.echo(text, nl=False)
        printed += len(rows)
        if not rows or printed == most:
            break
    if as_json:
        typer.echo("\n]" if printed else "]")


def releases(
    limit: Newest = None, root: Root = "", as_json: AsJson = False, as_csv: AsCsv = False
) -> None:
    """List the releases of a dataset, newest last.

    Prints for each its version, how many prices and offers it has, and for each provider whether
    its figures are live or from the sample, and fresh or kept from an older release.

    Example:

        hwprices releases --root s3://bucket/hwprices
    """
    from hwprices.read.terminal.releases import as_frame, render_releases
    from hwprices.release import versions as reading

    check_one_format(as_json, as_csv)
    place = root or default_root()
    entries = reading.releases(place)
    if not entries and not as_json:
        raise HwpricesError(
            f"no release in {place}", "Run the refresh flow (make run), or give --root."
        )
    newest = entries[-limit:] if limit else entries
    if as_json:
        print_json(newest)
        return
    print_frame(as_frame(newest), as_json, lambda _: render_releases(newest), as_csv=as_csv)


def verify(
    version: ReleaseArgument = LATEST,
    version_option: ReleaseOption = "",
    root: Root = "",
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Check a release against its checksums.

    Prints one line for each file that is missing, altered, or not in the manifest, and ends with
    exit status 1 if there is any.

    Example:

        hwprices verify
    """
    import polars

    from hwprices.hidden_characters import escaped

    check_one_format(as_json, as_csv)
    dataset = open_dataset(root, either(version, version_option))
    faults = dataset.verify()
    count = sum(len(entry["files"]) for entry in dataset.manifest["tables"].values())
    if as_json:
        print_json({"version": dataset.version, "files": count, "faults": faults})
    elif as_csv:
        print_csv(polars.DataFrame({"fault": faults}, schema={"fault": polars.String}))
    else:
        for fault in faults:
            typer.echo(escaped(fault), err=True)
    if faults:
        raise typer.Exit(1)
    if not (as_json or as_csv):
        typer.echo(f"release {dataset.version} is whole: {count} files match their checksums")
