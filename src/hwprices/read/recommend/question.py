"""A question to ``recommend``: the model, how it is used, what it may cost; and its defaults."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hwprices.errors import HwpricesError
from hwprices.formulas import language_model
from hwprices.formulas.language_model import ModelShape
from hwprices.read.currency import ECB_RATES, Rates, read_rates
from hwprices.read.find.suggestions import did_you_mean
from hwprices.read.recommend.inferencex import NOT_RUN, with_speeds
from hwprices.read.recommend.model_shape import look_alike, model_shape
from hwprices.read.recommend.speed import SpeedModel

if TYPE_CHECKING:
    from hwprices.read.overlays.rules import Overlays

WORKLOADS = ("inference", "batch", "lora", "full_finetune", "pretrain")

STORAGE_FORMATS = ("int4", "int8", "fp4")
"""Formats in which a whole model is not trained."""

PRECISION_NAMES = {
    **{"float32": "fp32", "bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float8": "fp8"},
    **dict.fromkeys(("8bit", "q8", "q80"), "int8"),
    **dict.fromkeys(("nvfp4", "mxfp4"), "fp4"),
    **dict.fromkeys(("4bit", "nf4", "q4", "q40", "q4km", "awq", "gptq"), "int4"),
}
"""Other names of formats, without case and signs: q4_k_m has 4.85 bits, q8_0 8.5, int4 here 4.5."""

OBJECTIVES = ("cost", "carbon", "speed", "throughput", "hourly")

MACHINES = ("accelerators", "cpus", "all")
"""Machines that are ranked: those with accelerators, those to rent without any, or both."""

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


PRICES = "Prices and budgets"


def flag(text: str, default: Any = None, panel: str = "Question", **shown: Any) -> Any:
    """Make a field that is an option of the command line too: ``text`` is its help.

    ``panel``: where it is listed; ``shown``: its flags and type if they are not the field's.
    """
    return field(default=default, metadata={"panel": panel, "help": text, **shown})


@dataclass(frozen=True)
class Limits:
    """What an answer must keep to. None: no limit."""

    budget: float | None = flag(
        "USD an hour, or for a training all of it: 20; for 730 hours: 600/month; to buy a machine:"
        " '5000 to buy'. May be repeated.",
        type=list[str],
        panel=PRICES,
    )
    budget_per_month: float | None = None
    """USD for 730 hours of a machine to rent, or for a job that takes less."""
    budget_to_buy: float | None = None
    """USD that a machine may cost to buy."""
    where: str | None = flag("cloud (to rent) or local (to buy); without it both.", panel=PRICES)
    machines: str = flag(
        "accelerators (the default), cpus (to rent, without any) or all.",
        "accelerators",
        panel=PRICES,
    )
    words: str = ""
    """Accelerators, clouds and places as ``find`` reads them: "h100 aws europe". Regions for
    governments and community hosts are ranked only where words or region name them."""
    provider: str | None = None
    """Clouds by id or name; several with commas, as in the next two."""
    region: str | None = None
    """Regions, or directions such as us-east."""
    country: str | None = None
    """Countries by code or English name."""
    objective: str = flag(
        "Rank by cost (per million tokens, or of the training; the default), carbon (the same),"
        " speed (of one user), throughput (of all users) or hourly (USD an hour).",
        "cost",
    )
    option: str = flag(
        "on_demand (the default), spot, commit_1y, commit_3y, block (a reservation of days) or"
        " any.",
        "on_demand",
        flags="--option --purchase-option",
        panel=PRICES,
    )
    usd_per: Mapping[str, Decimal | str | float] = field(default_factory=lambda: ECB_RATES)
    """Exchange rates of prices to rent, such as {"EUR": "1.08"}; those of machines to buy are in
    Ownership."""
    overlays: "str | Path | Overlays | None" = None
    """Own discounts: a file of rules, or what ``overlays.rules.load`` gave; None for list prices.
    """

    def __post_init__(self) -> None:
        read_rates(self.usd_per)  # refuses what is not a rate

    @property
    def rates(self) -> Rates:
        """The exchange rates of ``usd_per`` as Decimals, by currency code."""
        return read_rates(self.usd_per)

    def names(self, word: str) -> bool:
        """Return whether a word is among the requested regions."""
        return word in re.split(r"[^a-z]+", f"{self.words} {self.region or ''}".lower())

    def check(self) -> None:
        """Raise HwpricesError for a limit that is out of range."""
        for what, value, allowed in (
            ("objective", self.objective, OBJECTIVES),
            ("machines", self.machines, MACHINES),
            ("option", self.option, tuple(OPTIONS)),
            ("place", self.where or "cloud", ("cloud", "local")),
        ):
            _choose(what, value, allowed)
        if self.where == "local" and self.machines == "cpus":
            raise HwpricesError(
                "no machine to buy without an accelerator was measured",
                "Ask for machines to rent, or for those with accelerators.",
            )
        budgets = (self.budget, self.budget_per_month, self.budget_to_buy)
        if any(budget is not None and not budget > 0 for budget in budgets):
            raise HwpricesError("a budget is above 0 USD", "Correct it, or leave it out.")


@dataclass(frozen=True)
class Serving:
    """How a model is served. None: the default."""

    input_tokens: float | None = flag("Tokens of a prompt.", flags="--input", panel="Serving")
    output_tokens: float | None = flag("Tokens of an answer.", flags="--output", panel="Serving")
    concurrency: float | None = flag(
        "Users served together. Without it: as many as a machine holds. Below 8, speeds are based"
        " on measurements of one user in place of full machines.",
        flags="--concurrency --users",
        panel="Serving",
    )
    requests_per_second: float | None = flag(
        "Requests that arrive in a second: machines are counted for these, and costs per million"
        " tokens are of their tokens, not of all that the machines could do.",
        panel="Serving",
    )
    min_tokens_per_second: float | None = flag(
        "Tokens/s that each user must get, at least. Without it: 20; for one user any.",
        panel="Serving",
    )
    max_seconds_to_first_token: float | None = flag(
        "Seconds in which an answer must begin on a free machine. Without it: 2; for one user any.",
        panel="Serving",
    )


@dataclass(frozen=True)
class Question:
    """A question to ``recommend``. None: the default of the workload."""

    model_parameters: float | str
    """A name (llama-3.1-70b, sdxl, whisper), or a number: 70e9, "70B"."""
    workload: str = flag(
        "inference (a service, the default), batch (answers until a deadline), lora, full_finetune"
        " or pretrain.",
        "inference",
    )
    precision: str | None = flag(
        "Number format of the stored weights: bf16, fp8, int8, fp4, int4 (or its other names: 4bit,"
        " nf4, q4_k_m). A device without that format computes in 16 bits. Without it 8 bits, or 4"
        " where the model is published in 4; training and embeddings: bf16."
    )
    context: int | None = flag("Tokens of a sequence, prompt and answer together.")
    tokens: float | None = flag("Tokens to train on, or for a batch to generate.", panel="Training")
    days: float | None = flag(
        "Deadline, which sets the number of machines. Without it: 30, of a batch 1.",
        panel="Training",
    )
    max_nodes: int | None = flag("Most machines that share one model.")
    speeds: str | None = flag(
        "A file with an answer of InferenceX, whose runs correct estimates first; not yet tried"
        " with a live answer."
    )
    active_parameters: str | float | None = flag(
        "Parameters that compute one token, of a mixture of experts given by its size: 671B"
        " --active-parameters 37B."
    )
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
            if values[1:] or named:
                raise HwpricesError(
                    "options are given beside a Question", "Put them into the Question."
                )
            return values[0]
        parts: dict[str, Any] = {"serving": Serving, "limits": Limits}
        names = {kind: {one.name for one in fields(kind)} for kind in (cls, *parts.values())}
        known = sorted(set().union(*names.values()))
        for name in (name for name in named if name not in known):
            listed = did_you_mean(name, known) or f"There are: {', '.join(known)}."
            raise HwpricesError(f"unknown option {name!r}", listed)
        for part, kind in parts.items():
            own = {name: named.pop(name) for name in [*named] if name in names[kind]}
            whole = named.get(part) or kind()
            for name, value in own.items():
                if (given := getattr(whole, name)) not in (getattr(kind(), name), value):
                    text = f"{name} is {value}, and {given} in {part}"
                    raise HwpricesError(text, "Give one of them.")
            named[part] = replace(whole, **own)
        return cls(*values, **named)

    def changed(self) -> list[str]:
        """List the fields of the question and its serving that are not the default."""
        usual = vars(Question(self.model_parameters)) | vars(Serving())
        given = vars(self) | vars(self.serving)
        return [n for n in given if n not in ("serving", "limits") and given[n] != usual[n]]

    def check(self) -> None:
        """Raise HwpricesError for a value that is out of range or of another workload."""
        _choose("workload", self.workload, WORKLOADS)
        self.limits.check()
        changed = self.changed()
        foreign = ["speeds", *vars(self.serving)] if self.is_training else ["tokens", "days"]
        wrong = [name for name in changed if name in foreign and self.workload != "batch"]
        if wrong:
            raise HwpricesError(
                f"{', '.join(wrong).replace('_', ' ')}: not for the workload {self.workload}",
                "Leave it out, or choose another workload.",
            )
        for one, other in (("concurrency", "requests_per_second"), ("context", "input_tokens")):
            if {one, other} <= {*changed}:
                text = f"{one} and {other.replace('_', ' ')} say the same thing"
                raise HwpricesError(text, "Give one of them.")
        own = (self.context, self.tokens, self.days, self.max_nodes)
        quantities = (*own, *vars(self.serving).values())
        if not all(value is None or 0 < value < math.inf for value in quantities):
            raise HwpricesError(
                "lengths, tokens, users, speeds, days and machines are above 0 and finite",
                "Correct the value.",
            )
        if self.stored in STORAGE_FORMATS and self.workload in ("pretrain", "full_finetune"):
            raise HwpricesError(
                f"{self.workload} in {self.stored} is not computed here",
                "Choose bf16, fp16, fp8 or fp32, or workload lora.",
            )

    @property
    def stored(self) -> str | None:
        """The format of the weights by its name here; HwpricesError if there is no such format."""
        if self.precision is None:
            return None
        squeezed = re.sub(r"[^a-z0-9]+", "", self.precision.lower())
        precision = PRECISION_NAMES.get(squeezed, squeezed)
        _choose("precision", precision, language_model.PRECISIONS)
        return precision


def _choose(what: str, value: Any, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise HwpricesError(f"unknown {what} {value!r}", f"Choose one of {', '.join(allowed)}.")


MAX_NODES = {"pretrain": 2048, "full_finetune": 32, "lora": 4, "inference": 1, "batch": 1}
"""Most machines that share one model by default. Llama 3.1 405B was trained on 2,048 machines of 8.
Serving one model from several machines is possible and slow, so it must be requested."""

INPUT_TOKENS, OUTPUT_TOKENS = 1024.0, 256.0
"""Of a request, for every model: near the means of 1,155 and 211 tokens of Azure's conversations,
https://github.com/Azure/AzurePublicDataset/blob/master/AzureLLMInferenceDataset2023.md"""

