"""Explain why a machine is left out of a recommendation: a code and a sentence."""

import re
from typing import Final

import polars as pl

from hwprices.read.ownership import OLD_PRICE_YEARS
from hwprices.read.recommend.estimates import MOST_COPIES
from hwprices.read.recommend.job import Job
from hwprices.read.recommend.question import Limits
from hwprices.release.real_prices import PRIVATE_HOSTS

PRIVATE_HOST: Final = "private_host"

OTHER_SIZE: Final = "other_size"

SHOWN_REASONS = (PRIVATE_HOST, OTHER_SIZE, "over_budget", "too_dear_to_buy", "government")
"""Reasons of machines that the job runs on all the same: their figures are kept."""

HOURS_PER_MONTH = 730  # 8760 / 12


def reason_code(limits: Limits) -> pl.Expr:
    """Return the code of why a machine is left out; null if it is ranked."""
    col = pl.col
    budget, per_month, to_buy = (
        pl.lit(usd, dtype=pl.Float64)
        for usd in (limits.budget, limits.budget_per_month, limits.budget_to_buy)
    )
    hosts_named = any(limits.names(region) for _, region in PRIVATE_HOSTS)
    gov_named = limits.region is not None or limits.names("gov")
    conditions = {
        "over_budget": (col.usd > budget) | (col.usd_per_month > per_month),
        "too_dear_to_buy": col.purchase_price_usd > to_buy,
        PRIVATE_HOST: col.private_host & pl.lit(not hosts_named),
        "government": col.government & pl.lit(not gov_named),
    }
    return pl.coalesce(
        "obstacle",
        "reason",
        pl.when(col.usd_per_hour.is_null()).then("no_price"),
        *(pl.when(condition).then(pl.lit(code)) for code, condition in conditions.items()),
    )


SENTENCES = {
    "accelerators_unclear": "its accelerators are of several kinds, or have no spec sheet",
    "not_for_models": "{device} does not run such models",
    "memory_unknown": "its memory is not known",
    "no_accelerator": "it has no accelerator",
    "old_price": f"it has no price to buy of the last {OLD_PRICE_YEARS} years",
    "needs_host": "it is a part that needs a host",
    "other_currency": "priced in {currency}",
    "other_option": "not sold {option}; ask with --option any",
    "no_on_demand_price": "no price: {on_demand_reason}",
    "no_price": "no price",
    "power_unknown": "its power is not known",
    PRIVATE_HOST: "it is a community host; ask with the word community",
    "government": "it is in a region for governments; name the region to rank it",
    OTHER_SIZE: "a better size with this accelerator is ranked",
    "too_dear_to_buy": "costs {purchase_price_usd} USD to buy, the budget is {budget_to_buy}",
    "over_budget": "costs {usd} USD {period}, the budget is {budget}",
    "over_month": "costs {usd_per_month} USD in a month, the budget is {budget_per_month}",
    "bandwidth_unknown": "the memory bandwidth of {device} is not known",
    "precision_unsupported": "{device} does not compute in {precision}",
    "precision_unknown": "not known whether {device} computes in {precision}",
    "burstable": "it keeps its full speed for a part of the time only",
    "cpu_unknown": "its CPU is not known: none is promised, or one of several",
    "cpu_not_measured": "no language model was measured on {device}",
    "too_large_for_cpus": "CPUs were measured with models up to 15 billion parameters",
    "no_training_on_cpus": "no training on CPUs was measured",
    "not_measured": "this model was not measured on its accelerator",
    "inference_only": "{device} is for inference only",
    "too_small": "needs {memory_needed_gib} GiB, {memory_usable_gib} of its {machine_memory_gib}"
    " GiB can be used",
    "rate_unknown": "no rate in {precision} is published for {device}",
    "no_network": "needs {nodes_needed} machines, and no RDMA network between them is known",
    "too_many_machines": "needs {nodes_needed} machines, more than can be joined",
    "too_slow": "it does not reach the speed per user or the time to the first token",
    "too_many_copies": f"more than {MOST_COPIES:,} copies of the model would be needed",
    "too_late": "it does not finish in time",
}
"""Every reason for leaving out a machine, with names of figures; over_month is a case of
over_budget."""


def sentence(limits: Limits, job: Job | None) -> pl.Expr:
    """Return the sentence of excluded_reason; null if the machine is ranked."""
    budgets = ("budget", "budget_per_month", "budget_to_buy")
    words = {name: f"{getattr(limits, name) or 0:,.10g}" for name in budgets} | {
        "option": limits.option.replace("_", " "),
        "period": "in total" if job and job.has_end else "an hour",
    }

    def figure(name: str) -> pl.Expr:
        if name in words:
            return pl.lit(words[name])
        if name == "device":
            return pl.coalesce("accelerator_id", "cpu_id", pl.lit("unknown"))
        if "usd" in name:
            return pl.col(name).cast(pl.Float64).map_elements(_amount, pl.String)
        value = pl.col(name).round(1) if name.endswith("_gib") else pl.col(name)
        return value.cast(pl.String).fill_null("its format" if name == "precision" else "unknown")

    code = pl.col("excluded_reason")
    is_over = (pl.col("usd") > pl.lit(limits.budget, dtype=pl.Float64)).fill_null(False)
    monthly = (code == "over_budget") & ~is_over
    code = pl.when(monthly).then(pl.lit("over_month")).otherwise(code)
    return pl.coalesce(
        pl.when(code == name).then(
            pl.format(re.sub(r"{\w+}", "{}", text), *map(figure, re.findall(r"{(\w+)}", text)))
        )
        for name, text in SENTENCES.items()
    )


def other_currencies(frame: pl.DataFrame) -> str:
    """Count the machines to rent that have no price in USD; empty if there are none."""
    left_out = frame.filter(excluded_reason="other_currency", where="cloud")
    names = left_out["excluded"].str.tail(3).unique().sort()  # the code ends SENTENCES' text
    rates = " ".join(f"--usd-per {name}=…" for name in names)
    listed = f"left out: {left_out.height} priced in {', '.join(names)} ({rates})"
    return listed if len(names) else ""


def _amount(usd: float) -> str:
    return f"{usd:,.2f}".removesuffix(".00") if usd >= 1 else f"{usd:.4g}"
