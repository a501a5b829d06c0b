"""The codes that columns may have, each with a sentence that explains it.

``vocabulary.csv`` lists them by vocabulary; declare a new code there first. The models refuse any
other code, and the data dictionary prints the sentences. Imports only the standard library, so all
parts of the project can use it.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path


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


_SHEET = Path(__file__).with_suffix(".csv").read_text(encoding="utf-8")
_ROWS = list(csv.DictReader(_SHEET.splitlines()))


def _listed(
    name: str, others: Mapping[str, str] | None = None, *, joined: bool = False
) -> Vocabulary:
    """Return a vocabulary of the sheet, after the values of ``others``."""
    rows = [row for row in _ROWS if row["vocabulary"] == name]
    values = {row["value"]: row["sentence"] for row in rows if not row["is_pattern"]}
    patterns = {row["value"]: row["sentence"] for row in rows if row["is_pattern"]}
    return Vocabulary(name, {**(others or {}), **values}, patterns, joined)


# How a machine is bought
OPERATING_SYSTEMS = _listed("operating_systems")
SOFTWARE = _listed("software")
LICENSE_MODELS = _listed("license_models")
TENANCIES = _listed("tenancies")
PURCHASE_OPTIONS = _listed("purchase_options")
COMMITMENT_PLANS = _listed("commitment_plans")
PAYMENT_OPTIONS = _listed("payment_options")
BILLING_UNITS = _listed("billing_units")
WHEN_STOPPED = _listed("when_stopped")
BASES = _listed("bases")

TERMS_IN_MONTHS = (0, 12, 36, 60)
"""Terms of commitments that vendors sell; 0 without a commitment."""

COMMITMENT_COLUMNS = {
    "reserved": ("reserved", "standard"),
    "compute_savings_plan": ("savings_plan", "compute"),
    "ec2_instance_savings_plan": ("savings_plan", "ec2_instance"),
    "committed_use": ("committed_use", "resource"),
    "flexible_committed_use": ("committed_use", "flexible"),
}
"""Prefix of offers' price columns for commitments: purchase option and commitment plan. Other plans
(convertible) have no column."""

# Codes that describe a price
FLAGS = _listed("flags")
PRICE_REASONS = _listed("price_reasons", joined=True)
ON_DEMAND_REASONS = Vocabulary(
    "on_demand_reasons",
    {
        **PRICE_REASONS,
        "not_listed": "The vendor lists no on-demand price for the machine in the region.",
    },
    PRICE_REASONS.patterns,
    joined=True,
)
QUARANTINE_REASONS = _listed("quarantine_reasons")

# Parts of machines
COMPONENTS = _listed("components")
PARTS = _listed("parts")
BILLED_FOR = _listed("billed_for")
COMPONENT_UNITS = _listed("component_units")

# Places and machine types
REGION_KINDS = _listed("region_kinds")
REGION_STATUSES = _listed("region_statuses")
ZONE_KINDS = _listed("zone_kinds", {k: REGION_KINDS[k] for k in ("local_zone", "wavelength")})
CONTINENTS = _listed("continents")
TYPE_STATUSES = _listed("type_statuses")
ARCHITECTURES = _listed("architectures")
ACCELERATOR_KINDS = _listed("accelerator_kinds")
SPEC_KINDS = _listed("spec_kinds", {k: s for k, s in ACCELERATOR_KINDS.items() if k != "none"})
DISK_KINDS = _listed("disk_kinds")
SPEC_SOURCES = _listed("spec_sources")
POWER_BASES = _listed("power_bases")

# Spec sheets
CONFIDENCE = _listed("confidence")
SUPPORT = _listed("support")
DISCLOSURES = _listed("disclosures")
LOCAL_KINDS = _listed("local_kinds")
PRICE_KINDS = _listed("price_kinds")
POWER_COMPONENTS = _listed("power_components")
POWER_UNITS = _listed("power_units")

# History
INTERVAL_STARTS = _listed("interval_starts")
INTERVAL_ENDS = _listed("interval_ends")
PRICE_STATES = _listed("price_states")
CHANGE_SUBJECTS = _listed("change_subjects")
CHANGES = _listed("changes")
EVIDENCE = _listed("evidence")

# Benchmarks and footprints
SUITES = _listed("suites")
SCENARIOS = _listed("scenarios")
PUE_BASES = _listed("pue_bases")
GRID_BASES = _listed("grid_bases")
RESULT_UNITS = _listed("result_units")
DIVISIONS = _listed("divisions")
