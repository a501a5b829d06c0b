"""The columns of offers on the page, and the grammar of its questions.

The vocabulary and the patterns come from ``read.find``, with the meaning of each word for a place
in the release. ``tools/page/src/grammar.ts`` reads questions with them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import permutations
from pathlib import Path
from typing import Any

import polars as pl

from hwprices.read.find import words
from hwprices.read.find.names import (
    ABBREVIATIONS,
    CODES,
    SHORT_CONTINENTS,
    WHOLE_WORDS,
    ReleaseWords,
    direction,
    normal,
    prefixes,
)
from hwprices.read.find.words import MONTHS
from hwprices.release.release import Release, read_package
from hwprices.schemas.vocabulary import (
    ARCHITECTURES,
    COMMITMENT_COLUMNS,
    CONTINENTS,
    LICENSE_MODELS,
    OPERATING_SYSTEMS,
    PURCHASE_OPTIONS,
    SOFTWARE,
    TENANCIES,
)
from hwprices.specs import csv_rows

PRICE_COLUMN = re.compile(r"^(?!best_)(?P<option>\w+)_usd_per_hour$")
"""A column of offers with the price of one purchase option of the machine."""

_FOLDER = Path(__file__).parent
ACRONYMS = {row["word"]: row["shown"] for row in csv_rows(_FOLDER / "acronyms.csv")}
HEADINGS = {row["column"]: row for row in csv_rows(_FOLDER / "headings.csv")}
"""Headings of columns of ``offers``, and different ones for ``sheets`` (accelerators,
instance_types). Other columns have ``display_words``. ``source``: the column that names the source
of a figure. ``left_out``: why a column of offers is not on the page, which would be half as large
again; the Parquet files have it."""

GROUPS = {
    "Power and emissions": (
        *("power", "estimated", "pue", "grid", "gco2e", "embodied", "cpu_util", "accelerator_util"),
    ),
    "Prices": ("currency", "on_demand", "spot_discount", "spot_zone", "best_"),
    "Per accelerator, token or run": ("usd_per_", "spot_usd_per_acc", "minutes_per", "benchmark"),
    "Accelerators": ("accelerator_", "tflops_"),
    "Machine": (
        *("provider", "region", "instance_type", "country", "family", "arch", "cpu_", "vcp"),
        *("memory_", "local_disk", "network", "rdma", "block_storage", "flags", "observed"),
    ),
}
"""Groups of columns, by the beginning of their names; the first match counts."""


def display_words(name: str) -> str:
    """Write the display name of a column: reserved_1y_no_upfront → Reserved 1 year no upfront."""
    parts = [ACRONYMS.get(part, part) for part in name.split("_")]
    text = " ".join(parts)
    return text[:1].upper() + text[1:]


def sheet_heading(name: str) -> str:
    """Write the heading of a column of accelerators or instance_types."""
    headings = HEADINGS.get(name, {})
    return headings.get("sheets") or headings.get("offers") or display_words(name)


def heading(column: str) -> str:
    """Write the heading of a column of offers; a price has the name of its purchase option."""
    return HEADINGS.get(column, {}).get("offers") or display_words(option_of(column) or column)


def option_of(column: str) -> str | None:
    """Return the purchase option whose price a column of offers holds; None for other columns."""
    match = PRICE_COLUMN.match(column)
    return match["option"] if match else None


def sent(offers: pl.DataFrame) -> list[str]:
    """List the columns of offers on the page: without empty ones and those to be left out."""
    return [
        name
        for name in offers.columns
        if not HEADINGS.get(name, {}).get("left_out") and offers[name].null_count() < offers.height
    ]


def describe(dataset: Release, names: Iterable[str], schema: pl.Schema) -> list[dict[str, Any]]:
    """Describe columns of offers, with units and meaning from the release's own descriptor."""
    fields = descriptions(dataset, "offers")
    return [_column(name, fields.get(name, {}), schema[name]) for name in names]


def _column(name: str, described: Mapping[str, Any], dtype: pl.DataType) -> dict[str, Any]:
    """Describe a column as the page shows it.

    ``kind``: text, number or money (USD). ``option``: the purchase option of which it is the price,
    else empty. ``months`` and ``payment``: of a commitment; ``payment`` is empty for any.
    """
    option = option_of(name)
    unit = str(described.get("unit", ""))
    kind = "text"
    if dtype.is_numeric():
        kind = "money" if unit.startswith("USD") else "number"
    code, months, payment = _purchase(option) if option else ("", 0, "")
    return {
        "name": name,
        "heading": heading(name),
        "group": "Prices" if option else _group(name),
        "kind": kind,
        "unit": unit,
        "description": str(described.get("description", "")),
        "option": code,
        "months": months,
        "payment": payment,
    }


