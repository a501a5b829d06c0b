"""A question to ``recommend``: the model, how it is used, what it may cost."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Any, Final

from hwprices.errors import HwpricesError, did_you_mean
from hwprices.read.currency import ECB_RATES, Rates, read_rates
from hwprices.read.overlays.rules import Discounts
from hwprices.read.recommend import table
from hwprices.read.recommend.model_shape import stored_as
from hwprices.read.recommend.speed import FORMATS

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


@dataclass(frozen=True)
class Question:
    """A question to ``recommend``. None: no limit, or the default of the workload (workloads.csv).

    Options are described in options.csv.
    """

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
    input_tokens: float | None = None
    output_tokens: float | None = None
    concurrency: float | None = None
    requests_per_second: float | None = None
    min_tokens_per_second: float | None = None
    max_seconds_to_first_token: float | None = None
    budget: float | None = None
    budget_per_month: float | None = None  # USD for 730 hours to rent, or for a shorter job
    budget_to_buy: float | None = None  # USD that a machine may cost to buy
    where: str | None = None
    machines: str = "accelerators"
    words: str = ""
    """Accelerators, clouds and places as ``find`` reads them: "h100 aws europe". Regions for
    governments and community hosts are ranked only where words or region name them."""
    # as in ``find``: a name, several with commas, or a list
    accelerator: str | Sequence[str] | None = None
    provider: str | Sequence[str] | None = None
    region: str | Sequence[str] | None = None
    country: str | Sequence[str] | None = None
    objective: str = "cost"
    option: str = "on_demand"
    usd_per: Mapping[str, Decimal | str | float] = field(default_factory=lambda: ECB_RATES)
    """Exchange rates of prices to rent, such as {"EUR": "1.08"}; those of machines to buy are in
    Ownership."""
    overlays: Discounts = None
    """Own discounts: a file of rules, or what ``overlays.rules.load`` gave."""

    @property
    def is_training(self) -> bool:
        """Whether the model is trained; if not, it generates."""
        return self.workload not in ("inference", "batch")

    @property
    def has_end(self) -> bool:
        """Whether the job ends: a training or a batch."""
        return self.workload != "inference"

    @property
    def rates(self) -> Rates:
        """The exchange rates of ``usd_per`` as Decimals, by currency code."""
        return read_rates(self.usd_per)

    @classmethod
    def of(cls, *values: Any, **named: Any) -> "Question":
        """Return the question given, or make one of its fields.

        Raises:
            HwpricesError: there is no such field.
        """
        if values and isinstance(values[0], Question):
            beside = "Put them into the Question."
            refuse(values[1:] or named, "options are given beside a Question", beside)
            return values[0]
        known = sorted(one.name for one in fields(cls))
        for name in (name for name in named if name not in known):
            listed = did_you_mean(name, known) or f"There are: {', '.join(known)}."
            raise HwpricesError(f"unknown option {name!r}", listed)
        return cls(*values, **named)

    def changed(self) -> dict[str, Any]:
        """Return the fields that are not the default, of those that options.csv describes."""
        usual = vars(Question(self.model_parameters))
        return {n: value for n, value in vars(self).items() if n in ABOUT and value != usual[n]}

    def check(self) -> None:
        """Raise HwpricesError for a value that is out of range or of another workload."""
        changed = self.changed()
        for name, value in changed.items():
            if ABOUT[name]["allowed"] and name != "precision":  # which has other names too
                _choose(name, value)
        text = "no machine to buy without an accelerator was measured"
        advice = "Ask for machines to rent, or for those with accelerators."
        refuse(self.where == "local" and self.machines == "cpus", text, advice)
        takers = {name: ABOUT[name]["workloads"] or self.workload for name in changed}
        wrong = [name for name, of in takers.items() if self.workload not in of.split(";")]
        text = f"{', '.join(wrong).replace('_', ' ')}: not for the workload {self.workload}"
        refuse(wrong, text, "Leave it out, or choose another workload.")
        for one, other in (("concurrency", "requests_per_second"), ("context", "input_tokens")):
            twice = f"{one} and {other.replace('_', ' ')} say the same thing"
            refuse({one, other} <= {*changed}, twice, "Give one of them.")
        amounts = {name: value for name, value in changed.items() if ABOUT[name]["positive"]}
        budgets = {n: value for n, value in vars(self).items() if n.startswith("budget_")}
        for name, value in (amounts | budgets).items():
            text = f"{name.replace('_', ' ')} is {value}, not above 0 and finite"
            is_amount = value is None or 0 < value < math.inf
            refuse(not is_amount, text, "Correct it, or leave it out.")
        if self.stored and self.workload in ("pretrain", "full_finetune"):
            text = f"{self.workload} in {self.stored} is not computed here"
            advice = "Choose bf16, fp16, fp8 or fp32, or workload lora."
            refuse(not FORMATS[self.stored]["trained"], text, advice)

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


def refuse(wrong: object, text: str, advice: str) -> None:
    """Raise HwpricesError if ``wrong`` is true."""
    if wrong:
        raise HwpricesError(text, advice)


def _choose(name: str, value: str | None) -> None:
    allowed = ABOUT[name]["allowed"].split(";")
    text = f"unknown {'place' if name == 'where' else name} {value!r}"
    refuse(value not in (None, *allowed), text, f"Choose one of {', '.join(allowed)}.")
