"""Recommend machines for a model: where it fits, what it costs, why others are left out.

Cloud machines come from offers, machines to buy from local_hardware; the two are ranked apart. A
figure that no sheet holds is never invented: a machine that lacks it is left out, with that reason.
"""

from dataclasses import fields, replace
from typing import Any

import polars as pl

from hwprices import formulas
from hwprices.errors import HwpricesError
from hwprices.formulas import training
from hwprices.read.find.suggestions import did_you_mean
from hwprices.read.overlays import rules
from hwprices.read.overlays.unmatched import warn_unmatched
from hwprices.read.ownership import DEFAULTS, Ownership
from hwprices.read.recommend import machines, media
from hwprices.read.recommend.assumptions import assumptions
from hwprices.read.recommend.calibration import calibration
from hwprices.read.recommend.cpu_estimates import with_cpu_estimates
from hwprices.read.recommend.cpu_speeds import cpu_speeds
from hwprices.read.recommend.estimates import with_estimates
from hwprices.read.recommend.exclusions import (
    HOURS_PER_MONTH,
    OVER_BUDGET,
    PRIVATE_HOST,
    TOO_DEAR_TO_BUY,
    best_regions,
    with_exclusions,
)
from hwprices.read.recommend.job import Job, Limits, Question, Serving, make_job
from hwprices.read.recommend.measurements import measurements, tunings
from hwprices.read.recommend.ranking import (
    HOURLY_PRICES,
    JOB_FIGURES,
    OUTPUT,
    only_where,
    with_payback,
)
from hwprices.read.recommend.throughput import Estimator
from hwprices.release.release import Tables
from hwprices.units import Money, WideMoney

SHORT_LIMITS = ("budget", "objective", "where")
"""Fields of Limits that may be given without it."""


def recommend(
    *asked: Any,
    dataset: Tables,
    ownership: Ownership = DEFAULTS,
    **named: Any,
) -> pl.DataFrame:
    """List machines for a job: one row a machine (its best region), best first, then the others.

    Args:
        asked: a ``Question``, or its fields in their order. The first is the model: 70e9, "70B" or
            a name (llama-3.1-70b; sdxl, whisper, which are answered as they were measured, with
            ``limits`` and ``ownership`` alone).
        named: fields of the question by name; of its limits budget, objective and where.
        dataset: a release, or its tables.
        ownership: assumptions about machines to buy. They come after those to rent, and are ranked
            by purchase price when the objective is cost: an hour of a machine that one owns is
            cheap only if other work fills the rest of the time.

    Objectives: cost (USD per million tokens, USD of a training), carbon (grams of the same), speed
    (of one user; of a training), throughput (of all users), hourly (USD an hour).

    Columns: ``ranking.OUTPUT``.

    >>> import hwprices
    >>> machines = recommend("7B", dataset=hwprices.open("sample"), where="cloud")
    >>> machines.item(0, "rank"), machines.item(0, "where")
    (1, 'cloud')

    Raises:
        HwpricesError: a value is out of range or does not belong to the model or workload, the
            release has no such provider, region or country, or the dataset has no table offers.
    """
    question = _question(*asked, **named)
    if (overlays := rules.given(question.limits.overlays)) is not None:
        question = replace(question, limits=replace(question.limits, overlays=overlays))
        warn_unmatched(dataset, overlays)
    model = question.model_parameters
    if isinstance(model, str) and media.benchmark(model):
        _check_medium(question)
        return media.recommend(model, dataset, question.limits, ownership)
    return answer(make_job(question), dataset, ownership)


def _question(
    *values: Any, serving: Serving | None = None, limits: Limits | None = None, **named: Any
) -> Question:
    """Make a question of its fields, some of which may be those of its limits.

    Raises:
        HwpricesError: there is no such option, a limit is given twice, or a question is given and
            options beside it.
    """
    if values and isinstance(values[0], Question):
        if values[1:] or serving or limits or named:
            raise HwpricesError(
                "options are given beside a Question", "Put them into the Question."
            )
        return values[0]
    alone = {name: named.pop(name) for name in SHORT_LIMITS if name in named}
    known = [field.name for field in fields(Question)]
    if unknown := [name for name in named if name not in known]:
        raise HwpricesError(
            f"unknown option {unknown[0]!r}",
            did_you_mean(unknown[0], known) or f"There are: {', '.join(known)}.",
        )
    both = _limits(limits or Limits(), **alone)
    return replace(Question(*values, **named), serving=serving or Serving(), limits=both)


