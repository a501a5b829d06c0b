"""Suggest near names for a word that was not understood."""

import difflib
from collections.abc import Iterable

MAX_SUGGESTIONS = 6


def near(word: str, choices: Iterable[str], cutoff: float = 0.6) -> list[str]:
    """List the choices that are spelled nearly like the word, the nearest first."""
    by_spelling = {choice.lower(): choice for choice in choices}
    close = difflib.get_close_matches(word.lower(), by_spelling, MAX_SUGGESTIONS, cutoff)
    return [by_spelling[spelling] for spelling in close]


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Write a question with near names; empty if there is none."""
    names = near(word, choices)
    return f"Did you mean {', '.join(names)}?" if names else ""
