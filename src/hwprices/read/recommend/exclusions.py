"""Explain why a machine is left out of a recommendation: a code and a sentence."""

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from hwprices.read.recommend.estimates import MOST_COPIES
from hwprices.read.recommend.job import Job, Limits
from hwprices.release.real_prices import PRIVATE_HOSTS

OVER_BUDGET: Final = "over_budget"

TOO_DEAR_TO_BUY: Final = "too_dear_to_buy"

PRIVATE_HOST: Final = "private_host"

PRIVATE_HOST_SENTENCE = "it is a community host; ask with --community"

HOURS_PER_MONTH = 730  # 8760 / 12


def with_exclusions(frame: pl.DataFrame, job: Job) -> pl.DataFrame:
    """Add excluded_reason (a key of ``sentences``) and excluded (its sentence).

    Both are null for a machine that the job fits on. ``frame`` has the columns of
    ``machines.COLUMNS``, of ``estimates.SCHEMA`` and those that ``recommend`` computes from them.
    """
    return frame.with_columns(excluded_reason=reason_code(job.limits)).with_columns(
        excluded=sentence(sentences(job))
    )


def sentence(reasons: Mapping[str, pl.Expr]) -> pl.Expr:
    """Return the sentence of excluded_reason, from those by code; null if the machine is ranked."""
    return pl.coalesce(
        pl.when(pl.col("excluded_reason") == code).then(text) for code, text in reasons.items()
    )


def reason_code(limits: Limits) -> pl.Expr:
    """Return the code of why a machine is left out; null if it is ranked."""
    return pl.coalesce(pl.when(condition).then(reason) for reason, condition in _conditions(limits))


def _conditions(limits: Limits) -> list[tuple[pl.Expr, pl.Expr]]:
    """List pairs of code and condition. The first condition that is true gives the code."""
    col, lit = pl.col, pl.lit
    conditions = [
        (col.obstacle, col.obstacle.is_not_null()),
        (col.reason, col.reason.is_not_null()),
        (col.no_price, col.usd_per_hour.is_null()),
    ]
    if limits.budget is not None:
        conditions.append((lit(OVER_BUDGET), col.usd > limits.budget))
    if limits.budget_per_month is not None:
        conditions.append((lit(OVER_BUDGET), col.usd_per_month > limits.budget_per_month))
    if limits.budget_to_buy is not None:
        conditions.append((lit(TOO_DEAR_TO_BUY), col.purchase_price_usd > limits.budget_to_buy))
    conditions.append((lit(PRIVATE_HOST), private_host_unasked(limits)))
    return conditions


def private_host_unasked(limits: Limits) -> pl.Expr:
    """Return whether a machine is a community host that the question does not request."""
    places = {region for _, region in PRIVATE_HOSTS}
    asked = {name.strip().lower() for name in (limits.region or "").split(",")}
    return pl.col("private_host") & pl.lit(not limits.community and not asked & places)


def best_regions(frame: pl.DataFrame, order: Sequence[str | pl.Expr]) -> pl.DataFrame:
    """Keep the best region of each machine, and add its rank: null for a machine left out.

    ``frame`` has where, provider, machine and excluded_reason; ``order`` puts the best first. A
    private person's machine that is left out is kept apart from the vendor's own.
    """
    fits = pl.col("excluded_reason").is_null()
    apart = (pl.col("excluded_reason") == PRIVATE_HOST).fill_null(False)
    best = (
        frame.with_columns(apart=apart)
        .sort("where", ~fits, *order, nulls_last=True)
        .unique(["where", "provider", "machine", "apart"], keep="first", maintain_order=True)
    )
    rank = pl.when(fits).then(fits.cum_sum().over("where")).cast(pl.Int32)
    return best.with_columns(rank=rank)


