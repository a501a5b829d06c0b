"""Print what a refresh came to: the release's summary, what the gate held back, what failed."""

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from hwprices.hidden_characters import escaped
from hwprices.read import summary
from hwprices.read.dataset import Dataset
from hwprices.read.find import overview
from hwprices.read.terminal.console import show
from hwprices.read.terminal.overview import render_new_words
from hwprices.storage.store import Store

SHOWN_WORDS = 5
"""New words of a provider that are listed."""

if TYPE_CHECKING:  # see command.py
    from hwprices.publish.release import Published


def print_summary(
    published: "Published", root: str, notices: Sequence[str], *, well: bool = True
) -> None:
    """Print the release in force on stdout, headed by what the gate held back and by ``notices``.

    On stderr comes a line for each check that stopped, with what to do. ``well``: no provider
    failed.
    """
    dataset = Dataset(Store(root), published.version)
    held = [
        f"held back: {name} ({published.status.providers[name].reason})"
        for name in published.held_back
    ]
    lines = [*held, *notices]
    words = overview.new_words(dataset)
    if words.height:
        show(render_new_words(words, most=SHOWN_WORDS))
    show(summary.render(dataset, new=published.new, notices=None if well and not lines else lines))
    errors = Console(stderr=True)
    for line in _remedies(published):
        errors.print(Text(escaped(line), style="yellow"), soft_wrap=True)


def new_words(published: "Published", root: str, providers: Collection[str]) -> list[str]:
    """List the words of vendors that are not known yet, each behind its provider."""
    rows = overview.new_words(Dataset(Store(root), published.version), providers)
    return [f"{provider} {word}" for provider, word in rows.select("provider", "word").iter_rows()]


def print_notices(lines: Iterable[str]) -> None:
    """Print each line on stdout, where there is no release whose summary they could head."""
    for line in lines:
        show(Text(escaped(line), "bold yellow"))


def print_errors(lines: Iterable[str]) -> None:
    """Print each error as one line on stderr."""
    errors = Console(stderr=True)
    for line in lines:
        errors.print(Text.assemble(("error: ", "red"), escaped(line)), soft_wrap=True)


def print_warnings(lines: Iterable[str]) -> None:
    """Print each warning as one line on stderr."""
    errors = Console(stderr=True)
    for line in lines:
        errors.print(Text.assemble(("warning: ", "yellow"), escaped(line)), soft_wrap=True)


def _remedies(published: "Published") -> list[str]:
    return [
        f"{result.provider}: {_state(published, result.provider)}, {result.check}: {result.detail}"
        f" (let it through with --accept {result.provider}:{result.check})"
        for stops in published.held_back.values()
        for result in stops
    ]


def _state(published: "Published", provider: str) -> str:
    return "kept as it was" if provider in published.release.providers else "left out"
