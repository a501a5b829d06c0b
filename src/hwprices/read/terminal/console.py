"""Print to a terminal, or into a pipe."""

import sys

from rich.console import Console, RenderableType

from hwprices.read.terminal.tables import Escaped

PIPE_WIDTH = 100_000
"""Columns where the output is not a terminal: nothing is cut or broken into lines."""


def console() -> Console:
    """Make a console as wide as the terminal; without bounds and colours in a pipe.

    Texts are shown as they are: [red] and :smile: are neither styles nor pictures.
    """
    if sys.stdout.isatty():
        return Console(markup=False, emoji=False, highlight=False)
    return Console(width=PIPE_WIDTH, markup=False, emoji=False, highlight=False)


def show(drawn: RenderableType) -> None:
    """Print an answer on stdout. Control characters are escaped; in a pipe no line ends in blanks.

    rich fills the cells of a table with blanks up to the width of their column.
    """
    screen = console()
    if screen.is_terminal:
        screen.print(Escaped(drawn), crop=False)
        return
    with screen.capture() as captured:
        screen.print(Escaped(drawn), crop=False)
    lines = captured.get().split("\n")
    sys.stdout.write("\n".join(line.rstrip(" ") for line in lines))
