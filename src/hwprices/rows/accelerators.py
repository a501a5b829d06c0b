"""Describe the accelerators of a machine, and add them up."""

from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from hwprices.specs.accelerator_names import Match

NO_ACCELERATORS: Final[Mapping[str, Any]] = {"accelerators": [], "accelerator_kind": "none"}


def gpus(
    name: str | None, sheet: Match | None, count: float | None, memory_gib: float | None
) -> dict[str, Any]:
    """Make the columns of a machine with GPUs of one type.

    Args:
        name: the vendor's name of the GPU.
        sheet: its spec sheet by that name, None where it has none.
        count: how many there are; a fraction of one where they are shared.
        memory_gib: memory of a whole one.
    """
    device = {
        "accelerator_id": sheet.accelerator_id if sheet else None,
        "vendor_name": name,
        "count": count,
        "memory_gib": memory_gib,
    }
    return {"accelerators": [device], "accelerator_kind": "gpu"}


def accelerator_totals() -> list[pl.Expr]:
    """Compute accelerator_count and accelerator_memory_gib from the list column ``accelerators``.

    The one rule for all providers. The count is 0 where the machine has none, and null where the
    count of one of them is not known. The memory is null where there is none, or where the count or
    memory of one of them is not known.
    """
    devices = pl.col("accelerators")
    count, memory = pl.element().struct.field("count"), pl.element().struct.field("memory_gib")
    counts, memories = devices.list.eval(count), devices.list.eval(count * memory)
    all_measured = ~_has_null(memories) & (devices.list.len() > 0)
    return [
        # abs() turns the -0.0 of an empty sum into 0.0
        pl.when(~_has_null(counts)).then(counts.list.sum().abs()).alias("accelerator_count"),
        pl.when(all_measured).then(memories.list.sum()).alias("accelerator_memory_gib"),
    ]


def _has_null(values: pl.Expr) -> pl.Expr:
    return values.list.eval(pl.element().is_null()).list.any()
