"""A question to ``recommend``: the model, how it is used, what it may cost; and its defaults."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from hwprices.errors import HwpricesError, did_you_mean
from hwprices.formulas.language_model import ModelShape
from hwprices.read.currency import ECB_RATES, Rates, read_rates
from hwprices.read.overlays.rules import Overlays
from hwprices.read.recommend import constants, table
from hwprices.read.recommend.inferencex import NOT_RUN, with_speeds
from hwprices.read.recommend.model_shape import look_alike, model_shape, stored_as, with_size
from hwprices.read.recommend.speed import FORMATS, SpeedModel, speed_model

_BLOCKS = ("capacity_block", "dws_calendar", "dws_flex_start", "dws_defined_duration")

OPTIONS: Final = {
    "on_demand": ("on_demand",),
    "spot": ("spot",),
    "commit_1y": ("best_1y",),
    "commit_3y": ("best_3y",),
    "block": _BLOCKS,
    "any": ("on_demand", "spot", "best_1y", "best_3y", *_BLOCKS),
}
"""Name of an option: columns of offers, without the ending _usd_per_hour. The cheapest counts."""

ABOUT = table("options").rows_by_key("name", named=True, unique=True)
"""Fields of a question that are options of the command too: their panel, flags and help there,
allowed values, whether a value must be positive, the workloads that take them."""

WORKLOADS = table("workloads")
"""Defaults of the fields of a question and its serving, by workload, with their sources."""


@dataclass(frozen=True)
class Limits:
    """What an answer must keep to. None: no limit. Options are described in options.csv."""

    budget: float | None = None
    budget_per_month: float | None = None  # USD for 730 hours to rent, or for a shorter job
    budget_to_buy: float | None = None  # USD that a machine may cost to buy
    where: str | None = None
    machines: str = "accelerators"
    words: str = ""
    """Accelerators, clouds and places as ``find`` reads them: "h100 aws europe". Regions for
    governments and community hosts are ranked only where words or region name them."""
    provider: str | None = None  # clouds by id or name; several with commas, as in the next two
    region: str | None = None  # regions, or directions such as us-east
    country: str | None = None  # countries by code or English name
    objective: str = "cost"
    option: str = "on_demand"
    usd_per: Mapping[str, Decimal | str | float] = field(default_factory=lambda: ECB_RATES)
    """Exchange rates of prices to rent, such as {"EUR": "1.08"}; those of machines to buy are in
    Ownership."""
    overlays: str | Path | Overlays | None = None
    """Own discounts: a file of rules, or what ``overlays.rules.load`` gave."""

    def __post_init__(self) -> None:
        read_rates(self.usd_per)  # refuses what is not a rate

    @property
    def rates(self) -> Rates:
        """The exchange rates of ``usd_per`` as Decimals, by currency code."""
        return read_rates(self.usd_per)


@dataclass(frozen=True)
class Serving:
    """How a model is served. None: the default."""

    input_tokens: float | None = None
    output_tokens: float | None = None
    concurrency: float | None = None
    requests_per_second: float | None = None
    min_tokens_per_second: float | None = None
    max_seconds_to_first_token: float | None = None


@dataclass(frozen=True)
class Question:
    """A question to ``recommend``. None: the default of the workload."""

    model_parameters: float | str
    """A name (llama-3.1-70b, sdxl, whisper), or a number: 70e9, "70B"."""
    workload: str = "inference"
    precision: str | None = None
    context: int | None = None
    tokens: float | None = None
    days: float | None = None
    max_nodes: int | None = None
    speeds: str | None = None
    active_parameters: str | float | None = None
    serving: Serving = field(default_factory=Serving)
    limits: Limits = field(default_factory=Limits)

    @property
    def is_training(self) -> bool:
        """Whether the model is trained; if not, it generates."""
        return self.workload not in ("inference", "batch")

    @classmethod
    def of(cls, *values: Any, **named: Any) -> "Question":
        """Make a question of its fields, those of its serving and those of its limits.

        Raises:
            HwpricesError: there is no such field, or it is given twice.
        """
        if values and isinstance(values[0], Question):
            beside = "Put them into the Question."
            _refuse(values[1:] or named, "options are given beside a Question", beside)
            return values[0]
        known = sorted(one.name for kind in (cls, Serving, Limits) for one in fields(kind))
        for name in (name for name in named if name not in known):
            listed = did_you_mean(name, known) or f"There are: {', '.join(known)}."
            raise HwpricesError(f"unknown option {name!r}", listed)
        parts: dict[str, Any] = {"serving": Serving(), "limits": Limits()}
        for part, usual in parts.items():
            added = {one.name: named.pop(one.name) for one in fields(usual) if one.name in named}
            whole = named.pop(part, None) or usual
            for name, value in added.items():
                given = getattr(whole, name)
                twice = given not in (getattr(usual, name), value)
                _refuse(twice, f"{name} is {value}, and {given} in {part}", "Give one of them.")
            named[part] = replace(whole, **added)
        return cls(*values, **named)

    def changed(self) -> dict[str, Any]:
        """Return the fields of the question, its serving and its limits that are not the default.

        Those that options.csv describes.
        """
        usual = vars(Question(self.model_parameters)) | vars(Serving()) | vars(Limits())
        given = vars(self) | vars(self.serving) | vars(self.limits)
        return {n: value for n, value in given.items() if n in ABOUT and value != usual[n]}

    def check(self) -> None:
        """Raise HwpricesError for a value that is out of range or of another workload."""
        changed, limits = self.changed(), self.limits
        for name, value in changed.items():
            if ABOUT[name]["allowed"] and name != "precision":  # which has other names too
                _choose(name, value)
        text = "no machine to buy without an accelerator was measured"
        advice = "Ask for machines to rent, or for those with accelerators."
        _refuse(limits.where == "local" and limits.machines == "cpus", text, advice)
        takers = {name: ABOUT[name]["workloads"] or self.workload for name in changed}
        wrong = [name for name, of in takers.items() if self.workload not in of.split(";")]
        text = f"{', '.join(wrong).replace('_', ' ')}: not for the workload {self.workload}"
        _refuse(wrong, text, "Leave it out, or choose another workload.")
        for one, other in (("concurrency", "requests_per_second"), ("context", "input_tokens")):
            twice = f"{one} and {other.replace('_', ' ')} say the same thing"
            _refuse({one, other} <= {*changed}, twice, "Give one of them.")
        amounts = {name: value for name, value in changed.items() if ABOUT[name]["positive"]}
        budgets = {n: value for n, value in vars(limits).items() if n.startswith("budget_")}
        for name, value in (amounts | budgets).items():
            text = f"{name.replace('_', ' ')} is {value}, not above 0 and finite"
            is_amount = value is None or 0 < value < math.inf
            _refuse(not is_amount, text, "Correct it, or leave it out.")
        if self.stored and self.workload in ("pretrain", "full_finetune"):
            text = f"{self.workload} in {self.stored} is not computed here"
            advice = "Choose bf16, fp16, fp8 or fp32, or workload lora."
            _refuse(not FORMATS[self.stored]["trained"], text, advice)

    @property
    def stored(self) -> str | None:
        """The format of the weights, as requested, else from the suffix of the model's name: -FP8.

        Raises:
            HwpricesError: there is no such format.
        """
        named = self.precision or stored_as(str(self.model_parameters))
        if named is None:
            return None
        squeezed = re.sub(r"[^a-z0-9]+", "", named.lower())
        others = {name: (row["names"] or name).split(";") for name, row in FORMATS.items()}
        precision = next((name for name, of in others.items() if squeezed in of), squeezed)
        _choose("precision", precision)
        return precision


def _refuse(wrong: object, text: str, advice: str) -> None:
    if wrong:
        raise HwpricesError(text, advice)


def _choose(name: str, value: str | None) -> None:
    allowed = ABOUT[name]["allowed"].split(";")
    text = f"unknown {'place' if name == 'where' else name} {value!r}"
    _refuse(value not in (None, *allowed), text, f"Choose one of {', '.join(allowed)}.")


@dataclass(frozen=True, kw_only=True)
class Job(Question):
    """A question with its defaults filled in.

    What may be None after that: precision (8 bits as the device computes them, or 4 if released
    so), tokens and days (of a service), concurrency (as many users as a machine holds).
    """

    model: ModelShape
    speed_model: SpeedModel
    context: int
    max_nodes: int
    input_tokens: float
    output_tokens: float

    @property
    def has_end(self) -> bool:
        """Whether the job ends: a training or a batch."""
        return self.tokens is not None

    @property
    def counted_tokens(self) -> float:
        """Tokens of a request that tokens/s count: of output; of input for embeddings."""
        return self.input_tokens if self.model.embeds else self.output_tokens

    @property
    def requested_tokens_per_second(self) -> float | None:
        """Tokens/s that the requests take; None without requests per second."""
        requests = self.serving.requests_per_second
        return None if requests is None else requests * self.counted_tokens


def make_job(question: Question) -> Job:
    """Check a question and fill in its defaults.

    Raises:
        HwpricesError: a value is out of range; the line says which, and what is allowed.
    """
    question.check()
    model = model_shape(question.model_parameters, question.active_parameters)
    serving, training, wanted = question.serving, question.is_training, question.context
    usual = dict(WORKLOADS.select("default", question.workload).iter_rows())
    output_tokens = serving.output_tokens or usual["output_tokens"]
    input_tokens = serving.input_tokens or usual["input_tokens"]
    fitted = with_speeds(question.speeds) if question.speeds else speed_model()
    limit = model.context_limit or math.inf
    if model.embeds and not training:  # the answer is one vector, which takes the time of a token
        advice = "Leave the output out."
        _refuse(serving.output_tokens, f"{model.name} makes embeddings, not text", advice)
        input_tokens, output_tokens = float(wanted or input_tokens), 1.0
        # measured speeds of a generation say nothing, so the wide range is all that is promised
        ranges = fitted.ranges.with_columns(p25="p05", p75="p95")
        fitted = replace(fitted, ranges=ranges, measured=fitted.measured.clear())
    elif wanted and not training:
        output_tokens = serving.output_tokens or min(output_tokens, max(1.0, wanted / 2))
        text = f"{output_tokens:,.10g} tokens of output do not fit a context of {wanted:,}"
        advice = "Give a longer context, or leave it out."
        _refuse(wanted <= (serving.output_tokens or 0), f"{text} with a prompt", advice)
        input_tokens = max(1.0, wanted - output_tokens)
    tokens_of_request = input_tokens + (0.0 if model.embeds else output_tokens)
    context = wanted or int(min(usual["context"], limit) if training else tokens_of_request)
    text = f"{model.name} reads at most {limit:,} tokens, not {context:,}"
    _refuse(context > limit, text, "Give shorter requests, or a model with a longer context.")
    users, tokens = serving.concurrency, question.tokens or usual["tokens"]
    is_service = question.workload == "inference" and serving.requests_per_second is None
    if is_service and question.limits.objective == "speed":
        users = users or 1.0
    if question.workload == "pretrain":
        tokens = tokens or constants.TOKENS_PER_PARAMETER * model.active_parameters
    any_speed = users == 1 or model.embeds
    limits = {
        name: getattr(serving, name) or (None if any_speed else usual[name])
        for name in ("min_tokens_per_second", "max_seconds_to_first_token")
    }
    filled = {name: getattr(question, name) or usual[name] for name in ("days", "max_nodes")}
    filled |= {"context": context, "input_tokens": input_tokens, "output_tokens": output_tokens}
    filled |= {
        "precision": question.stored or ("bf16" if training or model.embeds else None),
        "tokens": tokens,
        "serving": replace(serving, concurrency=users, **limits),
        "model": model,
        "speed_model": fitted,
    }
    return Job(**vars(question) | filled)


def assumptions(job: Job) -> str:
    """Describe in one line what the answer assumes beyond the question."""
    model, serving, runs = job.model, job.serving, job.speed_model.runs
    wanted, named, embeds = job.requested_tokens_per_second, str(job.model_parameters), model.embeds
    least, most = serving.min_tokens_per_second, serving.max_seconds_to_first_token
    output = "" if embeds else f" and {job.output_tokens:,.10g} out"
    parts = [
        with_size(named) and f"{named} is {model.name}",
        not job.is_training and f"{job.input_tokens:,.10g} tokens in{output}",
        wanted
        and f"{wanted:,.10g} tokens/s of {'input' if embeds else 'output'}, which costs are"
        " divided by",
        least and f"at least {least:g} tok/s per user",
        most and f"first token within {most:g} s",
        job.precision is None
        and ("4-bit weights as released" if model.released_format else "8-bit weights"),
        runs and f"speeds of {job.speeds} first, {NOT_RUN}, {runs}",
        embeds
        and not job.is_training
        and f"embeddings: never measured; modeled on prompts, in {job.precision}, with the range"
        " of 90 %",
        job.tokens and f"{short(job.tokens)} tokens in {job.days:g} day{'s' * (job.days != 1)}",
        job.is_training and f"sequences of {job.context:,}, {job.precision}, adam",
        f"{job.limits.option.replace('_', ' ')} prices",
    ]
    if model.basis == "estimate":
        kind = "dense model" if model.ffn else "mixture of experts"
        twin = look_alike(model) if model.ffn else None
        like = f" (for the mixture of experts of that size ask for {twin})" if twin else ""
        parts.append(f"a {kind} with the proportions of Llama 3{like}")
    return "; ".join(part for part in parts if part)


def short(number: float) -> str:
    """Write a large number with three digits: 100M, 1.5B, 2T."""
    sizes = {"T": 1e12, "B": 1e9, "M": 1e6, "": 1.0}
    unit = next((unit for unit, size in sizes.items() if number >= size), "")
    return f"{number / sizes[unit]:,.3g}{unit}"
