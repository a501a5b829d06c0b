"""What all commands share: options, errors in one line, and how answers are printed."""

import inspect
import json
import os
import traceback
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand
from typer.exceptions import TyperException

from hwprices.errors import HwpricesError, HwpricesWarning, install_command
from hwprices.specs import csv_rows

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType

    from hwprices.read.dataset import Dataset

TRACEBACK = "HWPRICES_TRACEBACK"
"""Environment variable: 1 shows the traceback of an unexpected error."""

GENERAL = "Options"  # heading of options without a panel
LATEST = "latest"


@dataclass(frozen=True)
class Call:
    """The values of the options that all commands share.

    Attributes:
        root: the dataset; "" for the folder ``data`` here or in a parent folder.
        release: the version to open.
        limit: rows to print; None for a screenful, or all with ``as_json`` or ``as_csv``.
    """

    root: str = ""
    release: str = LATEST
    limit: int | None = None
    as_json: bool = False
    as_csv: bool = False

    @property
    def for_programs(self) -> bool:
        """Whether JSON or CSV is requested."""
        return self.as_json or self.as_csv

    @property
    def place(self) -> str:
        """The root; by default the nearest folder ``data`` with releases, else ./data."""
        from hwprices.release.versions import default_root

        return self.root or default_root()


_call: ContextVar[Call] = ContextVar("call")


def call() -> Call:
    """Return the shared options of the command that runs."""
    return _call.get(Call())


_OPTIONS = csv_rows(Path(__file__).with_name("options.csv"))


def described(**completers: Callable[..., Any]) -> Callable[[Callable[..., None]], Any]:
    """Decorate a command whose arguments and options ``options.csv`` describes.

    ``completers``: by parameter, the function that completes it in a shell.
    """

    def describe(command: Callable[..., None]) -> Callable[..., None]:
        rows = {row["parameter"]: row for row in _OPTIONS if row["command"] == command.__name__}
        signature = inspect.signature(command)
        parameters = [
            each.replace(
                annotation=Annotated[
                    each.annotation, _declared(rows[each.name], completers.get(each.name))
                ]
            )
            if each.name in rows
            else each
            for each in signature.parameters.values()
        ]
        # typer reads both
        command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {each.name: each.annotation for each in parameters}
        return command

    return describe


def _declared(row: Mapping[str, str], completer: Callable[..., Any] | None) -> Any:
    """Return typer's declaration of an argument or option."""
    shown: Any = {"metavar": row["metavar"] or None, "help": row["help"]}
    if row["kind"] == "argument":
        return typer.Argument(**shown, autocompletion=completer)
    least, most = (json.loads(row[end] or "null") for end in ("min", "max"))
    return typer.Option(
        *row["flags"].split(),
        **shown,
        autocompletion=completer,
        min=least,
        max=most,
        envvar=row["variable"] or None,
        rich_help_panel=row["panel"] or None,
        show_default=row["default"] != "false" and (row["default"] or True),
    )


@described()
def shared(
    root: str = "",
    release: str = "",
    limit: int | None = None,
    as_json: bool = False,
    as_csv: bool = False,
) -> None:
    """Declare the shared options; typer reads the signature."""


def shared_options() -> list[Any]:
    """Return the shared options; ``commands.csv`` lists those that each command takes."""
    app = typer.Typer(add_completion=False)
    app.command()(shared)
    return list(typer.main.get_command(app).params)


WORDS_ELSEWHERE = ("--provider", "--cloud", "--region", "--country")
"""Conditions that every command with words understands there; not every command has the option."""


