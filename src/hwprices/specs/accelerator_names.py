"""Find the spec sheet of an accelerator from the name a vendor gives it.

The rules are data: data/specs/accelerator_names/<provider>.csv.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from hwprices.errors import HwpricesError
from hwprices.schemas.tables import AcceleratorNames
from hwprices.specs.sheets import FIRST_LINE, parse_csv, parse_sheet, read_bytes

DEVICES = "accelerators.csv"
ANY_TYPE = "(?s:.*)"  # Pattern of a rule that names no machine type

GROUP_REFERENCE = re.compile(r"\\[1-9]|\(\?(P|\()")
"""Named groups, and references to groups. They would break when patterns are joined: groups get
other numbers, and names may repeat."""


@dataclass(frozen=True)
class Match:
    """The accelerator that a rule finds in a machine.

    ``count`` and ``memory_gib`` (per device) are None if the vendor's own figures apply.
    """

    accelerator_id: str
    count: float | None
    memory_gib: float | None


Matcher = Callable[[str | None, str], Match | None]
"""Takes the vendor's name of the accelerator, or None, and the machine type."""


@dataclass(frozen=True)
class _Rule:
    """One line of a sheet of names.

    ``specificity``: how many columns the rule uses. ``fits`` takes a machine type; its result is
    truthy if ``pattern`` matches all of it.
    """

    line: int
    vendor_name: str | None
    specificity: int
    pattern: str
    fits: Callable[[str], object]
    match: Match


def accelerator_matcher(provider: str, directory: Path | None = None) -> Matcher:
    """Build the function that finds a provider's accelerators, from its sheet of names.

    A rule with both a name and a pattern overrides a rule with one of them. Patterns must match the
    complete machine type. The two files are parsed again only when their bytes change.
    """
    file = f"accelerator_names/{provider}.csv"
    return _matcher(file, read_bytes(file, directory), read_bytes(DEVICES, directory))


@lru_cache(maxsize=64)
def _matcher(file: str, content: bytes, devices: bytes) -> Matcher:
    rules = _rules(file, content, devices)

    @cache
    def rules_for(vendor_name: str | None) -> list[_Rule]:
        name = (vendor_name or "").strip()
        return [rule for rule in rules if rule.vendor_name in (None, name)]

    @cache
    def any_fits(vendor_name: str | None) -> Callable[[str], object]:
        # Most machines have no accelerator, so one joined pattern is tried first.
        patterns = (f"(?:{rule.pattern})" for rule in rules_for(vendor_name))
        return re.compile("|".join(patterns)).fullmatch

    @cache
    def match(vendor_name: str | None, instance_type: str) -> Match | None:
        if not any_fits(vendor_name)(instance_type):
            return None
        matching = [rule for rule in rules_for(vendor_name) if rule.fits(instance_type)]
        rank = max((rule.specificity for rule in matching), default=0)
        best = [rule for rule in matching if rule.specificity == rank]
        if len({rule.match for rule in best}) > 1:
            lines = ", ".join(str(rule.line) for rule in best)
            raise HwpricesError(
                f"{file}: lines {lines} give different answers for {vendor_name!r}"
                f" in {instance_type}",
                "Make one of them more specific.",
            )
        return best[0].match if best else None

    return match


def _rules(file: str, content: bytes, devices: bytes) -> list[_Rule]:
    frame = parse_sheet(file, parse_csv(file, content), AcceleratorNames)
    device_ids = frozenset(parse_csv(DEVICES, devices)["accelerator_id"])
    return [
        _rule(f"{file} line {line}", line, row, device_ids)
        for line, row in enumerate(frame.iter_rows(named=True), FIRST_LINE)
    ]


def _rule(file_line: str, line: int, row: Mapping[str, Any], device_ids: frozenset[str]) -> _Rule:
    """Make a rule of a row. ``file_line`` is the place that errors name."""
    name, pattern = row["vendor_name"], row["instance_type_pattern"]
    if row["accelerator_id"] not in device_ids:
        raise HwpricesError(
            f"{file_line}: {row['accelerator_id']!r} has no row in accelerators.csv",
            "Add the spec sheet first, or correct the id.",
        )
    if name is None and pattern is None:
        raise HwpricesError(
            f"{file_line}: neither vendor_name nor instance_type_pattern",
            "Fill in one of them; a rule for everything is a mistake.",
        )
    if not row["source_url"] or not row["as_of"]:
        raise HwpricesError(
            f"{file_line}: no source_url or as_of", "Say where and when the name was read."
        )
    return _Rule(
        line,
        None if name is None else name.strip(),
        (name is not None) + (pattern is not None),
        pattern or ANY_TYPE,
        _compiled(file_line, pattern or ANY_TYPE).fullmatch,
        Match(row["accelerator_id"], row["count"], row["memory_gib"]),
    )


def _compiled(file_line: str, pattern: str) -> re.Pattern[str]:
    try:
        compiled = re.compile(pattern)
        re.compile(f"(?:{pattern})")  # as in the joined pattern, which allows no global flags
    except re.error as error:
        raise HwpricesError(
            f"{file_line}: {pattern!r} is not a regular expression ({error})", "Correct it."
        ) from error
    if GROUP_REFERENCE.search(pattern):
        raise HwpricesError(
            f"{file_line}: {pattern!r} names a group or refers to one",
            "Write what the group means, or make several lines of it.",
        )
    return compiled
