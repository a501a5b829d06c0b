"""Add up the accelerators of a machine."""

import polars as pl


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
