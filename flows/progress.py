"""Show progress while a flow runs: one line for each provider on a terminal, plain lines elsewhere.

The flows call ``report`` and ``finish``. Outside ``show``, as in a worker that runs a deployment,
only ``finish`` prints: a line for each run.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)


class Reporter:
    """Draws the progress of providers on a console. Safe to call from several threads."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._lock = threading.Lock()
        self._bars: dict[str, TaskID] = {}
        self.display = Progress(
            SpinnerColumn(),
            TextColumn("[bold]{task.fields[owner]:<8}"),
            TextColumn("{task.description:<34}"),
            BarColumn(24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
        )

    def report(
        self, owner: str, activity: str, *, done: int | None = None, total: int | None = None
    ) -> None:
        """Show what ``owner`` (a provider, or publish) is doing now. See ``report`` below."""
        with self._lock:
            if owner not in self._bars:
                self._bars[owner] = self.display.add_task(activity, total=None, owner=owner)
                self._print_line(owner, activity)
            self.display.update(
                self._bars[owner], description=activity, completed=done, total=total
            )

    def note(self, owner: str, text: str) -> None:
        """Print a line beside the progress."""
        self.console.print(f"{owner}: {text}", markup=False, soft_wrap=True)

    def finish(self, owner: str, outcome: str) -> None:
        """Stop the clock of ``owner`` and show the outcome."""
        self.report(owner, outcome, done=1, total=1)
        with self._lock:
            self.display.stop_task(self._bars[owner])
            self._print_line(owner, outcome)

    def _print_line(self, owner: str, text: str) -> None:
        if not self.console.is_terminal:
            self.console.print(f"{owner}: {text}")


_reporter: ContextVar[Reporter | None] = ContextVar("reporter", default=None)
"""Prefect copies the context into the threads of its tasks, so they see the same reporter."""


@contextmanager
def show(console: Console) -> Iterator[None]:
    """Show progress on this console until the block ends."""
    reporter = Reporter(console)
    token = _reporter.set(reporter)
    try:
        if console.is_terminal:
            with reporter.display:
                yield
        else:
            yield
    finally:
        _reporter.reset(token)


def report(owner: str, activity: str, *, done: int | None = None, total: int | None = None) -> None:
    """Report what ``owner`` (a provider, or publish) is doing, and how many units are done."""
    if reporter := _reporter.get():
        reporter.report(owner, activity, done=done, total=total)


def note(owner: str, text: str) -> None:
    """Print a line about ``owner``, for example that it waits for another run."""
    if reporter := _reporter.get():
        reporter.note(owner, text)


def finish(owner: str, outcome: str) -> None:
    """Report that ``owner`` is done, and the outcome."""
    if reporter := _reporter.get():
        reporter.finish(owner, outcome)
    else:
        print(f"{time.strftime('%Y-%m-%d %H:%M')} {owner}: {outcome}", flush=True)
