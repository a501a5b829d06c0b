"""What all commands share: options, errors in one line, and how answers are printed."""

import json
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hwprices.errors import HwpricesError

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console, RenderableType

    from hwprices.read.dataset import Dataset

Root = Annotated[
    str,
    typer.Option(
        envvar="HWPRICES_ROOT",
        help="The dataset: a folder, or s3://, gs://, az://. Without it: the folder data.",
    ),
]
Release = Annotated[
    str,
    typer.Option("--version", help="Which release; `hwprices releases` lists them."),
]
ReleaseArgument = Annotated[
    str,
    typer.Argument(help="Which release; `hwprices releases` lists them."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
UsdPer = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CURRENCY=USD",
        help="Exchange rate, to compare prices in another currency: EUR=1.08. May be repeated.",
    ),
]

WIDE = 160
"""Columns of the widest table, a recommendation."""


def default_root() -> str:
    """Give the folder ``data`` with releases, here or in a parent folder; else ./data."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        if (folder / "data" / "latest.json").is_file():
            return str(folder / "data")
    return "data"


def open_dataset(root: str, version: str) -> "Dataset":
    """Open a release; without a root that of ``default_root``."""
    from hwprices.read import dataset

    return dataset.open(root or default_root(), version)


def one_line_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Turn an error that a person can mend into one line on stderr and exit status 2."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except HwpricesError as error:
            _fail(error)
        except ModuleNotFoundError as missing:
            _fail(
                HwpricesError(
                    f"this command needs {missing.name}, a part of the pipeline",
                    "pip install 'hwprices[pipeline]'.",
                )
            )

    return run


def _fail(error: HwpricesError) -> None:
    from rich.console import Console
    from rich.text import Text

    from hwprices.read.terminal.tables import escaped

    # as Text, so that [brackets] in the message are not taken for a style
    line = Text.assemble(("error: ", "red"), escaped(str(error)))
    Console(stderr=True).print(line, soft_wrap=True)
    raise typer.Exit(2) from None


def console(width: int = WIDE) -> "Console":
    """Make a console at least that wide: in a narrower terminal a table has long lines.

    Texts are shown as they are: [red] and :smile: are no styles or pictures.
    """
    from rich.console import Console

    return Console(width=max(Console().width, width), markup=False, emoji=False)


def print_table(table: "RenderableType", width: int = WIDE) -> None:
    """Print a table without cutting its lines; control characters are shown escaped."""
    from hwprices.read.terminal.tables import Escaped

    console(width).print(Escaped(table), crop=False)


def print_json(value: Any) -> None:
    """Print a value as JSON; decimals and dates become text."""
    typer.echo(json.dumps(value, indent=1, default=str))


def print_frame(
    frame: "pl.DataFrame", as_json: bool, render: "Callable[[pl.DataFrame], RenderableType]"
) -> None:
    """Print an answer as JSON or as the table that ``render`` makes of it."""
    if as_json:
        print_json(frame.to_dicts())
    else:
        print_table(render(frame))
