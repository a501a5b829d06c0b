"""Commands about releases as a whole: show, query, releases, verify."""

from typing import Annotated

import typer

from hwprices.cli.common import (
    AsJson,
    Release,
    ReleaseArgument,
    Root,
    console,
    default_root,
    open_dataset,
    print_json,
    print_table,
)
from hwprices.errors import HwpricesError

Sql = Annotated[str, typer.Argument(help="A query in DuckDB's SQL.")]

MAX_ROWS = 200  # of a query shown in a terminal; --json prints all


def show(version: ReleaseArgument = "latest", root: Root = "") -> None:
    """Summarize a release in a screenful.

    Prints the rows of each table by provider, the cheapest hour of an H100 in each cloud, when the
    figures were fetched, and commands to try next.

    Example:

        hwprices show
    """
    from hwprices.read import summary

    print_table(summary.render(open_dataset(root, version)), summary.WIDE)


def query(sql: Sql, root: Root = "", version: Release = "latest", as_json: AsJson = False) -> None:
    """Ask the dataset in SQL.

    Each table of the release is a view: prices, offers, instance_types and so on;
    docs/data-dictionary.md lists them with their columns. Prints the rows of the result.

    Example:

        hwprices query "select count(*) from offers where region = 'us-east-1'"
    """
    import duckdb

    dataset = open_dataset(root, version)
    try:
        result = dataset.duckdb.sql(sql)
    except duckdb.Error as error:
        raise HwpricesError(
            str(error).split("\n")[0], f"Tables: {', '.join(dataset.tables)}."
        ) from None
    if result is None:
        return
    if as_json:
        print_json([dict(zip(result.columns, row, strict=True)) for row in result.fetchall()])
    else:
        result.show(max_width=console().width, max_rows=MAX_ROWS)


def releases(root: Root = "", as_json: AsJson = False) -> None:
    """List the releases of a dataset, newest last.

    Prints for each its version, how many prices and offers it has, and for each provider whether
    its figures are live or from the sample, and fresh or kept from an older release.

    Example:

        hwprices releases --root s3://bucket/hwprices
    """
    from hwprices.read import dataset
    from hwprices.read.terminal.tables import table

    place = root or default_root()
    entries = dataset.releases(place)
    if as_json:
        print_json(entries)
        return
    if not entries:
        raise HwpricesError(
            f"no release in {place}", "Run the refresh flow (make run), or give --root."
        )
    rows = [
        [
            entry["version"],
            f"{entry['rows'].get('prices', 0):,}",
            f"{entry['rows'].get('offers', 0):,}",
            "; ".join(f"{name} ({state})" for name, state in entry["providers"].items()),
            "latest" if entry["latest"] else "",
        ]
        for entry in entries
    ]
    headings = ["version", "prices", "offers", "providers", ""]
    print_table(table(headings, rows, right=["prices", "offers"], wrap=["providers"]))


def verify(version: ReleaseArgument = "latest", root: Root = "") -> None:
    """Check a release against its checksums.

    Prints one line for each file that is missing, altered, or not in the manifest, and ends with
    exit status 1 if there is any.

    Example:

        hwprices verify
    """
    dataset = open_dataset(root, version)
    faults = dataset.verify()
    for fault in faults:
        typer.echo(fault, err=True)
    if faults:
        raise typer.Exit(1)
    count = sum(len(entry["files"]) for entry in dataset.manifest["tables"].values())
    typer.echo(f"release {dataset.version} is whole: {count} files match their checksums")
