"""Refuse vendor rows: the first problem of a row decides its reason and message."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from hwprices.rows import quarantine


@dataclass(frozen=True)
class Problem:
    """A condition under which a row cannot be a price.

    ``reason`` is the code for the quarantine table. ``message`` is a template for
    ``quarantine.message``; ``values``, columns or expressions, replace its ``{}``. ``word`` is
    the vendor's word that is not known yet; None where the row is of a known kind and broken.
    """

    condition: pl.Expr
    reason: str
    message: str
    values: tuple[str | pl.Expr, ...] = ()
    word: pl.Expr | None = None


def unknown_word(condition: pl.Expr, reason: str, name: str, column: str) -> Problem:
    """Refuse a word that is not known; ``name`` is the vendor's name of its column."""
    return Problem(condition, reason, f"{name} {{}}", (column,), word_of(column))


def word_of(column: str) -> pl.Expr:
    """Return the vendor's word; null where the line has none, which is not a new word."""
    return pl.when(pl.col(column) != "").then(pl.col(column))


def first_problem(problems: Sequence[Problem]) -> list[pl.Expr]:
    """Make the columns ``reason``, ``message`` and ``word`` of the first problem that a row has.

    All are null for a row that has none.
    """
    reason = message = word = pl.lit(None, dtype=pl.String)
    for problem in reversed(problems):
        text = quarantine.message(problem.message, *problem.values)
        reason = pl.when(problem.condition).then(pl.lit(problem.reason)).otherwise(reason)
        message = pl.when(problem.condition).then(text).otherwise(message)
        new = problem.word if problem.word is not None else pl.lit(None, dtype=pl.String)
        word = pl.when(problem.condition).then(new).otherwise(word)
    return [reason.alias("reason"), message.alias("message"), word.alias("word")]
