"""A question to ``recommend``: a language model, how it is to be used, and what it may cost."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hwprices.errors import HwpricesError
from hwprices.formulas import language_model
from hwprices.read.currency import Rates, read_rates

if TYPE_CHECKING:
    from hwprices.read.overlays.rules import Overlays

WORKLOADS = ("inference", "batch", "lora", "full_finetune", "pretrain")

STORAGE_FORMATS = ("int4", "int8", "fp4")
"""Formats in which a whole model is not trained."""

PRECISION_NAMES = {
    "float32": "fp32",
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "float8": "fp8",
    **dict.fromkeys(("8bit", "q8", "q80"), "int8"),
    **dict.fromkeys(("nvfp4", "mxfp4"), "fp4"),
    **dict.fromkeys(("4bit", "nf4", "q4", "q40", "q4km", "awq", "gptq"), "int4"),
}
"""Other names of formats, without case and signs: q4_k_m has 4.85 bits, q8_0 8.5, int4 here 4.5."""

OBJECTIVES = ("cost", "carbon", "speed", "throughput", "hourly")
PLACES = ("cloud", "local")
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


@dataclass(frozen=True)
class Limits:
    """What an answer must keep to. None: no limit."""

    budget: float | None = None
    """USD: of the whole job for a training or batch, of one hour for inference."""
    budget_per_month: float | None = None
    """USD for 730 hours of a machine to rent, or for a job that takes less."""
    budget_to_buy: float | None = None
    """USD that a machine may cost to buy."""
    where: str | None = None
    """cloud (to rent) or local (to buy); None: both."""
    machines: str = "accelerators"
    """Which machines are ranked: one of MACHINES."""
    accelerator: str | None = None
    """Accelerators by name (h100, mi300x); several with commas. CPUs alone are left out then."""
    provider: str | None = None
    """Clouds by id or name; several with commas, as in the next two."""
    region: str | None = None
    """Regions, or directions such as us-east. Regions for governments must be named."""
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

    def check(self) -> None:
        """Raise HwpricesError for a limit that is out of range."""
        _choose("objective", self.objective, OBJECTIVES)
        _choose("machines", self.machines, MACHINES)
        _choose("option", self.option, tuple(OPTIONS))
        if self.where is not None:
            _choose("place", self.where, PLACES)
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

    input_tokens: float | None = None
    """Tokens of a prompt."""
    output_tokens: float | None = None
    """Tokens of an answer."""
    concurrency: float | None = None
    """Users served together; None: as many as a machine holds."""
    requests_per_second: float | None = None
    """Requests that arrive in a second: machines are counted for these."""
    min_tokens_per_second: float | None = None
    """Tokens/s that each user must get; None: 20, for one user any."""
    max_seconds_to_first_token: float | None = None
    """In which an answer must begin on a free machine; None: 2, for one user any."""
    kv_precision: str | None = None
    """Number format of the cache, fp8 or fp16; None: fp8 where the device computes in 8 bits."""

    def check(self) -> None:
        """Raise HwpricesError if a demand is out of range."""
        numbers = [value for name, value in vars(self).items() if name != "kv_precision"]
        if any(value is not None and not 0 < value < math.inf for value in numbers):
            raise HwpricesError(
                "lengths, concurrency, requests and speeds are above 0 and finite",
                "Correct the value.",
            )
        if self.concurrency is not None and self.requests_per_second is not None:
            raise HwpricesError(
                "concurrency and requests per second say the same thing", "Give one of them."
            )
        if self.kv_precision is not None:
            _choose("cache format", self.kv_precision, ("fp8", "fp16"))


OF_TRAINING = ("mfu", "optimizer", "checkpointing")
"""Fields of a question that belong to trainings alone."""


@dataclass(frozen=True)
class Question:
    """A question to ``recommend``. None: the default of the workload."""

    model_parameters: float | str
    """A name (llama-3.1-70b, sdxl, whisper), or a number: 70e9, "70B"."""
    workload: str = "inference"
    """inference (a service), batch (answers until a deadline), lora, full_finetune or pretrain."""
    precision: str | None = None
    """Number format of the stored weights, such as bf16, fp8, int4."""
    context: int | None = None
    """Tokens of a sequence, prompt and answer together."""
    batch: int | None = None
    """Sequences together: on each device in training, in total for inference."""
    tokens: float | None = None
    """Tokens to train on, or for a batch to generate."""
    days: float | None = None
    """Deadline of a training or batch, which sets the number of machines."""
    max_nodes: int | None = None
    """Most machines that share one model."""
    mfu: float | None = None
    """Share of the peak rate that training reaches, 0 to 1."""
    optimizer: str = "adam"
    """adam, adam8bit or sgd."""
    checkpointing: bool = True
    """Compute activations again instead of keeping them all."""
    active_parameters: float | str | None = None
    """Parameters that compute one token, of a mixture of experts given by its number."""
    serving: Serving = field(default_factory=Serving)
    limits: Limits = field(default_factory=Limits)

    def changed(self) -> list[str]:
        """List the fields, but serving and limits, that are not the default."""
        usual = Question(self.model_parameters)
        names = [name for name in vars(self) if name not in ("serving", "limits")]
        return [name for name in names if getattr(self, name) != getattr(usual, name)]

    def check(self) -> None:
        """Raise HwpricesError for a value that is out of range or of another workload."""
        _choose("workload", self.workload, WORKLOADS)
        self.serving.check()
        self.limits.check()
        of_serving = [name for name, value in vars(self.serving).items() if value is not None]
        foreign = {
            "inference": [n for n in self.changed() if n in (*OF_TRAINING, "tokens", "days")],
            "batch": [n for n in self.changed() if n in OF_TRAINING],
        }.get(self.workload, of_serving)
        if foreign:
            raise HwpricesError(
                f"{', '.join(foreign).replace('_', ' ')}: not for the workload {self.workload}",
                "Leave it out, or choose another workload.",
            )
        if self.batch and self.serving.concurrency and self.workload in ("inference", "batch"):
            raise HwpricesError(
                "for inference batch and concurrency say the same thing", "Give one of them."
            )
        quantities = (self.context, self.batch, self.tokens, self.days, self.max_nodes, self.mfu)
        positive = all(value is None or 0 < value < math.inf for value in quantities)
        if not positive or (self.mfu or 0) > 1:
            raise HwpricesError(
                "context, batch, tokens and days are above 0 and finite, mfu above 0 and at most 1",
                "Correct the value.",
            )
        _choose("optimizer", self.optimizer, tuple(language_model.OPTIMIZER_BYTES))
        if self.stored in STORAGE_FORMATS and self.workload in ("pretrain", "full_finetune"):
            raise HwpricesError(
                f"{self.workload} in {self.stored} is not computed here",
                "Choose bf16, fp16, fp8 or fp32, or workload lora.",
            )

    @property
    def stored(self) -> str | None:
        """The format of the weights by its name here.

        Raises:
            HwpricesError: there is no such format.
        """
        if self.precision is None:
            return None
        squeezed = re.sub(r"[^a-z0-9]+", "", self.precision.lower())
        precision = PRECISION_NAMES.get(squeezed, squeezed)
        _choose("precision", precision, language_model.PRECISIONS)
        return precision


def _choose(what: str, value: Any, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise HwpricesError(f"unknown {what} {value!r}", f"Choose one of {', '.join(allowed)}.")
