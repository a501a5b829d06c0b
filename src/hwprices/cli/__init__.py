"""The command ``hwprices``: read a dataset from a terminal, and make one.

The files here have the commands, each with its options and what it draws. ``COMMANDS`` lists them;
a file is imported when its command is called, so that ``--help`` is quick and needs no part of the
pipeline.
"""

import codecs
import errno
import gc
import io
import os
import sys
from importlib import import_module
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperGroup

from hwprices.cli.common import (
    SHARED,
    Command,
    missing_part,
    one_line_errors,
    print_error,
    shared_options,
)
from hwprices.errors import HwpricesError

SECTIONS = {
    "Find and compare": {
        "show": "Summarize a release; show diff, releases, coverage.",
        "find": "Find offers by words or options.",
        "price": "Show what a machine type has and costs.",
        "compare": "Compare machine types side by side.",
        "device": "Describe an accelerator, CPU or machine.",
        "history": "Show what a machine type or accelerator cost, and when.",
    },
    "Decide": {
        "recommend": "Rank machines for a model, to rent and to buy.",
        "tco": "Compare owning a machine with renting one.",
        "bill": "Check a cloud's bill, or reprice its usage.",
    },
    "Prove": {
        "explain": "Trace a price back to the vendor's line.",
        "cite": "Cite a price in one line; cite recheck checks citations.",
    },
    "Use elsewhere": {
        "query": "Ask the dataset in SQL.",
        "export": "Write tables to files; export report writes pages.",
    },
    "Run it yourself": {"admin": "Collect, publish, schedule and check a dataset of your own."},
}
"""The commands by what a person wants, each with the first line of its help."""

ADMIN = {
    "refresh": "Collect prices and publish a release.",
    "status": "Describe the status of each provider.",
    "preflight": "Check what a live run will need, before it starts.",
    "quarantine": "List what was refused, grouped by reason.",
    "sheets": "List price sheets by age, or check one.",
    "backfill": "Fetch past prices from the vendor itself.",
    "verify": "Check a release against its checksums.",
    "reproduce": "Rebuild a release from its landed pages.",
    "prune": "Delete old releases and what only they were made of.",
    "serve": "Run the pipeline by its schedules, until Ctrl-C.",
    "deploy": "Make the schedules on your own Prefect server.",
    "worker": "Run the scheduled flows of your own Prefect server.",
    "mcp": "Answer agents: a server of the Model Context Protocol.",
}
"""The commands of ``hwprices admin``. They can be called without that word too."""

SECOND_WORDS = {
    "show": {
        "diff": "Show how the prices of two releases differ.",
        "releases": "List the releases of a dataset, newest last.",
        "coverage": "State which regions have prices, and how old they are.",
    },
    "cite": {"recheck": "Check whether cited prices still hold."},
    "export": {"report": "Write a release as pages for a browser."},
}
"""Commands that are called by two words; the second one is enough."""

COMMANDS = {
    name: text
    for group in (*SECTIONS.values(), *SECOND_WORDS.values(), ADMIN)
    for name, text in group.items()
    if name != "admin"
}
"""Every command."""

FILES = {
    "backfill": "history",
    "deploy": "servers",
    "preflight": "status",
    "prune": "releases",
    "quarantine": "coverage",
    "cite": "explain",
    "diff": "show",
    "mcp": "servers",
    "sheets": "status",
    "recheck": "explain",
    "report": "export",
    "reproduce": "releases",
    "serve": "servers",
    "verify": "releases",
    "worker": "servers",
}
"""The file of each command that has no file of its own name."""

ADMIN_HELP = """Collect, publish, schedule and check a dataset of your own.

What collects and schedules needs the extra hwprices[pipeline].
"""

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
"""What a file gives that takes no more: disk full, quota, longest file, hardware."""


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

        A file may have ``SETTINGS``, those of ``typer.Typer.command``.
        """
        if cmd_name not in (*self.list_commands(ctx), *self.unlisted):
            return None
        if cmd_name == "admin":
            return Admin(name="admin", help=ADMIN_HELP, no_args_is_help=True, rich_markup_mode=None)
        name = cmd_name.replace("-", "_")
        with missing_part():
            module = import_module(f"hwprices.cli.{FILES.get(name, name)}")
        one = typer.Typer(rich_markup_mode=None, add_completion=False)
        settings = {"cls": Command, **getattr(module, "SETTINGS", {})}
        one.command(cmd_name, **settings)(one_line_errors(getattr(module, name)))
        command: Any = typer.main.get_command(one)
        command.shared = getattr(getattr(module, name), "shared", SHARED)
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command of a call; ``show releases`` and some others are two words."""
        if len(args) > 1 and args[1] in self.second_words.get(args[0], ()):
            name, command, rest = super().resolve_command(ctx, args[1:])
            return f"{args[0]} {name}", command, rest
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the names with their help, without an import of their files."""
        width = max(map(len, self.list_commands(ctx)))
        for title, section in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{width}}", text) for name, text in section.items()])
        with formatter.section("Options of commands"):
            formatter.write_dl([option.get_help_record(ctx) for option in shared_options()])


class Admin(Commands):
    """The commands of those who run the pipeline."""

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
    """Run the command line.

    Importing makes a hundred thousand objects and no garbage. Python's collector looks through them
    again and again, and frees them one by one at the end: a fifth of ``hwprices find``.
    """
    gc.set_threshold(50_000)
    _prepare_output()
    try:
        try:
            app(prog_name="hwprices")
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # Nobody reads any more, as with head. Typer sees it in a command, but not in what is
        # written at the end.
        _throw_away()
        sys.exit(1)
    except OSError as cause:
        print_error(_error_of(cause))
        sys.exit(1)
    finally:
        # the system frees all memory at once; DuckDB prints what is left over as leaks
        if "duckdb" not in sys.modules:
            gc.freeze()


def _prepare_output() -> None:
    """Make stdout and stderr accept every character, in UTF-8 where they are not a terminal.

    A terminal with another encoding shows what it cannot write as a question mark, and so does
    a stream for which the user has set PYTHONIOENCODING. A stream that is closed takes everything
    and keeps nothing.
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
    """Report that stdout takes no more, and throw away what is left."""
    if cause.filename is not None or cause.errno not in NO_ROOM:
        raise cause
    _throw_away()
    return HwpricesError(
        f"the output cannot be written: {cause.strerror}", "Make room where it goes."
    )


def _throw_away() -> None:
    """Throw away what is left to be written: Python would try it once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
