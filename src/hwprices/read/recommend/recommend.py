"""Recommend machines for a model: where it fits, what it costs, why others are left out.

Cloud machines come from offers, machines to buy from local_hardware; the two are ranked apart, both
by the cautious end of the range of their speed. A figure that no sheet holds is never invented: a
machine that lacks it is left out, with that reason.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from hwprices import formulas
from hwprices.formulas import training
from hwprices.read.currency import rates_used
from hwprices.read.overlays import rules
from hwprices.read.overlays.unmatched import warn_unmatched
from hwprices.read.ownership import DEFAULTS, OLD_PRICE_YEARS, Ownership
from hwprices.read.recommend import machines, media
from hwprices.read.recommend.estimates import MOST_COPIES, with_estimates
from hwprices.read.recommend.question import Job, Limits, Question, assumptions, make_job
from hwprices.read.recommend.serve_command import with_serve_command
from hwprices.release.real_prices import PRIVATE_HOSTS, REAL
from hwprices.release.release import Tables, scan_types
from hwprices.schemas.vocabulary import COMMITMENT_COLUMNS
from hwprices.units import HOURS_PER_MONTH, WideMoney

HOURLY_PRICES = [
    *("usd_per_hour", "spot_usd_per_hour", "best_1y_usd_per_hour", "best_3y_usd_per_hour")
]

JOB_FIGURES = [
    *("hours", "tokens_per_second", "tokens_per_second_p05", "tokens_per_second_low"),
    *("tokens_per_second_high", "tokens_per_second_p95", "tokens_per_second_per_user"),
    *("seconds_to_first_token", "concurrency", "usd", "usd_low", "spot_usd", "usd_per_month"),
    *("usd_per_million_tokens", "usd_per_million_tokens_low"),
    *("usd_per_million_input_tokens", "usd_per_million_output_tokens"),
    *("energy_kwh", "operational_gco2e", "gco2e_per_million_tokens"),
    *("rent_usd_per_hour", "payback_hours"),
    *("samples_per_second", "usd_per_thousand_samples", "gco2e_per_thousand_samples"),
    *("basis", "measurement"),
]

OUTPUT = [
    *("rank", "where", "provider", "region", "machine", "availability_unknown", "nodes"),
    *("total_accelerators", "accelerator_id", "cpu_id", "precision", "compute_format"),
    *("memory_needed_gib", "memory_usable_gib", "purchase_option", *HOURLY_PRICES),
    *("best_1y_option", "best_3y_option", "purchase_price_usd", "purchase_price_date"),
    *JOB_FIGURES,
    *("serve_command", "sglang_command", "assumed", "excluded_reason", "excluded", "price_id"),
]
"""Columns of an answer.

- rank: among the machines to rent (where is cloud), and apart from them among those to buy (local).
- nodes: machines used together; total_accelerators, memory and prices are of all of them.
- precision, compute_format: how the weights are stored, and in which format they are computed.
- purchase_option: what usd_per_hour is the price of; tco for a machine that one owns.
- best_1y_option, best_3y_option: which commitment the best price of 1 and 3 years is of.
- tokens_per_second: the estimate of generated tokens/s of all users, in a training of those it
  learns from. Half of measurements that the estimate did not know are between _low and _high, nine
  in ten between _p05 and _p95.
- usd, hours, energy_kwh, operational_gco2e: of the whole job with its setup, at the cautious speed
  (_low); of one hour for a service. usd_low: at the speed _high.
- usd_per_month: of 730 hours; of a job that takes less, of its hours.
- usd_per_million_tokens: blended, a million tokens of input and output in the lengths of the
  question, at the cautious speed; _low at the speed _high. Of the requests per second where those
  are requested. The columns of input and output divide the money by the time that each takes, as
  API prices do. gco2e_per_million_tokens: the same in grams, of electricity alone.
