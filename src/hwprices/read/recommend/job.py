"""Describe a job: a language model, how it is to be trained or served, and what it may cost."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hwprices.errors import HwpricesError
from hwprices.formulas import language_model
from hwprices.formulas.language_model import WORKLOADS, Memory, ModelShape, Workload
from hwprices.read.currency import Rates, read_rates
from hwprices.read.recommend import measurements
from hwprices.read.recommend.model_shape import model_shape

if TYPE_CHECKING:
    from hwprices.read.overlays.rules import Overlays

MAX_NODES: dict[Workload, int] = {
    "pretrain": 2048,
    "full_finetune": 32,
    "lora": 4,
    "inference": 1,
}
"""Most machines used together by default. Llama 3.1 405B was trained on 2,048 machines of 8.
Serving one model from several machines is possible and slow, so it must be requested."""

INPUT_TOKENS, OUTPUT_TOKENS = 512, 256
"""Of a request, where neither the question nor a benchmark of the model says: a question with some
context, and an answer of a paragraph or two."""

FINE_TUNING_TOKENS = 1e8  # by default: about 100,000 examples of 1,000 tokens

TOKENS_PER_PARAMETER = 20
"""Compute-optimal pre-training. Hoffmann et al., Chinchilla, https://arxiv.org/abs/2203.15556"""

TRAINING_DAYS = 30  # deadline by default

TRAINING_CONTEXT = 4096  # tokens of a sequence by default

STORAGE_FORMATS = ("int4", "int8", "fp4")
"""Formats in which a whole model is not trained."""

PRECISION_NAMES = {
    "float32": "fp32",
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "float8": "fp8",
    "8bit": "int8",
    "q8": "int8",
    "q80": "int8",
    "nvfp4": "fp4",
    "mxfp4": "fp4",
    "4bit": "int4",
    "nf4": "int4",
    "q4": "int4",
    "q40": "int4",
    "q4km": "int4",
    "awq": "int4",
    "gptq": "int4",
}
"""Other names of formats, without case and signs: q4_k_m has 4.85 bits, q8_0 8.5, int4 here 4.5."""

SERVED_FORMAT = "fp8"
"""Default weights of a served model: 8 bits lose next to nothing, and computing is
in 16 bits where the device has no FP8."""

READING_SPEED = 5.0
"""Default tokens/s for each user: nobody waits for a text that comes faster than it
is read, 240 words a minute (Brysbaert 2019, https://doi.org/10.1016/j.jml.2019.104047)."""

OBJECTIVES = ("cost", "carbon", "speed", "throughput", "hourly")
PLACES = ("cloud", "local")
MACHINES = ("accelerators", "cpus", "all")
"""Machines that are ranked: those with accelerators, those to rent without any, or both."""

OPTIONS: Final = {
    "on_demand": ("on_demand",),
    "spot": ("spot",),
    "commit_1y": ("best_1y",),
    "commit_3y": ("best_3y",),
    "block": ("capacity_block", "dws_calendar", "dws_flex_start", "dws_defined_duration"),
    "any": (
        "on_demand",
        "spot",
        "best_1y",
        "best_3y",
        "capacity_block",
        "dws_calendar",
        "dws_flex_start",
        "dws_defined_duration",
    ),
}
"""Name of an option: columns of offers, without the ending _usd_per_hour. The cheapest counts."""


@dataclass(frozen=True)
class Limits:
    """What an answer must keep to. None: no limit."""

    budget: float | None = None
    """USD: of the whole job for a training, of one hour for inference."""
    budget_per_month: float | None = None
    """USD for 730 hours of a machine to rent, or for a training that takes less."""
    budget_to_buy: float | None = None
    """USD that a machine may cost to buy."""
    where: str | None = None
    """cloud (to rent) or local (to buy); None: both."""
    machines: str = "accelerators"
    """Which machines are ranked: one of MACHINES."""
    provider: str | None = None
    """Clouds by id or name; several with commas, as in the next two."""
    region: str | None = None
    """Regions, or directions such as us-east."""
    country: str | None = None
    """Countries by code or English name."""
    option: str = "on_demand"
    """How rented machines are bought: one of OPTIONS."""
    objective: str = "cost"
    """What machines are ranked by: one of OBJECTIVES."""
    community: bool = False
    """Whether community hosts are ranked with the others (see private_hosts)."""
    usd_per: Mapping[str, Decimal | str | float] = field(default_factory=dict)
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


