"""Find machine types and regions by name, and list the names of a release.

``countries.csv`` has the codes, English names and short forms of countries:
https://www.iso.org/obp/ui/#search (ISO 3166-1). A country that is missing there can be named by its
code.
"""

import difflib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import polars as pl

from hwprices.errors import MAX_SUGGESTIONS, HwpricesError
from hwprices.read.find.search import pairs
from hwprices.release.release import Release, Tables, names_of
from hwprices.schemas.vocabulary import CONTINENTS
from hwprices.specs import csv_rows
from hwprices.specs.rules import machine_cpus

_SEPARATOR = re.compile(r"[^a-z0-9]+")
_SERIES = re.compile(r"([a-z]{1,2})(_.*v\d)")


class _Machine(NamedTuple):
    provider: str
    instance_type: str


class NamedMachine(_Machine):
    """One machine type of one provider, which equals the pair of both names."""

    @cached_property
    def normal_name(self) -> str:
        """The name as ``normal`` spells it; cached, because each word of a question needs it."""
        return normal(self.instance_type)

    @cached_property
    def squeezed_name(self) -> str:
        """The same without separators."""
        return self.normal_name.replace("_", "")


def normal(name: str) -> str:
    """Spell a name in lower case with one separator: "D4s v5" and "d4s-v5" are d4s_v5."""
    return _SEPARATOR.sub("_", name.lower()).strip("_")


def squeeze(name: str) -> str:
    """Keep letters and digits, in lower case: "RTX 4090", "rtx-4090" and "RTX4090" are equal."""
    return _SEPARATOR.sub("", name.lower())


def prefixes(choices: Iterable[NamedMachine]) -> dict[str, str]:
    """Return the first word that most names of a provider share, such as standard_, by provider."""
    words: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for machine in choices:
        words[machine.provider][machine.normal_name.partition("_")[0]] += 1
    common = {name: counts.most_common(1)[0] for name, counts in words.items()}
    return {
        name: f"{word}_"
        for name, (word, count) in common.items()
        if count > words[name].total() / 2 and count > 1
    }


def find_machines(choices: list[NamedMachine], name: str) -> list[NamedMachine]:
    """Find the machine types of a name; several providers may share it."""
    exact = [machine for machine in choices if machine.instance_type == name]
    if exact:
        return exact
    for spell in (normal, squeeze):
        target = spell(name)
        similar = [
            machine
            for machine in choices
            if target
            and target in (machine.squeezed_name if spell is squeeze else machine.normal_name)
        ]
        shared = prefixes(choices) if similar else {}  # of most words no machine has a part
        matches = [one for one in similar if target in map(spell, _spellings(one, shared))]
        if matches:
            return matches
    return []


def _spellings(machine: NamedMachine, shared: dict[str, str]) -> set[str]:
    full = machine.normal_name
    return {full, full.removeprefix(shared.get(machine.provider, ""))}


def find_family(choices: Iterable[NamedMachine], word: str) -> list[NamedMachine]:
    """Find the machine types of a family: "p5" matches p5.48xlarge, but not p5en.48xlarge.

    "nd h100 v5" matches Standard_ND96isr_H100_v5: Azure writes size and features after the letters.
    "a3 mega" matches a3-megagpu-8g.
    """
    every = list(choices)
    name = normal(word)
    starts = (f"{name}_", f"{name}gpu_") if "_" in name else (f"{name}_",)
    series = _SERIES.fullmatch(name)
    pattern = re.compile(rf"{series[1]}\d+[a-z]*{series[2]}" if series else "(?!)")
    similar = [machine for machine in every if series or name in machine.normal_name]
    shared = prefixes(every) if similar else {}
    return [
        machine
        for machine in similar
        if any(
            text.startswith(starts) or pattern.fullmatch(text)
            for text in _spellings(machine, shared)
        )
    ]


def find_one(
    choices: list[NamedMachine], name: str, providers: Collection[str] = ()
) -> NamedMachine:
    """Return the machine type of a name, which may begin with the provider.

    ``providers``: search only these; empty for all.

    Raises:
        HwpricesError: no machine type has the name (the message suggests similar ones), or several
            do.
    """
    choices = [machine for machine in choices if not providers or machine.provider in providers]
    matches = find_machines(choices, name) or _after_provider(choices, name)
    if len(matches) == 1:
        return matches[0]
    if not matches:
        raise HwpricesError(
            f"no machine type {name!r} is in this release", near_machines(choices, name)
        )
    listed = ", ".join(f"{m.provider} {m.instance_type}" for m in matches[:MAX_SUGGESTIONS])
    raise HwpricesError(
        f"{name!r} is {len(matches)} machine types: {listed}",
        f"Put its cloud before the name: {f'{matches[0].provider} {matches[0].instance_type}'!r}.",
    )