- samples_per_second, and USD and grams per thousand samples: of models of images, video and speech.
- rent_usd_per_hour: of a machine to buy: what its work of an hour costs on the cheapest machine to
  rent; null where none fits. payback_hours: hours of this work after which the machine has cost as
  much; null also where electricity costs more than the rent.
- basis: measured (this network on this accelerator), modeled, or "not yet run live" (measured, by a
  file of speeds); measurement: one of those behind.
- serve_command, sglang_command: what serves a language model on it with vLLM and with SGLang.
- assumed: what the answer assumes beyond the question, and offers left out for their currency.
- excluded_reason, excluded: code and sentence of why the machine is left out; null if it is in.
- price_id: the price that usd_per_hour is, of a ranked machine to rent; ``cite`` takes it.
"""


def recommend(
    *asked: Any, dataset: Tables, ownership: Ownership = DEFAULTS, **named: Any
) -> pl.DataFrame:
    """List machines for a job: one row a machine (its best region), best first, then the others.

    Of a cloud's machines with the same accelerator the best size is ranked.

    Args:
        asked: a ``Question``, or its fields in their order. The first is the model: 70e9, "70B" or
            a name (llama-3.1-70b; sdxl, whisper, which are answered as they were measured, with
            ``limits`` and ``ownership`` alone).
        named: fields of the question by name, of its serving and of its limits.
        dataset: a release, or its tables.
        ownership: assumptions about machines to buy. They come after those to rent, and are ranked
            by purchase price when the objective is cost: an hour of a machine that one owns is
            cheap only if other work fills the rest of the time.

    Objectives: cost (USD per million tokens, USD of a job), carbon (grams of the same), speed
    (of one user; of a training), throughput (of all users), hourly (USD an hour).

    Columns: OUTPUT.

    >>> import hwprices
    >>> machines = recommend("7B", dataset=hwprices.open("sample"), where="cloud")
    >>> machines.item(0, "rank"), machines.item(0, "where")
    (1, 'cloud')

    Raises:
        HwpricesError: a value is out of range or does not belong to the model or workload, the
            release has no such provider, region or country, or the dataset has no table offers.
    """
    return answer(Question.of(*asked, **named), dataset, ownership)


def answer(
    question: Question,
    dataset: Tables,
    ownership: Ownership = DEFAULTS,
    among: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Answer a question, as ``recommend`` does.

    ``among``: what ``machines.candidates`` lists for the same limits and ownership, if it is known.
    """
    limits = question.limits
    if (overlays := rules.given(limits.overlays)) is not None:
        limits = replace(limits, overlays=overlays)
        warn_unmatched(dataset, overlays)
    medium = media.benchmark(question)
    job = None if medium else make_job(question)
    frame = machines.candidates(dataset, limits, ownership) if among is None else among
    if job is None:
        assert medium is not None
        frame = media.with_rates(frame, dataset, medium["benchmark"])
        option = limits.option.replace("_", " ")
        assumed = f"{medium['sample']} is a sample, {medium['setting']}; {option} prices"
    else:
        frame, assumed = with_estimates(frame, job), assumptions(job)
    frame = with_serve_command(_with_costs(frame, job), job)
    return _with_price_ids(_ranked(frame, limits, job, assumed), dataset)


