"""Ship the words that ``find`` understands with the page, so that both read a question alike.

The vocabulary and the patterns are those of ``read.find``: what a word of a place means is looked
up there, once for each word that the release has a use for. ``tools/page/src/grammar.ts`` reads
questions with them.
"""

from collections.abc import Iterable, Iterator
from itertools import permutations
from typing import Any

from hwprices.read.find import machines, places, words
from hwprices.read.find.places import CODES
from hwprices.read.find.vocabulary import ReleaseWords
from hwprices.release.release import Release
from hwprices.schemas.vocabulary import (
    ARCHITECTURES,
    CONTINENTS,
    LICENSE_MODELS,
    OPERATING_SYSTEMS,
    PURCHASE_OPTIONS,
    SOFTWARE,
    TENANCIES,
)

ON_PAGE = {"none", "included", "shared"}  # Software, license and tenancy of every price on the page

ABSENT = sorted({*SOFTWARE, *LICENSE_MODELS, *TENANCIES, *words.EVERY} - ON_PAGE)
"""Words for prices that the page does not have."""


def grammar(dataset: Release) -> dict[str, Any]:
    """Return the words of questions about a release, as JSON values."""
    names = ReleaseWords.of(dataset)
    return {
        "max_words": words.MAX_WORDS,
        "patterns": {name: pattern.pattern for name, pattern in words.PATTERNS.items()},
        "rewritten": [
            (pattern, written.replace("\\", "$")) for pattern, written in words.REWRITTEN.items()
        ],
        "skipped": sorted(words.SKIPPED | {"shared"}),
        "kinds": words.KINDS,
        "codes": _codes(),
        "providers": _providers(names),
        "prefixes": machines.prefixes(names.machines),
        "regions": [(place.provider, place.region) for place in names.places],
        "places": _places(names),
        **_accelerators(names),
    }


def _codes() -> dict[str, tuple[str, str]]:
    """List purchase options, operating systems and instruction sets: kind of thing and code."""
    codes: dict[str, tuple[str, str]] = dict.fromkeys(ABSENT, ("absent", "absent"))
    known = {"option": PURCHASE_OPTIONS, "os": OPERATING_SYSTEMS, "arch": ARCHITECTURES}
    codes |= {code: (kind, code) for kind, values in known.items() for code in values}
    return codes | words.OTHER_NAMES


def _providers(names: ReleaseWords) -> dict[str, str]:
    spellings = words.provider_spellings(names)
    return {text: code for text in spellings for code in words.providers(text, names)}


def _places(names: ReleaseWords) -> dict[str, list[int]]:
    """List the words of places with what each means: positions of regions."""
    position = {(place.provider, place.region): n for n, place in enumerate(names.places)}
    meanings = {text: words.places(text, names) for text in _place_words(names)}
    return {
        text: [position[place.provider, place.region] for place in chosen]
        for text, chosen in sorted(meanings.items())
        if chosen
    }


def _place_words(names: ReleaseWords) -> set[str]:
    countries = {name for name, code in CODES.items() if code in names.countries}
    found = {*places.SHORT_CONTINENTS, *countries, *(code.lower() for code in names.countries)}
    found |= {continent.replace("_", gap) for continent in CONTINENTS for gap in " _-"}
    for place in names.places:
        region = place.region.lower()
        parts = machines.normal(region).split("_")
        found |= {region, " ".join(parts)}
        found |= {"-".join(parts[:count]) for count in range(1, len(parts))}
        found |= set(_runs(word.strip("(),.") for word in place.display_name.lower().split()))
    for region in {place.region for place in names.places}:
        found |= set(_directions(*places.direction(region)))
    return found


def _directions(parts: tuple[str, ...], number: str) -> Iterator[str]:
    """List the ways to write a direction: "us east", "us-east-1", "eastus2"."""
    if not 1 < len(parts) <= words.MAX_WORDS:
        return
    short = {full: code for code, full in places.ABBREVIATIONS.items()}
    for spelled in {parts, tuple(short.get(part, part) for part in parts)}:
        for order in permutations(spelled):
            for gap in (" ", "-", ""):
                text = gap.join(order)
                yield from (text, f"{text}{number}", f"{text}{gap}{number}")


def _runs(of: Iterable[str]) -> Iterator[str]:
    """List the runs of words that are short enough to be a name."""
    found = list(of)
    for first in range(len(found)):
        for last in range(first + 1, min(first + words.MAX_WORDS, len(found)) + 1):
            yield " ".join(found[first:last])


def _accelerators(names: ReleaseWords) -> dict[str, Any]:
    """List accelerators by id, those without one by the vendor's name, and the words of each.

    A word that is written with gaps in a name, such as rtx4090, is listed with them joined.
    """
    texts = {key: f"{key} {name}" for key, name in names.accelerators.items()}
    texts |= {device: device for device in names.unknown.values() if device not in texts}
    found: dict[str, list[int]] = {}
    for position, text in enumerate(texts.values()):
        for word in words.joined_words(text):
            found.setdefault(word, []).append(position)
    return {
        "accelerators": list(texts),
        "accelerator_words": dict(sorted(found.items())),
        "short_names": words.short_names(names.accelerators),
    }