@dataclass(frozen=True)
class Serving:
    """How a model is served. None: not asked."""

    input_tokens: float | None = None
    """Tokens of a prompt."""
    output_tokens: float | None = None
    """Tokens of an answer."""
    concurrency: float | None = None
    """Users served at once; None: as many as a machine holds."""
    requests_per_second: float | None = None
    """Requests that arrive in a second: machines are counted for these."""
    min_tokens_per_second: float | None = None
    """Tokens/s that each user must get; None: READING_SPEED."""
    max_seconds_to_first_token: float | None = None
    """In which an answer must begin on a free machine."""
    kv_precision: str | None = None
    """Number format of the cache, fp8 or fp16; None: fp8 where weights and device have 8 bits."""


OF_TRAINING = ("tokens", "days", "mfu", "optimizer", "checkpointing")
"""Fields of a question that belong to trainings alone."""


@dataclass(frozen=True)
class Question:
    """What is asked of ``recommend``. None: the default of the workload."""

    model_parameters: float | str
    """A name (llama-3.1-70b, sdxl, whisper), or a number: 70e9, "70B"."""
    workload: str = "inference"
    """inference, lora, full_finetune or pretrain."""
    precision: str | None = None
    """Number format of the stored weights, such as bf16, fp8, int4."""
    context: int | None = None
    """Tokens of a sequence, prompt and answer together."""
    batch: int | None = None
    """Sequences at once: on each device in training, in total for inference."""
    tokens: float | None = None
    """Tokens to train on."""
    days: float | None = None
    """Deadline of a training, which sets the number of machines."""
    max_nodes: int | None = None
    """Most machines that share one model."""
    mfu: float | None = None
    """Share of the peak rate that training reaches, 0 to 1."""
    optimizer: str = "adam"
    """adam, adam8bit or sgd."""
    checkpointing: bool = True
    """Compute activations again instead of keeping them all."""
    serving: Serving = field(default_factory=Serving)
    limits: Limits = field(default_factory=Limits)

    def changed(self) -> list[str]:
        """List the fields, but serving and limits, that are not the default."""
        usual = Question(self.model_parameters)
        names = [name for name in vars(self) if name not in ("serving", "limits")]
        return [name for name in names if getattr(self, name) != getattr(usual, name)]


@dataclass(frozen=True)
class Training:
    """How a model is trained."""

    tokens: float
    days: float | None
    batch: int = 1
    """Sequences at once on a device."""
    optimizer: str = "adam"
    checkpointing: bool = True
    mfu: float | None = None
    """Share of the peak rate; None: by fabric."""


@dataclass(frozen=True)
class Job:
    """A job with its defaults filled in."""

    model: ModelShape
    workload: Workload
    precision: str | None
    """Stored weights; None: as measured, else as released in 4 bits, else SERVED_FORMAT."""
    context: int
    """Tokens of a sequence."""
    max_nodes: int
    serving: Serving
    training: Training | None
    limits: Limits
    input_tokens: float
    output_tokens: float
    lengths_from: str | None
    """Benchmark of the model that the lengths are of; None if they are requested or assumed."""

    @property
    def is_training(self) -> bool:
        """Whether the model is trained; if not, it is served."""
        return self.training is not None

    @property
    def is_vague(self) -> bool:
        """Whether the question names the model alone: then a measurement of it is the answer."""
        return self.serving == Serving() and self.precision is None and self.max_nodes == 1

    @property
    def asked_tokens_per_second(self) -> float | None:
        """Tokens/s that the requests generate; None without requests per second."""
        requests = self.serving.requests_per_second
        return None if requests is None else requests * self.output_tokens

    def memory(self, precision: str) -> Memory:
        """Return the bytes that a training needs."""
        training = self.training or Training(1, None)
        return language_model.memory(
            self.model,
            self.workload,
            precision,
            self.context,
            training.batch,
            optimizer=training.optimizer,
            checkpointing=training.checkpointing,
        )

    @property
    def flops(self) -> float:
        """Operations of a training; 0 for inference."""
        if self.training is None:
            return 0.0
        return language_model.training_flops(
            self.model, self.workload, self.training.tokens, self.context
        )