def _after_provider(choices: Iterable[NamedMachine], name: str) -> list[NamedMachine]:
    """Find the machine types of a name that begins with the provider: "nebius NVIDIA HGX H100"."""
    provider, _, instance_type = name.strip().partition(" ")
    return find_machines([m for m in choices if m.provider == provider.lower()], instance_type)


def near_machines(choices: Iterable[NamedMachine], name: str) -> str:
    """Write the remedy for an unknown name: similar names, or where to look."""
    candidates = list(choices)
    shared = prefixes(candidates)
    by_spelling: dict[str, str] = {}
    for machine in candidates:
        for spelling in _spellings(machine, shared):
            by_spelling.setdefault(spelling, machine.instance_type)
    close = difflib.get_close_matches(normal(name), by_spelling, n=MAX_SUGGESTIONS, cutoff=0.7)
    names = list(dict.fromkeys(by_spelling[spelling] for spelling in close))
    family = find_family(candidates, re.split(r"[._-]", name)[0])
    names += [machine.instance_type for machine in family if machine.instance_type not in names]
    if names:
        return f"Did you mean {', '.join(names[:MAX_SUGGESTIONS])}?"
    return (
        "Either nobody sells it, or its vendor's lists are not in this release:"
        " hwprices show coverage."
    )


CODES = {
    name: row["code"]
    for row in csv_rows(Path(__file__).with_name("countries.csv"))
    for name in row["names"].split("; ")
}
"""ISO codes by the names of countries in lower case."""

SHORT_CONTINENTS = {"eu": "europe"}
"""Short names of continents. Others (na, sa, af) are also codes of countries."""

_PARTS = re.compile(r"north|south|east|west|central|[a-z]+?(?=north|south|east|west|central|\d|$)")

ABBREVIATIONS = {"eu": "europe", "ap": "asia"}
"""Abbreviations in the names of regions: eu-west-1, europe-west4."""

SPECIAL_KINDS = ("gov", "china", "sovereign")
"""Kinds of regions that a direction such as us-east excludes, because few users have access."""


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
        """The region as ``normal`` spells it; cached, because each word of a question needs it."""
        return normal(self.region)

    @cached_property
    def plain_name(self) -> str:
        """The display name without accents; cached, because many words of a question need it."""
        return unaccented(self.display_name)


def regions_by_name(all_places: Iterable[NamedPlace], word: str) -> list[NamedPlace]:
    """Find regions by name, by the beginning of a name, or by direction.

    "us-east-1" and "us east 1" are one region. "us-east" and "us east" are every region in the east
    of the US: a region named us-east, and us-east-1, us-east4, eastus2.
    """
    choices = list(all_places)
    text = word.lower()
    parts, number = direction(text)
    name = normal(text)
    exact = [place for place in choices if place.normal_region == name]
    is_direction = len(parts) > 1 and re.search("[- ]", text) and not number
    if exact and not is_direction:
        return exact
    common = [place for place in choices if place.kind not in SPECIAL_KINDS]
    # europe-west1 and us-east1 of one cloud are not eu-west-1 and us-east-1 of another
    is_code = re.search(r"-.*[a-z]\d+$", text)
    if len(parts) > 1 and not is_code:
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
    text = squeeze(region)
    number = re.search(r"\d+$", text)
    words = _PARTS.findall(text.rstrip("0123456789"))
    full = (ABBREVIATIONS.get(word, word) for word in words)
    return tuple(sorted(full)), number[0] if number else ""


CITIES = {
    (row["provider"], row["region"]): row["city"].lower().split(";")
    for row in csv_rows(Path(__file__).with_name("cities.csv"))
}
"""Cities or states of regions whose display name has none, by provider and region. Azure's API has
them as physicalLocation: https://learn.microsoft.com/rest/api/resources/subscriptions/list-locations"""


def continent_code(word: str) -> str | None:
    """Return the code of a continent by its name, "Europe" or "north america", or None."""
    text = word.lower().replace(" ", "_").replace("-", "_")
    text = SHORT_CONTINENTS.get(text, text)
    return text if text in CONTINENTS else None


