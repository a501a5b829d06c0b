"""Understand the options of a question about the past: what is gone by now is known too."""

from collections.abc import Iterator, Mapping

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.read.find import request
from hwprices.read.find.suggestions import did_you_mean
from hwprices.read.find.vocabulary import Vocabulary
from hwprices.schemas.vocabulary import OPERATING_SYSTEMS, PURCHASE_OPTIONS

EVERY_SYSTEM = ("any", "all")

_CODES = {"os": OPERATING_SYSTEMS, "purchase_option": PURCHASE_OPTIONS}
"""Columns that hold a code of ours."""


def conditions(
    history: pl.LazyFrame, names: Vocabulary, **options: str | None
) -> Iterator[pl.Expr]:
    """Write the conditions on the price history that the options ask for.

    Args:
        history: the whole table.
        names: what the release calls its providers.
        options: columns of the table, with a name or several with commas: provider, region,
            purchase_option, os. Case does not matter, and - and a blank may stand for _.

    Raises:
        HwpricesError: neither the history nor our vocabulary has such a name; the line says which
            are near.
    """
    for column, value in options.items():
        texts = request.split(value)
        if texts and not (column == "os" and _plain(texts[0]) in EVERY_SYSTEM):
            codes = {code for text in texts for code in _codes(history, names, column, text)}
            yield pl.col(column).is_in(sorted(codes))


def _codes(history: pl.LazyFrame, names: Vocabulary, column: str, text: str) -> frozenset[str]:
    """Find what the history calls something."""
    vocabulary: Mapping[str, str] = _CODES.get(column, {})
    if _plain(text) in vocabulary:
        return frozenset([_plain(text)])
    known = history.select(pl.col(column).unique().sort()).collect()[column].to_list()
    same = frozenset(one for one in known if _plain(one) == _plain(text))
    if same:
        return same
    titles: list[str] = []
    if column == "provider":
        try:
            return request.providers(names, text)
        except HwpricesError:
            titles = list(names.providers.values())
    codes = sorted({*known, *vocabulary})
    there_are = f"There are: {', '.join(codes)}."
    raise HwpricesError(
        f"the price history has no {column.replace('_', ' ')} {text[:60]!r}",
        did_you_mean(text, [*titles, *codes])
        or ("hwprices coverage lists the regions." if column == "region" else there_are),
    )


def _plain(text: str) -> str:
    """Spell a name as codes are spelt."""
    return text.strip().casefold().replace("-", "_").replace(" ", "_")
