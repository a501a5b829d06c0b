"""Parse the descriptions of SKUs, and define the words in them.

Google sells components (a core, a GiB of memory, a GPU) and describes each SKU in words: "Spot
Preemptible N2 Instance Core running in Iowa". The rules, rows of the sheet gcp_sentences, are these
sentences, one per form. A rule is a regular expression for the complete description, made of
``<PARTS>`` (the lists of words here, and rows of the kind ``part``) and of named groups: ``mode``
(spot and the scheduler's modes), ``series``, ``unit`` (core or memory), ``gpu``, ``slice``,
``tpu``, ``place``, ``years``. Words that are not listed are unknown.

No rule overlaps one that gives a price (a test checks it), so their order never decides a price. A
description that no rule matches is not guessed: ``Descriptions.read`` returns None and the SKU is
quarantined (``classify.explain`` says what is new in it).

The descriptions follow the Cloud Billing Catalog,
https://cloud.google.com/billing/v1/how-tos/catalog-api, and its SKU list,
https://cloud.google.com/skus. Series: https://cloud.google.com/compute/docs/machine-resource.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import msgspec

from hwprices.providers.gcp.machine_type import ComponentId
from hwprices.schemas import TERMS_IN_MONTHS
from hwprices.specs import packaged_rows

MODES: Final[dict[str, str]] = {
    "Spot Preemptible": "spot",
    "Preemptible": "spot",  # the name of spot before 2022, which some SKUs kept
    "DWS Defined Duration": "dws_defined_duration",
    "DWS Calendar Mode": "dws_calendar",
    "DWS Flex Start": "dws_flex_start",
}
"""Word → purchase option.

