"""Figures in the words of the price list and of EC2: ``Up to 10 Gigabit``, ``1,952 GiB``, ``2 x 900 NVMe SSD``.

Words that hold no figure (``NA``, ``Moderate``, ``EBS only``) give None: they are not errors.
"""

import re
from typing import NamedTuple

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

GIB_PER = {"mib": 1 / 1024, "gib": 1.0, "tib": 1024.0}
GIGABITS_PER = {"gigabit": 1.0, "gbps": 1.0, "megabit": 0.001, "mbps": 0.001}
GIB_PER_GB = 1e9 / 2**30
"""Disk sizes are decimal: a 75 GB instance-store volume has 75e9 bytes.
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-store-volumes.html"""


class Disks(NamedTuple):
    """Local disks of a machine: GiB in all, how many of them, and nvme_ssd, ssd, hdd or None."""

    gib: float
    number: int
    kind: str | None


def memory_gib(words: str | None) -> float | None:
    """``1,952 GiB`` → 1952.0."""
    found = _MEMORY.fullmatch((words or "").strip())
    return (_figure(found[1]) * GIB_PER[found[2].lower()] or None) if found else None


def network_gbps(words: str | None) -> float | None:
    """The most it can do: ``Up to 12.5 Gigabit`` → 12.5, ``8x 100 Gigabit`` → 800."""
    found = _NETWORK.fullmatch((words or "").strip())
    return (
        (int(found[1] or 1) * _figure(found[2]) * GIGABITS_PER[found[3].lower()] or None)
        if found
        else None
    )


def clock_ghz(words: str | None) -> float | None:
    """``Up to 3.1 GHz`` → 3.1."""
    found = _CLOCK.search(words or "")
    return (_figure(found[1]) or None) if found else None


def whole(words: str | None) -> int | None:
    """A count: ``96`` → 96; ``NA`` → None."""
    text = (words or "").strip().replace(",", "")
    return int(text) or None if text.isdecimal() and text.isascii() else None


def disks(words: str | None) -> Disks | None:
    """``2 x 900 NVMe SSD`` → 2 disks, 1800 GB in GiB; ``EBS only`` → no disk; ``NA`` → None."""
    text = (words or "").strip()
    if text.lower() == "ebs only":
        return Disks(0.0, 0, None)
    found = _DISKS.fullmatch(text)
    if not found:
        return None
    count = int(found[1] or 1)
    gigabytes = count * _figure(found[2]) * (1000 if (found[3] or "").lower() == "tb" else 1)
    kind = {"": None, "ssd": "ssd", "hdd": "hdd"}.get(found[4].lower().strip(), "nvme_ssd")
    return (
        Disks(gigabytes * GIB_PER_GB, count, kind) if count and gigabytes else Disks(0.0, 0, None)
    )


def generation(family: str) -> str | None:
    """``m5dn`` → 5; families without a number after their first letters have none."""
    found = _GENERATION.match(family)
    return found[1] if found else None


def processors(words: str | None) -> list[str]:
    """CPU models the vendor names; ``Variable`` names none."""
    text = (words or "").strip()
    return (
        []
        if text in ("", "NA", "Variable")
        else [part.strip() for part in text.split(" or ") if part.strip()]
    )


def cpu_vendor(processor: str) -> str | None:
    """Maker of a CPU model as the price list writes it."""
    for start, vendor in (("AWS", "AWS"), ("AMD", "AMD"), ("Apple", "Apple")):
        if processor.startswith(start):
            return vendor
    return "Intel" if "Intel" in processor else None


def arch(processor: str) -> str | None:
    """The price list's "64-bit" says nothing: x86 and Arm alike have it. The CPU's name does."""
    vendor = cpu_vendor(processor)
    return {"AWS": "arm64", "Apple": "arm64", "AMD": "x86_64", "Intel": "x86_64"}.get(vendor or "")


def _figure(text: str) -> float:
    return float(text.replace(",", ""))
