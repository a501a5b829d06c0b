"""Let the signals that end a process end what it has started, too."""

import signal
from collections.abc import Callable
from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGHUP)
"""``kill``, ``docker stop`` and systemd send the first, a terminal that is closed the second.
Without a handler Python ends at once, and child processes stay. Ctrl-C raises KeyboardInterrupt
already."""


def handle_ending(handler: Callable[[int, FrameType | None], None]) -> None:
    """Let a function handle SIGTERM and SIGHUP; it raises what ends the program.

    A signal that is ignored, as ``nohup`` does with SIGHUP, stays so.
    """
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def interrupt(_number: int, _frame: FrameType | None) -> None:
    """End the program as Ctrl-C does: a handler for ``handle_ending``."""
    raise KeyboardInterrupt
