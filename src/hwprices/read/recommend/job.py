"""Fill in the defaults of a question: the job whose machines are ranked, and what it assumes."""

import math
from dataclasses import dataclass, replace

from hwprices.formulas.language_model import ModelShape
from hwprices.read.recommend import constants, table
from hwprices.read.recommend.inferencex import NOT_RUN, with_speeds
from hwprices.read.recommend.model_shape import look_alike, model_shape, with_size
from hwprices.read.recommend.question import Question, refuse
from hwprices.read.recommend.speed import SpeedModel, speed_model

WORKLOADS = table("workloads")
"""Defaults of the fields of a question, by workload, with their sources."""


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
    def counted_tokens(self) -> float:
        """Tokens of a request that tokens/s count: of output; of input for embeddings."""
        return self.input_tokens if self.model.embeds else self.output_tokens

    @property
    def requested_tokens_per_second(self) -> float | None:
        """Tokens/s that the requests take; None without requests per second."""
        requests = self.requests_per_second
        return None if requests is None else requests * self.counted_tokens


def make_job(question: Question) -> Job:
    """Check a question and fill in its defaults.

    Raises:
        HwpricesError: a value is out of range; the line says which, and what is allowed.
    """
    question.check()
    model = model_shape(question.model_parameters, question.active_parameters)
    training, wanted = question.is_training, question.context
    usual = dict(WORKLOADS.select("default", question.workload).iter_rows())
    output_tokens = question.output_tokens or usual["output_tokens"]
    input_tokens = question.input_tokens or usual["input_tokens"]
    fitted = with_speeds(question.speeds) if question.speeds else speed_model()
    limit = model.context_limit or math.inf
    if model.embeds and not training:  # the answer is one vector, which takes the time of a token
        advice = "Leave the output out."
        refuse(question.output_tokens, f"{model.name} makes embeddings, not text", advice)
        input_tokens, output_tokens = float(wanted or input_tokens), 1.0
        # measured speeds of a generation say nothing, so the wide range is all that is promised
        ranges = fitted.ranges.with_columns(p25="p05", p75="p95")
        fitted = replace(fitted, ranges=ranges, measured=fitted.measured.clear())
    elif wanted and not training:
        output_tokens = question.output_tokens or min(output_tokens, max(1.0, wanted / 2))
        text = f"{output_tokens:,.10g} tokens of output do not fit a context of {wanted:,}"
        advice = "Give a longer context, or leave it out."
        refuse(wanted <= (question.output_tokens or 0), f"{text} with a prompt", advice)
        input_tokens = max(1.0, wanted - output_tokens)
    tokens_of_request = input_tokens + (0.0 if model.embeds else output_tokens)
    context = wanted or int(min(usual["context"], limit) if training else tokens_of_request)
    text = f"{model.name} reads at most {limit:,} tokens, not {context:,}"
    refuse(context > limit, text, "Give shorter requests, or a model with a longer context.")
    users, tokens = question.concurrency, question.tokens or usual["tokens"]
    is_service = question.workload == "inference" and question.requests_per_second is None
    if is_service and question.objective == "speed":
        users = users or 1.0
    if question.workload == "pretrain":
        tokens = tokens or constants.TOKENS_PER_PARAMETER * model.active_parameters
    any_speed = users == 1 or model.embeds
    filled = {
        name: getattr(question, name) or (None if any_speed else usual[name])
        for name in ("min_tokens_per_second", "max_seconds_to_first_token")
    }
    filled |= {name: getattr(question, name) or usual[name] for name in ("days", "max_nodes")}
    filled |= {"context": context, "input_tokens": input_tokens, "output_tokens": output_tokens}
    filled |= {
        "precision": question.stored or ("bf16" if training or model.embeds else None),
        "tokens": tokens,
        "concurrency": users,
        "model": model,
        "speed_model": fitted,
    }
    return Job(**vars(question) | filled)


def assumptions(job: Job) -> str:
    """Describe in one line what the answer assumes beyond the question."""
    model, runs = job.model, job.speed_model.runs
    wanted, named, embeds = job.requested_tokens_per_second, str(job.model_parameters), model.embeds
    least, most = job.min_tokens_per_second, job.max_seconds_to_first_token
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
        f"{job.option.replace('_', ' ')} prices",
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
