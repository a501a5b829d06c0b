"""Find machine types that a SKU which is not understood names.

Google gives single sizes SKUs of their own: M4NUltramem224 beside M4N. Until such a SKU is
understood, the rates of the series are not those of the size.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

import polars as pl

from hwprices.providers.gcp.inventory.machine_type import Machines
from hwprices.providers.gcp.prices import vocabulary
from hwprices.providers.gcp.prices.vertex import PREDICTION

_GAP = "[ _-]*"
_GAPS = re.compile("[ _-]+")
_NOT_LETTERS = re.compile("[^a-z0-9]")

_UNDERSTOOD: Final = {_NOT_LETTERS.sub("", word.lower()) for word in vocabulary.SERIES}
"""Names that the vocabulary has: "H4D Standard" says nothing new of h4d-standard-192."""


def named_by_refused(refused: pl.DataFrame, machines: Machines) -> dict[str, str]:
    """Return the machine types that are named, each with the reason of a price that is null.

    Names are compared without regard to case, blanks and hyphens, and with or without their
    numbers: C4D-HIGHMEM-HIGHLSSD names c4d-highmem-8-highlssd. Of names within each other the
    longest counts. ``refused`` is ``SkuCatalog.refused``.
    """
    # a license "on f1-micro" says nothing of it, nor does Vertex AI
    is_machine = pl.col("family").ne_missing("License")
    of_vertex = pl.col("description").str.contains(PREDICTION).fill_null(value=False)
    not_understood = refused.filter(pl.col("component_id").is_null(), is_machine, ~of_vertex)
    texts = (
        not_understood["description"].drop_nulls().str.split(" in ").list.first().unique().sort()
    )
    spellings = {machine.name: _spellings(machine.name) for machine in machines.types}
    named: dict[str, str] = {}
    for text in texts:
        letters = _GAPS.sub("", text.lower())
        lengths = {
            name: _longest(_pattern(name).finditer(text))
            for name, words in spellings.items()
            if any("".join(spelling) in letters for spelling in words)  # few need their pattern
        }
        longest = max(lengths.values(), default=0)
        named |= dict.fromkeys(
            (name for name, length in lengths.items() if length == longest > 0),
            "named_by_refused_sku",
        )
    return named


def _spellings(name: str) -> list[list[str]]:
    """Return the words of a machine type's name, and those without its numbers if some are left."""
    words = name.lower().split("-")
    without_numbers = [word for word in words if not word[0].isdigit()]
    return [words, without_numbers] if 1 < len(without_numbers) < len(words) else [words]


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """Match a machine type's name in any spelling, or without its numbers."""
    either = "|".join(_GAP.join(map(re.escape, words)) for words in _spellings(name))
    return re.compile(rf"(?<![a-z0-9])(?:{either})(?!{_GAP}[0-9])", re.IGNORECASE)


def _longest(matches: Iterable[re.Match[str]]) -> int:
    """Return the length of the longest name that the vocabulary does not have, 0 for none."""
    names = (_NOT_LETTERS.sub("", match[0].lower()) for match in matches)
    return max((len(name) for name in names if name not in _UNDERSTOOD), default=0)
