"""The command ``hwprices admin reproduce``: a release made again from its landed pages."""

from typing import Annotated

import typer

from hwprices.cli.common import LATEST, call, print_json

SHARED = ("root", "json")

Version = Annotated[
    str,
    typer.Argument(help="Which release; `hwprices show releases` lists them.", metavar="VERSION"),
]


def reproduce(version: Version = LATEST) -> None:
    """Rebuild a release from its landed pages.

    Reads the pages again with the installed program and compares every table with the published
    one. Lists pages that are altered or missing, tables and rows that differ, and whether the
    program is another one. Exit status: 0 equal, 1 not equal, 2 something could not be compared.

    Example:

        hwprices admin reproduce
    """
    from hwprices.hidden_characters import escaped
    from hwprices.publish.reproduce import reproduce as rebuild
    from hwprices.release.release import Release
    from hwprices.release.root import resolve
    from hwprices.storage.store import Store

    store = Store(resolve(call().place))
    made = rebuild(
        store, Release(store, version).version, lambda step: typer.echo(f"{step} …", err=True)
    )
    if call().as_json:
        print_json(made.to_dict())
    else:
        for line in made.lines():
            typer.echo(escaped(line))
    raise typer.Exit(made.exit_status)
