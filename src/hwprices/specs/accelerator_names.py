"""Find the spec sheet of an accelerator from the name a vendor gives it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.specs.sheets import FIRST_LINE, cells, read_csv, same_columns

MATCH_COLUMNS = [
    "vendor_name",
    "instance_type_pattern",
    "accelerator_id",
    "count",
    "memory_gib",
    "source_url",
    "as_of",
]


@dataclass(frozen=True)
class Match:
    """What a rule of accelerator_names says a machine has. ``count`` and ``memory_gib`` (of one device) are null where the vendor's own figures stand."""

    accelerator_id: str
    count: float | None
    memory_gib: float | None


@dataclass(frozen=True)
class _Rule:
    line: int
    vendor_name: str | None
    pattern: re.Pattern[str] | None
    match: Match

    @property
    def specificity(self) -> int:
        return (self.vendor_name is not None) + (self.pattern is not None)

    def fits(self, vendor_name: str | None, instance_type: str) -> bool:
        named = self.vendor_name is None or self.vendor_name == (vendor_name or "").strip()
        return named and (self.pattern is None or self.pattern.fullmatch(instance_type) is not None)


def accelerator_matcher(
    provider: str, directory: Path | None = None
) -> Callable[[str | None, str], Match | None]:
    """A function (vendor's name of the accelerator or None, machine type) → Match or None, from accelerator_names/<provider>.csv.

    A rule with a name and a pattern goes before a rule with one of them; patterns must match the whole machine type.

    Raises:
        HwpricesError: the sheet is missing or broken; from the returned function: two rules of one rank disagree.
    """
    file = f"accelerator_names/{provider}.csv"
    rules = _rules(file, directory)

    @cache
    def match(vendor_name: str | None, instance_type: str) -> Match | None:
        fitting = [rule for rule in rules if rule.fits(vendor_name, instance_type)]
        best = [rule for rule in fitting if rule.specificity == max(r.specificity for r in fitting)]
        if len({rule.match for rule in best}) > 1:
            lines = ", ".join(str(rule.line) for rule in best)
            raise HwpricesError(
                f"{file}: lines {lines} give different answers for {vendor_name!r} in {instance_type}",
                "Make one of them more specific.",
            )
        return best[0].match if best else None

    return match


def _rules(file: str, directory: Path | None) -> list[_Rule]:
    raw = read_csv(file, directory)
    same_columns(file, raw.columns, MATCH_COLUMNS)
    known = set(read_csv("accelerators.csv", directory)["accelerator_id"])
    counts = cells(file, raw["count"], pl.Float64())
    memories = cells(file, raw["memory_gib"], pl.Float64())
    cells(file, raw["as_of"], pl.Date())
    return [
        _rule(file, FIRST_LINE + i, row, known, counts[i], memories[i])
        for i, row in enumerate(raw.iter_rows(named=True))
    ]


def _rule(
    file: str,
    line: int,
    row: dict[str, str | None],
    known: set[str],
    count: float | None,
    memory_gib: float | None,
) -> _Rule:
    name, pattern, accelerator_id = (
        row["vendor_name"],
        row["instance_type_pattern"],
        row["accelerator_id"],
    )
    if accelerator_id not in known:
        raise HwpricesError(
            f"{file} line {line}: {accelerator_id!r} has no row in accelerators.csv",
            "Add the spec sheet first, or correct the id.",
        )
    if name is None and pattern is None:
        raise HwpricesError(
            f"{file} line {line}: neither vendor_name nor instance_type_pattern",
            "Fill in one of them; a rule for everything is a mistake.",
        )
    if not row["source_url"] or not row["as_of"]:
        raise HwpricesError(
            f"{file} line {line}: no source_url or as_of", "Say where and when the name was read."
        )
    try:
        compiled = None if pattern is None else re.compile(pattern)
    except re.error as error:
        raise HwpricesError(
            f"{file} line {line}: {pattern!r} is not a regular expression ({error})", "Correct it."
        ) from error
    return _Rule(
        line,
        None if name is None else name.strip(),
        compiled,
        Match(accelerator_id, count, memory_gib),
    )
