"""Take the names of sizes apart: Standard_E8-4s_v5.

Source: https://learn.microsoft.com/azure/virtual-machines/vm-naming-conventions.
"""

import re
from dataclasses import dataclass

SIZE = re.compile(
    r"^(?P<tier>Standard|Basic)_(?P<family>[A-Z]+)(?P<vcpus>\d{1,5})(?:-(?P<constrained>\d{1,5}))?"
    r"(?P<features>[a-z]*)(?:-(?P<active>\d{1,5}))?(?P<middle>(?:_[A-Za-z0-9]+?)*?)(?:_v(?P<version>\d{1,3}))?"
    r"(?P<promo>_Promo)?$"
)
"""tier_family+vcpus-constrained+features_accelerator or memory_version.

Examples: Standard_E8-4s_v5, Standard_NC24ads_A100_v4. M sizes have the constrained vCPUs behind the
features: Standard_M176ds-44_3_v3.
"""

NOT_SERIES = re.compile(r"^\d+$")  # Standard_M416s_6_v3: the 6 is terabytes of memory, not a series
INTEL_FAMILIES = {"D", "DS", "DC", "E", "EC", "F", "FX", "L", "M", "G", "GS", "HC"}


@dataclass(frozen=True)
class Size:
    """The parts of a size's name. ``vcpus`` is as the name says; old sizes have another number."""

    name: str
    tier: str
    family: str
    vcpus: int
    constrained: int | None
    features: str
    middle: tuple[str, ...]
    version: int | None
    promo: bool

    @property
    def series(self) -> str:
        """Family, features, accelerator and version.

        Standard_D2s_v5 is in series Dsv5, Standard_NC24ads_A100_v4 in NCads_A100_v4.
        """
        middle = [part for part in self.middle if not NOT_SERIES.match(part)]
        parts = [self.family + self.features, *middle]
        if self.version is None:
            return "_".join(parts)
        if middle:
            return "_".join([*parts, f"v{self.version}"])
        return f"{parts[0]}v{self.version}"

    @property
    def parent(self) -> str:
        """The size that a constrained size is made of: E8s_v5 of E8-4s_v5; else its own name."""
        return self.name.replace(f"-{self.constrained}", "", 1)

    @property
    def generation(self) -> str | None:
        """The version as Azure writes it: v5; None where the name has none."""
        return f"v{self.version}" if self.version is not None else None

    @property
    def cpu_vendor(self) -> str | None:
        """Maker of the CPU where the naming rules or the family tell; None where they do not.

        ``a`` is AMD. ``p`` is Arm: Ampere up to v5, Microsoft's Cobalt from v6, NVIDIA Grace with
        GB200 and GB300. D, E, F, L, M and G sizes without them are Intel, HB and HX AMD, HC Intel.
        Other families (A, B before v2, N) have had several makers.
        """
        if any(part.startswith("GB") for part in self.middle):
            return "NVIDIA"
        if "p" in self.features and self.family in ("B", "D", "E"):
            return "Microsoft" if (self.version or 0) >= 6 else "Ampere"
        if "a" in self.features or self.family in ("HB", "HX"):
            return "AMD"
        is_intel_b = self.family == "B" and self.version == 2
        return "Intel" if self.family in INTEL_FAMILIES or is_intel_b else None


def parse_size(name: str) -> Size | None:
    """Take a size's name apart; None where it does not follow the naming rules."""
    match = SIZE.match(name)
    if not match:
        return None
    active = match["constrained"] or match["active"]
    return Size(
        name=name,
        tier=match["tier"],
        family=match["family"],
        vcpus=int(match["vcpus"]),
        constrained=int(active) if active else None,
        features=match["features"],
        middle=tuple(part for part in match["middle"].split("_") if part),
        version=int(match["version"]) if match["version"] else None,
        promo=match["promo"] is not None,
    )