def _limits(limits: Limits, **given: object) -> Limits:
    """Add limits that are given alone to others.

    Raises:
        HwpricesError: both say something else about the same.
    """
    usual = Limits()
    changes = {name: value for name, value in given.items() if value != getattr(usual, name)}
    for name, value in changes.items():
        if getattr(limits, name) not in (getattr(usual, name), value):
            raise HwpricesError(
                f"{name} is {value}, and {getattr(limits, name)} in limits", "Give one of them."
            )
    return replace(limits, **changes)  # type: ignore[arg-type]


def _check_medium(question: Question) -> None:
    """Refuse what only language models have; media are answered as measured.

    Raises:
        HwpricesError: something of that kind is given.
    """
    given = question.changed()
    given += [name for name, value in vars(question.serving).items() if value is not None]
    given += ["machines"] if question.limits.machines != Limits().machines else []
    if given:
        raise HwpricesError(
            f"{', '.join(given).replace('_', ' ')}: only for language models",
            "Leave it out: models of images, speech and video are answered as they were measured.",
        )


def answer(job: Job, dataset: Tables, ownership: Ownership = DEFAULTS) -> pl.DataFrame:
    """List machines for a job; see ``recommend``.

    Machines to rent are estimated also where only those to buy are requested: what renting costs
    decides when owning pays.
    """
    frames = []
    if job.limits.machines != "cpus":
        frames.append(_on_accelerators(job, dataset, ownership))
    if job.limits.machines != "accelerators":
        rented = machines.cpus(dataset, job.limits)
        frames.append(with_cpu_estimates(rented, job, cpu_speeds(), calibration()))
    frame = pl.concat(frames, how="vertical_relaxed")
    frame = with_exclusions(_with_figures(frame, job), job)
    frame = only_where(_with_payback(_best_regions(frame, job), job), job.limits)
    frame = frame.with_columns(
        assumed=pl.lit(assumptions(job)),
        samples_per_second=pl.lit(None, dtype=pl.Float64),
        usd_per_thousand_samples=pl.lit(None, dtype=Money),
        gco2e_per_thousand_samples=pl.lit(None, dtype=pl.Float64),
    )
    return _in_order(_hide_figures(frame, job)).select(OUTPUT)


def _on_accelerators(job: Job, dataset: Tables, ownership: Ownership) -> pl.DataFrame:
    """Estimate the job on machines with accelerators, to rent and to buy."""
    frames = [machines.cloud(dataset, job.limits)]
    if job.limits.where != "cloud":
        frames.append(machines.local(dataset, ownership))
    frame = pl.concat(frames, how="vertical_relaxed")
    return with_estimates(frame, job, estimator(dataset))


def estimator(dataset: Tables) -> Estimator:
    """Make the estimator of a dataset: from its measurements and the memory of its accelerators."""
    sheet = dataset.scan("accelerators").select("accelerator_id", "kind", "memory_gb").collect()
    share = {True: machines.USABLE_UNIFIED, False: machines.USABLE}
    memory = {
        row["accelerator_id"]: row["memory_gb"] * 2**30 * share[row["kind"] == "soc"]
        for row in sheet.drop_nulls("memory_gb").iter_rows(named=True)
    }
    benchmarks = dataset.scan("benchmarks").collect()
    return Estimator(
        measurements(benchmarks),
        memory,
        by_size=measurements(benchmarks, by_size=True),
        tunings=tunings(benchmarks),
    )


def _with_figures(frame: pl.DataFrame, job: Job) -> pl.DataFrame:
    """Add the figures that follow from speed, price and power, of all machines together."""
    col = pl.col
    nodes = col.nodes.cast(WideMoney)
    frame = frame.with_columns(
        *(col(price).cast(WideMoney) * nodes for price in HOURLY_PRICES),
        purchase_price_usd=col.purchase_price_usd.cast(WideMoney) * nodes.fill_null(1),
        total_accelerators=col.nodes * col.accelerator_count,
    )
    paid = _hours_in_use(job)
    paid_hours = paid.cast(WideMoney)
    frame = frame.with_columns(
        usd=col.usd_per_hour * paid_hours,
        spot_usd=col.spot_usd_per_hour * paid_hours,
        usd_per_month=pl.when(pl.lit(job.is_training) & (paid < HOURS_PER_MONTH))
        .then(col.usd_per_hour * paid_hours)
        .otherwise(col.usd_per_hour * HOURS_PER_MONTH),
        energy_kwh=col.energy_kwh_per_hour * col.nodes * paid,
        operational_gco2e=col.operational_gco2e_per_hour * col.nodes * paid,
    )
    return frame.with_columns(*_figures_per_token(job))


