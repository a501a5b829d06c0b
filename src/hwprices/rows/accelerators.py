"""Describe the accelerators of a machine, and refuse a figure that no machine has.

Such a figure does not fit its column, and would end the complete provider.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import polars as pl

from hwprices.landing.pages import Page
from hwprices.rows import frames, prices
from hwprices.rows.frames import origin
from hwprices.schemas.quarantine import Quarantine
from hwprices.specs.accelerator_names import Match

LARGEST = {
    "vcpus": 100_000,
    "vcpus_billed": 100_000,
    "physical_cores": 100_000,
    "threads_per_core": 1_000,
    "memory_gib": 2_000_000,
    "local_disk_gib": 20_000_000,
    "local_disk_count": 10_000,
    "accelerator_count": 100_000,
    "block_storage_gbps_baseline": 20_000,
    "block_storage_gbps_max": 20_000,
    "block_storage_iops_baseline": 400_000_000,
    "block_storage_iops_max": 400_000_000,
    "local_disk_read_iops": 400_000_000,
    "local_disk_write_iops": 400_000_000,
}
"""About fifty times what the largest machine has, or more: 1,920 vCPUs and 32 TiB of memory (Google
Cloud's x4-megamem-1920-metal), 336 TB of disk in 24 (AWS d3en.12xlarge), 300 Gbit/s to block
storage (AWS m8gb.48xlarge), 8,000,000 reads of local disks in a second (Azure's
Standard_HB368rs_v5)."""

LONGEST = 40  # Characters of a figure that the quarantine row shows


def split(
    rows: Iterable[tuple[dict[str, Any], Page]],
) -> tuple[list[tuple[dict[str, Any], Page]], pl.DataFrame]:
    """Split rows of instance_types, each with its page, from those that no machine can be.

    Returns:
        the possible rows with their pages, and quarantine rows of the others.
    """
    possible: list[tuple[dict[str, Any], Page]] = []
    refused = [frames.empty(Quarantine)]
    for row, page in rows:
        if is_impossible(row):
            refused.append(_refused_row(row, page))
        else:
            possible.append((row, page))
    return possible, pl.concat(refused)


def is_impossible(row: Mapping[str, Any]) -> bool:
    """Return whether a row of instance_types has a figure that no machine has.

    Its accelerators are in the list ``accelerators``. What is not known is possible.
    """
    devices = [device["count"] or 0 for device in row.get("accelerators") or ()]
    figures = {**row, "accelerator_count": sum(devices)}
    return not all(0 <= (figures.get(name) or 0) <= most for name, most in LARGEST.items())


def _refused_row(row: Mapping[str, Any], page: Page) -> pl.DataFrame:
    """Make the quarantine row of a row of instance_types. It may be too large for any column."""
    shown = {"accelerators": row["accelerators"], **{name: row.get(name) for name in LARGEST}}
    figures = {name: str(figure)[:LONGEST] for name, figure in shown.items() if figure}
    names = {name: row[name] for name in ("provider", "instance_type")}
    return refuse(pl.LazyFrame([{**names, **figures}]).with_columns(*origin(page)))


def is_possible() -> pl.Expr:
    """Return for each row of a frame whether all columns of LARGEST are possible."""
    return pl.all_horizontal(
        pl.col(name).is_between(0, most).fill_null(True) for name, most in LARGEST.items()
    )


def refuse(rows: pl.LazyFrame) -> pl.DataFrame:
    """Make quarantine rows; ``rows`` is as ``prices.refused`` needs it."""
    return prices.refused(
        rows,
        table="instance_types",
        reason="impossible_figure",
        message=prices.message("{} has a figure that no machine has", "instance_type"),
    ).collect()


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
