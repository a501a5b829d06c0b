"""The command ``hwprices cite``: one price as a line to paste."""

from typing import Annotated, Literal

import typer

from hwprices.cli import filters
from hwprices.cli.common import call, open_dataset

SHARED = ("root", "version", "json")

Words = Annotated[
    list[str],
    typer.Argument(
        metavar="PRICE",
        help="A price_id, or words as find takes them: p5.48xlarge us-east-1 on_demand.",
    ),
]
Format = Annotated[
    Literal["text", "markdown", "json", "bibtex"], typer.Option("--format", help="How to write it.")
]


@filters.add_options("region", "os")
def cite(*, words: Words, options: filters.Options, as_: Format = "text") -> None:
    """Cite a price in one line, with SKU, page and release.

    Of several prices that match, the cheapest is cited. The last word of the line is what
    `hwprices recheck` takes.

    Example:

        hwprices cite p5.48xlarge us-east-1 on_demand

        hwprices cite 8xH100 europe 1y --format bibtex
    """
    from hwprices.read.citation import FORMATS

    citation = open_dataset().cite(" ".join(words), **options)
    typer.echo(FORMATS["json" if call().as_json else as_](citation))