def country_code(word: str, known: Iterable[str]) -> str | None:
    """Return the ISO code of a country by its name or code, or None.

    A code counts only if a region has it, because "is" and "no" are also words.
    """
    code = CODES.get(word.lower().replace("-", " "), word.upper())
    return code if code in set(known) or word.lower() in CODES else None


def regions_by_city(all_places: Iterable[NamedPlace], word: str) -> list[NamedPlace]:
    """Find regions by a word of their display name, or by their city: "frankfurt", "virginia"."""
    text = unaccented(word)
    whole_word = re.compile(rf"(?<![a-z]){re.escape(text)}(?![a-z])")
    return [
        place
        for place in all_places
        if whole_word.search(place.plain_name)
        or text in CITIES.get((place.provider, place.region), ())
    ]


def unaccented(name: str) -> str:
    """Write a name in small letters without accents: São Paulo is sao paulo."""
    letters = unicodedata.normalize("NFKD", name.lower())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


PART_OF = r" \(one .*\)"
"""Remark in the name of a GPU that shares a card, "(one GPU of two)", to ignore in searches."""


WHOLE_WORDS = "|"
"""Separates the name of an accelerator from its architecture: turin does not begin Turing."""

NVLINK = ("nvlink", "hgx")
"""Words for accelerators with built-in NVLink."""

FORMATS = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "int8")
"""Number formats that accelerators compute in, or do not."""