def make_job(question: Question) -> Job:
    """Check the values and fill in the defaults.

    Pre-training: 20 tokens a parameter. Fine-tuning: 10^8 tokens. Both in 30 days. Inference:
    requests as long as those of a benchmark of the model, as many at once as a machine holds; one
    where the objective is the speed of one user.

    Raises:
        HwpricesError: a value is out of range; the line says which, and what is allowed.
    """
    checked = _workload(question.workload)
    precision = _precision(question.precision, checked)
    serving, context = question.serving, question.context
    _check_belongs(checked, question)
    if question.batch is not None and checked == "inference":
        if serving.concurrency is not None:
            raise HwpricesError(
                "for inference batch and concurrency say the same thing", "Give one of them."
            )
        serving = replace(serving, concurrency=question.batch)
    _check_quantities(question)
    _check_serving(serving)
    check_limits(question.limits)
    if checked == "inference" and question.limits.objective == "speed":
        serving = _of_one_user(serving)
    model = model_shape(question.model_parameters)
    training = None
    if checked != "inference":
        training = Training(
            tokens=question.tokens or _default_tokens(model, checked),
            days=question.days or TRAINING_DAYS,
            batch=question.batch or 1,
            optimizer=question.optimizer,
            checkpointing=question.checkpointing,
            mfu=question.mfu,
        )
    input_tokens, output_tokens, benchmark = _lengths(model, serving, context)
    length = context or (TRAINING_CONTEXT if training else int(input_tokens + output_tokens))
    if training and context is None and model.context_limit:
        length = min(length, model.context_limit)
    _check_context(model, length)
    if context is not None and training is None:
        serving = replace(serving, input_tokens=input_tokens)
    return Job(
        model=model,
        workload=checked,
        precision=precision or ("bf16" if training else None),
        context=length,
        max_nodes=question.max_nodes or MAX_NODES[checked],
        serving=serving,
        training=training,
        limits=question.limits,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        lengths_from=benchmark,
    )


def _lengths(
    model: ModelShape, serving: Serving, context: int | None
) -> tuple[float, float, str | None]:
    """Return input and output tokens: as asked, else those of a benchmark, else the usual ones.

    With a context, one length is what the other leaves of it; with neither, half of it is the
    output, at most the usual one.

    Raises:
        HwpricesError: the lengths that are requested do not fit the context.
    """
    if context is not None:
        return *_lengths_of(context, serving.input_tokens, serving.output_tokens), None
    benchmark = None
    usual = (float(INPUT_TOKENS), float(OUTPUT_TOKENS))
    if serving.input_tokens is None and serving.output_tokens is None:
        for name, workload in measurements.workloads().items():
            if workload.input_tokens > 1 and model_shape(workload.model_id).name == model.name:
                benchmark = name
                usual = (workload.input_tokens, workload.output_tokens)
                break
    return serving.input_tokens or usual[0], serving.output_tokens or usual[1], benchmark


def _lengths_of(
    context: int, asked_input: float | None, asked_output: float | None
) -> tuple[float, float]:
    """Return input and output tokens that fit a context.

    Raises:
        HwpricesError: those that are requested do not.
    """
    if asked_input is None and asked_output is None:
        output = min(float(OUTPUT_TOKENS), max(1.0, context / 2))
        return max(1.0, context - output), output
    given = [length for length in (asked_input, asked_output) if length is not None]
    rest = context - sum(given)
    if rest < 2 - len(given):  # at least one token for a length that is not given
        raise HwpricesError(
            f"{' and '.join(f'{length:,.10g}' for length in given)} tokens do not fit a context of"
            f" {context:,}" + ("" if len(given) == 2 else " with the other length"),
            "Give a longer context, or leave it out.",
        )
    return asked_input or rest, asked_output or rest


def _workload(name: str) -> Workload:
    """Check the name of a workload."""
    for workload in WORKLOADS:
        if workload == name:
            return workload
    raise HwpricesError(f"unknown workload {name!r}", f"Choose one of {', '.join(WORKLOADS)}.")


def _precision(asked: str | None, workload: Workload) -> str | None:
    """Return the format of the weights by its name here, and check that the workload can use it."""
    if asked is None:
        return None
    squeezed = re.sub(r"[^a-z0-9]+", "", asked.lower())
    precision = PRECISION_NAMES.get(squeezed, squeezed)
    if precision not in language_model.PRECISIONS:
        raise HwpricesError(
            f"unknown precision {asked!r}",
            f"Choose one of {', '.join(language_model.PRECISIONS)}.",
        )
    if precision in STORAGE_FORMATS and workload in ("pretrain", "full_finetune"):
        raise HwpricesError(
            f"{workload} in {precision} is not reckoned here",
            "Choose bf16, fp16, fp8 or fp32, or workload lora.",
        )
    return precision


