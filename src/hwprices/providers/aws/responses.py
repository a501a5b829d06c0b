"""Read EC2's XML responses, and parse figures in text: ``Up to 10 Gigabit``, ``1,952 GiB``.

Only namespace and wrapper of a response depend on the operation. A list is an element whose
children are all ``item`` (``member`` in two old operations).

Both the price list and the EC2 API write figures as text. Text without a figure (``NA``,
``Moderate``, ``EBS only``) is not an error and gives None.
"""

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from xml.etree.ElementTree import Element, ParseError

import polars as pl
from defusedxml import ElementTree
from defusedxml.common import DefusedXmlException

from hwprices.landing.pages import Page
from hwprices.providers import Pages

LIST_TAGS = {"item", "member"}


def landed_items(pages: Pages, page: Page, name: str, *required: str) -> list[dict[str, Any]]:
    """Read the entries of one landed page, see ``read_items``.

    Raises:
        UnreadablePageError: the page is not XML, or an entry lacks a ``required`` text.
    """
    with pages.parsing(page):
        listed = read_items(pages.read(page), name)
        for member in required:
            if not all(isinstance(e.get(member), str) and e[member] for e in listed):
                raise ValueError(f"an entry of {name} has no {member}")
        return listed


def read_items(body: bytes, name: str) -> list[dict[str, Any]]:
    """Read the entries of the list element ``name`` directly below the response's root.

    Returns no entries if the list is absent or empty.

    Raises:
        ValueError: the body is not XML, or declares entities, which EC2 never does.
        RecursionError: its elements are nested too deep.
    """
    try:
        root = ElementTree.fromstring(body)
    except (ParseError, DefusedXmlException) as error:
        raise ValueError(f"an EC2 response is not XML ({error})") from None
    listed = next((child for child in root if _local_name(child.tag) == name), None)
    return [] if listed is None else entries([_value(child) for child in listed])


def entries(value: Any) -> list[dict[str, Any]]:
    """Return the structures of a list inside an entry; none if it is absent or empty."""
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def strings(value: Any) -> list[str]:
    """Return the texts of a list inside an entry; none if it is absent or empty."""
    return [v for v in value if isinstance(v, str)] if isinstance(value, list) else []


def group(value: Any) -> dict[str, Any]:
    """Return a structure inside an entry; an empty dict if it is absent or empty."""
    return value if isinstance(value, dict) else {}


def number(value: Any) -> float | None:
    """Read a finite number written as text; None without text.

    Raises:
        ValueError: the text is not a finite number.
    """
    if not isinstance(value, str) or not value:
        return None
    figure = float(value)
    if not math.isfinite(figure):
        raise ValueError(f"{value[:40]!r} is not a finite number")
    return figure


def text(value: Any) -> str | None:
    """Return a text; None if it is empty, absent or a structure."""
    return value if isinstance(value, str) and value else None


def boolean(value: Any) -> bool | None:
    """Read ``true`` or ``false``; None for anything else."""
    return {"true": True, "false": False}.get(value) if isinstance(value, str) else None


def _value(element: Element) -> Any:
    if not len(element):
        return (element.text or "").strip()
    tags = [_local_name(child.tag) for child in element]
    if LIST_TAGS.issuperset(tags):
        return [_value(child) for child in element]
    return {tag: _value(child) for tag, child in zip(tags, element, strict=True)}


@lru_cache(maxsize=1024)
def _local_name(tag: str) -> str:
    """Return a tag without its namespace. Cached: a page has few tags, each thousands of times."""
    return tag.rpartition("}")[2]


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
"""Longest text that is parsed; the recorded lists have at most 16 characters. On endless text, the
patterns would run for hours."""

MIB_PER_GIB = 1024
GIB_PER = {"mib": 1 / MIB_PER_GIB, "gib": 1.0, "tib": 1024.0}
GIGABITS_PER = {"gigabit": 1.0, "gbps": 1.0, "megabit": 0.001, "mbps": 0.001}
GIB_PER_GB = 1e9 / 2**30
"""Disk sizes are decimal: a 75 GB instance-store volume has 75e9 bytes.
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-store-volumes.html"""

CPU_VENDORS = ("AWS", "AMD", "Apple")
"""Vendors whose CPU models begin with their name. Intel's name may be anywhere in a model."""

ARCHITECTURES = {"AWS": "arm64", "Apple": "arm64", "AMD": "x86_64", "Intel": "x86_64"}
"""Vendor → instruction set. The price list's "64-bit" may be x86 or Arm."""


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
    """Read disks: ``2 x 900 NVMe SSD`` → 2 with a total of 1800 GB, ``EBS only`` → no disks.

    None if the text does not mention disks (``NA``).
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
    """Strip a text; empty if it is absent or too long to parse."""
    return words.strip() if words and len(words) <= LONGEST else ""


def _figure(text: str) -> float:
    return float(text.replace(",", ""))


@dataclass(frozen=True)
class PriceListFacts:
    """What one region's price list says about machines and regions. All regions fit in memory.

    ``machines`` has one row per distinct set of attributes of an instance type: instance_type,
    product_family, the columns ``price_list.ATTRIBUTES`` in the vendor's words, ``systems``
    (operating systems it is sold with) and ``lines`` (how many lines state the set). ``parts`` are
    the lines that are not machines, from ``price_rows.part_lines``. ``places`` has region, location
    (the vendor's name), location_type and ``lines``.
    """

    region: str
    page: Page
    machines: pl.DataFrame
    places: pl.DataFrame
    parts: pl.DataFrame
