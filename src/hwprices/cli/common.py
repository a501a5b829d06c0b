"""What all commands share: options, errors in one line, and how answers are printed."""

import os
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from hwprices.errors import HwpricesError, HwpricesWarning, install_command

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType

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
    typer.Option("--version", help="Which release; `hwprices show releases` lists them."),
]
ReleaseArgument = Annotated[
    str,
    typer.Argument(help="Which release; `hwprices show releases` lists them."),
]
ReleaseOption = Annotated[
    str,
    typer.Option("--version", help="Which release, as an option.", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
UsdPer = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CURRENCY=USD",
        help="Exchange rate, to compare prices in another currency: EUR=1.08. May be repeated.",
    ),
]

AsCsv = Annotated[bool, typer.Option("--csv", help="Print CSV, for spreadsheets and programs.")]
Limit = Annotated[
    int | None,
    typer.Option(min=1, help="How many rows; without it a screenful, and all with --csv, --json."),
]


class Period(StrEnum):
    """The time that printed prices are for."""

    HOUR = "hour"
    MONTH = "month"
    YEAR = "year"


Per = Annotated[
    Period, typer.Option(help="Print prices for this time: a month is 730 hours, a year 8,760.")
]

LATEST = "latest"

TRACEBACK = "HWPRICES_TRACEBACK"
"""Set to 1, an error that is not expected is raised with its traceback."""

GENERAL = "Options"  # heading of those without a panel


class GroupedHelp(TyperCommand):
    """A command whose plain help lists its options by panel, and last those without one."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options below the name of their panel."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                panel = getattr(param, "rich_help_panel", None) or GENERAL
                panels.setdefault(panel, []).append(record)
        general = panels.pop(GENERAL, [])
        for panel, records in [*panels.items(), (GENERAL, general)]:
            with formatter.section(panel):
                formatter.write_dl(records)


def default_root() -> str:
    """Return the folder ``data`` with releases, here or in a parent folder; else ./data."""
    from hwprices.release.root import default_root as find_root

    return find_root()


_opened: "list[Dataset]" = []
"""The releases that the command has opened, to say which file is damaged where one is."""


def open_dataset(root: str, version: str) -> "Dataset":
    """Open a release; without a root that of ``default_root``."""
    from hwprices.read.dataset import Dataset
    from hwprices.release.root import resolve
    from hwprices.storage.store import Store

    # dataset.open makes the root absolute; the command's hints and errors name it as given
    _opened.append(Dataset(Store(resolve(root or default_root())), version))
    return _opened[-1]


def either(argument: str, option: str) -> str:
    """Return the release that is named as an argument or as an option; the latest without either.

    Raises:
        HwpricesError: both are given, and are not the same.
    """
    if option and argument not in (LATEST, option):
        raise HwpricesError(f"two releases are named: {argument} and {option}", "Name one.")
    return option or argument


def one_line_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Turn an error that a person can fix into one line on stderr and exit status 2.

    A damaged file of the dataset is one: polars says so in errors of its own. So are values that
    no release has: whoever made the dataset may have made them up.
    """

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        _opened.clear()
        try:
            with _one_line_warnings(), missing_part():
                command(*args, **kwargs)
        except HwpricesError as error:
            _fail(error)
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except Exception as error:
            if not _opened or os.environ.get(TRACEBACK):
                raise
            _fail(_damage(error) or _unreadable(error))

    return run


@contextmanager
def missing_part() -> Iterator[None]:
    """End with exit status 2 and one line where a package of the pipeline is not installed."""
    try:
        yield
    except ModuleNotFoundError as missing:
        _fail(
            HwpricesError(
                f"this command needs {missing.name}, a part of the pipeline",
                f"{install_command('pipeline')}.",
            )
        )


@contextmanager
def _one_line_warnings() -> Iterator[None]:
    """Print each HwpricesWarning as one line on stderr, where Python would quote our source."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", HwpricesWarning)
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any) -> None:
            if issubclass(category, HwpricesWarning):
                print_line("warning: ", "yellow", str(message))
            else:
                others(message, category, *place)

        warnings.showwarning = show  # type: ignore[assignment]
        yield


def _damage(error: Exception) -> HwpricesError | None:
    """State which file of the dataset is damaged; None where that is not what went wrong."""
    from hwprices.release.verify import explain

    faults = (explain(error, data.store, data.release) for data in _opened)
    return next((fault for fault in faults if fault is not None), None)


def _unreadable(error: Exception) -> HwpricesError:
    """Describe an error that values of a dataset cause which no published release has."""
    from hwprices.release.verify import missing_value

    place = traceback.extract_tb(error.__traceback__)[-1]
    cause = f"{type(error).__name__} in {Path(place.filename).name}, line {place.lineno}"
    for data in _opened:
        with suppress(Exception):
            cause = missing_value(data) or cause
    return HwpricesError(
        f"cannot read release {_opened[-1].version} in {_opened[-1].store.root}: {cause}",
        f"Use a dataset that hwprices wrote, or report it with the output of {TRACEBACK}=1.",
    )


def _fail(error: HwpricesError) -> None:
    print_error(error)
    raise typer.Exit(2) from None


def print_error(error: HwpricesError) -> None:
    """Print an error as one line on stderr."""
    print_line("error: ", "red", str(error))


def print_line(label: str, style: str, text: str) -> None:
    """Print a label in a color and a text as one line on stderr."""
    from rich.console import Console
    from rich.text import Text

    from hwprices.hidden_characters import escaped

    # as Text, so that [brackets] in the message are not taken for a style
    line = Text.assemble((label, style), escaped(text))
    Console(stderr=True).print(line, soft_wrap=True)


def print_table(table: "RenderableType") -> None:
    """Print a table; see ``tables.show``."""
    from hwprices.cli.tables import show

    show(table)


def print_json(value: Any) -> None:
    """Print a value as JSON; decimals and dates become text."""
    from hwprices.read.export.plain_json import to_json

    typer.echo(to_json(value, indent=1, ascii_only=True))


def print_csv(rows: "pl.DataFrame") -> None:
    """Print rows as CSV."""
    from hwprices.read.export.cells import to_csv

    typer.echo(to_csv(rows), nl=False)


def check_one_format(as_json: bool, as_csv: bool) -> None:
    """Refuse both formats at once.

    Raises:
        HwpricesError: both are requested.
    """
    if as_json and as_csv:
        raise HwpricesError("--json and --csv are two formats", "Give one of them.")


def print_frame(
    frame: "pl.DataFrame",
    as_json: bool,
    render: "Callable[[pl.DataFrame], RenderableType]",
    *,
    as_csv: bool = False,
    limit: int | None = None,
    notes: Sequence[str] = (),
) -> None:
    """Print an answer as JSON or CSV, or as the table that ``render`` makes of it.

    ``limit``: how many rows JSON and CSV have; None for all. ``render`` gets all rows. ``notes`` go
    to stderr beside JSON and CSV.
    """
    check_one_format(as_json, as_csv)
    rows = frame if limit is None else frame.head(limit)
    if as_json or as_csv:
        for note in notes:
            typer.echo(note, err=True)
    if as_json:
        print_json(rows.to_dicts())
    elif as_csv:
        print_csv(rows)
    else:
        print_table(render(frame))
