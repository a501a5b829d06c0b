"""Understand a question in a few words: "8xH100 europe spot", "16vcpu 64gb arm64 frankfurt".

Each word, or up to three words together, must mean exactly one kind of thing: an accelerator, a
machine type or family, a place, a way to buy, an operating system, an amount. A word that means
none, or two kinds of things, is an error that says what to write.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.read.find import machines as machine_names
from hwprices.read.find import places as place_names
from hwprices.read.find.countries import CODES
from hwprices.read.find.search import COMMITMENT, Range, Search
from hwprices.read.find.suggestions import near
from hwprices.read.tables import Tables
from hwprices.schemas.vocabulary import (
    ARCHITECTURES,
    CONTINENTS,
    OPERATING_SYSTEMS,
    PURCHASE_OPTIONS,
)

if TYPE_CHECKING:
    from hwprices.read.dataset import Dataset

MAX_WORDS = 3  # of one name: "rtx pro 6000", "united arab emirates"

_SKIPPED = """a all and at by cheapest cloud clouds cost costs for from gpu gpus in instance
instances lowest machine machines of on or per price prices the what which with"""
SKIPPED = frozenset(_SKIPPED.split())
"""Words of a sentence that ask for nothing."""

OTHER_NAMES = {
    "arm": ("arch", "arm64"),
    "aarch64": ("arch", "arm64"),
    "x86": ("arch", "x86_64"),
    "x64": ("arch", "x86_64"),
    "amd64": ("arch", "x86_64"),
    "commitment": ("option", COMMITMENT),
    "committed": ("option", COMMITMENT),
    "reservation": ("option", "reserved"),
    "preemptible": ("option", "spot"),
    "cud": ("option", "committed_use"),
    "suse": ("os", "sles"),
    "redhat": ("os", "rhel"),
}
"""Other names that people use: kind of thing and code."""

_COUNTED = re.compile(r"(\d+(?:\.\d+)?)\s*[x×*]\s*(.*)")
_TERM = re.compile(r"(\d+)[ -]?(y|yr|yrs|year|years|m|month|months)")
_VCPUS = re.compile(r"(\d+)[ -]?(?:v?cpus?|cores?)")
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)[ -]?gi?b")

MONTHS = 12

MIN_CITY = 3  # letters: shorter words of a region's name are no city


class Vocabulary:
    """What the words of a question may mean in one release.

    Names of a kind are read from its tables when a word may be one: "8xH100" alone needs those of
    accelerators only, which saves two thirds of the reading.
    """

    def __init__(self, dataset: Tables, titles: Mapping[str, str] | None = None) -> None:
        """Take a release. ``titles``: the providers' names for people."""
        self._dataset = dataset
        self._titles = titles or {}

    @cached_property
    def machines(self) -> list[machine_names.Machine]:
        """Every machine type."""
        return machine_names.machines(self._dataset)

    @cached_property
    def places(self) -> list[place_names.Place]:
        """Every region."""
        return place_names.places(self._dataset)

    @cached_property
    def accelerators(self) -> Mapping[str, str]:
        """Accelerator id: its name. Those that a machine of the release has."""
        ids = self._accelerators_of_types["accelerator_id"].drop_nulls().unique().sort()
        sold = pl.LazyFrame({"accelerator_id": ids}, schema={"accelerator_id": pl.String})
        sheet = self._dataset.scan("accelerators").select("accelerator_id", "vendor", "name")
        names = sold.join(sheet, on="accelerator_id", how="left").collect()
        return {
            key: f"{maker or ''} {name or ''}"
            for key, maker, name in names.sort("accelerator_id").iter_rows()
        }

    @cached_property
    def providers(self) -> Mapping[str, str]:
        """Provider: its name for people. Those that have a machine type."""
        names = dict.fromkeys(machine.provider for machine in self.machines)
        return {name: self._titles.get(name) or name for name in names}

    @cached_property
    def unknown(self) -> Mapping[tuple[str, str], str]:
        """Machines with an accelerator that has no id: the vendor's name of it."""
        unknown = self._accelerators_of_types.filter(
            pl.col("accelerator_id").is_null(), pl.col("vendor_name").is_not_null()
        ).select("provider", "instance_type", "vendor_name")
        return {(provider, name): device for provider, name, device in unknown.iter_rows()}

    @cached_property
    def countries(self) -> set[str]:
        """Codes of the countries that have a region."""
        return {place.country for place in self.places if place.country}

    @cached_property
    def _accelerators_of_types(self) -> pl.DataFrame:
        """The accelerators of each machine type that has one."""
        return (
            self._dataset.scan("instance_types")
            .filter(pl.col("accelerators").list.len() > 0)
            .select("provider", "instance_type", "accelerators")
            .explode("accelerators")
            .unnest("accelerators")
            .select("provider", "instance_type", "accelerator_id", "vendor_name")
            .collect()
        )


def vocabulary(dataset: "Dataset") -> Vocabulary:
    """Give what words may mean in a release, with its providers' names for people."""
    titles = {name: entry.title for name, entry in dataset.release.providers.items()}
    return Vocabulary(dataset, titles)


