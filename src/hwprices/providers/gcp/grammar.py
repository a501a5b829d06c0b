"""Parse the descriptions of SKUs, and define the words in them.

Google sells components (a core, a GiB of memory, a GPU) and describes each SKU in words: "Spot
Preemptible N2 Instance Core running in Iowa". The rules below are these sentences, one per form. A
rule is a regular expression for the complete description, made of the lists of words and of named
groups: ``mode`` (spot and the scheduler's modes), ``series``, ``unit`` (core or memory), ``gpu``,
``slice``, ``tpu``, ``place``, ``years``. Words that are not listed are unknown.

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


_NAME = r"[^\W\d_][\w .,'’()/&-]*"

# Words after "in" that are not part of a place: these SKUs have other rules.
_NO_PLACE = (
    r"Sole Tenancy|Overcommit|[Ss]uspended|Virtual Workstation|Confidential|fee for total VM"
)
_IN_PLACE = rf" in (?P<place>(?!.*\b(?:for \d+ Year|in Calendar Mode|{_NO_PLACE})\b){_NAME})"
_SHORT_PLACE = rf" in (?P<place>(?!.*\b(?:{_NO_PLACE})\b){_NAME}?)"
_FOR_YEARS = rf"{_SHORT_PLACE} for (?P<years>[1-9]\d?) Years?"
_BY_CALENDAR = rf"{_SHORT_PLACE} in Calendar Mode"
_ANY_MODE = _any_of(MODES)
_MODE = f"(?:(?P<mode>{_ANY_MODE}) )?"
_DWS = f"(?P<mode>{_any_of([m for m in MODES if m.startswith('DWS')])}) "
_RUNNING = f"(?:running|attached to (?P<attached_mode>{_ANY_MODE}) VMs(?: running)?)"
_UNIT = "(?P<unit>Core|Cpu|Ram|RAM)"
SERIES_WORDS: Final = f"(?P<series>{_any_of(SERIES)})"
_GPU = f"(?P<gpu>{_any_of(GPUS)})(?: GPU)?"
_SLICE = f"(?P<slice>{_any_of(SLICES)})"
_INSTANCE = f"(?P<instance>{_any_of(INSTANCES)})"
# Tpu-v3 Pod, TpuV6e, TPU7x, V6e, V6e TPU; the Cloud TPU service has the word Accelerator.
_TPU = (
    r"(?:T(?:pu|PU)[ -]?)?(?P<tpu>[vV]?[1-9]\d?[a-z]{0,2})(?: TPU)?(?P<pod> Pod)?(?: Accelerator)?"
)
_CUSTOM = "(?P<custom>Custom )"
_EXTENDED = "(?P<extended>Extended )?"
_SSD = "(?P<ssd>SSD backed Local Storage)"
_LOCAL_SSD = "(?P<ssd>Local SSD)"
_PREMIUM = "(?P<premium>Memory Optimized Upgrade Premium) for Memory-optimized"
_COMMITMENT = r"Commitment(?: v1)?: "

COMPONENT_RULES: Final[dict[str, str]] = {
    # N2 Custom Extended Instance Ram running in Iowa; once "M4NUltramem224Instance Ram …"
    "machine": f"{_MODE}{SERIES_WORDS} ?{_CUSTOM}?{_EXTENDED}Instance {_UNIT} running{_IN_PLACE}",
    # Custom Instance Core running in Iowa: without a series it is N1
    "n1_custom": f"{_MODE}{_CUSTOM}{_EXTENDED}Instance {_UNIT} running{_IN_PLACE}",
    # Since 2018, C2 has been sold by continent and without the word Instance, which newer regions
    # have.
    "c2_plain": f"{_MODE}(?P<series>Compute optimized) {_UNIT} running{_IN_PLACE}",
    # The scheduler's SKUs omit the word Instance for A2 and A3 and have it for H4D.
    "dws_machine": f"{_DWS}{SERIES_WORDS} {_UNIT} running{_IN_PLACE}",
    "reserved_machine": f"Reserved {SERIES_WORDS} (?:Instance )?{_UNIT}{_BY_CALENDAR}",
    "upgrade_premium": f"{_MODE}{_PREMIUM} Instance {_UNIT} running{_IN_PLACE}",
    # Micro Instance with burstable CPU running in Americas
    "whole_instance": f"{_MODE}{_INSTANCE} running{_IN_PLACE}",
    # Nvidia L4 GPU attached to Spot Preemptible VMs running in Iowa
    "gpu": f"{_MODE}{_GPU} {_RUNNING}{_IN_PLACE}",
    "reserved_gpu": f"Reserved {_GPU}{_BY_CALENDAR}",
    # A4 Nvidia B200 (1 gpu slice) running in Iowa
    "slice": f"{_MODE}{_SLICE}(?: {_RUNNING})?{_IN_PLACE}",
    "reserved_slice": f"Reserved {_SLICE}{_BY_CALENDAR}",
    "local_ssd": f"{_SSD}(?: {_RUNNING})?(?:{_IN_PLACE})?",
    "dws_local_ssd": f"{_DWS}{_SSD}(?: running)?{_IN_PLACE}",
    # C4A Instance Local SSD running in Iowa
    "series_local_ssd": f"{_MODE}{SERIES_WORDS} (?:Instance )?{_LOCAL_SSD} running{_IN_PLACE}",
    "reserved_local_ssd": f"Reserved {_SSD}{_BY_CALENDAR}",
    # TpuV6e running in Columbus
    "tpu": f"{_MODE}{_TPU} {_RUNNING}{_IN_PLACE}",
    # TPU-v2 Accelerator USA
    "tpu_of_a_continent": f"{_MODE}{_TPU} (?P<place>{_any_of(CONTINENTS)})",
    "reserved_tpu": f"Reserved {_TPU}{_BY_CALENDAR}",
    # Commitment v1: Cpu in Iowa for 1 Year: without a series it is N1
    "commitment_n1": f"{_COMMITMENT}{_UNIT}(?: running)?{_FOR_YEARS}",
    # Commitment: Compute optimized Core running in Americas for 1 Year
    "commitment_machine": f"{_COMMITMENT}{SERIES_WORDS} ?{_UNIT}(?: running)?{_FOR_YEARS}",
    "commitment_gpu": f"{_COMMITMENT}{_GPU}(?: running)?{_FOR_YEARS}",
    "commitment_slice": f"{_COMMITMENT}{_SLICE}(?: running)?{_FOR_YEARS}",
    "commitment_local_ssd": (
        f"{_COMMITMENT}(?:{SERIES_WORDS} (?:Instance )?)?{_LOCAL_SSD}(?: running)?{_FOR_YEARS}"
    ),
    "commitment_tpu": f"{_COMMITMENT}{_TPU}(?: running)?{_FOR_YEARS}",
}
"""Sentences that name a component: rule name → regular expression of the complete description."""

_WINDOWS = (
    r"Licensing Fee for Windows Server (?P<version>\d{4})(?: R2)?(?: Datacenter| Standard)?"
    r"(?: Edition)?"
)
_SLES = r"Licensing Fee for SUSE Linux Enterprise Server (?P<version>\d{1,3})(?: SP\d+)?"
_RHEL = r"Licensing Fee for Red Hat Enterprise Linux (?P<version>\d{1,3})"
_RHEL_SAP = f"{_RHEL} for SAP with High Availability and Update Services"
_SHARED_CORES = "f1-micro|g1-small"
_SHARED_CORE = f" on (?P<shared_core>{_SHARED_CORES})"
LICENSED = "Windows Server|SUSE Linux Enterprise Server|SLES|Red Hat Enterprise Linux"
_ON_VM = r"on VM with (?P<vcpus>\d{1,4}) VCPU"
_OTHER_LICENSES = (
    r"(?:SQL Server(?! \d{4} (?:Enterprise|Standard|Web) on VM with \d{1,4} VCPU$)"
    "|Ubuntu|Debian|CentOS|CoreOS|Container-Optimized OS|Rocky Linux|openSUSE) .+"
)
_OLD_BANDS = "VM with (?:1 to 4|6 or more) VCPU"  # of RHEL until 2024-07-01

LICENSE_RULES: Final[dict[str, str]] = {
    "windows": rf"{_WINDOWS} (?:\(CPU cost\)|on VM)",
    "windows_shared_core": f"{_WINDOWS}{_SHARED_CORE}",
    "sles": rf"{_SLES} \(CPU cost\)",
    "sles_shared_core": f"{_SLES}{_SHARED_CORE}",
    "sles_sap": (
        r"Licensing Fee for SLES (?P<version>\d{1,3}) For SAP(?: License)?"
        r" on VM with (?P<band>(?:up to )?\d{1,4}(?: to \d{1,4}| or more)?) VCPU"
    ),
    "rhel": rf"{_RHEL} on VM with (?P<band>up to 8|9 to 127|128) VCPU(?: or more)?",
    # Licensing Fee for SQL Server 2016 Standard on VM with 18 VCPU: 2.961, 18 times 0.1645
    "sql_ent": rf"Licensing Fee for SQL Server (?P<version>\d{{4}}) Enterprise {_ON_VM}",
    "sql_std": rf"Licensing Fee for SQL Server (?P<version>\d{{4}}) Standard {_ON_VM}",
    "sql_web": rf"Licensing Fee for SQL Server (?P<version>\d{{4}}) Web {_ON_VM}",
    "rhel_sap": rf"{_RHEL_SAP} on VM with (?P<band>up to 8|9 to 127|128 or more) VCPU",
}
"""Sentences that name a license.

