"""Cite a price, and recheck citations: ``hwprices cite`` and ``hwprices cite recheck``."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hwprices.cli import filters
from hwprices.cli.common import call, open_dataset, print_json, shares
from hwprices.errors import HwpricesError
from hwprices.hidden_characters import escaped

if TYPE_CHECKING:
    from hwprices.read.dataset import Dataset
    from hwprices.read.recheck import Recheck

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


@shares("root", "version", "json")
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


Citations = Annotated[
    list[str],
    typer.Argument(
        metavar="CITATION",
        help="What hwprices cite printed, its last word, or a file with citations; - is stdin.",
    ),
]

Live = Annotated[
    bool,
    typer.Option(
        "--live",
        help="Ask the vendor now, for the page that holds the price. For AWS that is the whole"
        " price list of a region.",
    ),
]

MOST_BYTES = 16 << 20  # A longer file is refused: 16 MB are some 20,000 citations


@shares("root", "version", "json")
def recheck(citations: Citations, live: Live = False) -> None:
    """Check whether cited prices still hold.

    Compares with a later release of the same dataset, or with the vendor (--live). Prints one line
    for each citation: SAME, MOVED (the vendor changed it), GONE (no longer sold), RESTATED (we
    corrected our reading), UNREACHABLE, or ALTERED (not the citation that was written). Exit
    status: 0 all the same, 1 something moved, is gone or restated, 2 something could not be
    checked.

    Example:

        hwprices cite recheck citations.txt
    """
    from hwprices.read.recheck import EXIT_STATUS

    dataset = open_dataset()
    answers = dataset.recheck(*map(_text, citations))
    if live:
        answers = [_of_vendor(dataset, answer) for answer in answers]
    if call().as_json:
        print_json([answer.to_dict() for answer in answers])
    else:
        for answer in answers:
            typer.echo(escaped(str(answer)))
    raise typer.Exit(max(EXIT_STATUS[answer.status] for answer in answers))


def _of_vendor(dataset: "Dataset", answer: "Recheck") -> "Recheck":
    """Ask the vendor for the price of an answer; what is fetched is printed on stderr."""
    from hwprices.publish import live
    from hwprices.read import recheck
    from hwprices.settings import load

    place = recheck.place_of(dataset, answer.reference.price_id)
    if answer.status == "ALTERED" or place is None:
        return answer
    sought = live.SoughtPrice(**place)
    try:
        now = live.ask(
            dataset.store, dataset.release, sought, load(), lambda line: typer.echo(line, err=True)
        )
    except HwpricesError as error:
        return replace(answer, status="UNREACHABLE", release="live", amount=None, reason=str(error))
    return recheck.of_vendor(answer, now.amount, now.re_read, now.at)


def _text(citation: str) -> str:
    """Return the content of a file, or the citation itself."""
    if citation == "-":
        return typer.get_text_stream("stdin").read(MOST_BYTES)
    path = Path(citation)
    try:
        if not path.is_file():
            return citation
        if path.stat().st_size > MOST_BYTES:
            raise HwpricesError(f"{path} is longer than {MOST_BYTES:,} bytes", "Split it.")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise HwpricesError(f"{path} is not text", "Name a file with citations.") from None
    except OSError:  # a line is too long for the name of a file
        return citation
