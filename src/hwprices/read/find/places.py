"""Find the regions that a word means: a region, a part of the world, a country or a city.

``countries.csv`` has the codes and English names of countries, with the short forms in use:
https://www.iso.org/obp/ui/#search (ISO 3166-1). One that is missing is understood by its code.
"""

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import polars as pl

from hwprices.read.find.machines import normal
from hwprices.release.release import Tables
from hwprices.schemas.vocabulary import CONTINENTS

with Path(__file__).with_name("countries.csv").open(encoding="utf-8", newline="") as _file:
    CODES = {
        name: row["code"] for row in csv.DictReader(_file) for name in row["names"].split("; ")
    }
"""Name of a country in lower case: its ISO code."""

SHORT_CONTINENTS = {"eu": "europe"}
"""Short names that people use for a continent. Others (na, sa, af) are codes of countries too."""

_PARTS = re.compile(r"north|south|east|west|central|[a-z]+?(?=north|south|east|west|central|\d|$)")

ABBREVIATIONS = {"eu": "europe", "ap": "asia"}
"""Words that vendors shorten in the names of their regions: eu-west-1, europe-west4."""

SPECIAL_KINDS = ("gov", "china", "sovereign")
"""Kinds of regions that a direction such as us-east does not mean, because few may use them."""


@dataclass(frozen=True)
class NamedPlace:
    """One region of one provider."""

    provider: str
    region: str
    kind: str
    country: str
    continent: str
    display_name: str

    @cached_property
    def normal_region(self) -> str:
        """The region as ``normal`` spells it; each word of a question is compared with it."""
        return normal(self.region)


def places(dataset: Tables) -> list[NamedPlace]:
    """List every region of the release, also those without prices."""
    columns = ["provider", "region", "kind", "country", "continent", "display_name"]
    rows = dataset.scan("regions").select(pl.col(columns).fill_null("")).collect()
    return [NamedPlace(*row) for row in rows.iter_rows()]


def by_region(all_places: Iterable[NamedPlace], word: str) -> list[NamedPlace]:
    """Find regions by name, by the beginning of a name, or by direction.

    "us-east-1" is that region, and so is "us east 1". "us-east" is every region in the east of the
    US, however its vendor spells it: us-east-1, us-east4, eastus2, and a region named us-east.
    """
    choices = list(all_places)
    text = word.lower()
    parts, number = direction(text)
    name = normal(text)
    exact = [place for place in choices if place.normal_region == name]
    if exact and (number or len(parts) < 2 or "-" not in text):
        return exact
    common = [place for place in choices if place.kind not in SPECIAL_KINDS]
    if len(parts) > 1:
        same = [p for p in common if direction(p.region)[0] == parts]
        matches = [p for p in same if not number or direction(p.region)[1] == number]
        if matches:
            return [*exact, *(place for place in matches if place not in exact)]
    begins = re.compile(re.escape(text) + r"([-_.]|$)")
    return [place for place in choices if "-" in text and begins.match(place.region.lower())]


@cache
def direction(region: str) -> tuple[tuple[str, ...], str]:
    """Split the name of a region into its words, sorted, and its number.

    "us-east4" is (east, us) and 4; "eastus" is (east, us) without a number.
    """
    squeezed = re.sub(r"[^a-z0-9]", "", region.lower())
    number = re.search(r"\d+$", squeezed)
    words = _PARTS.findall(squeezed.rstrip("0123456789"))
    full = (ABBREVIATIONS.get(word, word) for word in words)
    return tuple(sorted(full)), number[0] if number else ""


def continent_code(word: str) -> str | None:
    """Return the code of a continent by its name: "Europe", "north america"; None for none."""
    text = word.lower().replace(" ", "_").replace("-", "_")
    text = SHORT_CONTINENTS.get(text, text)
    return text if text in CONTINENTS else None


def country_code(word: str, known: Iterable[str]) -> str | None:
    """Return the ISO code of a country by its name or code; None for none.

    Codes that no region has are not understood: "is" and "no" are words as well.
    """
    code = CODES.get(word.lower().replace("-", " "), word.upper())
    return code if code in set(known) or word.lower() in CODES else None


def by_city(all_places: Iterable[NamedPlace], word: str) -> list[NamedPlace]:
    """Find regions by a word of their display name: "frankfurt", "virginia"."""
    text = re.escape(word.lower())
    whole_word = re.compile(rf"(?<![a-z]){text}(?![a-z])")
    return [place for place in all_places if whole_word.search(place.display_name.lower())]
