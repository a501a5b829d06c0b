"""What people see in a terminal: commands called in this process, and answers that are drawn."""

import io
from pathlib import Path

from click.testing import Result
from rich.console import Console, RenderableType
from typer.testing import CliRunner

from hwprices.cli import app


def run(*arguments: str, root: str | Path | None = None, stdin: str = "") -> Result:
    """Call ``hwprices`` with these arguments, and with ``--root`` where one is given."""
    at_root = [] if root is None else ["--root", str(root)]
    return CliRunner().invoke(app, [*arguments, *at_root], input=stdin, prog_name="hwprices")


def drawn(*answers: RenderableType, width: int = 200) -> str:
    """Draw answers as a terminal of that width shows them, without colors."""
    console = Console(file=io.StringIO(), width=width, record=True)
    for answer in answers:
        console.print(answer)
    return console.export_text()
