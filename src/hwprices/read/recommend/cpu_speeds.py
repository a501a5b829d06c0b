"""Describe how fast a machine without accelerators serves a language model, from measured CPUs.

Two rates decide: the bytes of weights that a machine reads in a second while it generates for one
user, and the operations that it does in a second while it reads a prompt. Both are measured on
machines of each CPU, and are taken from the machine type itself, or from others with its CPU.
"""

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache, cached_property

import polars as pl

from hwprices.formulas import language_model, serving
from hwprices.formulas.language_model import BITS_PER_WEIGHT, KV_BYTES, ModelShape
from hwprices.formulas.serving import Efficiency, Replica, Request, Speed
from hwprices.read.recommend.model_shape import model_shape
from hwprices.specs import sheet_directory

LARGEST_MODEL = 15e9
"""Parameters at work for a token. Phi-4 with 14.7 billion is the largest model that was measured on
most of the machines; one user of a larger one gets 5 tokens/s from the fastest of them at best."""

FORMATS = ("int4", "int8", "bf16", "fp16")
"""Stored formats that programs for CPUs run: llama.cpp's and vLLM's."""

ALONE_FORMAT, FILLED_FORMAT = "int4", "bf16"
"""As measured unless the question says so: llama.cpp for one user, vLLM for many."""

CPU_SPEEDS_SOURCE = "Spare Cores, https://github.com/SpareCores/sc-inspector-data, CC BY-SA 4.0"
"""Where the sheet cpu_speeds is from, and its license."""

PEAKS = Efficiency(1.0, 1.0)  # measured rates are what programs reach


@dataclass(frozen=True)
class CpuSpeed:
    """A measured speed of a machine type: a row of the sheet cpu_speeds."""

    provider: str
    instance_type: str
    cpu_id: str
    vcpus: int
    model_id: str
    kind: str
    """single_user (generated tokens/s), prompt (tokens/s read) or serving (of all users)."""
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
    def label(self) -> str:
        """Return the measurement, as those of accelerators are named."""
        return f"{self.model_id}/{self.software}/{self.instance_type}"

    @property
    def request(self) -> Request:
        """What each user sent and got."""
        weight = BITS_PER_WEIGHT[self.precision] / 8
        return Request(self.input_tokens, self.output_tokens, weight, KV_BYTES)


@dataclass(frozen=True)
class CpuMachine:
    """A machine type without accelerators."""

    provider: str
    instance_type: str
    cpu_id: str
    vcpus: int
    usable_bytes: float


@dataclass(frozen=True)
class CpuRates:
    """What a machine reaches."""

    bytes_per_second: float
    """Weights read while generating for one user."""
    flops_per_second: float
    """Operations while reading a prompt."""
    basis: str
    """scaled (measured on this machine type) or modelled (on others with its CPU)."""
    label: str
    """A measurement behind them."""


def load_cpu_speeds() -> list[CpuSpeed]:
    """Read the sheet cpu_speeds."""
    columns = list(CpuSpeed.__dataclass_fields__)
    content = (sheet_directory() / "cpu_speeds.csv").read_bytes()
    sheet = pl.read_csv(content, infer_schema_length=None)
    return [CpuSpeed(**row) for row in sheet.select(columns).iter_rows(named=True)]


@cache
def cpu_speeds() -> "MeasuredCpus":
    """Return the measured speeds. Cached: the sheet is part of the package."""
    return MeasuredCpus(load_cpu_speeds())


def bytes_rate(measured: CpuSpeed) -> float:
    """Compute the bytes that a machine reads per second, from its speed for one user."""
    model, request = measured.model, measured.request
    context = request.input_tokens + request.output_tokens / 2
    weights = language_model.parameters_read(model, 1) * request.bytes_per_weight
    cache_bytes = language_model.kv_cache_bytes(model, context, 1, request.bytes_per_kv)
    seconds = 1 / measured.tokens_per_second - model.layers * serving.LAYER_SECONDS
    return (weights + cache_bytes) / seconds


def flops_rate(measured: CpuSpeed) -> float:
    """Compute the operations per second of a machine, from the speed at which it reads prompts."""
    tokens = measured.input_tokens
    work = language_model.prompt_flops(measured.model, tokens)
    return work / tokens * measured.tokens_per_second


def nearest(candidates: Iterable[CpuSpeed], model: ModelShape) -> CpuSpeed | None:
    """Find the measurement whose model has the nearest number of parameters at work."""

    def distance(measured: CpuSpeed) -> tuple[float, str]:
        ratio = measured.model.active_parameters / model.active_parameters
        return max(ratio, 1 / ratio), measured.instance_type

    return min(candidates, key=distance, default=None)


def at_size(points: dict[int, float], vcpus: int) -> float:
    """Read a rate at a number of vCPUs from the rates at others.

    Between two sizes it is interpolated (both axes logarithmic); a smaller machine than all has its
    share of the smallest, a larger one no more than the largest.
    """
    if vcpus in points:
        return points[vcpus]
    below = max((size for size in points if size < vcpus), default=None)
    above = min((size for size in points if size > vcpus), default=None)
    if below is None:
        assert above is not None
        return points[above] * vcpus / above
    if above is None:
        return points[below]
    share = math.log(vcpus / below) / math.log(above / below)
    return float(points[below] ** (1 - share) * points[above] ** share)


