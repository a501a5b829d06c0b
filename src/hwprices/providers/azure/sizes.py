"""Take the names of sizes apart (Standard_E8-4s_v5), and find the accelerators of a size.

Source: https://learn.microsoft.com/azure/virtual-machines/vm-naming-conventions.

The API says at most how many devices a size has, never which. The model comes from
data/specs/accelerator_names/azure.csv, whose lines have sources. That sheet also gives the count
where the API says nothing (GB200, GB300, MI300X, V620, V710), says 1 for a fraction (A10, MI25), or
has once been wrong (ND96isr_H100_v5: 12 in 2024).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from hwprices.rows.vendor_rows import accelerator_totals
from hwprices.schemas.columns import Accelerators
from hwprices.specs import accelerator_names, sheets

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


KINDS_BY_FAMILY = {"N": "gpu", "NM": "media", "NP": "fpga", "PB": "fpga"}
"""Kind of accelerator by the letters of the family, for sizes that the sheet does not have: N is
GPU, NP and PB are FPGA (https://learn.microsoft.com/azure/virtual-machines/vm-naming-conventions).
NM has AMD's MA35D, a media accelerator."""


@dataclass(frozen=True)
class AcceleratorSheet:
    """The sheets that name accelerators, read once.

    ``match`` finds the model of a size; its first argument, the vendor's name of the device, is
    None because Azure returns none. ``kinds`` is accelerator_id → kind.
    """

    match: Callable[[str | None, str], accelerator_names.Match | None]
    kinds: Mapping[str, str]


def read_accelerator_sheet() -> AcceleratorSheet:
    """Read the sheets.

    Raises:
        HwpricesError: one of them is missing or broken.
    """
    kinds = sheets.load("accelerators").select("accelerator_id", "kind").iter_rows()
    return AcceleratorSheet(accelerator_names.accelerator_matcher("azure"), dict(kinds))


def with_accelerators(sizes: pl.DataFrame, sheet: AcceleratorSheet) -> pl.DataFrame:
    """Add accelerators, accelerator_kind, accelerator_count and accelerator_memory_gib.

    ``sizes`` has name and GPUs (the API's count as text, or null). An accelerator of unknown model
    keeps the API's count, or null where there is none.
    """
    pairs = sizes.select("name", "GPUs").iter_rows()
    results = [accelerators_of(size, gpus, sheet) for size, gpus in pairs]
    return sizes.with_columns(
        pl.Series("accelerators", [devices for devices, _ in results], dtype=Accelerators),
        pl.Series("accelerator_kind", [kind for _, kind in results], dtype=pl.String),
    ).with_columns(accelerator_totals())


def accelerators_of(
    size: str, gpus: str | None, sheet: AcceleratorSheet
) -> tuple[list[dict[str, Any]], str]:
    """Return the accelerators of one size, none or one element, and their kind.

    ``gpus`` is the API's count as text, or None.
    """
    api_count = float(gpus) if gpus and gpus.replace(".", "", 1).isdigit() else None
    match = sheet.match(None, size)
    if match:
        count = match.count if match.count is not None else api_count
        device = _device(match.accelerator_id, count, match.memory_gib)
        return [device], sheet.kinds[match.accelerator_id]
    kind = _kind_by_name(size) or ("gpu" if api_count else None)
    if kind is None:
        return [], "none"
    return [_device(None, api_count, None)], kind


def _device(
    accelerator_id: str | None, count: float | None, memory_gib: float | None
) -> dict[str, Any]:
    return {
        "accelerator_id": accelerator_id,
        "vendor_name": None,
        "count": count,
        "memory_gib": memory_gib,
    }


def _kind_by_name(size: str) -> str | None:
    parsed = parse_size(size)
    if parsed is None:
        return None
    return KINDS_BY_FAMILY.get(parsed.family) or KINDS_BY_FAMILY.get(parsed.family[:1])
