"""Find the accelerators of a size.

The API says at most how many devices a size has, never which. The model comes from
data/specs/accelerator_names/azure.csv, whose lines have sources. That sheet also gives the count
where the API says nothing (GB200, GB300, MI300X, V620, V710), says 1 for a fraction (A10, MI25), or
has once been wrong (ND96isr_H100_v5: 12 in 2024).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from hwprices.providers.azure.inventory import size_names
from hwprices.rows.accelerators import accelerator_totals
from hwprices.schemas.columns import Accelerators
from hwprices.specs import accelerator_names, sheets

KINDS_BY_FAMILY = {"N": "gpu", "NP": "fpga", "PB": "fpga"}
"""Kind of accelerator by the letters of the family, for sizes that the sheet does not have: N is
GPU, NP and PB are FPGA (https://learn.microsoft.com/azure/virtual-machines/vm-naming-conventions)."""


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
    results = [_accelerators(size, gpus, sheet) for size, gpus in pairs]
    return sizes.with_columns(
        pl.Series("accelerators", [devices for devices, _ in results], dtype=Accelerators),
        pl.Series("accelerator_kind", [kind for _, kind in results], dtype=pl.String),
    ).with_columns(accelerator_totals())


def _accelerators(
    size: str, gpus: str | None, sheet: AcceleratorSheet
) -> tuple[list[dict[str, Any]], str]:
    """Return the accelerators of one size, none or one element, and their kind."""
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
    parsed = size_names.parse_size(size)
    if parsed is None:
        return None
    return KINDS_BY_FAMILY.get(parsed.family) or KINDS_BY_FAMILY.get(parsed.family[:1])
