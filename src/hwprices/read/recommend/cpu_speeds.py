"""Describe machines without accelerators by the rates that they reached with language models.

Two rates decide: the bytes of weights that a machine reads in a second while it generates for one
user, and the operations that it does in a second while it reads a prompt. They are those of the
machine type, or of others with its CPU.
"""

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from hwprices.formulas import language_model
from hwprices.formulas.language_model import BITS_PER_WEIGHT, ModelShape
from hwprices.read.recommend.model_shape import model_shape
from hwprices.read.recommend.speed import Device, Host, Work
from hwprices.specs import packaged_sheet

LARGEST_MODEL = 15e9
"""Parameters at work for a token. Phi-4 with 14.7 billion is the largest model that was measured on
most of the machines; one user of a larger one gets 5 tokens/s from the fastest of them at best."""

FORMATS = ("int4", "int8", "bf16", "fp16")
"""Stored formats that programs for CPUs run: llama.cpp's and vLLM's."""

CPU_SPEEDS_SOURCE = "Spare Cores, https://github.com/SpareCores/sc-inspector-data, CC BY-SA 4.0"
"""Where the sheet cpu_speeds is from, and its license."""

LEAST_READING = 0.2
"""Share of the time of a token, at least, that reading weights takes. Prompts are read by other
kernels, so that computing alone may seem to take longer than a token does."""

CPU_CONSTANTS = (1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
"""Constants of speed.PARTS: measured rates are what programs reach."""


@dataclass(frozen=True)
class CpuSpeed:
    """A measured speed of a machine type: a row of the sheet cpu_speeds.

    ``kind``: single_user (generated tokens/s), prompt (tokens/s read) or serving (of all users).
    """

    provider: str
    instance_type: str
    cpu_id: str
    vcpus: int
    model_id: str
    kind: str
    precision: str
    input_tokens: float
    output_tokens: float
    users: float
    tokens_per_second: float
    software: str
    source_url: str

    @property
    def model(self) -> ModelShape:
        """The model."""
        return model_shape(self.model_id)

    @property
    def work(self) -> Work:
        """What was run."""
        return Work(self.model, self.precision, self.input_tokens, self.output_tokens, self.users)

    @property
    def rate(self) -> float:
        """Bytes read per second, for a single user; operations per second, for a prompt."""
        if self.kind == "prompt":
            flops = language_model.prompt_flops(self.model, self.input_tokens)
            return flops / self.input_tokens * self.tokens_per_second
        weights = language_model.parameters_read(self.model, 1) * BITS_PER_WEIGHT[self.precision]
        context = self.input_tokens + self.output_tokens / 2
        cached = language_model.kv_cache_bytes(self.model, context, 1)
        return (weights / 8 + cached) * self.tokens_per_second


@cache
def cpu_speeds() -> dict[str, list[CpuSpeed]]:
    """Read the sheet cpu_speeds by CPU. Cached: the sheet is part of the package."""
    columns = list(CpuSpeed.__dataclass_fields__)
    by_cpu: dict[str, list[CpuSpeed]] = {}
    for row in packaged_sheet("cpu_speeds").select(columns).iter_rows(named=True):
        by_cpu.setdefault(row["cpu_id"], []).append(CpuSpeed(**row))
    return by_cpu


def cpu_host(
    rows: Iterable[CpuSpeed], machine: tuple[str, str, int], usable_bytes: float, model: ModelShape
) -> tuple[Host, CpuSpeed] | None:
    """Describe a machine as one device with the rates that it reaches, with a measurement of them.

    ``rows``: measurements of its CPU. ``machine``: provider, type and vCPUs; its own measurements
    count, else those of its cloud, else all. Of several models the nearest in size counts. None
    where a rate was not measured.
    """
    provider, instance_type, vcpus = machine

    def rank(row: CpuSpeed) -> tuple[bool, bool, float]:
        sizes = row.model.active_parameters / model.active_parameters
        return row.instance_type != instance_type, row.provider != provider, abs(math.log(sizes))

    rates, labels = [], []
    for kind in ("single_user", "prompt"):
        listed = [row for row in rows if (row.kind, row.precision) == (kind, "q4_k_m")]
        if not listed:
            return None
        best = min(map(rank, listed))
        chosen = [row for row in listed if rank(row) == best]
        middle = {
            size: statistics.median_low(row.rate for row in chosen if row.vcpus == size)
            for size in {row.vcpus for row in chosen}
        }
        rates.append(at_size(middle, vcpus))
        labels.append(min(chosen, key=lambda row: (abs(row.vcpus - vcpus), row.instance_type)))
    label = labels[0]
    # the time of a token is that of reading and computing together: take computing out of it
    flops = language_model.token_flops(label.model, label.input_tokens + label.output_tokens / 2)
    computing = flops / rates[1] / (label.rate / label.tokens_per_second / rates[0])
    rates[0] /= max(LEAST_READING, 1 - computing)
    supported = dict.fromkeys(("int8", "bf16", "fp16"), "supported")
    device = Device(
        label.cpu_id, "cpu", dict.fromkeys(supported, rates[1]), supported, rates[0], math.inf
    )
    return Host(device, 1, usable_bytes), label


def at_size(points: dict[int, float], vcpus: int) -> float:
    """Read a rate at a number of vCPUs from the rates at others.

    Between two sizes it is interpolated (both axes logarithmic); a smaller machine than all has its
    share of the smallest, a larger one no more than the largest.
    """
    smallest = min(points)
    if vcpus < smallest:
        return points[smallest] * vcpus / smallest
    below = max(size for size in points if size <= vcpus)
    above = min((size for size in points if size > vcpus), default=below)
    share = math.log(vcpus / below) / math.log(above / below) if above > below else 0.0
    return float(points[below] ** (1 - share) * points[above] ** share)
