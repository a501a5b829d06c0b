"""Find the new words in a SKU's description that is not understood.

Thousands of SKUs of one new kind differ in the place, the term and the purchase option. The word
leaves these out, so that they are one entry of the list of new words.
"""

import re
from typing import Final

from hwprices.providers.gcp.prices import grammar, vocabulary
from hwprices.providers.gcp.prices.grammar import Unknown

_NEW_SERIES = r"(?P<series>[A-Z]{1,2}\d{1,2}[\w-]*(?: [\w-]+)*?)"

_OF_ANY_SERIES: Final = [
    re.compile(pattern.replace(grammar.SERIES_WORDS, _NEW_SERIES))
    for pattern in grammar.COMPONENT_RULES.values()
    if grammar.SERIES_WORDS in pattern
]
"""The rules for components of a series, for a series that the vocabulary does not list."""

_SERIES_NAME = re.compile(r"[A-Z]{1,2}\d{1,2}[A-Z]{0,2}(?![A-Za-z0-9])")

_KNOWN_SERIES = {word.split()[0] for word in vocabulary.SERIES}

_OF_A_RELEASE = re.compile(r" *(?:\d|\(| on VM\b)")

_TERM = re.compile(r" for (?P<term>[\w -]{1,30})$")

_BEFORE = re.compile(
    rf"^(?:Commitment(?: v1)?: )?(?:(?:{'|'.join(map(re.escape, vocabulary.MODES))}|Reserved) )?"
)
_AFTER = re.compile(r"(?:(?: running| attached to [\w ]+? VMs(?: running)?)? in .*|(?: running))$")


def explain(description: str) -> Unknown:
    """Return the reason and the word of a description that ``Descriptions`` does not read."""
    if not description.strip():
        return Unknown("sku_without_name", None)
    if _is_understood(description):  # by its form: it contradicts itself
        return Unknown("unknown_grammar", description.partition(" in ")[0])
    term = _TERM.search(description)
    if term and _is_understood(f"{description[: term.start()]} for 1 Year"):
        return Unknown("unknown_term", term["term"])
    for rule in _OF_ANY_SERIES:
        if match := rule.fullmatch(description):
            return Unknown("unknown_series", _series_word(match["series"]))
    before, _, place = description.partition(" in ")
    if place and " in " not in place and " for " not in place and _is_understood(f"{before} in X"):
        return Unknown("unknown_location", place)
    return Unknown("unknown_grammar", _kind(description))


def explain_license(description: str) -> Unknown:
    """Return the word of a license that is not understood: its name without release and size."""
    name = description.removeprefix("Licensing Fee for ")
    if not name.strip():
        return Unknown("sku_without_name", None)
    product = _OF_A_RELEASE.split(name, maxsplit=1)[0]
    is_known = re.fullmatch(grammar.LICENSED, product) is not None
    return Unknown("unknown_license", name if is_known or not product else product)


def _series_word(text: str) -> str:
    """Return Z4D for Z4D-HIGHMEM-HIGHLSSD, and the whole text where that series is known."""
    name = _SERIES_NAME.match(text)
    return text if name is None or name[0] in _KNOWN_SERIES else name[0]


def _kind(description: str) -> str:
    """Leave out place, term and purchase option, unless what is left would be understood."""
    kind = _AFTER.sub("", _BEFORE.sub("", description, count=1))
    if kind and not _is_understood(f"{kind} running in Iowa"):
        return kind
    return description.partition(" in ")[0]


def _is_understood(description: str) -> bool:
    return bool(grammar.matching_rules(description))
