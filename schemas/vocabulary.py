"""The codes that columns may have, each with a sentence that explains it.

``vocabulary.csv`` lists them by vocabulary; declare a new code there first. The models refuse any
other code, and the data dictionary prints the sentences. Imports only the standard library, so all
parts of the project can use it.
"""

import csv
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path


def read_sheet(name: str) -> list[dict[str, str]]:
    """Read the rows of a sheet of this folder."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@dataclass(frozen=True, eq=False)
class Vocabulary(Mapping[str, str]):
    """The allowed values of a column: a mapping from value to sentence.

    ``patterns`` maps regular expressions to sentences, for values that contain a number or a name.
    ``joined``: a cell may hold several values, separated by commas.
    """

    name: str
    sentences: Mapping[str, str]
    patterns: Mapping[str, str] = field(default_factory=dict)
    joined: bool = False

    def __getitem__(self, value: str) -> str:
        return self.sentences[value]

    def __iter__(self) -> Iterator[str]:
        return iter(self.sentences)

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def closed(self) -> bool:
        """Whether only the listed values are allowed: no patterns, and one value in a cell."""
        return not self.patterns and not self.joined

    def regex(self) -> str:
        """Return a regular expression that matches exactly the allowed cells."""
        one = "|".join([*(re.escape(value) for value in self.sentences), *self.patterns])
        return f"^(?:{one})(?:,(?:{one}))*$" if self.joined else f"^(?:{one})$"


JOINED = ("price_reasons", "on_demand_reasons")
"""Vocabularies of cells that may hold several values."""


def _read_vocabularies() -> dict[str, Vocabulary]:
    sentences: defaultdict[str, dict[str, str]] = defaultdict(dict)
    patterns: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for row in read_sheet("vocabulary.csv"):
        values = patterns if row["is_pattern"] == "yes" else sentences
        values[row["vocabulary"]][row["value"]] = row["sentence"]
    # Three vocabularies also have values of another one, which come first.
    kinds = sentences["region_kinds"]
    sentences["zone_kinds"] = {
        **{kind: kinds[kind] for kind in ("local_zone", "wavelength")},
        **sentences["zone_kinds"],
    }
    accelerators = {k: s for k, s in sentences["accelerator_kinds"].items() if k != "none"}
    sentences["spec_kinds"] = accelerators | sentences["spec_kinds"]
    sentences["on_demand_reasons"] = sentences["price_reasons"] | sentences["on_demand_reasons"]
    patterns["on_demand_reasons"] = patterns["price_reasons"] | patterns["on_demand_reasons"]
    return {
        name: Vocabulary(name, sentences[name], patterns[name], joined=name in JOINED)
        for name in sorted({*sentences, *patterns})
    }


VOCABULARIES = _read_vocabularies()
"""All vocabularies by name."""

OPERATING_SYSTEMS = VOCABULARIES["operating_systems"]
SOFTWARE = VOCABULARIES["software"]
LICENSE_MODELS = VOCABULARIES["license_models"]
TENANCIES = VOCABULARIES["tenancies"]
PURCHASE_OPTIONS = VOCABULARIES["purchase_options"]
COMMITMENT_PLANS = VOCABULARIES["commitment_plans"]
PAYMENT_OPTIONS = VOCABULARIES["payment_options"]
FLAGS = VOCABULARIES["flags"]
PRICE_REASONS = VOCABULARIES["price_reasons"]
ON_DEMAND_REASONS = VOCABULARIES["on_demand_reasons"]
QUARANTINE_REASONS = VOCABULARIES["quarantine_reasons"]
CONTINENTS = VOCABULARIES["continents"]
ARCHITECTURES = VOCABULARIES["architectures"]

COMMITMENT_COLUMNS = {
    "reserved": ("reserved", "standard"),
    "compute_savings_plan": ("savings_plan", "compute"),
    "ec2_instance_savings_plan": ("savings_plan", "ec2_instance"),
    "committed_use": ("committed_use", "resource"),
    "flexible_committed_use": ("committed_use", "flexible"),
}
"""Prefix of offers' price columns for commitments: purchase option and commitment plan. Other plans
(convertible) have no column."""
