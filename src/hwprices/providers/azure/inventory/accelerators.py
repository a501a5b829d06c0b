"""Which accelerators a size has. The API says at most how many, never which: the model comes from a table with sources.

The table is data/specs/accelerator_names/azure.csv. It also gives the count where the API says nothing (GB200, GB300, MI300X, V620,
V710), says 1 for a fraction (A10, MI25), or has said something wrong (ND96isr_H100_v5: 12 in 2024).
"""

from collections.abc import Callable
from functools import cache

import polars as pl

from hwprices.providers.azure.inventory import size_names
from hwprices.schemas.columns import Accelerators
from hwprices.specs import accelerator_names, sheets

KINDS_BY_FAMILY = {"N": "gpu", "NP": "fpga", "PB": "fpga"}
"""What the family's letters say of a size that the table does not know: N is GPU, NP and PB are FPGA
(https://learn.microsoft.com/azure/virtual-machines/vm-naming-conventions)."""


def attach(sizes: pl.DataFrame) -> pl.DataFrame:
    """Sizes (name, GPUs as text) with accelerators, accelerator_kind, accelerator_count and accelerator_memory_gib.

    A size that has an accelerator of unknown model keeps the API's count, and null where that says none.
    """
    rows = [_of(name, gpus) for name, gpus in sizes.select("name", "GPUs").iter_rows()]
    return sizes.with_columns(
        pl.Series("accelerators", [r[0] for r in rows], dtype=Accelerators),
        pl.Series("accelerator_kind", [r[1] for r in rows], dtype=pl.String),
        pl.Series("accelerator_count", [r[2] for r in rows], dtype=pl.Float64),
        pl.Series("accelerator_memory_gib", [r[3] for r in rows], dtype=pl.Float64),
    )


def _of(
    size: str, gpus: str | None
) -> tuple[list[dict[str, object]], str, float | None, float | None]:
    """accelerators, kind, count and memory of one size."""
    said = float(gpus) if gpus and gpus.replace(".", "", 1).isdigit() else None
    match = _matcher()(None, size)
    if match:
        count = match.count if match.count is not None else said
        each: dict[str, object] = {
            "accelerator_id": match.accelerator_id,
            "vendor_name": None,
            "count": count,
            "memory_gib": match.memory_gib,
        }
        total = (
            count * match.memory_gib if count is not None and match.memory_gib is not None else None
        )
        return [each], _kinds()[match.accelerator_id], count, total
    kind = _kind_by_name(size) or ("gpu" if said else None)
    if not kind:
        return [], "none", 0.0, None
    return (
        [{"accelerator_id": None, "vendor_name": None, "count": said, "memory_gib": None}],
        kind,
        said,
        None,
    )


def _kind_by_name(size: str) -> str | None:
    parsed = size_names.parse_size(size)
    if parsed is None:
        return None
    return KINDS_BY_FAMILY.get(parsed.family) or KINDS_BY_FAMILY.get(parsed.family[:1])


@cache
def _matcher() -> Callable[[str | None, str], accelerator_names.Match | None]:
    """The table, read once a process."""
    return accelerator_names.accelerator_matcher("azure")


@cache
def _kinds() -> dict[str, str]:
    """accelerator_id → kind, from the spec sheets."""
    return dict(sheets.load("accelerators").select("accelerator_id", "kind").iter_rows())