def _with_costs(frame: pl.DataFrame, job: Job | None) -> pl.DataFrame:
    """Add the figures that follow from speed, price and power, of all machines together.

    work_usd and work_grams are what a piece of the work costs and emits, work_per_hour how much of
    it a machine does in an hour: the job, a million tokens, or a thousand samples (without a job).
    """
    col, lit = pl.col, pl.lit
    nodes, month = col.nodes.cast(WideMoney), lit(float(HOURS_PER_MONTH))
    rates = (col.tokens_per_second_low, col.tokens_per_second_high)
    tokens = lit(job.tokens if job else None, dtype=pl.Float64)
    hours = [tokens / rate / formulas.SECONDS_PER_HOUR for rate in rates]
    has_end = bool(job and job.has_end)
    paid, paid_low = (one + training.SETUP_HOURS if has_end else lit(1.0) for one in hours)
    in_month = pl.min_horizontal(month, paid) if has_end else month
    frame = frame.with_columns(
        *(col(price).cast(WideMoney) * nodes for price in HOURLY_PRICES),
        purchase_price_usd=col.purchase_price_usd.cast(WideMoney) * nodes.fill_null(1),
        total_accelerators=col.nodes * col.accelerator_count,
        hours=hours[0],
        grams=col.operational_gco2e_per_hour * col.nodes,
    ).with_columns(
        usd=col.usd_per_hour * paid.cast(WideMoney),
        usd_low=col.usd_per_hour * paid_low.cast(WideMoney),
        spot_usd=col.spot_usd_per_hour * paid.cast(WideMoney),
        usd_per_month=col.usd_per_hour * in_month.cast(WideMoney),
        energy_kwh=col.energy_kwh_per_hour * col.nodes * paid,
        operational_gco2e=col.grams * paid,
    )
    if job is None:
        per_hour = col.samples_per_second * formulas.SECONDS_PER_HOUR / 1000
        usd, grams = formulas.divide(col.usd_per_hour, per_hour), col.grams / per_hour
        frame = frame.with_columns(usd_per_thousand_samples=usd, gco2e_per_thousand_samples=grams)
    elif not job.is_training:
        wanted, share = job.requested_tokens_per_second, job.input_share
        of_each = 1.0 if job.model.embeds else 1 + job.input_tokens / job.output_tokens
        blended, blended_high = (  # tokens/s of input and output that costs are divided by
            (rate if wanted is None else pl.min_horizontal(rate, lit(wanted))) * of_each
            for rate in rates
        )
        usd = formulas.usd_per_million_tokens(col.usd_per_hour, blended)
        grams = formulas.per_million_tokens(col.grams, blended)
        per_hour = blended * formulas.SECONDS_PER_HOUR / 1e6
        read = col.prompt_share.cast(WideMoney)
        output_share = lit(1 - share if share < 1 else None, pl.Float64)
        frame = frame.with_columns(
            usd_per_million_tokens=usd,
            usd_per_million_tokens_low=formulas.usd_per_million_tokens(
                col.usd_per_hour, blended_high
            ),
            usd_per_million_input_tokens=formulas.divide(usd * read, lit(share)),
            usd_per_million_output_tokens=formulas.divide(usd * (1 - read), output_share),
            gco2e_per_million_tokens=grams,
        )
    if has_end:
        usd, grams, per_hour = col.usd, col.operational_gco2e, 1 / paid
    return frame.with_columns(work_usd=usd, work_grams=grams, work_per_hour=per_hour)


PLACE = ["provider", "machine", "region"]


