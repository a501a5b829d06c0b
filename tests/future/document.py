"""Read and write outcomes.csv: how each provider takes each change to its pages."""

import csv
from collections.abc import Mapping
from pathlib import Path

OUTCOMES = Path(__file__).parent / "outcomes.csv"
"""Every change that was tried: provider, change, outcome. What is not ok is a known failure."""

Outcomes = Mapping[tuple[str, str], str]


def read_outcomes() -> Outcomes:
    """Read the outcomes by provider and change."""
    with OUTCOMES.open(encoding="utf-8", newline="") as file:
        return {(r["provider"], r["change"]): r["outcome"] for r in csv.DictReader(file)}


def write_outcomes(outcomes: Outcomes) -> None:
    """Write the outcomes, those of other providers as they were."""
    providers = {provider for provider, _ in outcomes}
    earlier = read_outcomes() if OUTCOMES.exists() else {}
    kept = {key: word for key, word in earlier.items() if key[0] not in providers}
    with OUTCOMES.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("provider", "change", "outcome"))
        writer.writerows((*key, word) for key, word in sorted({**kept, **outcomes}.items()))
