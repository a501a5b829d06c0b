"""Describe in words what an answer assumes beyond the question."""

from hwprices.read.recommend.job import READING_SPEED, Job
from hwprices.read.recommend.model_shape import look_alike


def assumptions(job: Job) -> str:
    """Describe in one line what the answer assumes beyond the question."""
    parts = []
    if job.training is None:
        source = f" (as in {job.lengths_from})" if job.lengths_from else ""
        parts.append(f"{job.input_tokens:,.0f} tokens in, {job.output_tokens:,.0f} out{source}")
        asked = job.asked_tokens_per_second
        if asked is not None:
            requests = (
                f"{job.serving.requests_per_second:,.10g} requests/s are {asked:,.10g} tokens/s"
            )
            parts.append(f"{requests}, which costs are divided by")
        elif job.serving.concurrency is None:
            speed = job.serving.min_tokens_per_second or READING_SPEED
            measured = job.is_vague and job.lengths_from and job.limits.machines != "cpus"
            parts.append(
                f"as many users at once as a machine holds, at least {speed:g} tokens/s each"
                + (" (measured speeds have no such floor)" if measured else "")
            )
        if job.precision is None and job.limits.machines != "cpus":
            narrow = "4 bits as released" if job.model.released_format else "8 bits"
            parts.append(f"weights as measured, else {narrow}")
        if job.precision is None and job.limits.machines != "accelerators":
            parts.append("on CPUs weights of 16 bits, for a few users of 4")
    else:
        parts.append(f"{job.training.tokens:,.3g} tokens in sequences of {job.context:,}")
        parts.append(f"done in {job.training.days:g} days, {job.precision} weights")
        parts.append(f"{job.training.optimizer}")
    parts.append(f"{job.limits.option.replace('_', ' ')} prices")
    if job.model.basis == "estimate":
        twin = look_alike(job.model)
        hint = f" (for the mixture of experts of that size ask for {twin})" if twin else ""
        parts.append(f"a dense model with the proportions of Llama 3{hint}")
    return "; ".join(parts)
