"""Recommend machines for a model: where it fits, what it costs, why others are left out.

Machines to rent and to buy are ranked apart, both by the cautious end of the range of their speed.
A machine that lacks a figure is left out, with that reason.
"""

import re
from typing import Any

import polars as pl

from hwprices import formulas
from hwprices.formulas.language_model import SETUP_HOURS
from hwprices.read.currency import rates_used
from hwprices.read.find.offers import with_price_ids
from hwprices.read.ownership import DEFAULTS, OLD_PRICE_YEARS, Ownership
from hwprices.read.recommend import constants, media, table
from hwprices.read.recommend.estimates import with_estimates
from hwprices.read.recommend.job import Job, assumptions, make_job
from hwprices.read.recommend.machines import candidates
from hwprices.read.recommend.question import Question
from hwprices.read.recommend.serve_command import with_serve_command
from hwprices.release.release import PRIVATE_HOSTS, Tables
from hwprices.units import HOURS_PER_MONTH, WideMoney

col, lit = pl.col, pl.lit

COLUMNS = table("columns")
"""Columns of an answer with their descriptions; of_job: null where the job does not run."""

TYPES: dict[str, Any] = {"text": pl.String, "number": pl.Float64, "whole": pl.Int64}
TYPES |= {"flag": pl.Boolean, "money": WideMoney, "date": pl.Date}

OUTPUT = {name: TYPES[kind] for name, kind in COLUMNS.select("column", "type").rows()}

REASONS = table("reasons")
"""Why a machine is left out: excluded_reason, its sentence with names of figures, whether the job
runs on it all the same (runs), so that its figures are kept, what to ask for instead (hint), and
of a budget the field of Question (limit) and the column that may not exceed it (figure)."""

PRIVATE_HOST, OTHER_SIZE = "private_host", "other_size"

BUDGETS = REASONS.drop_nulls("limit").select("excluded_reason", "limit", "figure").rows()


def recommend(
    *asked: Any, dataset: Tables, ownership: Ownership = DEFAULTS, **named: Any
) -> pl.DataFrame:
    """List machines for a job, as ``Dataset.recommend`` describes it: COLUMNS.

    One row a machine (its best region), the best first, then those that are left out; of a cloud's
    machines with the same accelerator the best size is ranked. Machines to buy come after those to
    rent, and are ranked by purchase price when the objective is cost: an hour of a machine that one
    owns is cheap only if other work fills the rest of the time.

    >>> import hwprices
    >>> machines = recommend("7B", dataset=hwprices.open("sample"), where="cloud")
    >>> machines.item(0, "rank"), machines.item(0, "where")
    (1, 'cloud')

    Raises:
        HwpricesError: as ``Dataset.recommend``, or the dataset has no table offers.
    """
    question = Question.of(*asked, **named)
    job = None if media.benchmark(question) else make_job(question)
    listed = candidates(dataset, question, ownership)
    return with_price_ids(rank(listed, dataset, question, job), dataset)


def rank(frame: pl.DataFrame, dataset: Tables, question: Question, job: Job | None) -> pl.DataFrame:
    """Rank the machines of ``candidates``: COLUMNS without price_id, and offer (their row).

    ``job``: of the question; None to make images or sound.
    """
    if job:
        frame, assumed = with_serve_command(with_estimates(frame, job), job), assumptions(job)
    elif medium := media.benchmark(question):
        frame = media.with_rates(frame, dataset, medium["benchmark"])
        option = question.option.replace("_", " ")
        assumed = f"{medium['sample']} is a sample, {medium['setting']}; {option} prices"
    missing = [name for name in OUTPUT if name not in frame.columns]
    frame = frame.with_columns(lit(None, OUTPUT[name]).alias(name) for name in missing)
    return _ranked(_with_costs(frame, job), question, assumed)


