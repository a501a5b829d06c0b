"""Fill in the defaults of a question, and say in words what is assumed."""

from dataclasses import dataclass

from hwprices.errors import HwpricesError
from hwprices.formulas.language_model import ModelShape
from hwprices.read.recommend.model_shape import look_alike, model_shape
from hwprices.read.recommend.question import Question

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
    precision: str | None
    """Stored weights; None: 8 bits as the device computes them, or 4 if released so."""
    context: int
    input_tokens: float
    output_tokens: float
    users: float | None
    """Together; None: as many as a machine holds."""
    min_per_user: float
    """Tokens/s."""
    max_first_token: float | None
    """Seconds."""
    tokens: float | None
    """To train on or to generate; None for a service."""
    days: float | None
    max_nodes: int

    @property
    def is_training(self) -> bool:
        """Whether the model is trained; if not, it generates."""
        return self.question.is_training

    @property
    def has_end(self) -> bool:
        """Whether the job ends: a training or a batch."""
        return self.tokens is not None

    @property
    def requested_tokens_per_second(self) -> float | None:
        """Tokens/s that the requests generate; None without requests per second."""
        requests = self.question.serving.requests_per_second
        return None if requests is None else requests * self.output_tokens


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
    limit = model.context_limit
    if limit is not None and context > limit:
        raise HwpricesError(
            f"{model.name} reads at most {limit:,} tokens, not {context:,}",
            "Give shorter requests, or a model with a longer context.",
        )
    users = serving.concurrency
    if name == "inference" and question.limits.objective == "speed" and not users:
        users = 1.0 if serving.requests_per_second is None else None
    served = name == "inference" and users != 1
    tokens = {"inference": None, "batch": BATCH_TOKENS}.get(name, FINE_TUNING_TOKENS)
    if name == "pretrain":
        tokens = TOKENS_PER_PARAMETER * model.active_parameters
    days = BATCH_DAYS if name == "batch" else TRAINING_DAYS
    return Job(
        question=question,
        model=model,
        precision=question.stored or ("bf16" if training else None),
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
    )


def assumptions(job: Job) -> str:
    """Describe in one line what the answer assumes beyond the question."""
    parts = []
    if not job.is_training:
        parts.append(f"{job.input_tokens:,.10g} tokens in and {job.output_tokens:,.10g} out")
        if (wanted := job.requested_tokens_per_second) is not None:
            parts.append(f"{wanted:,.10g} tokens/s of output, which costs are divided by")
        if job.min_per_user:
            parts.append(f"at least {job.min_per_user:g} tok/s per user")
        if job.max_first_token:
            parts.append(f"first token within {job.max_first_token:g} s")
        if job.precision is None:
            bits = "4-bit weights as released" if job.model.released_format else "8-bit weights"
            parts.append(bits)
    if job.has_end:
        parts.append(f"{short(job.tokens or 0)} tokens in {job.days:g} days")
    if job.is_training:
        parts.append(f"sequences of {job.context:,}, {job.precision}, adam")
    parts.append(f"{job.question.limits.option.replace('_', ' ')} prices")
    if job.model.basis == "estimate":
        twin = look_alike(job.model) if job.model.ffn else None
        hint = f" (for the mixture of experts of that size ask for {twin})" if twin else ""
        kind = "dense model" if job.model.ffn else "mixture of experts"
        parts.append(f"a {kind} with the proportions of Llama 3{hint}")
    return "; ".join(parts)


def short(number: float) -> str:
    """Write a large number with three digits: 100M, 1.5B, 2T."""
    for unit, size in (("T", 1e12), ("B", 1e9), ("M", 1e6)):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:,.3g}"