@dataclass
class MeasuredCpus:
    """Answers how fast machines without accelerators serve models, from measurements."""

    measured: list[CpuSpeed]
    by_cpu: dict[str, list[CpuSpeed]] = field(init=False)

    def __post_init__(self) -> None:
        self.by_cpu = {}
        for row in self.measured:
            self.by_cpu.setdefault(row.cpu_id, []).append(row)

    @cached_property
    def filled_ratios(self) -> list[tuple[CpuSpeed, float]]:
        """Measured over modelled speed of every filled machine, with its own rates.

        vLLM computes in 16 bits where llama.cpp expands weights of four bits; with models below a
        billion parameters it waits for other work than the model's.
        """
        ratios = []
        for row in self.measured:
            if row.kind != "serving":
                continue
            machine = machine_of(row)
            rates = self.rates(machine, row.model)
            if rates is not None:
                modelled = filled_speed(rates, row.model, row.request, row.users)
                ratios.append((row, row.tokens_per_second / modelled.tokens_per_second))
        return ratios

    def rates(self, machine: CpuMachine, model: ModelShape) -> CpuRates | None:
        """Return the rates of a machine; None where no machine with its CPU was measured."""
        of_cpu = [row for row in self.by_cpu.get(machine.cpu_id, []) if row.precision == "q4_k_m"]
        own = [row for row in of_cpu if row.instance_type == machine.instance_type]
        alone, prompt = (
            nearest((row for row in own if row.kind == kind), model)
            for kind in ("single_user", "prompt")
        )
        if alone and prompt:
            return CpuRates(bytes_rate(alone), flops_rate(prompt), "scaled", alone.label)
        same_cloud = [row for row in of_cpu if row.provider == machine.provider] or of_cpu
        return _modelled(same_cloud, machine, model)

    def measurement(self, machine: CpuMachine, model: ModelShape, kind: str) -> CpuSpeed | None:
        """Find the measurement of that model on that machine type, in the usual format."""
        usual = "q4_k_m" if kind == "single_user" else "bf16"
        for row in self.by_cpu.get(machine.cpu_id, []):
            same = row.instance_type == machine.instance_type and row.model.name == model.name
            if same and row.kind == kind and row.precision == usual:
                return row
        return None


def middle_ratio(ratios: Iterable[tuple[CpuSpeed, float]], cpu_id: str, model: ModelShape) -> float:
    """Return the middle ratio of the nearest model, on this CPU if it was measured there.

    Of two middle ones the lower: llama.cpp is slow on several sockets, where vLLM divides the work,
    and such a machine's ratio is not that of a smaller one.
    """
    listed = list(ratios)
    candidates = [pair for pair in listed if pair[0].cpu_id == cpu_id] or listed
    closest = nearest((row for row, _ in candidates), model)
    if closest is None:
        return 1.0
    return statistics.median_low(
        ratio for row, ratio in candidates if row.model_id == closest.model_id
    )


def machine_of(row: CpuSpeed) -> CpuMachine:
    """Return the machine that a row was measured on."""
    return CpuMachine(row.provider, row.instance_type, row.cpu_id, row.vcpus, math.inf)


def _modelled(rows: list[CpuSpeed], machine: CpuMachine, model: ModelShape) -> CpuRates | None:
    """Read both rates at the machine's size from other machines with its CPU."""
    groups: dict[tuple[str, int], list[CpuSpeed]] = {}
    for row in rows:
        groups.setdefault((row.kind, row.vcpus), []).append(row)
    chosen = {key: nearest(group, model) for key, group in groups.items()}
    rates = []
    for kind, rate in (("single_user", bytes_rate), ("prompt", flops_rate)):
        points = {size: rate(row) for (k, size), row in chosen.items() if k == kind and row}
        if not points:
            return None
        rates.append(at_size(points, machine.vcpus))
    sizes = [size for kind, size in chosen if kind == "single_user"]
    closest = min(sizes, key=lambda size: (abs(size - machine.vcpus), size))
    label = chosen["single_user", closest]
    return CpuRates(rates[0], rates[1], "modelled", label.label if label else "")


def replica(rates: CpuRates, usable_bytes: float) -> Replica:
    """Describe the machine as one device with the rates that it reaches."""
    return Replica(
        devices=1,
        flops_per_second=rates.flops_per_second,
        bytes_per_second=rates.bytes_per_second,
        link_bytes_per_second=math.inf,
        usable_bytes=usable_bytes,
    )


def filled_speed(rates: CpuRates, model: ModelShape, request: Request, users: float) -> Speed:
    """Compute how fast a machine serves that many users at once."""
    return serving.speed(model, replica(rates, math.inf), PEAKS, request, users)
