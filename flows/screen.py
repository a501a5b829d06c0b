"""Print what a refresh came to: the release's summary, what the gate held back, what failed."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from hwprices.read import summary
from hwprices.read.dataset import Dataset
from hwprices.storage.store import Store

if TYPE_CHECKING:  # see command.py
    from hwprices.publish.release import Published


def print_summary(published: "Published", root: str) -> None:
    """Print the release in force on stdout, and on stderr each provider that the gate held back."""
    # A wide table keeps its columns; a narrower terminal wraps its lines.
    console = Console(width=max(Console().width, summary.WIDE))
    dataset = Dataset(Store(root), published.version)
    console.print(summary.render(dataset, new=published.new), crop=False)
    errors = Console(stderr=True)
    for line in _held_back(published):
        errors.print(Text(line, style="yellow"), soft_wrap=True)


def print_errors(lines: Iterable[str]) -> None:
    """Print each error as one line on stderr."""
    errors = Console(stderr=True)
    for line in lines:
        errors.print(Text.assemble(("error: ", "red"), line), soft_wrap=True)


def _held_back(published: "Published") -> list[str]:
    return [
        f"{result.provider}: kept as it was, {result.check}: {result.detail}"
        f" (let it through with --accept {result.provider}:{result.check})"
        for result in published.results
        if result.outcome == "stop"
    ]