def _ranked(frame: pl.DataFrame, limits: Limits, job: Job | None, assumed: str) -> pl.DataFrame:
    """Rank the machines that the job fits on, say why the others are left out, and sort all."""
    col, lit = pl.col, pl.lit
    missing = [name for name in OUTPUT if name not in frame.columns and name != "excluded_reason"]
    frame = frame.with_columns(
        *(lit(None).alias(name) for name in missing), excluded_reason=_reason(limits)
    )
    fits = col.excluded_reason.is_null()
    keys = ["where", ~fits, _figure(job, limits), col.basis != "measured", "usd", *PLACE]
    apart = (col.excluded_reason == PRIVATE_HOST).fill_null(False)
    # of the sizes of one accelerator in one cloud, the first is the best
    size = ["where", "provider", "private_host", pl.coalesce("accelerator_id", "cpu_id")]
    is_other = fits & (col.where == "cloud") & (fits.cum_sum().over(size) > 1)
    frame = (
        frame.sort(keys, nulls_last=True)
        .with_columns(apart=apart)
        .unique(["where", "provider", "machine", "apart"], keep="first", maintain_order=True)
        .with_columns(
            excluded_reason=pl.when(is_other).then(lit(OTHER_SIZE)).otherwise("excluded_reason")
        )
    )
    frame = _with_sentences(_with_payback(frame), limits, job).with_columns(
        rank=pl.when(fits).then(fits.cum_sum().over("where")).cast(pl.Int32)
    )
    converted = frame.filter(col.usd_per_hour.is_not_null(), where="cloud")["currency"]
    notes = [*rates_used(converted.drop_nulls(), limits.rates), other_currencies(frame)]
    if limits.where is not None:
        frame = frame.filter(where=limits.where)
    runs = col.usd.is_not_null() & (fits | col.runs)
    order = ("where", "rank", "provider", "machine")
    return (
        frame.with_columns(
            *(pl.when(runs).then(name).alias(name) for name in JOB_FIGURES),
            assumed=lit("; ".join(filter(None, [assumed, *notes]))),
        )
        .sort(~fits, ~fits & col.obstacle.is_not_null(), *order, nulls_last=True)
        .select(*OUTPUT, "offer")
    )


def _figure(job: Job | None, limits: Limits) -> pl.Expr:
    """Return the figure to rank by, smallest first."""
    col = pl.col
    rate = col.samples_per_second if job is None else col.tokens_per_second_low
    is_service = job is not None and not job.is_training
    per_user = col.tokens_per_second_per_user * (rate / col.tokens_per_second)
    figures = {
        "cost": pl.when(col.where == "local").then("purchase_price_usd").otherwise("work_usd"),
        "carbon": col.work_grams,
        "speed": -per_user if is_service else -rate,
        "throughput": -rate,
        "hourly": col.usd_per_hour,
    }
    return figures[limits.objective].cast(pl.Float64)


def _with_payback(frame: pl.DataFrame) -> pl.DataFrame:
    """Add rent_usd_per_hour, and payback_hours: purchase price / (rent - electricity).

    The rent is that of the work which the machine to buy does in an hour.
    """
    col = pl.col
    rented = frame.filter(col.excluded_reason.is_null(), where="cloud")
    cheapest = pl.lit(rented["work_usd"].cast(pl.Float64).min(), dtype=pl.Float64)
    rent = pl.when(col.where == "local").then(cheapest * col.work_per_hour)
    saved = rent - col.energy_usd_per_hour.cast(pl.Float64) * col.nodes
    price = col.purchase_price_usd.cast(pl.Float64)
    return frame.with_columns(
        rent_usd_per_hour=rent.cast(WideMoney), payback_hours=price / formulas.known_positive(saved)
    )


REASONS = pl.read_csv(Path(__file__).with_name("reasons.csv"))
"""Why a machine is left out: excluded_reason, its sentence with names of figures, whether the job
runs on it all the same (runs), so that its figures are kept, and what to ask for instead (hint).
over_month is a case of over_budget."""

PRIVATE_HOST, OTHER_SIZE = "private_host", "other_size"

BUDGETS = ("budget", "budget_per_month", "budget_to_buy")

MEMORY = ("memory_needed_gib", "memory_usable_gib", "machine_memory_gib")

PRICED = ("usd", "usd_per_month", "purchase_price_usd")


def _over(limits: Limits, figure: str, budget: str) -> pl.Expr:
    return pl.col(figure) > pl.lit(getattr(limits, budget), pl.Float64)


