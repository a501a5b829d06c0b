"""What a person sees while it works: a progress line for each provider on a terminal, plain lines elsewhere."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

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
    """Shows steps of providers. Safe to call from several threads."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._lock = threading.Lock()
        self._tasks: dict[str, TaskID] = {}
        columns = [
            SpinnerColumn(),
            TextColumn("[bold]{task.fields[who]:<8}"),
            TextColumn("{task.description:<34}"),
            BarColumn(24),
        ]
        self.progress = Progress(
            *columns, MofNCompleteColumn(), TimeElapsedColumn(), console=console
        )

    def step(
        self, who: str, what: str, *, done: int | None = None, total: int | None = None
    ) -> None:
        """``who`` (a provider, or publish) is now doing ``what``."""
        with self._lock:
            if who not in self._tasks:
                self._tasks[who] = self.progress.add_task(what, total=None, who=who)
                if not self.console.is_terminal:
                    self.console.print(f"{who}: {what}")
            self.progress.update(self._tasks[who], description=what, completed=done, total=total)

    def end(self, who: str, what: str) -> None:
        """``who`` is done, with what came of it."""
        self.step(who, what, done=1, total=1)
        with self._lock:
            self.progress.stop_task(self._tasks[who])
            if not self.console.is_terminal:
                self.console.print(f"{who}: {what}")


_current: Reporter | None = None


@contextmanager
def live(console: Console) -> Iterator[Reporter]:
    """Show progress on this console until the block ends."""
    global _current  # noqa: PLW0603 - one terminal, one reporter
    reporter = Reporter(console)
    _current = reporter
    try:
        if console.is_terminal:
            with reporter.progress:
                yield reporter
        else:
            yield reporter
    finally:
        _current = None


def step(who: str, what: str, *, done: int | None = None, total: int | None = None) -> None:
    """Report a step, if somebody is looking."""
    if _current is not None:
        _current.step(who, what, done=done, total=total)


def end(who: str, what: str) -> None:
    """Report an end, if somebody is looking."""
    if _current is not None:
        _current.end(who, what)