def _with_costs(frame: pl.DataFrame, job: Job | None) -> pl.DataFrame:
    """Add the figures that follow from speed, price and power, of all machines together.

    work_usd and work_grams are what a piece of the work costs and emits, work_per_hour how much of
    it a machine does in an hour: the job, a million tokens, or a thousand samples (without a job).
    """
    has_end = bool(job and job.has_end)
    rates = (col.tokens_per_second_low, col.tokens_per_second_high)
    hours = [lit(job and job.tokens, pl.Float64) / rate / 3600 for rate in rates]
    paid, paid_low = (one + SETUP_HOURS if has_end else lit(1.0) for one in hours)
    month = lit(float(HOURS_PER_MONTH))
    in_month = pl.min_horizontal(month, paid) if has_end else month
    nodes, grams = col.nodes.cast(WideMoney), col.operational_gco2e_per_hour * col.nodes
    work = col.usd, col.operational_gco2e, 1 / paid
    figures: dict[str, pl.Expr] = {}
    if job is None:
        per_hour = col.samples_per_second * 3600 / 1000
        work = formulas.divide(col.usd_per_hour, per_hour), grams / per_hour, per_hour
        figures = {"usd_per_thousand_samples": work[0], "gco2e_per_thousand_samples": work[1]}
    elif not job.is_training:
        of_each = 1.0 if job.model.embeds else 1 + job.input_tokens / job.output_tokens
        share = 1.0 if job.model.embeds else 1 - 1 / of_each  # of input
        wanted = lit(job.requested_tokens_per_second, pl.Float64)
        # tokens/s of input and output that costs are divided by
        blended, high = (pl.min_horizontal(rate, wanted) * of_each for rate in rates)
        usd, usd_low = (
            formulas.usd_per_million_tokens(col.usd_per_hour, rate) for rate in (blended, high)
        )
        of_output = lit(1 - share if share < 1 else None, pl.Float64)
        read = col.prompt_share.cast(WideMoney)
        figures = {
            "usd_per_million_tokens": usd,
            "usd_per_million_tokens_low": usd_low,
            "usd_per_million_input_tokens": formulas.divide(usd * read, lit(share)),
            "usd_per_million_output_tokens": formulas.divide(usd * (1 - read), of_output),
            "gco2e_per_million_tokens": formulas.per_million_tokens(grams, blended),
        }
        if not has_end:
            work = usd, figures["gco2e_per_million_tokens"], blended * 3600 / 1e6
    of_work = dict(zip(("work_usd", "work_grams", "work_per_hour"), work, strict=True))
    return (
        frame.with_columns(
            col(r"^(spot_|best_\dy_)?usd_per_hour$").cast(WideMoney) * nodes,
            purchase_price_usd=col.purchase_price_usd.cast(WideMoney) * nodes.fill_null(1),
            total_accelerators=col.nodes * col.accelerator_count,
            hours=hours[0],
            energy_kwh=col.energy_kwh_per_hour * col.nodes * paid,
            operational_gco2e=grams * paid,
        )
        .with_columns(
            usd=col.usd_per_hour * paid.cast(WideMoney),
            usd_low=col.usd_per_hour * paid_low.cast(WideMoney),
            spot_usd=col.spot_usd_per_hour * paid.cast(WideMoney),
            usd_per_month=col.usd_per_hour * in_month.cast(WideMoney),
            **figures,
        )
        .with_columns(**of_work)
    )


def _ranked(frame: pl.DataFrame, question: Question, assumed: str) -> pl.DataFrame:
    """Rank the machines that the job fits on, say why the others are left out, and sort all."""
    frame = frame.with_columns(excluded_reason=_reason(question))
    fits = col.excluded_reason.is_null()
    keys = [col.where, ~fits, _figure(question), col.basis != "measured", col.usd]
    apart = (col.excluded_reason == PRIVATE_HOST).fill_null(False)
    # of the sizes of one accelerator in one cloud, the first is the best
    size = ["where", "provider", "private_host", pl.coalesce("accelerator_id", "cpu_id")]
    is_other = fits & (col.where == "cloud") & (fits.cum_sum().over(size) > 1)
    other_size = pl.when(is_other).then(lit(OTHER_SIZE)).otherwise("excluded_reason")
    frame = (
        frame.sort(*keys, "provider", "machine", "region", nulls_last=True)
        .with_columns(apart=apart)
        .unique(["where", "provider", "machine", "apart"], keep="first", maintain_order=True)
        .with_columns(excluded_reason=other_size)
    )
    frame = _with_sentences(_with_payback(frame), question).with_columns(
        rank=pl.when(fits).then(fits.cum_sum().over("where")).cast(pl.Int32)
    )
    converted = frame.filter(col.usd_per_hour.is_not_null(), where="cloud")["currency"]
    notes = [assumed, *rates_used(converted.drop_nulls(), question.rates), other_currencies(frame)]
    keeps = REASONS.filter("runs")["excluded_reason"].to_list()
    runs = col.usd.is_not_null() & (fits | col.excluded_reason.is_in(keeps))
    order = ("where", "rank", "provider", "machine")
    return (
        frame.filter(col.where == (lit(question.where) if question.where else col.where))
        .with_columns(
            *(pl.when(runs).then(n).alias(n) for n in COLUMNS.filter("of_job")["column"]),
            assumed=lit("; ".join(filter(None, notes))),
        )
        .sort(~fits, ~fits & col.obstacle.is_not_null(), *order, nulls_last=True)
        .select(*OUTPUT, "offer")
    )