class ReleaseWords:
    """The names in a release that the words of a question may mean.

    Each kind of name is read when it is first needed: "8xH100" needs only accelerators, a third of
    all reading.
    """

    def __init__(
        self,
        dataset: Tables,
        titles: Mapping[str, str] | None = None,
        markets: Mapping[str, str] | None = None,
    ) -> None:
        """Take a release, and the display names of its providers and of its markets.

        A market has rows of market_quantiles, but no machine types or prices.
        """
        self._dataset = dataset
        self._titles = titles or {}
        self.markets = markets or {}

    @classmethod
    def of(cls, dataset: Release, tables: Tables | None = None) -> "ReleaseWords":
        """Take a release with its display names. ``tables``: read these instead of its own.

        A release keeps its words: reading them is a third of the time of a question.
        """
        entries = dataset.release.providers.items()
        titles = {name: entry.title for name, entry in entries}
        markets = {name: entry.title for name, entry in entries if "market_quantiles" in entry.rows}
        if tables is not None:
            return cls(tables, titles, markets)
        words: ReleaseWords = dataset.memo.setdefault(cls, cls(dataset, titles, markets))
        return words

    @cached_property
    def machines(self) -> list[NamedMachine]:
        """Every machine type: those with a specification, and those with a price."""
        columns = ["provider", "instance_type"]
        types = self._dataset.scan("instance_types").select(columns).collect()
        priced = names_of(self._dataset).filter("priced").select(columns)
        rows = pl.concat([types, priced]).unique().sort(columns)
        return [NamedMachine(*row) for row in rows.iter_rows()]

    @cached_property
    def places(self) -> list[NamedPlace]:
        """Every region, also those without prices."""
        columns = [field.name for field in fields(NamedPlace)]
        rows = self._dataset.scan("regions").select(pl.col(columns).fill_null("")).collect()
        return [NamedPlace(*row) for row in rows.iter_rows()]

    @cached_property
    def accelerators(self) -> Mapping[str, str]:
        """Maker, name, architecture and FORMATS by the id of each accelerator that a machine has.

        Adds NVLINK if NVLink is built in. Words after WHOLE_WORDS cannot be abbreviated.
        """
        return dict(self._sheet.select("accelerator_id", "text").rows())

    @cached_property
    def not_sold(self) -> Mapping[str, str]:
        """The same of the accelerators of the sheet that no machine has."""
        rest = self._described.join(self._sold, on="accelerator_id", how="anti")
        return dict(rest.select("accelerator_id", "text").sort("accelerator_id").collect().rows())

    @cached_property
    def architectures(self) -> frozenset[str]:
        """The words of architectures, such as ada."""
        return frozenset(" ".join(self._sheet["architecture"].drop_nulls()).lower().split())

    @cached_property
    def _sold(self) -> pl.LazyFrame:
        ids = self._accelerators_of_types["accelerator_id"].drop_nulls().unique().sort()
        return pl.LazyFrame({"accelerator_id": ids}, schema={"accelerator_id": pl.String})

    @cached_property
    def _described(self) -> pl.LazyFrame:
        has_nvlink = pl.col("interconnect").str.contains(r"^NVLink \d$")
        texts = [
            *("vendor", pl.col("name").str.replace(PART_OF, ""), pl.lit(WHOLE_WORDS)),
            pl.col("architecture").str.replace_all(r"[ -](v?\d)", "$1"),  # CDNA 3 is one word
            pl.when(has_nvlink).then(pl.lit(" ".join(NVLINK))),
            *(
                pl.when(pl.col(f"{name}_support") == "supported").then(pl.lit(name))
                for name in FORMATS
            ),
        ]
        text = pl.concat_str(texts, separator=" ", ignore_nulls=True)
        columns = ["accelerator_id", "architecture"]
        return self._dataset.scan("accelerators").select(*columns, text=text)

    @cached_property
    def _sheet(self) -> pl.DataFrame:
        names = self._sold.join(self._described, on="accelerator_id", how="left")
        return names.with_columns(pl.col("text").fill_null("")).sort("accelerator_id").collect()

    @cached_property
    def providers(self) -> Mapping[str, str]:
        """The display names of the providers that have a machine type."""
        names = dict.fromkeys(machine.provider for machine in self.machines)
        return {name: self._titles.get(name) or name for name in names}

    @cached_property
    def unknown(self) -> Mapping[tuple[str, str], str]:
        """The vendor's names of accelerators without an id, by machine."""
        unknown = self._accelerators_of_types.filter(
            pl.col("accelerator_id").is_null(), pl.col("vendor_name").is_not_null()
        ).select("provider", "instance_type", "vendor_name")
        return {(provider, name): device for provider, name, device in unknown.iter_rows()}

    @cached_property
    def cpus(self) -> Mapping[tuple[str, str], str]:
        """Maker, id and microarchitecture of the CPU that the vendor promises, by machine."""
        key = ["provider", "instance_type"]
        columns = [*key, "family", "series", "cpu_vendor", "cpu_models"]
        types = self._dataset.scan("instance_types").select(columns).collect()
        sheet, families = (self._dataset.scan(name).collect() for name in ("cpus", "cpu_families"))
        for column in ("cpu_id", "microarchitecture"):
            types = types.join(machine_cpus(types, sheet, families, column), key, "left")
        only = pl.when(pl.col("cpu_models").list.len() == 1).then(pl.col("cpu_models").list.first())
        maker = pl.when(pl.col("cpu_id").is_null()).then("cpu_vendor")  # an id begins with it
        texts = [maker, "cpu_id", only, "microarchitecture"]
        rows = types.select(*key, pl.concat_str(texts, separator=" ", ignore_nulls=True))
        return {(provider, name): text for provider, name, text in rows.iter_rows()}

    def accelerators_of(self, machines: frozenset[tuple[str, str]]) -> frozenset[str]:
        """Return the ids of the accelerators in these machines."""
        rows = self._accelerators_of_types.filter(pairs("instance_type", machines))
        return frozenset(rows["accelerator_id"].drop_nulls())

    def with_accelerators(self, machines: frozenset[tuple[str, str]]) -> frozenset[tuple[str, str]]:
        """Return those of these machines that have accelerators."""
        rows = self._accelerators_of_types.filter(pairs("instance_type", machines))
        return frozenset(rows.select("provider", "instance_type").iter_rows())

    def kinds_of(
        self, accelerators: frozenset[str], machines: frozenset[tuple[str, str]]
    ) -> set[str]:
        """Return the kinds of accelerators with these ids, or in these machines."""
        named = pl.col("accelerator_id").is_in(sorted(accelerators)).fill_null(False)
        rows = self._accelerators_of_types.filter(named | pairs("instance_type", machines))
        return set(rows["accelerator_kind"])

    def of_kinds(self, kinds: Collection[str]) -> frozenset[str]:
        """Return the ids of the accelerators of these kinds."""
        rows = self._accelerators_of_types.filter(pl.col("accelerator_kind").is_in([*kinds]))
        return frozenset(rows["accelerator_id"].drop_nulls())

    @cached_property
    def countries(self) -> set[str]:
        """Codes of the countries that have a region."""
        return {place.country for place in self.places if place.country}

    @cached_property
    def _accelerators_of_types(self) -> pl.DataFrame:
        return (
            self._dataset.scan("instance_types")
            .filter(pl.col("accelerators").list.len() > 0)
            .select("provider", "instance_type", "accelerator_kind", "accelerators")
            .explode("accelerators")
            .unnest("accelerators")
            .select(
                "provider", "instance_type", "accelerator_kind", "accelerator_id", "vendor_name"
            )
            .collect()
        )