def _check_belongs(workload: Workload, question: Question) -> None:
    """Raise HwpricesError for values of serving in a training, and of training in inference."""
    of_training = [name for name in question.changed() if name in OF_TRAINING]
    of_serving = [name for name, value in vars(question.serving).items() if value is not None]
    foreign = of_training if workload == "inference" else of_serving
    if foreign:
        names = ", ".join(foreign).replace("_", " ").replace("concurrency", "concurrency (users)")
        others = "trainings" if workload == "inference" else "inference"
        raise HwpricesError(
            f"{names}: only for {others}, and the workload is {workload}",
            "Leave it out, or choose another workload.",
        )


def _check_quantities(question: Question) -> None:
    """Raise HwpricesError if a quantity is out of range."""
    mfu, optimizer = question.mfu, question.optimizer
    quantities = (
        *(question.context, question.batch, question.tokens),
        *(question.days, question.max_nodes, mfu),
    )
    positive = all(value is None or 0 < value < math.inf for value in quantities)
    if not positive or (mfu or 0) > 1:
        raise HwpricesError(
            "context, batch, tokens and days are above 0 and finite, mfu above 0 and at most 1",
            "Correct the value.",
        )
    if optimizer not in language_model.OPTIMIZER_BYTES:
        raise HwpricesError(
            f"unknown optimizer {optimizer!r}",
            f"Choose one of {', '.join(language_model.OPTIMIZER_BYTES)}.",
        )


def _check_serving(serving: Serving) -> None:
    """Raise HwpricesError if a demand on serving is out of range."""
    numbers = [value for name, value in vars(serving).items() if name != "kv_precision"]
    if any(value is not None and not 0 < value < math.inf for value in numbers):
        raise HwpricesError(
            "lengths, concurrency, requests and speeds are above 0 and finite",
            "Correct the value.",
        )
    if serving.concurrency is not None and serving.requests_per_second is not None:
        raise HwpricesError(
            "concurrency and requests per second say the same thing", "Give one of them."
        )
    if serving.kv_precision not in (None, "fp8", "fp16"):
        raise HwpricesError(f"there is no cache in {serving.kv_precision!r}", "Choose fp8 or fp16.")


def _of_one_user(serving: Serving) -> Serving:
    """Serve one user, where the speed of one is ranked and nothing says how many there are."""
    if serving.requests_per_second is not None or serving.concurrency is not None:
        return serving
    return replace(serving, concurrency=1.0)


def check_limits(limits: Limits) -> None:
    """Raise HwpricesError for a limit that is out of range."""
    if limits.objective not in OBJECTIVES:
        raise HwpricesError(
            f"unknown objective {limits.objective!r}",
            f"Choose one of {', '.join(OBJECTIVES)}.",
        )
    if limits.where is not None and limits.where not in PLACES:
        raise HwpricesError(
            f"unknown place {limits.where!r}", "Choose cloud or local, or leave it out."
        )
    if limits.machines not in MACHINES:
        raise HwpricesError(
            f"unknown machines {limits.machines!r}", f"Choose one of {', '.join(MACHINES)}."
        )
    if limits.where == "local" and limits.machines == "cpus":
        raise HwpricesError(
            "no machine to buy without an accelerator was measured",
            "Ask for machines to rent, or for those with accelerators.",
        )
    if limits.option not in OPTIONS:
        raise HwpricesError(
            f"unknown option {limits.option!r}", f"Choose one of {', '.join(OPTIONS)}."
        )
    budgets = (limits.budget, limits.budget_per_month, limits.budget_to_buy)
    if any(budget is not None and not budget > 0 for budget in budgets):
        raise HwpricesError("a budget is above 0 USD", "Correct it, or leave it out.")


def _check_context(model: ModelShape, context: int) -> None:
    """Raise HwpricesError if sequences are longer than the model was trained for."""
    if model.context_limit is not None and context > model.context_limit:
        raise HwpricesError(
            f"{model.name} reads at most {model.context_limit:,} tokens, not {context:,}",
            "Give shorter requests, or a model with a longer context.",
        )


def _default_tokens(model: ModelShape, workload: Workload) -> float:
    if workload == "pretrain":
        return TOKENS_PER_PARAMETER * model.active_parameters
    return FINE_TUNING_TOKENS