@dataclass(frozen=True)
class Meaning:
    """One thing that a word may mean: ``kind`` of thing, and the changes to the search."""

    kind: str
    change: Mapping[str, object] = field(default_factory=dict)


def understand(text: str, names: Vocabulary, search: Search) -> Search:
    """Add what a question asks for to a search.

    Raises:
        HwpricesError: a word means nothing, or two kinds of things.
    """
    words = [word for word in re.split(r"[\s,;]+", text.strip()) if word]
    while words:
        used, meaning = _first_meaning(words, names, search)
        words = words[used:]
        if meaning is not None:
            search = _merge(search, meaning)
    return search


def _first_meaning(
    words: list[str], names: Vocabulary, search: Search
) -> tuple[int, Meaning | None]:
    """Understand the first words: as many together as make sense."""
    for count in range(min(MAX_WORDS, len(words)), 0, -1):
        phrase = " ".join(words[:count])
        meanings = meanings_of(phrase, names, search)
        kinds = {meaning.kind for meaning in meanings}
        if len(kinds) > 1:
            raise HwpricesError(
                f"{phrase!r} may be {' or '.join(sorted(kinds))}",
                f"Say which: {', '.join(f'--{kind} {phrase}' for kind in sorted(kinds))}.",
            )
        if meanings:
            return count, meanings[0]
        if count == 1 and words[0].lower() in SKIPPED:
            return 1, None
    raise HwpricesError(f"{words[0]!r} is not understood", _suggestions(words[0], names))


def meanings_of(phrase: str, names: Vocabulary, search: Search) -> list[Meaning]:
    """List everything that a phrase may mean, at most one of each kind of thing.

    The beginning of a name counts only where no complete name fits.
    """
    text = phrase.lower()
    amount = _amount(text, search)
    if amount is not None:
        return [amount]
    counted = _COUNTED.fullmatch(text)
    if counted:
        return _counted(float(counted[1]), counted[2], names)
    complete = [_code(text), _provider(text, names), _machines(phrase, names)]
    complete += [_accelerator(text, names), _place(text, names)]
    meanings = _without_same([found for found in complete if found is not None], text, names)
    begun = None if meanings else _accelerator(text, names, start=True)
    return [begun] if begun else meanings


def _without_same(meanings: list[Meaning], text: str, names: Vocabulary) -> list[Meaning]:
    """Take a word that is an accelerator and only a part of machines' names for the accelerator.

    h100-380 and "NVIDIA H100" are names of machines: "h100" means all machines with an H100.
    """
    kinds = {meaning.kind for meaning in meanings}
    exact = any(machine.instance_type.lower() == text for machine in names.machines)
    if exact or not {"accelerator", "type"} <= kinds:
        return meanings
    return [meaning for meaning in meanings if meaning.kind != "type"]


def _amount(text: str, search: Search) -> Meaning | None:
    """Understand a term, a number of vCPUs or an amount of memory.

    Memory behind an accelerator is that of one accelerator: "a100 80gb".
    """
    term = _TERM.fullmatch(text)
    if term:
        months = int(term[1]) * (MONTHS if term[2].startswith("y") else 1)
        return Meaning("term", {"terms": frozenset({months})})
    vcpus = _VCPUS.fullmatch(text)
    if vcpus:
        return Meaning("vcpus", {"vcpus": Range(least=float(vcpus[1]))})
    memory = _MEMORY.fullmatch(text)
    if memory:
        field_name = "accelerator_gib" if search.accelerators else "memory_gib"
        return Meaning("memory", {field_name: Range(least=float(memory[1]))})
    return None


def _counted(count: float, name: str, names: Vocabulary) -> list[Meaning]:
    """Understand "8xh100", or "8x" alone, of which the accelerator follows."""
    exactly = {"accelerator_count": Range(count, count)}
    if not name:
        return [Meaning("accelerator", exactly)]
    meaning = _accelerator(name, names) or _accelerator(name, names, start=True)
    return [Meaning("accelerator", {**meaning.change, **exactly})] if meaning else []


def _code(text: str) -> Meaning | None:
    """Understand a purchase option, an operating system or an instruction set."""
    code = re.sub(r"[ -]", "_", text)
    kind, value = OTHER_NAMES.get(text, ("", code))
    codes = {
        "option": PURCHASE_OPTIONS,
        "os": OPERATING_SYSTEMS,
        "arch": ARCHITECTURES,
    }
    squeezed = {"ondemand": "on_demand"}.get(value, value)
    for name, known in codes.items():
        if kind == name or (not kind and squeezed in known):
            change = frozenset({squeezed}) if name == "option" else squeezed
            return Meaning(name, {"purchase_options" if name == "option" else name: change})
    return None


def _provider(text: str, names: Vocabulary) -> Meaning | None:
    chosen = providers(text, names)
    return Meaning("provider", {"providers": chosen}) if chosen else None


