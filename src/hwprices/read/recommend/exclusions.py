"""Explain why a machine is left out of a recommendation: a code and a sentence."""

from collections.abc import Mapping
from typing import Final

import polars as pl

from hwprices.read.ownership import OLD_PRICE_YEARS
from hwprices.read.recommend.estimates import MOST_COPIES
from hwprices.read.recommend.job import Job
from hwprices.read.recommend.question import Limits
from hwprices.release.real_prices import PRIVATE_HOSTS

PRIVATE_HOST: Final = "private_host"

PRIVATE_HOST_SENTENCE = "it is a community host; ask with --community"

OTHER_SIZE: Final = "other_size"

SHOWN_REASONS = (PRIVATE_HOST, OTHER_SIZE, "over_budget", "too_dear_to_buy", "government")
"""Reasons of machines that the job runs on all the same: their figures are kept."""

HOURS_PER_MONTH = 730  # 8760 / 12


def sentence(reasons: Mapping[str, pl.Expr]) -> pl.Expr:
    """Return the sentence of excluded_reason, from those by code; null if the machine is ranked."""
    return pl.coalesce(
        pl.when(pl.col("excluded_reason") == code).then(text) for code, text in reasons.items()
    )


def reason_code(limits: Limits) -> pl.Expr:
    """Return the code of why a machine is left out; null if it is ranked."""
    col = pl.col
    budget, per_month, to_buy = (
        pl.lit(usd, dtype=pl.Float64)
        for usd in (limits.budget, limits.budget_per_month, limits.budget_to_buy)
    )
    conditions = {
        "over_budget": (col.usd > budget) | (col.usd_per_month > per_month),
        "too_dear_to_buy": col.purchase_price_usd > to_buy,
        PRIVATE_HOST: private_host_unasked(limits),
        "government": col.government & pl.lit(limits.region is None),
    }
    return pl.coalesce(
        "obstacle",
        "reason",
        pl.when(col.usd_per_hour.is_null()).then("no_price"),
        *(pl.when(condition).then(pl.lit(code)) for code, condition in conditions.items()),
    )


def private_host_unasked(limits: Limits) -> pl.Expr:
    """Return whether a machine is a community host that the question does not request."""
    places = {region for _, region in PRIVATE_HOSTS}
    asked = {name.strip().lower() for name in (limits.region or "").split(",")}
    return pl.col("private_host") & pl.lit(not limits.community and not asked & places)


def sentences(limits: Limits, job: Job | None) -> dict[str, pl.Expr]:
    """List every reason for leaving out a machine: its code, and the sentence with the figures."""
    col, lit = pl.col, pl.lit
    precision, nodes = col.precision.fill_null("its format"), col.nodes_needed
    device = pl.coalesce("accelerator_id", "cpu_id")
    by_hour = "in total" if job and job.has_end else "an hour"
    needs = (col.memory_needed_gib, col.memory_usable_gib, col.machine_memory_gib)
    return {
        "accelerators_unclear": lit("its accelerators are of several kinds, or have no spec sheet"),
        "not_for_models": pl.format("{} does not run such models", device),
        "memory_unknown": lit("its memory is not known"),
        "no_accelerator": lit("it has no accelerator"),
        "old_price": lit(f"it has no price to buy of the last {OLD_PRICE_YEARS} years"),
        "needs_host": lit("it is a part that needs a host"),
        "other_currency": pl.format("priced in {}", col.currency),
        "other_option": lit(f"not sold {limits.option.replace('_', ' ')}; ask with --option any"),
        "no_on_demand_price": pl.format("no price: {}", col.on_demand_reason.fill_null("unknown")),
        "no_price": lit("no price"),
        "power_unknown": lit("its power is not known"),
        PRIVATE_HOST: lit(PRIVATE_HOST_SENTENCE),
        "government": lit("it is in a region for governments; ask with --region"),
        OTHER_SIZE: lit("a better size with this accelerator is ranked"),
        "too_dear_to_buy": _above("purchase_price_usd", "to buy", limits.budget_to_buy),
        "over_budget": pl.when(col.usd > pl.lit(limits.budget, dtype=pl.Float64))
        .then(_above("usd", by_hour, limits.budget))
        .otherwise(_above("usd_per_month", "in a month", limits.budget_per_month)),
        "bandwidth_unknown": pl.format("the memory bandwidth of {} is not known", device),
        "precision_unsupported": pl.format("{} does not compute in {}", device, precision),
        "precision_unknown": pl.format("not known whether {} computes in {}", device, precision),
        "burstable": lit("it keeps its full speed for a part of the time only"),
        "cpu_unknown": lit("its CPU is not known: none is promised, or one of several"),
        "cpu_not_measured": pl.format("no language model was measured on {}", device),
        "too_large_for_cpus": lit("CPUs were measured with models up to 15 billion parameters"),
        "no_training_on_cpus": lit("no training on CPUs was measured"),
        "not_measured": lit("this model was not measured on its accelerator"),
        "inference_only": pl.format("{} is for inference only", device),
        "too_small": pl.format(
            "needs {} GiB, {} of its {} GiB can be used", *(gib.round(1) for gib in needs)
        ),
        "rate_unknown": pl.format("no rate in {} is published for {}", precision, device),
        "no_network": pl.format(
            "needs {} machines, and no RDMA network between them is known", nodes
        ),
        "too_many_machines": pl.format("needs {} machines, more than can be joined", nodes),
        "too_slow": lit("it does not reach the speed per user or the time to the first token"),
        "too_many_copies": lit(f"more than {MOST_COPIES:,} copies of the model would be needed"),
        "too_late": lit("it does not finish in time"),
    }


def _above(column: str, what: str, budget: float | None) -> pl.Expr:
    """Write an amount and the budget that it is compared with."""

    def written(usd: float) -> str:
        amount = f"{usd:,.2f}".removesuffix(".00") if usd >= 1 else f"{usd:.4g}"
        return f"costs {amount} USD {what}, the budget is {budget or 0:,.10g}"

    return pl.col(column).cast(pl.Float64).map_elements(written, pl.String)
