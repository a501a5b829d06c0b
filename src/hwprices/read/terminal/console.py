"""Print to a terminal, or into a pipe."""

import sys

from rich.console import Console

PIPE_WIDTH = 100_000
"""Columns where the output is no terminal: nothing is cut or broken into lines."""


def console() -> Console:
    """Make a console as wide as the terminal; without bounds and colours in a pipe.

    Texts are shown as they are: [red] and :smile: are no styles or pictures.
    """
    if sys.stdout.isatty():
        return Console(markup=False, emoji=False, highlight=False)
    return Console(width=PIPE_WIDTH, markup=False, emoji=False, highlight=False)