TOKENS_PER_SECOND = 20.0
"""Default for each user: what buyers of a chat service ask for, four times reading speed (240
words a minute, Brysbaert 2019, https://doi.org/10.1016/j.jml.2019.104047)."""

SECONDS_TO_FIRST_TOKEN = 2.0
"""Default: MLPerf Inference's limit for Llama 2 70B under Server,
https://github.com/mlcommons/inference_policies/blob/master/inference_rules.adoc"""

FINE_TUNING_TOKENS = 1e8  # by default: about 100,000 examples of 1,000 tokens

BATCH_TOKENS = 1e9  # by default: four million answers of OUTPUT_TOKENS

TOKENS_PER_PARAMETER = 20
"""Compute-optimal pre-training. Hoffmann et al., Chinchilla, https://arxiv.org/abs/2203.15556"""

BATCH_DAYS, TRAINING_DAYS = 1.0, 30.0  # deadlines by default

TRAINING_CONTEXT = 4096  # tokens of a sequence by default


@dataclass(frozen=True)
class Job:
    """A question with its defaults filled in."""

    question: Question
    model: ModelShape
    precision: str | None  # stored; None: 8 bits as the device computes them, or 4 if released so
    context: int
    input_tokens: float
    output_tokens: float
    users: float | None  # together; None: as many as a machine holds
    min_per_user: float  # tokens/s
    max_first_token: float | None  # seconds
    tokens: float | None  # to train on or to generate; None for a service
    days: float | None
    max_nodes: int
    speed_model: SpeedModel | None = None  # None: that of the sheets

    @property
    def is_training(self) -> bool:
        """Whether the model is trained; if not, it generates."""
        return self.question.is_training

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
        requests = self.question.serving.requests_per_second
        return None if requests is None else requests * self.counted_tokens