def _reason(limits: Limits) -> pl.Expr:
    """Return the code of why a machine is left out; null if it is ranked."""
    col, lit = pl.col, pl.lit
    hosts_named = any(limits.names(region) for _, region in PRIVATE_HOSTS)
    gov_named = limits.region is not None or limits.names("gov")
    conditions = {
        "over_budget": _over(limits, "usd", "budget")
        | _over(limits, "usd_per_month", "budget_per_month"),
        "too_dear_to_buy": _over(limits, "purchase_price_usd", "budget_to_buy"),
        PRIVATE_HOST: col.private_host & lit(not hosts_named),
        "government": col.government & lit(not gov_named),
    }
    no_price = pl.when(col.usd_per_hour.is_null()).then("no_price")
    codes = (pl.when(holds).then(lit(code)) for code, holds in conditions.items())
    return pl.coalesce("obstacle", "reason", no_price, *codes)


def _with_sentences(frame: pl.DataFrame, limits: Limits, job: Job | None) -> pl.DataFrame:
    """Add excluded, the sentence of excluded_reason, and the other columns of REASONS."""
    col, code = pl.col, pl.col.excluded_reason
    only_month = (code == "over_budget") & ~_over(limits, "usd", "budget").fill_null(False)
    frame = frame.with_columns(
        said=pl.when(only_month).then(pl.lit("over_month")).otherwise(code)
    ).join(REASONS.rename({"excluded_reason": "said"}), "said", "left", maintain_order="left")
    words = {
        "option": limits.option.replace("_", " "),
        "period": "in total" if job and job.has_end else "an hour",
        "most_copies": f"{MOST_COPIES:,}",
        "old_price_years": str(OLD_PRICE_YEARS),
        **{b: f"{getattr(limits, b) or 0:,.10g}" for b in BUDGETS},
    }
    figures = {
        **{name: pl.lit(word) for name, word in words.items()},
        "device": pl.coalesce("accelerator_id", "cpu_id"),
        "precision": col.precision.fill_null("its format"),
        **{n: col(n).cast(pl.Float64).map_elements(_amount, pl.String) for n in PRICED},
        **{name: col(name).round(1) for name in MEMORY},
        **{name: col(name) for name in ("currency", "on_demand_reason", "nodes_needed")},
    }
    text = col.sentence
    for name, figure in figures.items():
        shown = figure.cast(pl.String).fill_null("unknown")
        text = text.str.replace(f"{{{name}}}", shown, literal=True)
    return frame.with_columns(excluded=text)


def other_currencies(frame: pl.DataFrame) -> str:
    """Count the machines to rent that have no price in USD; empty if there are none."""
    left_out = frame.filter(excluded_reason="other_currency", where="cloud")
    names = left_out["excluded"].str.tail(3).unique().sort()  # the code ends the sentence
    rates = " ".join(f"--usd-per {name}=…" for name in names)
    listed = f"left out: {left_out.height} priced in {', '.join(names)} ({rates})"
    return listed if len(names) else ""


def _amount(usd: float) -> str:
    return f"{usd:,.2f}".removesuffix(".00") if usd >= 1 else f"{usd:.4g}"


COMMITTED = sorted({option for option, _ in COMMITMENT_COLUMNS.values()})

TERMS = {12: "best_1y", 36: "best_3y"}
"""Months of a commitment: what usd_per_hour is the price of."""


def _with_price_ids(ranked: pl.DataFrame, dataset: Tables) -> pl.DataFrame:
    """Add price_id: from offers, and of commitments and blocks, which they lack, from prices.

    Ids are random and most of the bytes of both, so that they are read of the ranked machines.
    """
    col, key = pl.col, [*PLACE, "purchase_option"]
    ranked = ranked.drop("price_id")
    rented = ranked.filter(col.rank.is_not_null(), where="cloud")
    ids = rented.select(*key, price_id=pl.lit(None, pl.String)).clear()
    if rented.height:
        first, last = rented.select(first=col.offer.min(), last=col.offer.max()).row(0)
        columns = {"on_demand": "on_demand_price_id", "spot": "spot_price_id"}
        of_offers = (
            dataset.scan("offers")
            .slice(first, last - first + 1)
            .select("provider", "region", machine="instance_type", **columns)
            .unpivot([*columns], index=PLACE, variable_name=key[-1], value_name="price_id")
            .drop_nulls("price_id")
            .select(*key, "price_id")
            .collect()
            .join(rented, key, "semi")
        )
        others = rented.join(of_offers, key, "anti")
        ids = pl.concat([of_offers, _ids_of_prices(others, key, dataset) if others.height else ids])
    rows = ranked.join(ids, key, "left", maintain_order="left")
    is_rented = col.rank.is_not_null() & (col.where == "cloud")
    return rows.with_columns(price_id=pl.when(is_rented).then("price_id")).select(OUTPUT)


