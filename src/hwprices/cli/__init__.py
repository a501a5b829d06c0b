"""The command ``hwprices``: read a dataset from a terminal, and make one.

Each file here holds commands: their options and the drawing of their answers. ``commands.csv``
lists the commands, ``options.csv`` describes their options, ``help.md`` has their help. A file is
imported when its command is called, so ``--help`` is quick and works without the pipeline.
"""

import codecs
import errno
import gc
import io
import os
import re
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperGroup

from hwprices.cli.common import (
    Command,
    missing_part,
    one_line_errors,
    print_error,
    shared_options,
)
from hwprices.errors import HwpricesError
from hwprices.specs import csv_rows

_ROWS = csv_rows(Path(__file__).with_name("commands.csv"))


def _listed(column: str, value: str) -> dict[str, str]:
    """Return the commands with a value in a column, each with the first line of its help."""
    return {row["command"]: row["help"] for row in _ROWS if row[column] == value}


SECTIONS = {name: _listed("section", name) for name in (row["section"] for row in _ROWS) if name}
"""The commands by purpose."""

ADMIN = _listed("after", "admin")
"""The commands of ``hwprices admin``. The word ``admin`` may be left out."""

SECOND_WORDS = {word: _listed("after", word) for word in ("show", "cite", "export")}
"""Commands of two words; the second word alone works too."""

COMMANDS = {row["command"]: row for row in _ROWS if row["file"]}
"""The rows of commands: the file of each, and the shared options that it takes."""

_HELP_FILE = Path(__file__).with_name("help.md")
HELP = dict(re.findall(r"^# (\w+)\n\n(.*?)(?=\n# |\Z)", _HELP_FILE.read_text("utf-8"), re.M | re.S))
"""The help of the commands, each below a heading with its name."""

ADMIN_HELP = """Collect, publish, schedule and check a dataset of your own.

Commands that collect or schedule need the extra hwprices[pipeline].
"""

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
"""Errors of a write: disk full, over quota, file too large, failing hardware."""


class Commands(TyperGroup):
    """Commands of the files in this folder, listed in sections."""

    sections: ClassVar[dict[str, dict[str, str]]] = SECTIONS
    second_words: ClassVar[dict[str, dict[str, str]]] = SECOND_WORDS
    unlisted: ClassVar[dict[str, str]] = ADMIN

    def list_commands(self, ctx: Any) -> list[str]:
        """List the names of the commands, for completion and the reference."""
        listed = (*self.sections.values(), *self.second_words.values())
        return [name for section in listed for name in section]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import a command; None if there is no such command.

        A file may have ``SETTINGS``: keyword arguments of ``typer.Typer.command``.
        """
        if cmd_name not in (*self.list_commands(ctx), *self.unlisted):
            return None
        if cmd_name == "admin":
            return Admin(name="admin", help=ADMIN_HELP, no_args_is_help=True, rich_markup_mode=None)
        with missing_part():
            module = import_module(f"hwprices.cli.{COMMANDS[cmd_name]['file']}")
        typer_app = typer.Typer(rich_markup_mode=None, add_completion=False)
        settings = {"cls": Command, "help": HELP.get(cmd_name), **getattr(module, "SETTINGS", {})}
        typer_app.command(cmd_name, **settings)(one_line_errors(getattr(module, cmd_name)))
        command: Any = typer.main.get_command(typer_app)
        command.shared = COMMANDS[cmd_name]["shared"].split()
        return command

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Take ``--root`` and such in front of the command as if they came behind its name."""
        takes_value = {option.opts[0]: not option.is_flag for option in shared_options()}
        del takes_value["--version"]  # in front of a command it is the program's
        front = 0
        while front < len(args) and (name := args[front].partition("=")[0]) in takes_value:
            front += 2 if takes_value[name] and name == args[front] else 1
        command = args[front:]
        words = 2 if command[1:] and command[1] in self._second_words(command[0]) else 1
        behind = [*args[:front], *command[words:]] if command else []
        return super().parse_args(ctx, [*command[:words], *behind])

    def _second_words(self, word: str) -> Mapping[str, str]:
        return ADMIN if word == "admin" else self.second_words.get(word, {})

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command of a call; ``show releases`` and some others are two words."""
        if len(args) > 1 and args[1] in self.second_words.get(args[0], ()):
            name, command, arguments = super().resolve_command(ctx, args[1:])
            return f"{args[0]} {name}", command, arguments
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the names with their help, without importing their files."""
        width = max(map(len, self.list_commands(ctx)))
        for title, section in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{width}}", text) for name, text in section.items()])
        with formatter.section("Options of commands"):
            formatter.write_dl([option.get_help_record(ctx) for option in shared_options()])


class Admin(Commands):
    """The commands that run the pipeline."""

    sections: ClassVar[dict[str, dict[str, str]]] = {"Commands": ADMIN}
    second_words: ClassVar[dict[str, dict[str, str]]] = {}
    unlisted: ClassVar[dict[str, str]] = {}


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    # plain help: rich's shows a type behind each switch, and is slower to import
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(requested: bool) -> None:
    if requested:
        import hwprices

        typer.echo(f"hwprices {hwprices.__version__}")
        raise typer.Exit


@app.callback()
def hwprices(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the program's version."
        ),
    ] = False,
) -> None:
    """Read the hwprices dataset: what AI and cloud hardware costs.

    Every price can be traced to the vendor's line. A dataset is a folder or an object store
    (s3://, gs://, az://) with releases below it; name it with --root or HWPRICES_ROOT. Without
    either it is the folder data here or in a parent folder.

    Examples:
        hwprices show

        hwprices find 8xH100 europe

        hwprices recommend --help
    """


def main() -> None:
    """Run the command line."""
    # Imports create a hundred thousand objects and no garbage. Collecting them again and again, and
    # freeing them one by one at the end, would take a fifth of `hwprices find`.
    gc.set_threshold(50_000)
    _prepare_output()
    try:
        try:
            app(prog_name="hwprices")
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader is gone, as with `| head`. Typer handles this only inside a command.
        _discard_output()
        sys.exit(1)
    except OSError as cause:
        print_error(_error_of(cause))
        sys.exit(1)
    finally:
        # not with DuckDB: it would report the objects that are not freed as leaks
        if "duckdb" not in sys.modules:
            gc.freeze()


def _prepare_output() -> None:
    """Make stdout and stderr accept every character.

    Files and pipes get UTF-8. A terminal with another encoding, or a stream with PYTHONIOENCODING
    set, shows a question mark for what it cannot encode. A closed stream discards its output.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
        elif not isinstance(stream, io.TextIOWrapper) or _is_utf8(stream):
            continue
        elif stream.isatty() or os.environ.get("PYTHONIOENCODING"):
            stream.reconfigure(errors="replace")
        else:
            stream.reconfigure(encoding="utf-8")


def _is_utf8(stream: io.TextIOWrapper) -> bool:
    return codecs.lookup(stream.encoding).name == "utf-8"


def _error_of(cause: OSError) -> HwpricesError:
    """Describe a failed write to stdout, and discard the remaining output."""
    if cause.filename is not None or cause.errno not in NO_ROOM:
        raise cause
    _discard_output()
    return HwpricesError(f"cannot write the output: {cause.strerror}", "Make room where it goes.")


def _discard_output() -> None:
    """Discard the remaining output, which Python would otherwise try to write again on exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