def make_job(question: Question) -> Job:
    """Check a question and fill in its defaults.

    Raises:
        HwpricesError: a value is out of range; the line says which, and what is allowed.
    """
    question.check()
    model = model_shape(question.model_parameters, question.active_parameters)
    serving, name, training = question.serving, question.workload, question.is_training
    output_tokens = serving.output_tokens or OUTPUT_TOKENS
    input_tokens = serving.input_tokens or INPUT_TOKENS
    context = question.context or int(input_tokens + output_tokens)
    if training and question.context is None:
        context = min(TRAINING_CONTEXT, model.context_limit or TRAINING_CONTEXT)
    elif question.context and not training:
        output_tokens = serving.output_tokens or min(OUTPUT_TOKENS, max(1.0, context / 2))
        input_tokens = max(1.0, context - output_tokens)
        if context <= (serving.output_tokens or 0):
            raise HwpricesError(
                f"{output_tokens:,.10g} tokens of output do not fit a context of {context:,} with a"
                " prompt",
                "Give a longer context, or leave it out.",
            )
    if model.embeds and not training:  # the answer is one vector, which takes the time of a token
        if serving.output_tokens:
            raise HwpricesError(f"{model.name} makes embeddings, not text", "Leave the output out.")
        input_tokens, output_tokens = float(question.context or input_tokens), 1.0
        context = int(input_tokens)
    limit = model.context_limit
    if limit is not None and context > limit:
        raise HwpricesError(
            f"{model.name} reads at most {limit:,} tokens, not {context:,}",
            "Give shorter requests, or a model with a longer context.",
        )
    users = serving.concurrency
    if name == "inference" and question.limits.objective == "speed" and not users:
        users = 1.0 if serving.requests_per_second is None else None
    served = name == "inference" and users != 1 and not model.embeds
    tokens = {"inference": None, "batch": BATCH_TOKENS}.get(name, FINE_TUNING_TOKENS)
    if name == "pretrain":
        tokens = TOKENS_PER_PARAMETER * model.active_parameters
    days = BATCH_DAYS if name == "batch" else TRAINING_DAYS
    return Job(
        question=question,
        model=model,
        precision=question.stored or ("bf16" if training or model.embeds else None),
        context=context,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        users=users,
        min_per_user=serving.min_tokens_per_second or (TOKENS_PER_SECOND if served else 0.0),
        max_first_token=serving.max_seconds_to_first_token
        or (SECONDS_TO_FIRST_TOKEN if served else None),
        tokens=question.tokens or tokens,
        days=None if name == "inference" else question.days or days,
        max_nodes=question.max_nodes or MAX_NODES[name],
        speed_model=with_speeds(question.speeds) if question.speeds else None,
    )


