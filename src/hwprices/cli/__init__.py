"""The command ``hwprices``: read a dataset from a terminal, and make one.

A command is a plain function in one of the modules here, and one line at the end of this one. Each
imports what it needs when it runs, so that ``--help`` is quick and needs no part of the pipeline.
"""

import gc
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from hwprices.cli import (
    answers,
    check_sheet,
    compare,
    coverage,
    demo,
    deploy,
    diff,
    explain,
    export,
    find,
    history,
    output,
    pipeline,
    preflight,
    price,
    recommend,
    releases,
    report,
    status,
)
from hwprices.cli.common import GroupedHelp, one_line_errors, print_error

app = typer.Typer(
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


def _add(command: Callable[..., None], **settings: Any) -> None:
    """Register a command. ``settings`` are those of ``typer.Typer.command``."""
    app.command(**settings)(one_line_errors(command))


# in the order in which the help lists them
_add(releases.show)
_add(demo.demo)
_add(find.find)
_add(price.price, context_settings={"allow_extra_args": True})  # it points to compare
_add(compare.compare)
_add(releases.query)
_add(explain.explain)
_add(export.export)
_add(answers.device)
_add(recommend.recommend, cls=GroupedHelp)
_add(answers.tco)
_add(history.history)
_add(diff.diff)
_add(report.report)
_add(releases.releases)
_add(coverage.coverage)
_add(coverage.quarantine)
_add(releases.verify)
_add(status.status)
_add(pipeline.prune)
_add(check_sheet.check_sheet)
# the command has a help of its own, which needs the pipeline: its options are passed on
_add(
    pipeline.refresh,
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
_add(preflight.preflight)
_add(pipeline.serve)
_add(deploy.deploy)
_add(pipeline.worker)


def main() -> None:
    """Run the command line.

    Importing makes a hundred thousand objects and no garbage. Python's collector looks through them
    again and again, and frees them one by one at the end: a fifth of ``hwprices find``.
    """
    gc.set_threshold(50_000)
    output.prepare()
    try:
        try:
            app(prog_name="hwprices")
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # Nobody reads any more, as with head. Typer sees it in a command, but not in what is
        # written at the end.
        output.throw_away()
        sys.exit(1)
    except OSError as cause:
        print_error(output.error_of(cause))
        sys.exit(1)
    finally:
        # the system frees all memory at once; DuckDB prints what is left over as leaks
        if "duckdb" not in sys.modules:
            gc.freeze()
