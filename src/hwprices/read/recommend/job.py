"""Describe a job: a language model, and how it is to be trained or served."""

from dataclasses import dataclass

from hwprices.errors import HwpricesError
from hwprices.formulas import language_model
from hwprices.formulas.language_model import WORKLOADS, Memory, Workload
from hwprices.formulas.language_model import ModelShape
from hwprices.read.recommend.model_shape import model_shape

MFU = 0.4
"""Model FLOPs utilisation: share of the peak rate that training reaches. 38-43 % on H100,
https://arxiv.org/abs/2407.21783 table 4; 43 % on A100 (Llama 2)."""

MAX_NODES: dict[Workload, int] = {
    "pretrain": 2048,
    "full_finetune": 32,
    "lora": 4,
    "inference": 1,
}
"""Most machines used together by default. Llama 3.1 405B was trained on 2,048 machines of 8.
Serving from several machines is possible and slow, so it must be asked for."""

SEQUENCES = 8  # served at once by default: the open conversations of a small team

FINE_TUNING_TOKENS = 1e8  # by default: about 100,000 examples of 1,000 tokens

TOKENS_PER_PARAMETER = 20
"""Compute-optimal pre-training. Hoffmann et al., Chinchilla, https://arxiv.org/abs/2203.15556"""

PRETRAINING_DAYS = 30  # by default

STORAGE_FORMATS = ("int4", "int8", "fp4")
"""Formats in which a whole model is not trained."""


@dataclass(frozen=True)
class Job:
    """A job with its defaults filled in."""

    model: ModelShape
    workload: Workload
    precision: str
    context: int
    """Tokens of a sequence."""
    batch: int
    """Sequences at once: per device in training, in all for inference."""
    tokens: float | None
    """Tokens to train on; None for inference."""
    days: float | None
    """Deadline, which sets the number of machines; None for no deadline."""
    max_nodes: int
    mfu: float

    @property
    def is_training(self) -> bool:
        """Whether the model is trained; if not, it is served."""
        return self.workload != "inference"

    @property
    def memory(self) -> Memory:
        """Bytes that the job needs."""
        return language_model.memory(
            self.model, self.workload, self.precision, self.context, self.batch
        )

    @property
    def flops(self) -> float | None:
        """Operations of a training; None for inference."""
        if self.tokens is None:
            return None
        return language_model.training_flops(self.model, self.workload, self.tokens)


def make_job(
    model_parameters: float | str,
    workload: str = "inference",
    precision: str = "bf16",
    context: int = 4096,
    *,
    batch: int | None = None,
    tokens: float | None = None,
    days: float | None = None,
    max_nodes: int | None = None,
    mfu: float = MFU,
) -> Job:
    """Check the values and fill in the defaults.

    Pre-training: 20 tokens a parameter in 30 days. Fine-tuning: 10^8 tokens, no deadline.
    Inference: 8 sequences of ``context`` tokens at once.

    Raises:
        HwpricesError: a value is out of range; the line says which, and what is allowed.
    """
    checked_workload = _workload(workload)
    _check_precision(precision, checked_workload)
    is_inference = checked_workload == "inference"
    if batch is None:
        batch = SEQUENCES if is_inference else 1
    _check_quantities(context, batch, mfu, tokens, days)
    model = model_shape(model_parameters)
    if is_inference:
        tokens = days = None
    elif tokens is None:
        tokens = _default_tokens(model, checked_workload)
    if checked_workload == "pretrain" and days is None:
        days = PRETRAINING_DAYS
    return Job(
        model=model,
        workload=checked_workload,
        precision=precision,
        context=context,
        batch=batch,
        tokens=tokens,
        days=days,
        max_nodes=max_nodes or MAX_NODES[checked_workload],
        mfu=mfu,
    )


def _workload(name: str) -> Workload:
    """Check the name of a workload."""
    for workload in WORKLOADS:
        if workload == name:
            return workload
    raise HwpricesError(f"there is no workload {name!r}", f"Choose one of {', '.join(WORKLOADS)}.")


def _check_precision(precision: str, workload: Workload) -> None:
    """Raise HwpricesError if the workload cannot use the precision."""
    if precision not in language_model.BYTES_PER_WEIGHT:
        raise HwpricesError(
            f"there is no precision {precision!r}",
            f"Choose one of {', '.join(language_model.BYTES_PER_WEIGHT)}.",
        )
    if precision in STORAGE_FORMATS and workload in ("pretrain", "full_finetune"):
        raise HwpricesError(
            f"{workload} in {precision} is not reckoned here",
            "Choose bf16, fp16, fp8 or fp32, or workload lora.",
        )


def _check_quantities(
    context: int, batch: int, mfu: float, tokens: float | None, days: float | None
) -> None:
    """Raise HwpricesError if a quantity is out of range."""
    optional_are_positive = all(value is None or value > 0 for value in (tokens, days))
    if not (context > 0 and batch > 0 and 0 < mfu <= 1 and optional_are_positive):
        raise HwpricesError(
            "context, batch, tokens and days are above 0, mfu is above 0 and at most 1",
            "Correct the value.",
        )


def _default_tokens(model: ModelShape, workload: Workload) -> float:
    if workload == "pretrain":
        return TOKENS_PER_PARAMETER * model.active_parameters
    return FINE_TUNING_TOKENS
