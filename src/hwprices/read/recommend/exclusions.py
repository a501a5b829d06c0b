"""Say why a machine is left out of a recommendation: a code for programs, a sentence for people."""

from typing import Final

import polars as pl

from hwprices.read.recommend.job import Job

OVER_BUDGET: Final = "over_budget"

GIB = 2.0**30

SUPPORT_COLUMNS = {"int4": "fp16_support"}
"""Precision: column that says whether an accelerator computes in it. 4-bit integers are only
stored, the arithmetic is in 16 bits. Every other precision has its own column."""


def with_exclusions(frame: pl.DataFrame, job: Job, budget: float | None) -> pl.DataFrame:
    """Add excluded_reason (a key of ``sentences``) and excluded (its sentence).

    Both are null for a machine that the job fits on. ``frame`` has the columns of
    ``machines.COLUMNS`` and those that ``recommend`` computes from them.
    """
    code = pl.coalesce(
        pl.when(condition).then(reason) for reason, condition in _conditions(job, budget)
    )
    sentence = pl.coalesce(
        pl.when(pl.col("excluded_reason") == reason).then(text)
        for reason, text in sentences(job).items()
    )
    return frame.with_columns(excluded_reason=code).with_columns(excluded=sentence)


def _conditions(job: Job, budget: float | None) -> list[tuple[pl.Expr, pl.Expr]]:
    """List pairs of code and condition. The first condition that is true gives the code."""
    col, lit = pl.col, pl.lit
    support = col(SUPPORT_COLUMNS.get(job.precision, f"{job.precision}_support"))
    training = lit(job.is_training)
    too_small = col.nodes_by_memory.is_null() | (
        (col.nodes_by_memory > 1) & lit(job.max_nodes == 1)
    )
    conditions = [
        (col.obstacle, col.obstacle.is_not_null()),
        (lit("precision_unsupported"), support == "unsupported"),
        (lit("precision_unknown"), support != "supported"),
        (lit("inference_only"), training & col.inference_only),
        (lit("too_small"), too_small),
        (lit("rate_unknown"), training & col.rate.is_null()),
        (lit("no_network"), (col.nodes > 1) & ~col.clusters),
        (lit("too_many_machines"), col.nodes > job.max_nodes),
        (col.no_price, col.usd_per_hour.is_null()),
    ]
    if budget is not None:
        conditions.append((lit(OVER_BUDGET), col.usd > budget))
    return conditions


def sentences(job: Job) -> dict[str, pl.Expr]:
    """List every reason for leaving out a machine: its code, and the sentence with the figures."""
    col, lit = pl.col, pl.lit
    precision, nodes = lit(job.precision), col.nodes.cast(pl.Int64)
    return {
        "accelerators_unclear": lit("its accelerators are of several kinds, or have no spec sheet"),
        "not_for_models": pl.format("{} does not run language models", col.accelerator_id),
        "memory_unknown": lit("its accelerator memory is not known"),
        "no_accelerator": lit("it has no accelerator"),
        "needs_host": lit("it is a part that needs a host"),
        "precision_unsupported": pl.format(
            "{} does not compute in {}", col.accelerator_id, precision
        ),
        "precision_unknown": pl.format(
            "not known whether {} computes in {}", col.accelerator_id, precision
        ),
        "inference_only": pl.format("{} is for inference only", col.accelerator_id),
        "too_small": pl.format(
            "needs {} GiB, {} of its {} GiB can be used",
            col.memory_needed_gib.round(1),
            (col.usable_bytes * col.devices / GIB).round(1),
            col.machine_memory_gib.round(1),
        ),
        "rate_unknown": pl.format(
            "no rate in {} is published for {}", precision, col.accelerator_id
        ),
        "no_network": pl.format(
            "needs {} machines, and no RDMA network between them is known", nodes
        ),
        "too_many_machines": pl.format(
            "needs {} machines, more than {}", nodes, lit(job.max_nodes)
        ),
        "other_currency": pl.format("priced in {}", col.currency),
        "no_on_demand_price": pl.format("no price: {}", col.on_demand_reason.fill_null("unknown")),
        "no_price": lit("no price"),
        "power_unknown": lit("its power is not known"),
        OVER_BUDGET: pl.format("costs {} USD, over the budget", col.usd.cast(pl.Float64).round(2)),
    }
