"""The commands ``hwprices coverage`` and ``hwprices quarantine``: what is in, and what is not."""

from typing import Annotated

import typer

from hwprices.cli import filters
from hwprices.cli.common import AsCsv, AsJson, Limit, Release, Root, open_dataset, print_frame
from hwprices.errors import HwpricesError


def coverage(
    provider: filters.Provider = None,
    columns: Annotated[
        bool, typer.Option("--columns", help="List columns of tables, not regions.")
    ] = False,
    unknown: Annotated[
        bool, typer.Option("--unknown", help="List the vendors' words that are not known yet.")
    ] = False,
    limit: Limit = None,
    root: Root = "",
    version: Release = "latest",
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """State which regions have prices, and how old they are.

    Prints a line for each cloud and one for each region with prices. --json and --csv list the
    regions without prices as well. --columns says instead in how many rows each column has a value,
    of the columns with gaps; --json and --csv list the others as well. --unknown lists what is new
    from the vendors: each word, unit or name that is not known yet, how many lines have it, which
    further rows are not published with them, since when, and an example with its page.

    Examples:

        hwprices coverage --provider aws

        hwprices coverage --unknown

        hwprices coverage --columns
    """
    from hwprices.read.find import overview, request
    from hwprices.read.find.vocabulary import ReleaseWords
    from hwprices.read.terminal.overview import (
        render_columns,
        render_coverage,
        render_new_words,
    )

    dataset = open_dataset(root, version)
    chosen = request.providers(ReleaseWords.of(dataset), provider) if provider else ()
    if columns and unknown:
        raise HwpricesError("--columns and --unknown are two lists", "Give one of them.")
    if unknown:
        words = overview.new_words(dataset, chosen)
        print_frame(
            words,
            as_json,
            lambda rows: render_new_words(rows.head(limit or rows.height)),
            as_csv=as_csv,
            limit=limit,
        )
        return
    if columns:
        counts = overview.columns(dataset, chosen)
        print_frame(
            counts, as_json, lambda rows: render_columns(rows, limit), as_csv=as_csv, limit=limit
        )
        return
    regions = overview.coverage(dataset)
    if chosen:
        regions = regions.filter(regions["provider"].is_in(sorted(chosen)))
    print_frame(
        regions, as_json, lambda rows: render_coverage(rows, limit), as_csv=as_csv, limit=limit
    )


def quarantine(
    limit: Limit = None,
    root: Root = "",
    version: Release = "latest",
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """List what was refused, grouped by reason.

    Prints how many rows of each table were refused, why, in which regions, and the message of one
    of them. The table quarantine has every row.

    Example:

        hwprices quarantine
    """
    from hwprices.read.find import overview
    from hwprices.read.terminal.overview import render_quarantine

    groups = overview.quarantine(open_dataset(root, version))
    print_frame(
        groups, as_json, lambda rows: render_quarantine(rows, limit), as_csv=as_csv, limit=limit
    )
