"""What ``notes.json`` of a release holds. Written by publish, read by read."""

from collections.abc import Mapping
from dataclasses import dataclass, field

FORMAT = 1
"""Raised when a field of the notes changes its meaning or goes."""


@dataclass(frozen=True)
class Move:
    """One price that the vendor changed."""

    provider: str
    region: str
    instance_type: str
    purchase_option: str
    os: str
    term_months: int
    currency: str
    old: str
    new: str
    percent: float


@dataclass(frozen=True)
class Sold:
    """A machine type or region that came or went. ``change`` is a code of the table changes."""

    provider: str
    name: str
    change: str
    prices: int


@dataclass(frozen=True)
class Collected:
    """What was not collected, was again, or was for the first time, and how many prices it is."""

    provider: str
    unit: str | None
    change: str
    prices: int


@dataclass(frozen=True)
class Restated:
    """What our own reading changed: of prices how many, of figures which column of what."""

    subject: str
    name: str
    field: str
    count: int


@dataclass(frozen=True)
class GateNote:
    """A check of the gate that did not pass."""

    provider: str
    check: str
    outcome: str
    detail: str


@dataclass(frozen=True)
class NewWord:
    """A word of a vendor that is not known yet: a row of the table new_words."""

    provider: str
    reason: str
    word: str
    lines: int
    dependants: int
    example: str
    source_url: str
    since: str


@dataclass(frozen=True)
class ProviderNote:
    """One provider: how its part came about, its prices by purchase option, what was refused."""

    title: str
    origin: str
    status: str
    kept_from: str | None
    observed_from: str | None
    observed_to: str | None
    prices: Mapping[str, int]
    quarantined: Mapping[str, int]
    failed_units: tuple[str, ...]
    checks_passed: int


@dataclass(frozen=True, kw_only=True)
class ReleaseNotes:
    """What is new in a release.

    ``changes``: number of prices by change. ``moves``: the largest, by per cent. ``problems``: why
    a provider's older pages could not be read again, so that changes are unclear.
    """

    format: int = FORMAT
    version: str
    previous: str | None
    providers: Mapping[str, ProviderNote]
    changes: Mapping[str, int] = field(default_factory=dict)
    moves: tuple[Move, ...] = ()
    instance_types: tuple[Sold, ...] = ()
    regions: tuple[Sold, ...] = ()
    new_providers: tuple[str, ...] = ()
    collection: tuple[Collected, ...] = ()
    restated: tuple[Restated, ...] = ()
    spec_changes: int = 0
    new_words: tuple[NewWord, ...] = ()
    gate: tuple[GateNote, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)
