"""Read figures out of words: ``Up to 10 Gigabit``, ``1,952 GiB``, ``2 x 900 NVMe SSD``.

The price list and the EC2 API both write figures like that. Words that hold no figure (``NA``,
``Moderate``, ``EBS only``) give None: they are not errors.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

import polars as pl

from hwprices.landing.pages import Page

_NUMBER = r"\d[\d,]*(?:\.\d+)?"
_MEMORY = re.compile(rf"({_NUMBER})\s*(MiB|GiB|TiB)", re.IGNORECASE)
_NETWORK = re.compile(
    rf"(?:Up to )?(?:(\d+)\s*x\s*)?({_NUMBER})\s*(Gigabit|Gbps|Megabit|Mbps)", re.IGNORECASE
)
_CLOCK = re.compile(rf"({_NUMBER})\s*GHz", re.IGNORECASE)
_DISKS = re.compile(
    rf"(?:(\d+)\s*x\s*)?({_NUMBER})\s*(GB|TB)?\s*((?:NVMe\s*)?(?:SSD|HDD)?)", re.IGNORECASE
)
_GENERATION = re.compile(r"[a-z]+(\d+)")

LONGEST = 200
"""Characters of words that are read; the longest of the recorded lists are 16. In endless ones the
rules would look for a figure for hours."""

MIB_PER_GIB = 1024
GIB_PER = {"mib": 1 / MIB_PER_GIB, "gib": 1.0, "tib": 1024.0}
GIGABITS_PER = {"gigabit": 1.0, "gbps": 1.0, "megabit": 0.001, "mbps": 0.001}
GIB_PER_GB = 1e9 / 2**30
"""Disk sizes are decimal: a 75 GB instance-store volume has 75e9 bytes.
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-store-volumes.html"""

CPU_VENDORS = ("AWS", "AMD", "Apple")
"""Vendors that a CPU model begins with. Intel's name stands anywhere in it."""

ARCHITECTURES = {"AWS": "arm64", "Apple": "arm64", "AMD": "x86_64", "Intel": "x86_64"}
"""Instruction set of a vendor's CPUs. The price list's "64-bit" does not tell x86 from Arm."""


@dataclass(frozen=True)
class Disks:
    """Local disks of a machine: GiB in total, their number, and nvme_ssd, ssd, hdd or None."""

    gib: float
    number: int
    kind: str | None


NO_DISKS = Disks(0.0, 0, None)


@lru_cache(maxsize=1024)
def memory_gib(words: str | None) -> float | None:
    """Read memory in GiB: ``1,952 GiB`` → 1952.0."""
    match = _MEMORY.fullmatch(_text(words))
    return (_figure(match[1]) * GIB_PER[match[2].lower()] or None) if match else None


@lru_cache(maxsize=1024)
def network_gbps(words: str | None) -> float | None:
    """Read the highest bandwidth: ``Up to 12.5 Gigabit`` → 12.5, ``8x 100 Gigabit`` → 800."""
    match = _NETWORK.fullmatch(_text(words))
    if not match:
        return None
    cards, figure = int(match[1] or 1), _figure(match[2])
    return cards * figure * GIGABITS_PER[match[3].lower()] or None


@lru_cache(maxsize=1024)
def clock_ghz(words: str | None) -> float | None:
    """Read a clock speed: ``Up to 3.1 GHz`` → 3.1."""
    match = _CLOCK.search(_text(words))
    return (_figure(match[1]) or None) if match else None


def count(words: str | None) -> int | None:
    """Read a count above 0: ``96`` → 96, ``NA`` → None."""
    text = _text(words).replace(",", "")
    return int(text) or None if text.isdecimal() and text.isascii() else None


@lru_cache(maxsize=1024)
def disks(words: str | None) -> Disks | None:
    """Read disks: ``2 x 900 NVMe SSD`` → 2 of 1800 GB together, ``EBS only`` → none at all.

    None where the words say nothing of disks (``NA``).
    """
    text = _text(words)
    if text.lower() == "ebs only":
        return NO_DISKS
    match = _DISKS.fullmatch(text)
    if not match:
        return None
    number = int(match[1] or 1)
    unit = 1000 if (match[3] or "").lower() == "tb" else 1
    gigabytes = number * _figure(match[2]) * unit
    kind = {"": None, "ssd": "ssd", "hdd": "hdd"}.get(match[4].lower().strip(), "nvme_ssd")
    return Disks(gigabytes * GIB_PER_GB, number, kind) if gigabytes else NO_DISKS


def generation(family: str) -> str | None:
    """Read the first number after the family's letters: ``m5dn`` → 5, ``u-6tb1`` → None."""
    match = _GENERATION.match(family)
    return match[1] if match else None


def processors(words: str | None) -> list[str]:
    """List the CPU models that the vendor names; ``Variable`` names none."""
    text = (words or "").strip()
    if text in ("", "NA", "Variable"):
        return []
    return [part.strip() for part in text.split(" or ") if part.strip()]


def cpu_vendor(processor: str) -> str | None:
    """Return the vendor of a CPU model as the price list writes it."""
    if starts := [vendor for vendor in CPU_VENDORS if processor.startswith(vendor)]:
        return starts[0]
    return "Intel" if "Intel" in processor else None


def arch(processor: str) -> str | None:
    """Return the instruction set of a CPU model as the price list writes it."""
    return ARCHITECTURES.get(cpu_vendor(processor) or "")


def _text(words: str | None) -> str:
    """Return the words without blanks at the ends, and no text for those that hold no figure."""
    return words.strip() if words and len(words) <= LONGEST else ""


def _figure(text: str) -> float:
    return float(text.replace(",", ""))


@dataclass(frozen=True)
class PriceListFacts:
    """What one region's price list says of machines and regions. Small enough to keep for all.

    ``machines`` has one row for each distinct set of attributes of an instance type:
    instance_type, product_family, the columns ``price_list.ATTRIBUTES`` in the vendor's words,
    ``systems`` (operating systems it is sold with) and ``lines`` (how many lines state the set).
    ``parts`` are the lines that are not machines, as ``parts.part_lines`` gives them.
    ``places`` has region, location (the vendor's name), location_type and ``lines``.
    """

    region: str
    page: Page
    machines: pl.DataFrame
    places: pl.DataFrame
    parts: pl.DataFrame
