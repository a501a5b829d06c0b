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
    words: str = ""
    """Accelerators, clouds and places as ``find`` reads them: "h100 aws europe". Regions for
    governments and community hosts are ranked only where words or region name them."""
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

    def names(self, word: str) -> bool:
        """Return whether a word is among the requested regions."""
        return word in re.split(r"[^a-z]+", f"{self.words} {self.region or ''}".lower())

    def check(self) -> None:
        """Raise HwpricesError for a limit that is out of range."""
        _choose("objective", self.objective, OBJECTIVES)
        _choose("machines", self.machines, MACHINES)
        _choose("option", self.option, tuple(OPTIONS))
        _choose("place", self.where or "cloud", ("cloud", "local"))
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
    tokens: float | None = None
    """Tokens to train on, or for a batch to generate."""
    days: float | None = None
    """Deadline of a training or batch, which sets the number of machines."""
    max_nodes: int | None = None
    """Most machines that share one model."""
    active_parameters: float | str | None = None
    """Parameters that compute one token, of a mixture of experts given by its number."""
    serving: Serving = field(default_factory=Serving)
    limits: Limits = field(default_factory=Limits)

    @property
    def is_training(self) -> bool:
        """Whether the model is trained; if not, it generates."""
        return self.workload not in ("inference", "batch")

    def changed(self) -> list[str]:
        """List the fields of the question and its serving that are not the default."""
        usual = vars(Question(self.model_parameters)) | vars(Serving())
        given = vars(self) | vars(self.serving)
        return [n for n in given if n not in ("serving", "limits") and given[n] != usual[n]]

    def check(self) -> None:
        """Raise HwpricesError for a value that is out of range or of another workload."""
        _choose("workload", self.workload, WORKLOADS)
        self.limits.check()
        serving = self.serving
        foreign = [*vars(serving)] if self.is_training else ["tokens", "days"]
        foreign = [] if self.workload == "batch" else foreign
        if wrong := [name for name in self.changed() if name in foreign]:
            raise HwpricesError(
                f"{', '.join(wrong).replace('_', ' ')}: not for the workload {self.workload}",
                "Leave it out, or choose another workload.",
            )
        for one, other in (
            ("concurrency", "requests_per_second"),
            *([] if self.is_training else [("context", "input_tokens")]),
        ):
            if {one, other} <= set(self.changed()):
                raise HwpricesError(
                    f"{one} and {other.replace('_', ' ')} say the same thing", "Give one of them."
                )
        own = (self.context, self.tokens, self.days, self.max_nodes)
        quantities = (*own, *vars(serving).values())
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