def _figure(question: Question) -> pl.Expr:
    """Return the figure to rank by, smallest first."""
    rate = pl.coalesce("tokens_per_second_low", "samples_per_second")
    figures = {
        "cost": pl.when(col.where == "local").then("purchase_price_usd").otherwise("work_usd"),
        "carbon": col.work_grams,
        "speed": -pl.coalesce("tokens_per_second_per_user", rate),
        "throughput": -rate,
        "hourly": col.usd_per_hour,
    }
    # floats of equal figures differ in their last digits; of equal ones the cheaper is first
    return figures[question.objective].cast(pl.Float64).round_sig_figs(12)


def _with_payback(frame: pl.DataFrame) -> pl.DataFrame:
    """Add rent_usd_per_hour, and payback_hours: purchase price / (rent - electricity).

    The rent is that of the work which the machine to buy does in an hour.
    """
    rented = frame.filter(col.excluded_reason.is_null(), where="cloud")["work_usd"]
    cheapest = lit(rented.cast(pl.Float64).min(), pl.Float64)
    rent = pl.when(where="local").then(cheapest * col.work_per_hour)
    saved = rent - col.energy_usd_per_hour.cast(pl.Float64) * col.nodes
    payback = col.purchase_price_usd.cast(pl.Float64) / formulas.known_positive(saved)
    return frame.with_columns(rent_usd_per_hour=rent.cast(WideMoney), payback_hours=payback)


def _reason(question: Question) -> pl.Expr:
    """Return the code of why a machine is left out; null if it is ranked."""
    text = f"{question.words} {question.region or ''}".lower()
    named = re.split(r"[^a-z0-9-]+", text)
    hosts_named = any(region in named for _, region in PRIVATE_HOSTS)
    is_named = col.region.is_in(named) | lit("gov" in text or "dod" in text)
    conditions = {
        reason: col(figure) > lit(getattr(question, limit), pl.Float64)
        for reason, limit, figure in BUDGETS
    }
    conditions[PRIVATE_HOST] = col.private_host & lit(not hosts_named)
    conditions["government"] = col.government & ~is_named
    no_price = pl.when(col.usd_per_hour.is_null()).then("no_price")
    return pl.coalesce("obstacle", "reason", no_price, formulas.first_of(conditions))


def _with_sentences(frame: pl.DataFrame, question: Question) -> pl.DataFrame:
    """Add excluded, the sentence of excluded_reason."""
    words = {
        "option": question.option.replace("_", " "),
        "period": "in total" if question.has_end else "an hour",
        "most_copies": f"{constants.MOST_COPIES:,.0f}",
        "old_price_years": str(OLD_PRICE_YEARS),
        **{limit: f"{getattr(question, limit) or 0:,.10g}" for _, limit, _ in BUDGETS},
    }
    named = frame.select(
        *("excluded_reason", "memory_needed_gib", "memory_usable_gib", "machine_memory_gib"),
        *("nodes_needed", "currency", "on_demand_reason", *(figure for *_, figure in BUDGETS)),
        device=pl.coalesce("accelerator_id", "cpu_id"),
        precision=col.precision.fill_null("its format"),
    ).join(REASONS, "excluded_reason", "left", maintain_order="left")
    texts = []
    for row in named.iter_rows(named=True):
        figures = {name: "unknown" if value is None else value for name, value in row.items()}
        for *_, figure in BUDGETS:
            usd = row[figure] or 0.0
            figures[figure] = f"{usd:,.2f}".removesuffix(".00") if usd >= 1 else f"{usd:.4g}"
        texts.append(row["sentence"] and row["sentence"].format(**figures | words))
    return frame.with_columns(excluded=pl.Series(texts, dtype=pl.String))


def other_currencies(frame: pl.DataFrame) -> str:
    """Count the machines to rent that have no price in USD; empty if there are none."""
    left_out = frame.filter(excluded_reason="other_currency", where="cloud")
    names = left_out["excluded"].str.tail(3).unique().sort()  # the code ends the sentence
    rates = " ".join(f"--usd-per {name}=…" for name in names)
    listed = f"left out: {left_out.height} priced in {', '.join(names)} ({rates})"
    return listed if len(names) else ""
