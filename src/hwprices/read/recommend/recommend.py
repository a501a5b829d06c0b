"""Recommend machines for a model: where it fits, what it costs, why others are left out.

Cloud machines come from offers, machines to buy from local_hardware; the two are ranked apart, both
by the cautious end of the range of their speed. A figure that no sheet holds is never invented: a
machine that lacks it is left out, with that reason.
"""

import re
from dataclasses import replace
from typing import Any, Final

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
- samples_per_second, and USD and grams per thousand samples: of models of images, video and
  speech (media.py).
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
        frame = media.with_rates(frame, dataset, medium)
        option = limits.option.replace("_", " ")
        assumed = f"{medium.sample} is a sample, {medium.setting}; {option} prices"
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
    nodes = col.nodes.cast(WideMoney)
    low, high = col.tokens_per_second_low, col.tokens_per_second_high
    tokens = lit(job.tokens if job else None, dtype=pl.Float64)
    hours, hours_low = (tokens / rate / formulas.SECONDS_PER_HOUR for rate in (low, high))
    month = lit(float(HOURS_PER_MONTH))
    paid, paid_low, in_month = lit(1.0), lit(1.0), month
    if job and job.has_end:
        paid, paid_low = (one + training.SETUP_HOURS for one in (hours, hours_low))
        in_month = pl.min_horizontal(month, paid)
    frame = frame.with_columns(
        *(col(price).cast(WideMoney) * nodes for price in HOURLY_PRICES),
        purchase_price_usd=col.purchase_price_usd.cast(WideMoney) * nodes.fill_null(1),
        total_accelerators=col.nodes * col.accelerator_count,
        hours=hours,
        grams=col.operational_gco2e_per_hour * col.nodes,
    )
    frame = frame.with_columns(
        usd=col.usd_per_hour * paid.cast(WideMoney),
        usd_low=col.usd_per_hour * paid_low.cast(WideMoney),
        spot_usd=col.spot_usd_per_hour * paid.cast(WideMoney),
        usd_per_month=col.usd_per_hour * in_month.cast(WideMoney),
        energy_kwh=col.energy_kwh_per_hour * col.nodes * paid,
        operational_gco2e=col.grams * paid,
    )
    of_job = {"work_usd": col.usd, "work_grams": col.operational_gco2e, "work_per_hour": 1 / paid}
    if job is None:
        thousands = col.samples_per_second * formulas.SECONDS_PER_HOUR / 1000
        cost, grams = formulas.divide(col.usd_per_hour, thousands), col.grams / thousands
        return frame.with_columns(
            usd_per_thousand_samples=cost,
            gco2e_per_thousand_samples=grams,
            work_usd=cost,
            work_grams=grams,
            work_per_hour=thousands,
        )
    if job.is_training:
        return frame.with_columns(**of_job)
    wanted, share = job.requested_tokens_per_second, job.input_share
    blended, blended_high = (  # tokens/s of input and output that costs are divided by
        (rate if wanted is None else pl.min_horizontal(rate, lit(wanted)))
        * (1.0 if job.model.embeds else 1 + job.input_tokens / job.output_tokens)
        for rate in (low, high)
    )
    per_million = formulas.usd_per_million_tokens(col.usd_per_hour, blended)
    grams = formulas.per_million_tokens(col.grams, blended)
    per_hour = blended * formulas.SECONDS_PER_HOUR / 1e6
    of_tokens = {"work_usd": per_million, "work_grams": grams, "work_per_hour": per_hour}
    prompts = col.prompt_share.cast(WideMoney)
    return frame.with_columns(
        usd_per_million_tokens=per_million,
        usd_per_million_tokens_low=formulas.usd_per_million_tokens(col.usd_per_hour, blended_high),
        usd_per_million_input_tokens=formulas.divide(per_million * prompts, lit(share)),
        usd_per_million_output_tokens=formulas.divide(
            per_million * (1 - prompts), lit(1 - share if share < 1 else None, pl.Float64)
        ),
        gco2e_per_million_tokens=grams,
        **(of_job if job.has_end else of_tokens),
    )