COMMITTED = re.compile(r"(?P<plan>\w+?)_(?P<years>\d)y(?:_(?P<payment>\w+_upfront))?")


def _purchase(option: str) -> tuple[str, int, str]:
    """Return purchase option, months and payment of a column's option: reserved_1y_no_upfront."""
    match = COMMITTED.fullmatch(option)
    if match is None:
        return option, 0, ""
    code, _ = COMMITMENT_COLUMNS[match["plan"]]
    return code, int(match["years"]) * MONTHS, match["payment"] or ""


def _group(name: str) -> str:
    return next((group for group, starts in GROUPS.items() if name.startswith(starts)), "More")


def descriptions(dataset: Release, table: str) -> dict[str, dict[str, Any]]:
    """Read the descriptions of a table's columns from the release, by name."""
    package: dict[str, Any] = read_package(dataset, dict[str, Any]) or {}
    for resource in package.get("resources", []):
        if resource.get("name") == table:
            return {field["name"]: field for field in resource["schema"]["fields"]}
    return {}


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
            (pattern, written.replace("\\", "$"))
            for pattern, written in words.REWRITTEN.items()
            if not any(name in pattern for name in words.KINDS_OF_DISK)  # not on the page
        ],
        "skipped": sorted(words.SKIPPED | {"shared"}),
        "kinds": words.KINDS,
        "codes": _codes(),
        "providers": _providers(names),
        "prefixes": prefixes(names.machines),
        "regions": [(place.provider, place.region) for place in names.places],
        "places": _places(names),
        "forms": words.FORMS,
        "features": words.FEATURES,
        "bridge": words.BRIDGE,
        "no_names": words.NO_NAMES,
        "without": words.WITHOUT,
        "makers": words.MAKERS,
        "architectures": sorted(names.architectures),
        "max_accelerator_gib": words.MAX_ACCELERATOR_GIB,
        "min_begun": words.MIN_BEGUN_DEVICE,
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
    texts = {*SHORT_CONTINENTS, *countries, *(code.lower() for code in names.countries)}
    texts |= {continent.replace("_", gap) for continent in CONTINENTS for gap in " _-"}
    for place in names.places:
        region = place.region.lower()
        parts = normal(region).split("_")
        texts |= {region, " ".join(parts)}
        texts |= {"-".join(parts[:count]) for count in range(1, len(parts))}
        texts |= set(_runs([word.strip("(),.") for word in place.display_name.lower().split()]))
    for region in {place.region for place in names.places}:
        texts |= set(_directions(*direction(region)))
    return texts


def _directions(parts: tuple[str, ...], number: str) -> Iterator[str]:
    """List the ways to write a direction: "us east", "us-east-1", "eastus2"."""
    if not 1 < len(parts) <= words.MAX_WORDS:
        return
    short = {full: code for code, full in ABBREVIATIONS.items()}
    for spelled in {parts, tuple(short.get(part, part) for part in parts)}:
        for order in permutations(spelled):
            for gap in (" ", "-", ""):
                text = gap.join(order)
                yield from (text, f"{text}{number}", f"{text}{gap}{number}")


def _runs(name: list[str]) -> Iterator[str]:
    """List the runs of up to MAX_WORDS consecutive words of a name."""
    for first in range(len(name)):
        for last in range(first + 1, min(first + words.MAX_WORDS, len(name)) + 1):
            yield " ".join(name[first:last])


def _accelerators(names: ReleaseWords) -> dict[str, Any]:
    """List accelerators by id or by the vendor's name, and the positions of each word in them.

    Consecutive words are also listed joined: rtx4090.
    """
    texts = {key: f"{key} {name}" for key, name in names.accelerators.items()}
    texts |= {device: device for device in names.unknown.values() if device not in texts}
    positions: dict[str, list[int]] = {}
    for position, text in enumerate(texts.values()):
        for word in words.joined_words(text):
            positions.setdefault(word, []).append(position)
    named = (text.partition(WHOLE_WORDS)[0] for text in texts.values())
    may_be_begun = {word for text in named for word in words.joined_words(text)}
    return {
        "accelerators": list(texts),
        "ids": len(names.accelerators),
        "whole_words": sorted(positions.keys() - may_be_begun),
        "accelerator_words": dict(sorted(positions.items())),
        "short_names": words.short_names(names.accelerators),
    }