def _ids_of_prices(machines: pl.DataFrame, key: list[str], dataset: Tables) -> pl.DataFrame:
    """Return the id of the cheapest price of each machine and option, as offers choose it.

    Own discounts may have made another commitment the cheapest than that of the list prices.
    """
    col = pl.col
    is_committed = col.purchase_option.is_in(COMMITTED) & (col.commitment_plan != "convertible")
    term = col.term_months.replace_strict(TERMS, default=None, return_dtype=pl.String)
    chosen = pl.coalesce(
        pl.when(purchase_option=name).then(f"{name}_option") for name in TERMS.values()
    )
    begins = pl.coalesce(
        pl.when(col.purchase_option == option, col.commitment_plan == plan).then(pl.lit(name))
        for name, (option, plan) in COMMITMENT_COLUMNS.items()
    )
    of_chosen = col.chosen.str.starts_with(col.begins).fill_null(value=False)
    return (
        scan_types(dataset, "prices", machines["machine"])
        .rename({"instance_type": "machine"})
        .filter(*REAL, os="linux", software="none", license_model="included", tenancy="shared")
        .with_columns(
            begins=begins, purchase_option=pl.when(is_committed).then(term).otherwise(key[-1])
        )
        .join(machines.lazy().select(*key, chosen=chosen), key)
        .sort(~of_chosen, "effective_hourly", "price_id")
        .unique(key, keep="first", maintain_order=True)
        .select(*key, "price_id")
        .collect()
    )


def with_model(dataset: Tables, named: pl.DataFrame, model: str) -> pl.DataFrame:
    """Add how machines or accelerators serve a model on demand, as ``recommend`` does.

    ``named`` has provider and instance_type, or device_id; of an accelerator its best machine
    counts, and tokens_per_second is of one accelerator.
    Adds tokens_per_second (of all users, cautious) and tokens_per_second_high,
    usd_per_million_tokens (of input and output together, at the former speed) and _low (at the
    latter), tokens_from (measured or modeled), served_on (the machine) and does_not_serve, the
    reason where it does not.

    Raises:
        HwpricesError: the model is not known.
    """
    col, of_devices = pl.col, "device_id" in named.columns
    key = ["device_id"] if of_devices else ["provider", "instance_type"]
    limits = Limits(where="cloud", machines="accelerators" if of_devices else "all", usd_per={})
    share = col.total_accelerators if of_devices else pl.lit(1.0)
    figures = recommend(Question(model, limits=limits), dataset=dataset).select(
        *("provider", "usd_per_million_tokens", "usd_per_million_tokens_low"),
        device_id="accelerator_id",
        instance_type="machine",
        tokens_per_second=col.tokens_per_second_low / share,
        tokens_per_second_high=col.tokens_per_second_high / share,
        tokens_from="basis",
        served_on=pl.format("{} at {}", "machine", "provider"),
        does_not_serve=pl.when(col.tokens_per_second_low.is_null()).then("excluded"),
    )
    # of a community host and a data center's machine with one name, the ranked one comes first
    first = figures.unique(key, keep="first", maintain_order=True)
    added = first.drop({"device_id", "provider", "instance_type"} - {*key})
    others = named.drop({*added.columns} - {*key}, strict=False)  # a device has some of any model
    return others.join(added, key, "left", maintain_order="left")
