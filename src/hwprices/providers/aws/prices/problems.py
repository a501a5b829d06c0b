"""Refuse vendor rows: the first problem of a row decides its reason and message."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from hwprices.rows import quarantine


@dataclass(frozen=True)
class Problem:
    """A condition under which a row cannot be a price.

    ``reason`` is the code for the quarantine table. ``message`` is a template for
    ``quarantine.message``, whose ``{}`` stand for ``values``, columns or expressions.
    """

    condition: pl.Expr
    reason: str
    message: str
    values: tuple[str | pl.Expr, ...] = ()


def first_problem(problems: Sequence[Problem]) -> list[pl.Expr]:
    """Make the columns ``reason`` and ``message`` of the first problem that a row has.

    Both are null for a row that has none.
    """
    reason = pl.lit(None, dtype=pl.String)
    message = pl.lit(None, dtype=pl.String)
    for problem in reversed(problems):
        text = quarantine.message(problem.message, *problem.values)
        reason = pl.when(problem.condition).then(pl.lit(problem.reason)).otherwise(reason)
        message = pl.when(problem.condition).then(text).otherwise(message)
    return [reason.alias("reason"), message.alias("message")]