A rule's name without ``_shared_core`` is the operating system or software. A license of SQL Server
is for machines with exactly the number of vCPUs that it names.
"""

PRICED_RULES: Final[dict[str, str]] = {**COMPONENT_RULES, **LICENSE_RULES}

OTHER_RULES: Final[dict[str, str]] = {
    "sole_tenancy": r"(?:Commitment(?: v1)?: )?(?:.+ )?Sole Tenancy .+",
    "cpu_overcommit": r".+ Overcommit(?: .+)?|Overcommit .+",
    "suspended": r"(?:.+ )?[Ss]uspended(?: .+)?",
    # $0, because the reservation is paid. "Reserved … in Calendar Mode" is a price, see above.
    "reserved": r"Reserved (?!.* in Calendar Mode$).+",
    "flexible_commitment": r"Commitment - dollar based v1: .+",
    "commitment_premium": r"Committed Use Discount Premium for .+",
    "capacity_optimized": r"Capacity Optimized .+",
    "virtual_workstation": r".+ Virtual Workstation .+",
    "confidential": r"(?:.+ )?Confidential (?:.+ )?(?:Core|Ram|RAM|GPU) .+",
    "license_commitment": r"Commitment(?: v1)?: (?:SLES|RHEL|Red Hat|SUSE|SQL|Windows) .+",
    "license": (
        rf"Licensing Fee for (?:{_OTHER_LICENSES}"
        rf"|(?:{LICENSED}) .*(?:BYOL(?: .+)?|\((?:RAM|GPU) cost\))"
        rf"|(?:SLES|Red Hat Enterprise Linux) .+ on (?:{_SHARED_CORES}|{_OLD_BANDS}))"
    ),
    "snapshot_transfer": r"PD snapshot egress .+",
    "network_bandwidth": r"(?:.+ )?fee for total VM network bandwidth .+",
}
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
