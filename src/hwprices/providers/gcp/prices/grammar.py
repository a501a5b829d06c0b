"""What a SKU's description says: (series, part, purchase option, term, place), or that it is deliberately no machine price.

Google sells parts, and names them in words. Every rule is anchored at both ends and the rules do not overlap (a test holds
that), so their order decides nothing. What no rule knows is not guessed at: ``parse`` returns None and the SKU is quarantined.

The descriptions follow the Cloud Billing Catalog, https://cloud.google.com/billing/v1/how-tos/catalog-api, and its SKU list,
https://cloud.google.com/skus. ``usageType`` alone does not tell on-demand from the Dynamic Workload Scheduler's prices, which
carry OnDemand too, nor some spot SKUs; so description, resource group and usage type must agree.
"""

import re
from dataclasses import dataclass
from typing import Final

from hwprices.providers.gcp.prices import vocabulary as words


@dataclass(frozen=True, slots=True)
class Part:
    """What one SKU sells.

    ``series`` is the machine series it belongs to (``any`` for parts that go with several, ``license`` for licences).
    ``part`` is core, ram, core_custom, ram_custom, ram_extended, gpu:<vendor name>, slice:<vendor name>, tpu:<generation>,
    local_ssd, instance, premium_core, premium_ram or license:<os>. ``low``/``high`` bound the vCPUs a licence price is for,
    ``version`` tells releases of the same licence apart.
    """

    series: str
    part: str
    option: str
    term_months: int
    place: str
    version: int = 0
    low: int = 0
    high: int = 0


@dataclass(frozen=True, slots=True)
class Other:
    """A SKU that is understood and is not a price of a machine or of a part of one."""

    why: str


_NAME = r"[^\W\d_][\w .,'’()/&-]*"
_OTHERS = r"Sole Tenancy|Overcommit|[Ss]uspended|Virtual Workstation|Confidential|fee for total VM"
_PLACE = rf"(?P<place>(?!.*\b(?:for \d Year|in Calendar Mode|{_OTHERS})\b){_NAME})"
_MODE = "(?:(?P<mode>" + "|".join(words.MODES) + ") )"
_DWS = "(?P<mode>" + "|".join(m for m in words.MODES if m.startswith("DWS")) + ") "
_ATTACHED = "(?:running|attached to (?P<attached>" + "|".join(words.MODES) + ") VMs(?: running)?)"
_IN = f" in {_PLACE}"
_TERM = rf" in (?P<place>(?!.*\b(?:{_OTHERS})\b){_NAME}?) for (?P<years>[13]) Years?"
_CALENDAR = rf" in (?P<place>(?!.*\b(?:{_OTHERS})\b){_NAME}?) in Calendar Mode"
_UNIT = "(?P<unit>Core|Cpu|Ram|RAM)"


def _either(names: dict[str, str]) -> str:
    return "(?:" + "|".join(re.escape(n) for n in sorted(names, key=lambda n: (-len(n), n))) + ")"


_SERIES = f"(?P<series>{_either(words.SERIES)})"
_GPU = f"(?P<gpu>{_either(words.GPUS)})(?: GPU)?"
_SLICE = f"(?P<slice>{_either(words.SLICES)})"
_TPU = r"(?P<tpu>[vV][2-9][a-z]?)"
_COMMITMENT = r"Commitment(?: v1)?: "