DWS is the Dynamic Workload Scheduler, https://cloud.google.com/products/dws/pricing. The Flex-start
mode of A2, A3, A4, G2, G4 and TPUs is billed by the SKUs that say "DWS Defined Duration"
(https://cloud.google.com/skus/sku-groups/flex-start-mode-a3-vms); those of H4D say "DWS Flex
Start".
"""


def _names_of(kind: str) -> dict[str, str]:
    """Return the words of a kind in the sheet gcp_words, and what they name."""
    rows = packaged_rows("gcp_words")
    return {row["words"]: row["name"] for row in rows if row["kind"] == kind}


SERIES: Final[dict[str, str]] = _names_of("series")
"""Words → series in the sheet gcp_series."""

GPUS: Final[dict[str, str]] = _names_of("gpu")
"""Words → the Compute API's name of the accelerator (guestAcceleratorType)."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A share of a machine whose price includes GPU, cores, memory and disk.

    ``gpu`` is the Compute API's name of the GPU. ``variant`` is "eighth" for an eighth of a GPU.
    """

    series: str
    gpu: str
    variant: str = ""


SLICES: Final[dict[str, Slice]] = {
    "Nvidia B200 (1 gpu slice)": Slice("a4", "nvidia-b200"),
    "A4 Nvidia B200 (1 gpu slice)": Slice("a4", "nvidia-b200"),
    "A4X Nvidia GB200 (1 gpu slice)": Slice("a4x", "nvidia-gb200"),
    "A4X Max Nvidia GB300 (1 gpu slice)": Slice("a4xmax", "nvidia-gb300"),
    "1/8 vGPU no lssd": Slice("g4", "nvidia-rtx-pro-6000", "eighth"),
}
"""Words → slice of a GPU machine."""

INSTANCES: Final[dict[str, str]] = {
    "Micro Instance with burstable CPU": "f1",
    "Small Instance with 1 VCPU": "g1",
}
"""Words → series of machines that have one SKU per machine."""

CONTINENTS: Final = frozenset(
    ["APAC", "Americas", "Asia", "Asia Pacific", "EMEA", "EU", "Europe", "North America", "USA"]
)
"""Places that are larger than a country or are sold as one area of several regions."""

OPEN_BAND_FROM: Final = 100
"""A vCPU band that is only a number (4) is one size. From this number on, it is open: "128 VCPU or
more"."""

OPEN_BAND_TO: Final = 100_000  # Upper end of an open vCPU band: above every machine


class PricedComponent(msgspec.Struct, frozen=True, gc=False):
    """What one SKU sells.

    ``series`` is the machine series of the component: ``any`` for components of several series,
    ``license`` for licenses. ``place`` is the place in words (Iowa). ``version`` is the release of
    a license. ``min_vcpus`` and ``max_vcpus`` limit the machines that a license price is for; both
    are 0 if it is for all.
    """

    series: str
    component: ComponentId
    purchase_option: str
    term_months: int
    place: str
    version: int = 0
    min_vcpus: int = 0
    max_vcpus: int = 0


class Unknown(msgspec.Struct, frozen=True, gc=False):
    """A SKU that is not understood: a quarantine reason, and the new word.

    ``word`` is None if the SKU has no new word but lacks something.
    """

    reason: str
    word: str | None


class NotAMachinePrice(msgspec.Struct, frozen=True, gc=False):
    """A known SKU that is not the price of a component; ``reason`` is the name of its rule."""

    reason: str


def _any_of(words: Iterable[str]) -> str:
    """Match one of the words, the longest first: "N2D AMD" before "N2D"."""
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    return "(?:" + "|".join(re.escape(word) for word in longest_first) + ")"


_WORDS: Final = {
    "ANY_MODE": _any_of(MODES),
    "DWS_MODE": _any_of(word for word in MODES if word.startswith("DWS")),
    "A_SERIES": _any_of(SERIES),
    "A_GPU": _any_of(GPUS),
    "A_SLICE": _any_of(SLICES),
    "AN_INSTANCE": _any_of(INSTANCES),
    "CONTINENT": _any_of(CONTINENTS),
}

_SENTENCES: Final = packaged_rows("gcp_sentences")
_PARTS: Final = _WORDS | {row["rule"]: row["sentence"] for row in _SENTENCES}


def _expanded(sentence: str) -> str:
    """Replace each ``<PART>`` of a sentence by its words or by the row of that name."""
    return re.sub(r"<([A-Z_]+)>", lambda part: _expanded(_PARTS[part[1]]), sentence)


def _rules(kind: str) -> dict[str, str]:
    """Return the rules of a kind: name → regular expression of the complete description."""
    rows = (row for row in _SENTENCES if row["kind"] == kind)
    return {row["rule"]: _expanded(row["sentence"]) for row in rows}


SERIES_WORDS: Final = _expanded("<SERIES>")
LICENSED: Final = _expanded("<LICENSED>")

COMPONENT_RULES: Final = _rules("component")
"""Sentences that name a component."""

LICENSE_RULES: Final = _rules("license")
"""Sentences that name a license.

A rule's name without ``_shared_core`` is the operating system or software. A license of SQL Server
is for machines with exactly the number of vCPUs that it names.
"""

PRICED_RULES: Final[dict[str, str]] = {**COMPONENT_RULES, **LICENSE_RULES}

OTHER_RULES: Final = _rules("other")
"""Known sentences that are not the price of a component.

``license`` are licenses that are not part of a price: of other products, of the buyer, of RAM and
GPU (at no cost beside that of the CPU), and RHEL's bands until 2024.
"""

_COMPILED: Final = {
    name: re.compile(pattern) for name, pattern in {**PRICED_RULES, **OTHER_RULES}.items()
}


def matching_rules(description: str) -> list[str]:
    """Return the names of the rules that match the whole description; more than one is a fault."""
    return [name for name, rule in _COMPILED.items() if rule.fullmatch(description)]


class Descriptions:
    """Reads descriptions, many of which differ only in the place.

    The price rule that matched the last description with the same words before the place is tried
    first, which saves nearly all others. The result is the same, because no rule overlaps one that
    gives a price.
    """

    def __init__(self) -> None:
        self._last: dict[str, str] = {}

    def read(self, description: str) -> PricedComponent | NotAMachinePrice | Unknown | None:
        """Return what a description says, or None if no rule matches it.

        It is Unknown if a rule matches, but the tables have no such term.
        """
        before_place = description.partition(" in ")[0]
        likely = self._last.get(before_place)
        if likely is not None and (match := _COMPILED[likely].fullmatch(description)):
            return _meaning(likely, match)
        for name, rule in _COMPILED.items():
            if name != likely and (match := rule.fullmatch(description)):
                if name in PRICED_RULES:
                    self._last[before_place] = name
                return _meaning(name, match)
        return None


def _meaning(
    rule: str, match: re.Match[str]
) -> PricedComponent | NotAMachinePrice | Unknown | None:
    if rule in OTHER_RULES:
        return NotAMachinePrice(rule)
    groups = {group: text for group, text in match.groupdict().items() if text}
    return _license(rule, groups) if rule in LICENSE_RULES else _component(rule, groups)


def _component(rule: str, groups: dict[str, str]) -> PricedComponent | Unknown | None:
    modes = [groups[group] for group in ("mode", "attached_mode") if group in groups]
    if len(modes) > 1:  # "Spot Preemptible … attached to DWS …" contradicts itself
        return None
    option, term_months = "on_demand", 0
    if "years" in groups:
        option, term_months = "committed_use", 12 * int(groups["years"])
        if term_months not in TERMS_IN_MONTHS:
            return Unknown("unknown_term", f"{groups['years']} Years")
    elif rule.startswith("reserved_"):
        option = "dws_calendar"
    elif modes:
        option = MODES[modes[0]]
    series, component = _series_and_component(groups)
    return PricedComponent(series, component, option, term_months, groups.get("place", ""))


def _series_and_component(groups: dict[str, str]) -> tuple[str, ComponentId]:
    """Return the series and the component that the groups of the matched rule name."""
    if "gpu" in groups:
        return "any", ComponentId("gpu", GPUS[groups["gpu"]])
    if "slice" in groups:
        gpu_slice = SLICES[groups["slice"]]
        return gpu_slice.series, ComponentId("slice", gpu_slice.gpu, gpu_slice.variant)
    if "tpu" in groups:
        variant = "pod" if "pod" in groups else ""
        generation = f"v{groups['tpu'].lower().removeprefix('v')}"
        return "tpu", ComponentId("tpu", generation, variant)
    if "instance" in groups:
        return INSTANCES[groups["instance"]], ComponentId("instance")
    if "ssd" in groups:
        return SERIES.get(groups.get("series", ""), "any"), ComponentId("local_ssd")
    return _core_or_memory(groups)


def _core_or_memory(groups: dict[str, str]) -> tuple[str, ComponentId]:
    """Return series and component of a core or memory SKU.

    Without a series it is N1, the only series when its SKUs were named.
    """
    kind = "ram" if groups["unit"].lower() == "ram" else "core"
    if "premium" in groups:
        return "m2", ComponentId("premium", kind)
    variant = next((word for word in ("extended", "custom") if word in groups), "")
    return SERIES.get(groups.get("series", ""), "n1"), ComponentId(kind, "", variant)


def _license(rule: str, groups: dict[str, str]) -> PricedComponent:
    min_vcpus, max_vcpus = _vcpu_band(groups.get("band", ""))
    if "vcpus" in groups:
        min_vcpus = max_vcpus = int(groups["vcpus"])
    system = rule.removesuffix("_shared_core")
    return PricedComponent(
        series="license",
        component=ComponentId("license", system, groups.get("shared_core", "")),
        purchase_option="on_demand",
        term_months=0,
        place="",
        version=int(groups["version"]),
        min_vcpus=min_vcpus,
        max_vcpus=max_vcpus,
    )


def _vcpu_band(text: str) -> tuple[int, int]:
    """Return the lowest and highest number of vCPUs of a license price; (0, 0) for all.

    The texts are "up to 8", "9 to 127", "128 or more", "4", and once "128" with "or more" after
    VCPU.
    """
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    if not numbers:
        return 0, 0
    if text.startswith("up to"):
        return 1, numbers[0]
    if len(numbers) == 2:
        return numbers[0], numbers[1]
    is_one_size = text.strip() == str(numbers[0]) and numbers[0] < OPEN_BAND_FROM
    return numbers[0], numbers[0] if is_one_size else OPEN_BAND_TO