class Command(TyperCommand):
    """A command with shared options; its help describes only its other options."""

    shared: Collection[str] = ()

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the command's options, then the shared ones, then --help."""
        *options, help_option = super().get_params(ctx)
        return [*options, *self._shared_options, help_option]

    @cached_property
    def _shared_options(self) -> list[Any]:
        chosen = {f"--{name}" for name in self.shared}
        return [option for option in shared_options() if chosen & {*option.opts}]

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Parse arguments; the error of an option that is a word here, as in find, says so."""
        try:
            return super().parse_args(ctx, args)
        except TyperException as error:
            option = getattr(error, "option_name", "")  # of an unknown option
            if option in WORDS_ELSEWHERE and any(param.name == "words" for param in self.params):
                error.message += f". Write its value as a word: hwprices {self.name} … aws europe"
                error.possibilities = None  # type: ignore[attr-defined]
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the command; ``call`` returns the values of its shared options."""
        names = [option.name for option in self._shared_options]
        values = {name: ctx.params.pop(name) for name in names}
        shared = Call(**{name: value for name, value in values.items() if value})
        _call.set(shared)
        if shared.as_json and shared.as_csv:
            _fail(HwpricesError("--json and --csv are two formats", "Give one of them."))
        return super().invoke(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options by panel, and the names of the shared options in one line."""
        panels: dict[str, list[tuple[str, str]]] = {}
        shared = [option.opts[0] for option in self._shared_options]
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and param.opts[0] not in shared:
                panel = getattr(param, "rich_help_panel", None) or GENERAL
                panels.setdefault(panel, []).append(record)
        general = panels.pop(GENERAL, [])
        for panel, records in [*panels.items(), (GENERAL, general)]:
            with formatter.section(panel):
                formatter.write_dl(records)
        if shared:
            formatter.write_paragraph()
            formatter.write_text(f"Also {', '.join(shared)}: see hwprices --help.")


_opened: "list[Dataset]" = []
"""The releases that the command has opened, to find the damaged file after an error."""


def open_dataset(version: str = LATEST) -> "Dataset":
    """Open the release that --version or the command's argument ``version`` names.

    Raises:
        HwpricesError: they name different releases.
    """
    from hwprices.read.dataset import Dataset
    from hwprices.release.versions import resolve
    from hwprices.storage.store import Store

    option = call().release
    if LATEST not in (version, option) and version != option:
        raise HwpricesError(f"two releases are named: {version} and {option}", "Name one.")
    release = option if version == LATEST else version
    # not dataset.open, which makes the root absolute: messages show the root as it was typed
    _opened.append(Dataset(Store(resolve(call().place)), release))
    return _opened[-1]


def one_line_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Turn an error that the user can fix into one line on stderr and exit status 2.

    This includes errors of polars on damaged files, and any error on values that no published
    release has: the dataset may not come from hwprices.
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
            from hwprices.release.release import explain

            faults = (explain(error, data.store, data.release) for data in _opened)
            _fail(next(filter(None, faults), None) or _unreadable(error))

    return run


@contextmanager
def missing_part() -> Iterator[None]:
    """Exit with status 2 and one line if a package of the pipeline is not installed."""
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
    """Print each HwpricesWarning as one line on stderr, without Python's quote of the source."""
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


def _unreadable(error: Exception) -> HwpricesError:
    """Describe an error caused by values that no published release has."""
    from hwprices.release.release import missing_value

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

    from hwprices.errors import escaped

    # as Text, so that [brackets] in the message are not taken for a style
    line = Text.assemble((label, style), escaped(text))
    Console(stderr=True).print(line, soft_wrap=True)


def print_json(value: Any) -> None:
    """Print a value as JSON; decimals and dates become text."""
    from hwprices.read.export.cells import to_json

    typer.echo(to_json(value, indent=1, ascii_only=True))


def print_csv(rows: "pl.DataFrame") -> None:
    """Print rows as CSV."""
    from hwprices.read.export.cells import to_csv

    typer.echo(to_csv(rows), nl=False)


def not_collected(clouds: Iterable[str]) -> list[str]:
    """State what is not collected of each of these clouds that has a provider."""
    from hwprices import providers

    collected = [name for name in sorted(clouds) if name in providers.names()]
    return [f"Not collected of {name}: {providers.get(name).about.missing}." for name in collected]


def print_frame(
    frame: "pl.DataFrame",
    render: "Callable[[pl.DataFrame], RenderableType]",
    notes: Sequence[str] = (),
) -> None:
    """Print an answer as JSON or CSV, or as the table that ``render`` makes of it.

    ``--limit`` applies to JSON and CSV; ``render`` gets all rows. With JSON and CSV, ``notes`` go
    to stderr.
    """
    if not call().for_programs:
        from hwprices.cli.tables import print_table

        print_table(render(frame))
        return
    for note in notes:
        typer.echo(note, err=True)
    rows = frame.head(call().limit or frame.height)
    if call().as_json:
        print_json(rows.to_dicts())
    else:
        print_csv(rows)