# One rule: its name and what a whole description must look like. Names are what tests and `Other.why` speak of.
PRICED: Final[dict[str, str]] = {
    "machine": f"{_MODE}?{_SERIES} (?P<custom>Custom )?(?P<extended>Extended )?Instance {_UNIT} running{_IN}",
    "n1_custom": f"{_MODE}?(?P<custom>Custom )(?P<extended>Extended )?Instance {_UNIT} running{_IN}",
    # Since 2018 C2 has been sold without the word Instance and for a whole continent; newer regions have it.
    "c2_plain": f"{_MODE}?(?P<series>Compute optimized) {_UNIT} running{_IN}",
    # The scheduler's SKUs drop the word Instance for A2 and A3 and keep it for H4D.
    "dws_machine": f"{_DWS}{_SERIES} {_UNIT} running{_IN}",
    "reserved_machine": f"Reserved {_SERIES} (?:Instance )?{_UNIT}{_CALENDAR}",
    "upgrade_premium": f"{_MODE}?(?P<premium>Memory Optimized Upgrade Premium) for Memory-optimized Instance {_UNIT} running{_IN}",
    "whole_instance": f"{_MODE}?(?P<instance>{_either(words.INSTANCES)}) running{_IN}",
    "gpu": f"{_MODE}?{_GPU} {_ATTACHED}{_IN}",
    "reserved_gpu": f"Reserved {_GPU}{_CALENDAR}",
    "slice": f"{_MODE}?{_SLICE}(?: {_ATTACHED})?{_IN}",
    "reserved_slice": f"Reserved {_SLICE}{_CALENDAR}",
    "local_ssd": f"(?P<ssd>SSD backed Local Storage)(?: {_ATTACHED})?(?:{_IN})?",
    "dws_local_ssd": f"{_DWS}(?P<ssd>SSD backed Local Storage)(?: running)?{_IN}",
    "series_local_ssd": f"{_MODE}?{_SERIES} Instance (?P<ssd>Local SSD) running{_IN}",
    "reserved_local_ssd": f"Reserved (?P<ssd>SSD backed Local Storage){_CALENDAR}",
    "tpu": f"{_MODE}?Tpu-?{_TPU}(?P<pod> Pod)? {_ATTACHED}{_IN}",
    "dws_tpu": f"{_DWS}{_TPU} running{_IN}",
    "reserved_tpu": f"Reserved (?:Tpu{_TPU}|{_TPU.replace('tpu', 'tpu2')} TPU){_CALENDAR}",
    "commitment_n1": f"{_COMMITMENT}{_UNIT}{_TERM}",
    "commitment_machine": f"{_COMMITMENT}{_SERIES} {_UNIT}{_TERM}",
    "commitment_gpu": f"{_COMMITMENT}{_GPU}(?: running)?{_TERM}",
    "commitment_slice": f"{_COMMITMENT}{_SLICE}(?: running)?{_TERM}",
    "commitment_local_ssd": f"{_COMMITMENT}(?:{_SERIES} )?(?P<ssd>Local SSD){_TERM}",
    "commitment_tpu": f"{_COMMITMENT}Tpu-?{_TPU}(?P<pod> Pod)?(?: running)?{_TERM}",
    "windows": r"Licensing Fee for Windows Server (?P<version>\d{4})(?: R2)?(?: Datacenter| Standard)?(?: Edition)? (?:\(CPU cost\)|on VM)",
    "windows_shared_core": r"Licensing Fee for Windows Server (?P<version>\d{4})(?: R2)?(?: Datacenter| Standard)?(?: Edition)? on (?P<shared>f1-micro|g1-small)",
    "sles": r"Licensing Fee for SUSE Linux Enterprise Server (?P<version>\d+)(?: SP\d+)? \(CPU cost\)",
    "sles_shared_core": r"Licensing Fee for SUSE Linux Enterprise Server (?P<version>\d+)(?: SP\d+)? on (?P<shared>f1-micro|g1-small)",
    "sles_sap": r"Licensing Fee for SLES (?P<version>\d+) For SAP(?: License)? on VM with (?P<band>[\w ]+?) VCPU",
    "rhel": r"Licensing Fee for Red Hat Enterprise Linux (?P<version>\d+) on VM with (?P<band>up to 8|9 to 127|128) VCPU(?: or more)?",
    "rhel_sap": (
        r"Licensing Fee for Red Hat Enterprise Linux (?P<version>\d+) for SAP with High Availability and Update Services"
        r" on VM with (?P<band>up to 8|9 to 127|128 or more) VCPU"
    ),
}

# Understood, and not a machine's price. Each excludes what the priced rules take, which a test holds.
_OTHER: Final[dict[str, str]] = {
    "sole_tenancy": r"(?:Commitment(?: v1)?: )?(?:.+ )?Sole Tenancy .+",
    "cpu_overcommit": r".+ Overcommit(?: .+)?|Overcommit .+",
    "suspended": r"(?:.+ )?[Ss]uspended(?: .+)?",
    # Paid already by the reservation that holds them: $0. Those "in Calendar Mode" are a price, and are rules above.
    "reserved": r"Reserved (?!.* in Calendar Mode$).+",
    "flexible_commitment": r"Commitment - dollar based v1: .+",
    "commitment_premium": r"Committed Use Discount Premium for .+",
    "capacity_optimized": r"Capacity Optimized .+",
    "virtual_workstation": r".+ Virtual Workstation .+",
    "confidential": r"(?:.+ )?Confidential (?:.+ )?(?:Core|Ram|RAM|GPU) .+",
    "license_commitment": r"Commitment(?: v1)?: (?:SLES|RHEL|Red Hat|SUSE|SQL|Windows) .+",
    "snapshot_transfer": r"PD snapshot egress .+",
    "network_bandwidth": r"(?:.+ )?fee for total VM network bandwidth .+",
}