def assumptions(job: Job) -> str:
    """Describe in one line what the answer assumes beyond the question."""
    model, serving, wanted = job.model, not job.is_training, job.requested_tokens_per_second
    output, counted = (
        ("", "input") if model.embeds else (f" and {job.output_tokens:,.10g} out", "output")
    )
    bits = "4-bit weights as released" if model.released_format else "8-bit weights"
    twin = look_alike(model) if model.ffn else None
    hint = f" (for the mixture of experts of that size ask for {twin})" if twin else ""
    kind = "dense model" if model.ffn else "mixture of experts"
    runs = job.speed_model.runs if job.speed_model else ""
    parts = {
        f"{job.input_tokens:,.10g} tokens in{output}": serving,
        f"{wanted or 0:,.10g} tokens/s of {counted}, which costs are divided by": wanted,
        f"at least {job.min_per_user:g} tok/s per user": job.min_per_user,
        f"first token within {job.max_first_token or 0:g} s": job.max_first_token,
        bits: job.precision is None,
        f"speeds of {job.question.speeds} first, {NOT_RUN}, {runs}": runs,
        f"embeddings: never measured; modeled on prompts, in {job.precision}, with the range of"
        " 90 %": serving and model.embeds,
        f"{short(job.tokens or 0)} tokens in {job.days or 0:g} days": job.has_end,
        f"sequences of {job.context:,}, {job.precision}, adam": job.is_training,
        f"{job.question.limits.option.replace('_', ' ')} prices": True,
        f"a {kind} with the proportions of Llama 3{hint}": model.basis == "estimate",
    }
    return "; ".join(text for text, holds in parts.items() if holds)


def short(number: float) -> str:
    """Write a large number with three digits: 100M, 1.5B, 2T."""
    for unit, size in (("T", 1e12), ("B", 1e9), ("M", 1e6)):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:,.3g}"