def providers(text: str, names: Vocabulary) -> frozenset[str]:
    """Find the provider of a name: its code, its name for people, or the first word of that."""
    matches = [
        provider
        for provider, title in names.providers.items()
        if text == provider or text in (title.lower(), title.lower().split()[0])
    ]
    return frozenset(matches) if len(matches) == 1 else frozenset()


def _machines(phrase: str, names: Vocabulary) -> Meaning | None:
    """Understand a machine type, a family, or a word that is both: "a2"."""
    of_name = machine_names.find_machines(names.machines, phrase)
    machines = [*of_name, *machine_names.of_family(names.machines, phrase)]
    chosen = frozenset((machine.provider, machine.instance_type) for machine in machines)
    return Meaning("type", {"machines": chosen}) if chosen else None


def _accelerator(text: str, names: Vocabulary, start: bool = False) -> Meaning | None:
    ids = accelerators(text, names.accelerators, start=start)
    machines = unknown_machines(text, names)
    if not (ids or machines):
        return None
    change = {"accelerators": frozenset(ids), "unknown_accelerators": machines}
    return Meaning("accelerator", change)


def unknown_machines(text: str, names: Vocabulary) -> frozenset[tuple[str, str]]:
    """Find machines whose accelerator has no id but is called so by the vendor."""
    matches = accelerators(text, {str(i): name for i, name in enumerate(names.unknown.values())})
    machines = list(names.unknown)
    return frozenset(machines[int(index)] for index in matches)


def accelerators(text: str, names: Mapping[str, str], *, start: bool = False) -> list[str]:
    """Find the accelerators that have all words of a text in id or name.

    "h100" is every form of the H100 and no GH200, "a100 sxm4" both memory sizes of that board. With
    ``start`` the beginning of a word is enough: "mi300" is the MI300X.
    """
    if text in names:
        return [text]
    asked = [re.sub(r"[^a-z0-9]", "", word) for word in re.split(r"[\s_-]+", text.lower())]
    asked = [word for word in asked if word]
    return [
        key
        for key, name in names.items()
        if asked and all(_has_word(f"{key} {name}", word, start=start) for word in asked)
    ]


def short_names(ids: Iterable[str]) -> list[str]:
    """List the words of accelerator ids that name a device: h100, l40s, mi300x."""
    parts = (part for key in ids for part in key.split("-")[1:])
    return [part for part in dict.fromkeys(parts) if not part.isdigit()]


def _has_word(name: str, word: str, *, start: bool) -> bool:
    """Tell whether a name has a word, which may be written with gaps: "rtx4090", "tpu v5e"."""
    parts = [part for part in re.split(r"[^a-z0-9]+", name.lower()) if part]
    for first in range(len(parts)):
        joined = ""
        for part in parts[first:]:
            joined += part
            if joined == word or (start and joined.startswith(word)):
                return True
            if len(joined) >= len(word):
                break
    return False


def _place(text: str, names: Vocabulary) -> Meaning | None:
    """Understand a continent, a country, a region, or a city in a region's name."""
    chosen = places(text, names)
    return Meaning("place", {"regions": _pairs(chosen)}) if chosen else None


def places(text: str, names: Vocabulary) -> list[place_names.Place]:
    """Find the regions that a word means; none if it means no place."""
    continent = place_names.continent_code(text)
    country = None if continent else place_names.country_code(text, names.countries)
    if continent or country:
        return [
            place
            for place in names.places
            if (continent and place.continent == continent)
            or (country and place.country == country)
            or place.region.lower() == text
        ]
    regions = place_names.by_region(names.places, text)
    if regions or text in SKIPPED or len(text) < MIN_CITY:
        return regions
    return place_names.by_city(names.places, text)


def _pairs(chosen: Iterable[place_names.Place]) -> frozenset[tuple[str, str]]:
    return frozenset((place.provider, place.region) for place in chosen)


def _merge(search: Search, meaning: Meaning) -> Search:
    """Add a meaning to the search: a second region or provider widens it."""
    changes: dict[str, object] = {}
    for name, value in meaning.change.items():
        before = getattr(search, name)
        changes[name] = before | value if isinstance(value, frozenset) and before else value
    return replace(search, **changes)  # type: ignore[arg-type]


def _suggestions(word: str, names: Vocabulary) -> str:
    """Write near names of any kind for a word that means nothing."""
    text = _COUNTED.sub(r"\2", word.lower())
    spellings = {
        **{m.normal_name: m.instance_type for m in names.machines},
        **{place.region: place.region for place in names.places},
        **{part: part for part in short_names(names.accelerators)},
        **{key: key for key in names.accelerators},
        **{name: name for name in (*names.providers, *PURCHASE_OPTIONS, *OPERATING_SYSTEMS)},
        **{name: name for name in (*CONTINENTS, *CODES)},
    }
    matches = dict.fromkeys(spellings[spelling] for spelling in near(text, spellings, 0.65))
    if matches:
        return f"Did you mean {', '.join(matches)}?"
    return "Name an accelerator, machine type, place, way to buy: 8xH100 europe spot."