_RULES: Final = {name: re.compile(pattern) for name, pattern in {**PRICED, **_OTHER}.items()}
_LICENSES: Final = (
    "windows",
    "windows_shared_core",
    "sles",
    "sles_shared_core",
    "sles_sap",
    "rhel",
    "rhel_sap",
)


def matching(description: str) -> list[str]:
    """Names of the rules that take the whole description; more than one would be a fault of the grammar."""
    return [name for name, rule in _RULES.items() if rule.fullmatch(description)]


def parse(
    description: str, *, family: str = "Compute", group: str, usage: str
) -> Part | Other | None:
    """What a SKU sells, or None when it is not understood.

    Args:
        description: the SKU's ``description``.
        family: ``category.resourceFamily``; licences are read only from License.
        group: ``category.resourceGroup``, which must fit the part.
        usage: ``category.usageType``, which must fit the purchase option.
    """
    if family == "License" and not description.startswith("Licensing Fee for "):
        return Other("license")
    found = _match(description)
    if found is None:
        return Other("license") if family == "License" else None
    name, match = found
    if name in _OTHER:
        return Other(name)
    part = _license(name, match) if name in _LICENSES else _part(name, match)
    return part if part is not None and _agrees(part, family, group, usage) else None


def _match(description: str) -> tuple[str, re.Match[str]] | None:
    for name, rule in _RULES.items():
        if match := rule.fullmatch(description):
            return name, match
    return None


def _part(name: str, match: re.Match[str]) -> Part | None:
    said = match.groupdict()
    modes = [m for m in (said.get("mode"), said.get("attached")) if m]
    if len(modes) > 1:  # "Spot Preemptible … attached to DWS …" would say two things
        return None
    option, term = "on_demand", 0
    if said.get("years"):
        option, term = "committed_use", 12 * int(said["years"])
    elif name.startswith("reserved_"):
        option = "dws_calendar"
    elif modes:
        option = words.MODES[modes[0]]
    series, part = _what(said)
    return Part(series, part, option, term, said.get("place") or "")


def _what(said: dict[str, str | None]) -> tuple[str, str]:
    """Series and part, from the groups of the rule that matched."""
    if gpu := said.get("gpu"):
        return "any", f"gpu:{words.GPUS[gpu]}"
    if one := said.get("slice"):
        return words.SLICES[one], f"slice:{words.SLICED[one]}"
    if tpu := (said.get("tpu") or said.get("tpu2")):
        return "tpu", f"tpu:{tpu.lower()}" + ("-pod" if said.get("pod") else "")
    if instance := said.get("instance"):
        return words.INSTANCES[instance], "instance"
    return _piece(said)


def _piece(said: dict[str, str | None]) -> tuple[str, str]:
    """Series and part of what goes by core, GiB or disk. A name without a series is N1's: it was the only one."""
    series = words.SERIES[said["series"]] if said.get("series") else None  # type: ignore[index]
    if said.get("ssd"):
        return series or "any", "local_ssd"
    series = series or "n1"
    unit = "ram" if (said.get("unit") or "").lower() == "ram" else "core"
    if said.get("premium"):
        return "m2", f"premium_{unit}"
    if said.get("extended"):
        return series, f"{unit}_extended"
    return series, f"{unit}_custom" if said.get("custom") else unit


def _license(name: str, match: re.Match[str]) -> Part:
    said = match.groupdict()
    low, high = _band(said.get("band"))
    system = name.removesuffix("_shared_core")
    part = f"license:{system}" + (f":{said['shared']}" if said.get("shared") else "")
    return Part("license", part, "on_demand", 0, "", int(said["version"]), low, high)


def _band(text: str | None) -> tuple[int, int]:
    """vCPUs a licence price is for, both ends included; (0, 0) where it is for all."""
    numbers = [int(n) for n in re.findall(r"\d+", text or "")]
    if not numbers:
        return 0, 0
    if (text or "").startswith("up to"):
        return 1, numbers[0]
    if len(numbers) == 2:
        return numbers[0], numbers[1]
    single = (text or "").strip() == str(numbers[0]) and numbers[0] < words.OPEN_BAND_FROM
    return numbers[0], numbers[0] if single else words.OPEN_BAND_TO


def _agrees(part: Part, family: str, group: str, usage: str) -> bool:
    """Whether category and description say the same."""
    if part.series == "license":
        return family == "License" and usage == "OnDemand"
    kind = (
        part.part.partition(":")[0]
        .removeprefix("premium_")
        .removesuffix("_custom")
        .removesuffix("_extended")
    )
    return group in words.GROUPS[kind] and usage in words.USAGES[(part.option, part.term_months)]
