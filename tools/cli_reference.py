"""Write docs/cli.md, the reference of the command line, from the typer app.

``make docs`` calls it. The page is not in git.
"""

import typer
from typer.cli import get_docs_for_click

from hwprices.cli import app
from tools.generated import PROJECT

TARGET = PROJECT / "docs" / "cli.md"

HEAD = """# Command line

Written from the commands of `src/hwprices/cli/` by `make docs`; do not edit by hand.

"""


def render() -> str:
    """Return the whole document."""
    root = typer.main.get_command(app)
    context = typer.Context(root, info_name="hwprices")
    text = get_docs_for_click(obj=root, ctx=context, name="hwprices")
    body = text.replace("# `hwprices`\n", "## `hwprices`\n", 1).strip()
    return f"{HEAD}{body}\n"


if __name__ == "__main__":
    TARGET.write_text(render(), encoding="utf-8")