def _hours_in_use(job: Job) -> pl.Expr:
    """Return the hours that machines are in use: of a training with its setup, else one."""
    return pl.col("hours") + training.SETUP_HOURS if job.is_training else pl.lit(1.0)


def _figures_per_token(job: Job) -> list[pl.Expr]:
    """Return USD and grams per million tokens; null for a training."""
    col = pl.col
    served = pl.when(pl.lit(not job.is_training))
    rate = _tokens_per_second(job)
    per_million = formulas.usd_per_million_tokens(col.usd_per_hour, rate)
    prompts = col.prompt_share.cast(WideMoney)
    inputs_per_output = pl.lit(job.input_tokens / job.output_tokens)
    grams = col.operational_gco2e_per_hour * col.nodes
    return [
        served.then(per_million).alias("usd_per_million_tokens"),
        served.then(formulas.divide(per_million * prompts, inputs_per_output)).alias(
            "usd_per_million_input_tokens"
        ),
        served.then(per_million * (1 - prompts)).alias("usd_per_million_output_tokens"),
        served.then(formulas.per_million_tokens(grams, rate)).alias("gco2e_per_million_tokens"),
    ]


def _tokens_per_second(job: Job) -> pl.Expr:
    """Return the tokens/s that costs are divided by: the requested, else all possible ones.

    A machine that could do more is paid for all the same.
    """
    possible = pl.col("tokens_per_second")
    if job.asked_tokens_per_second is None:
        return possible
    return (
        pl.when(possible > job.asked_tokens_per_second)
        .then(pl.lit(job.asked_tokens_per_second))
        .otherwise(possible)
    )


def _figure(job: Job) -> pl.Expr:
    """Return the figure to rank by, smallest first."""
    col = pl.col
    cost = "usd" if job.is_training else "usd_per_million_tokens"
    grams = "operational_gco2e" if job.is_training else "gco2e_per_million_tokens"
    speed = "tokens_per_second" if job.is_training else "tokens_per_second_per_user"
    figures = {
        "cost": pl.when(col.where == "local").then("purchase_price_usd").otherwise(cost),
        "carbon": col(grams),
        "speed": -col(speed),
        "throughput": -col.tokens_per_second,
        "hourly": col.usd_per_hour,
    }
    return figures[job.limits.objective].cast(pl.Float64)


def _best_regions(frame: pl.DataFrame, job: Job) -> pl.DataFrame:
    """Keep the best region of each machine, and add its rank; null for a machine left out."""
    ties = ["usd", "where", "provider", "machine", "region"]
    return best_regions(frame, [_figure(job), *ties])


def _with_payback(frame: pl.DataFrame, job: Job) -> pl.DataFrame:
    """Add rent_usd_per_hour and payback_hours, counted in the work of this job."""
    if job.is_training:
        # one is in use during its setup as one that is rented is paid for it
        return with_payback(frame, "usd", 1 / _hours_in_use(job))
    millions_per_hour = _tokens_per_second(job) * formulas.SECONDS_PER_HOUR / 1e6
    return with_payback(frame, "usd_per_million_tokens", millions_per_hour)


def _hide_figures(frame: pl.DataFrame, job: Job) -> pl.DataFrame:
    """Drop the figures of a job that does not run: no fit, or no price.

    A machine that is only over the budget, or a private person's, keeps them. Inference has no
    hours.
    """
    reason = pl.col("excluded_reason")
    kept = reason.is_null() | reason.is_in([OVER_BUDGET, TOO_DEAR_TO_BUY, PRIVATE_HOST])
    runs = pl.col("usd").is_not_null() & kept
    shown = dict.fromkeys(JOB_FIGURES, runs)
    shown["hours"] = runs & pl.lit(job.is_training)
    return frame.with_columns(
        pl.when(condition).then(figure).alias(figure) for figure, condition in shown.items()
    )


def _in_order(frame: pl.DataFrame) -> pl.DataFrame:
    """Sort rented machines first, then those to buy, then the others by name.

    Last come the machines that no job fits on.
    """
    fits = pl.col("excluded_reason").is_null()
    ranked = frame.filter(fits).sort("where", "rank")
    excluded = frame.filter(~fits).sort(
        pl.col("obstacle").is_not_null(), "where", "provider", "machine"
    )
    return pl.concat([ranked, excluded])
