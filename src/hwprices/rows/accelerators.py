"""Add up the accelerators of a machine."""

import polars as pl


def accelerator_totals() -> list[pl.Expr]:
    """Compute accelerator_count and accelerator_memory_gib from the list column ``accelerators``.

    The one rule for all providers: the count is 0 where the machine has none and null where the count
    of one of them is not known; the memory is null where there is none or one is not known.
    """
    each = pl.col("accelerators").list.eval
    count, memory = pl.element().struct.field("count"), pl.element().struct.field("memory_gib")
    counts, memories = each(count), each(count * memory)
    known = ~memories.list.eval(pl.element().is_null()).list.any() & (
        pl.col("accelerators").list.len() > 0
    )
    return [
        pl.when(~counts.list.eval(pl.element().is_null()).list.any())
        .then(counts.list.sum().abs())
        .alias("accelerator_count"),
        pl.when(known).then(memories.list.sum()).alias("accelerator_memory_gib"),
    ]