def of_any_model(limits: Limits, is_training: bool = False) -> dict[str, pl.Expr]:
    """List the reasons that hold whatever the model is: code, and the sentence with the figures."""
    col, lit = pl.col, pl.lit
    option = limits.option.replace("_", " ")
    return {
        "accelerators_unclear": lit("its accelerators are of several kinds, or have no spec sheet"),
        "not_for_models": pl.format("{} does not run such models", col.accelerator_id),
        "memory_unknown": lit("its accelerator memory is not known"),
        "no_accelerator": lit("it has no accelerator"),
        "needs_host": lit("it is a part that needs a host"),
        "other_currency": pl.format("priced in {}", col.currency),
        "other_option": pl.format("not sold {}; ask with --option any", lit(option)),
        "no_on_demand_price": pl.format("no price: {}", col.on_demand_reason.fill_null("unknown")),
        "no_price": lit("no price"),
        "power_unknown": lit("its power is not known"),
        PRIVATE_HOST: lit(PRIVATE_HOST_SENTENCE),
        TOO_DEAR_TO_BUY: _above("purchase_price_usd", "to buy", limits.budget_to_buy),
        OVER_BUDGET: _over_budget(limits, is_training),
    }


def _over_budget(limits: Limits, is_training: bool) -> pl.Expr:
    """State which figure is above which of the two budgets."""
    by_month = _above("usd_per_month", "in a month", limits.budget_per_month)
    if limits.budget is None:
        return by_month
    of_work = _above("usd", "in total" if is_training else "an hour", limits.budget)
    return pl.when(pl.col("usd") > limits.budget).then(of_work).otherwise(by_month)


def _above(column: str, what: str, budget: float | None) -> pl.Expr:
    """Write an amount and the budget that it is compared with."""

    def written(usd: float) -> str:
        amount = f"{usd:,.2f}".removesuffix(".00") if usd >= 1 else f"{usd:.4g}"
        return f"costs {amount} USD {what}, the budget is {budget:,.10g}"

    return pl.col(column).cast(pl.Float64).map_elements(written, pl.String)


def sentences(job: Job) -> dict[str, pl.Expr]:
    """List every reason for leaving out a machine: its code, and the sentence with the figures."""
    col, lit = pl.col, pl.lit
    precision, nodes = col.precision.fill_null("its format"), col.nodes_needed
    device = pl.coalesce("accelerator_id", "cpu_id")
    return of_any_model(job.limits, job.is_training) | {
        "bandwidth_unknown": pl.format(
            "the memory bandwidth of {} is not known", col.accelerator_id
        ),
        "precision_unsupported": pl.format("{} does not compute in {}", device, precision),
        "precision_unknown": pl.format(
            "not known whether {} computes in {}", col.accelerator_id, precision
        ),
        "burstable": lit("it keeps its full speed for a part of the time only"),
        "cpu_unknown": lit("its CPU is not known: none is promised, or one of several"),
        "cpu_not_measured": pl.format("no language model was measured on {}", col.cpu_id),
        "too_large_for_cpus": lit("CPUs were measured with models up to 15 billion parameters"),
        "no_training_on_cpus": lit("no training on CPUs was measured"),
        "inference_only": pl.format("{} is for inference only", col.accelerator_id),
        "too_small": pl.format(
            "needs {} GiB, {} of its {} GiB can be used",
            col.memory_needed_gib.round(1),
            col.memory_usable_gib.round(1),
            col.machine_memory_gib.round(1),
        ),
        "rate_unknown": pl.format(
            "no rate in {} is published for {}", precision, col.accelerator_id
        ),
        "no_network": pl.format(
            "needs {} machines, and no RDMA network between them is known", nodes
        ),
        "too_many_machines": pl.format("needs {} machines, more than can be joined", nodes),
        "too_slow": lit("it does not reach the requested speed"),
        "too_many_copies": lit(f"more than {MOST_COPIES:,} copies of the model would be needed"),
        "too_late": lit("it does not finish in time"),
    }
