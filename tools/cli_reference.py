"""Write docs/cli.md, the reference of the command line, from the typer app.

``python -m tools.cli_reference`` writes it; ``--check`` fails when the file is out of date.
"""

import sys

import typer
from typer.cli import get_docs_for_click

from hwprices.cli import app
from tools.generated import PROJECT, write_or_check

TARGET = PROJECT / "docs" / "cli.md"

HEAD = """# Command line

Written from `src/hwprices/cli.py` by `make docs`; do not edit by hand.

"""


def render() -> str:
    """Return the whole document."""
    command = typer.main.get_command(app)
    context = typer.Context(command, info_name="hwprices")
    text = get_docs_for_click(obj=command, ctx=context, name="hwprices")
    return HEAD + text.replace("# `hwprices`\n", "## `hwprices`\n", 1).strip() + "\n"


def main(arguments: list[str]) -> int:
    """Write the file, or with ``--check`` compare it. Returns the exit status."""
    return write_or_check(TARGET, render(), arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