def _ranked(frame: pl.DataFrame, limits: Limits, job: Job | None, assumed: str) -> pl.DataFrame:
    """Rank the machines that the job fits on, say why the others are left out, and sort all."""
    col, lit = pl.col, pl.lit
    missing = [name for name in OUTPUT if name not in frame.columns and name != "excluded_reason"]
    frame = frame.with_columns(
        *(lit(None).alias(name) for name in missing), excluded_reason=reason_code(limits)
    )
    fits, is_measured = col.excluded_reason.is_null(), col.basis == "measured"
    keys = ["where", ~fits, _figure(job, limits), ~is_measured, "usd", *PLACE]
    frame = frame.sort(keys, nulls_last=True)
    apart = (col.excluded_reason == PRIVATE_HOST).fill_null(False)
    frame = frame.with_columns(apart=apart).unique(
        ["where", "provider", "machine", "apart"], keep="first", maintain_order=True
    )
    # of the sizes of one accelerator in one cloud, the first is the best
    size = ["where", "provider", "private_host", pl.coalesce("accelerator_id", "cpu_id")]
    is_other = fits & (col.where == "cloud") & (fits.cum_sum().over(size) > 1)
    frame = frame.with_columns(
        excluded_reason=pl.when(is_other).then(lit(OTHER_SIZE)).otherwise("excluded_reason")
    )
    frame = _with_payback(frame).with_columns(
        rank=pl.when(fits).then(fits.cum_sum().over("where")).cast(pl.Int32),
        excluded=sentence(limits, job),
    )
    converted = frame.filter(col.usd_per_hour.is_not_null(), where="cloud")["currency"]
    left_out = other_currencies(frame)
    notes = [*rates_used(converted.drop_nulls(), limits.rates), *([left_out] if left_out else [])]
    assumed = "; ".join([assumed, *notes])
    if limits.where is not None:
        frame = frame.filter(where=limits.where)
    runs = col.usd.is_not_null() & (fits | col.excluded_reason.is_in(SHOWN_REASONS))
    order = ("where", "rank", "provider", "machine")
    return (
        frame.with_columns(
            *(pl.when(runs).then(name).alias(name) for name in JOB_FIGURES),
            assumed=lit(assumed),
        )
        .sort(~fits, ~fits & col.obstacle.is_not_null(), *order, nulls_last=True)
        .select(*OUTPUT, "offer")
    )


PLACE = ["provider", "machine", "region"]

COMMITTED = sorted({option for option, _ in COMMITMENT_COLUMNS.values()})

TERMS = {12: "best_1y", 36: "best_3y"}
"""Months of a commitment: what usd_per_hour is the price of."""


def _with_price_ids(ranked: pl.DataFrame, dataset: Tables) -> pl.DataFrame:
    """Add price_id: from offers, and of commitments and blocks, which they lack, from prices.

    Ids are random and most of the bytes of both, so that they are read of the ranked machines.
    """
    col, key = pl.col, [*PLACE, "purchase_option"]
    rented = ranked.filter(col.rank.is_not_null(), where="cloud")
    found = [rented.select(*key, price_id=pl.lit(None, pl.String)).clear()]
    if rented.height:
        first, last = rented.select(first=col.offer.min(), last=col.offer.max()).row(0)
        columns = {"on_demand": "on_demand_price_id", "spot": "spot_price_id"}
        found.append(
            dataset.scan("offers")
            .slice(first, last - first + 1)
            .select("provider", "region", machine="instance_type", **columns)
            .unpivot([*columns], index=PLACE, variable_name=key[-1], value_name="price_id")
            .drop_nulls("price_id")
            .select(*key, "price_id")
            .collect()
        )
        others = rented.join(found[-1], key, "anti")
        found += [_ids_of_prices(others, key, dataset)] if others.height else []
    ids = pl.concat(found).join(rented.select(key), key, "semi")
    is_ranked = col.rank.is_not_null() & (col.where == "cloud")
    return (
        ranked.drop("price_id")
        .join(ids, key, "left", maintain_order="left")
        .with_columns(price_id=pl.when(is_ranked).then("price_id"))
        .select(OUTPUT)
    )


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


def _figure(job: Job | None, limits: Limits) -> pl.Expr:
    """Return the figure to rank by, smallest first."""
    col = pl.col
    rate = col.samples_per_second if job is None else col.tokens_per_second_low
    is_service = job is not None and not job.is_training
    per_user = col.tokens_per_second_per_user * (col.tokens_per_second_low / col.tokens_per_second)
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


PRIVATE_HOST: Final = "private_host"

OTHER_SIZE: Final = "other_size"

SHOWN_REASONS = (PRIVATE_HOST, OTHER_SIZE, "over_budget", "too_dear_to_buy", "government")
"""Reasons of machines that the job runs on all the same: their figures are kept."""


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
