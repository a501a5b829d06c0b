"""Estimate how fast accelerators serve a language model.

One roofline for every accelerator: the seconds in which a batch is answered are a sum of seven
parts, each with a fitted constant (Pope et al., https://arxiv.org/abs/2211.05102). A factor by
family and load corrects it, and where the same network was measured on the same accelerator, what
was measured does. tools/calibration.py fits all of it on published measurements and writes the
sheets speed_model and measured_speeds; docs/method.md shows how far the result is from measurements
that it was not fitted on.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from hwprices.formulas import language_model
from hwprices.formulas.language_model import BITS_PER_WEIGHT, ModelShape
from hwprices.read.recommend.devices import Device
from hwprices.read.recommend.model_shape import model_shape
from hwprices.specs import packaged_sheet

PARTS = ("compute", "compute_experts", "bytes", "bytes_experts", "layer", "all_reduce", "token")
"""Constants: seconds for a second at the peak rate and at the peak bandwidth, of dense models and
of mixtures of experts; seconds of a layer, of an all-reduce, and of handling one generated token.
"""

MAX_SEQUENCES = 1024
"""Most sequences together on one copy of the model: vLLM's default max_num_seqs on large devices,
https://docs.vllm.ai/en/latest/configuration/engine_args/"""

FEW_USERS = 8
"""Below so many users a machine is measured by programs for one user, above it by filled ones."""

FLOPS_PER_BYTE = 22.2
"""Operations that a device without a published rate does in the time it reads a byte: the median
of llama.cpp's prompts in benchmarks.csv."""

SAME_NETWORK = 0.05
"""Models with the same layers and heads whose parameters differ by less run equally fast: Llama 2
70B and Llama 3.3 70B differ in their vocabulary."""

Load = Literal["few", "full"]

RANGE = ("p05", "p25", "p75", "p95")


@dataclass(frozen=True)
class Host:
    """Accelerators of one kind."""

    device: Device
    count: int
    usable_bytes: float
    """Of one accelerator."""
    whole_devices: float = 1.0
    """Share of an accelerator that the machine has, if less than one."""
    stages: int = 1
    """Machines over which the layers are divided."""


@dataclass(frozen=True)
class Work:
    """A model to serve, and the requests."""

    model: ModelShape
    precision: str
    """Format of the stored weights."""
    input_tokens: float
    output_tokens: float
    users: float | None = None
    """Requests together; None: as many as fit."""
    kv_bytes: float | None = None
    """Bytes of a number in the cache; None: one where the device computes in 8 or 4 bits."""

    @property
    def load(self) -> Load:
        """Whether so few users are served that memory bandwidth decides."""
        return "few" if self.users is not None and self.users < FEW_USERS else "full"


@dataclass(frozen=True)
class Speed:
    """How fast a machine serves: output tokens/s of all users, of each, and the first token."""

    users: float
    tokens_per_second: float
    tokens_per_second_per_user: float
    seconds_to_first_token: float
    prompt_share: float
    """Share of the time that goes into reading prompts."""
    devices_per_copy: int


@dataclass(frozen=True)
class Range:
    """Factors of an estimate between which half, and nine in ten, of held-out measurements are."""

    p05: float
    p25: float
    p75: float
    p95: float


@dataclass(frozen=True)
class Measured:
    """How much faster a network was when measured, with one of the measurements."""

    model: ModelShape
    factor: float
    label: str


@dataclass(frozen=True)
class SpeedModel:
    """What tools/calibration.py fitted."""

    constants: tuple[float, ...]
    """In the order of PARTS."""
    factors: dict[tuple[str, str], float]
    """Family and load: factor of the speed."""
    ranges: dict[str, Range]
    """By basis: measured (this network on this accelerator) or modeled; training …, cpu."""
    measured: dict[tuple[str, str], list[Measured]]
    """Accelerator and load: the networks that were measured."""


@cache
def speed_model() -> SpeedModel:
    """Read the sheets that tools/calibration.py writes."""
    values = {
        (kind, name, case): value
        for kind, name, case, value in packaged_sheet("speed_model")
        .select("kind", "name", "load", "value")
        .iter_rows()
    }
    measured: dict[tuple[str, str], list[Measured]] = {}
    for row in packaged_sheet("measured_speeds").iter_rows(named=True):
        known = Measured(model_shape(row["model_id"]), row["factor"], row["measurement"])
        measured.setdefault((row["accelerator_id"], row["load"]), []).append(known)
    return SpeedModel(
        constants=tuple(values["constant", name, None] for name in PARTS),
        factors={(n, c): v for (kind, n, c), v in values.items() if kind == "factor"},
        ranges={
            basis: Range(*(values["range", basis, end] for end in RANGE))
            for kind, basis, end in values
            if kind == "range" and end == RANGE[0]
        },
        measured=measured,
    )


# The roofline


def divisions(count: int, model: ModelShape) -> Iterator[int]:
    """List the numbers of devices, at most ``count``, that a layer can be divided over.

    Powers of two over which the heads divide, and the KV heads or copies of them: vLLM refuses
    others, https://docs.vllm.ai/en/v0.15.0/api/vllm/model_executor/models/llama/
    """
    devices = 1
    while devices <= min(count, model.heads):
        divides = model.kv_heads % devices == 0 or devices % model.kv_heads == 0
        if model.heads % devices == 0 and divides:
            yield devices
        devices *= 2


def kv_bytes(device: Device, work: Work) -> float:
    """Return the bytes of a number in the cache."""
    narrow = device.compute_format(work.precision) in ("fp8", "fp4")
    return work.kv_bytes or (1.0 if narrow else 2.0)


def needed_bytes(host: Host, work: Work, devices: int) -> tuple[float, float, float]:
    """Return bytes of the weights, of one sequence's cache, and of work space on each device."""
    weights = work.model.parameters * BITS_PER_WEIGHT[work.precision] / 8
    context = work.input_tokens + work.output_tokens
    cached = language_model.kv_cache_bytes(
        work.model, context, 1, kv_bytes(host.device, work), devices
    )
    return weights, cached, language_model.prefill_bytes(work.model, max(1, int(work.input_tokens)))


def largest_batch(host: Host, work: Work, devices: int) -> int:
    """Count the sequences whose cache fits beside the weights of a copy, at most MAX_SEQUENCES."""
    weights, cached, space = needed_bytes(host, work, devices)
    free = (host.usable_bytes - space) * devices * host.stages - weights
    return int(min(MAX_SEQUENCES * host.stages, max(0.0, free // cached)))


def parts(host: Host, work: Work, devices: int, batch: float) -> tuple[list[float], list[float]]:
    """Return what the constants multiply: for reading the prompts of a batch, and for its answers.

    The last item of each list is the time of the links between devices, which has no constant. Of
    several stages each works on its share of the sequences at a time.
    """
    model, device = work.model, host.device
    number_format = device.compute_format(work.precision)
    bandwidth = device.bytes_per_second
    assert number_format is not None
    assert bandwidth is not None
    peak = device.rate(number_format) or bandwidth * FLOPS_PER_BYTE
    share = devices * host.whole_devices
    group = max(1.0, batch / host.stages)
    context = work.input_tokens + work.output_tokens / 2  # half way through, near the mean
    reads = language_model.parameters_read(model, group) * BITS_PER_WEIGHT[work.precision] / 8
    reads += language_model.kv_cache_bytes(model, context, group, kv_bytes(device, work), devices)
    # two all-reduces a layer of 16-bit states: Megatron-LM, https://arxiv.org/abs/1909.08053
    reduces = 2 * model.layers if devices > 1 else 0
    sent = reduces * 2 * (devices - 1) / devices * model.hidden * 2 / device.link_bytes_per_second
    experts = model.active_expert_share < 1

    def listed(flops: float, byte_count: float, steps: float) -> list[float]:
        at_peak = [flops / peak / share, byte_count / bandwidth / share]
        compute, memory = ([0.0, s] if experts else [s, 0.0] for s in at_peak)
        return [*compute, *memory, steps * model.layers, steps * reduces]

    has_prompt = work.input_tokens > 1
    read = group * language_model.prompt_flops(model, work.input_tokens) if has_prompt else 0.0
    written = group * language_model.token_flops(model, context) * work.output_tokens
    tokens = group * work.output_tokens
    prompt = [*listed(read, 0.0, 0.0), 0.0, sent * group * work.input_tokens * has_prompt]
    answer = listed(written, reads * work.output_tokens, work.output_tokens)
    return prompt, [*answer, tokens, sent * tokens]


def seconds(listed: list[float], constants: tuple[float, ...]) -> float:
    """Add up what ``parts`` lists."""
    return sum(c * x for c, x in zip(constants, listed, strict=False)) + listed[-1]


def speed(
    host: Host, work: Work, devices: int, batch: float, constants: tuple[float, ...]
) -> Speed:
    """Compute how fast one copy on ``devices`` serves a batch; the first token is of one alone."""
    prompt, answer = (seconds(part, constants) for part in parts(host, work, devices, batch))
    alone = [seconds(part, constants) for part in parts(host, work, devices, 1)]
    per_user = work.output_tokens / (prompt + answer)
    return Speed(
        users=batch,
        tokens_per_second=batch * per_user,
        tokens_per_second_per_user=per_user,
        seconds_to_first_token=alone[0] + alone[1] / work.output_tokens,
        prompt_share=prompt / (prompt + answer),
        devices_per_copy=devices,
    )


def fastest(
    host: Host,
    work: Work,
    constants: tuple[float, ...],
    *,
    factor: float = 1.0,
    min_per_user: float = 0.0,
    max_first_token: float = math.inf,
) -> Speed | None:
    """Find the division of a machine that generates the most tokens/s within the two limits.

    ``factor`` multiplies the speed of the roofline. None where no division serves the work.
    """
    results = []
    for devices in divisions(host.count, work.model):
        copies = host.count // devices
        most = largest_batch(host, work, devices)
        if work.users is not None:
            most = min(most, math.ceil(work.users / copies))
        found = _fill(host, work, devices, most, constants, min_per_user / factor)
        if found is None or found.seconds_to_first_token / factor > max_first_token:
            continue
        busy = copies if work.users is None else min(copies, work.users)
        results.append(
            Speed(
                users=found.users * busy,
                tokens_per_second=found.tokens_per_second * busy * factor,
                tokens_per_second_per_user=found.tokens_per_second_per_user * factor,
                seconds_to_first_token=found.seconds_to_first_token / factor,
                prompt_share=found.prompt_share,
                devices_per_copy=devices,
            )
        )
    return max(results, key=lambda result: result.tokens_per_second, default=None)


def _fill(
    host: Host,
    work: Work,
    devices: int,
    most: int,
    constants: tuple[float, ...],
    min_per_user: float,
) -> Speed | None:
    """Find the largest batch that gives each user the speed; it never rises with the batch."""
    low, high = 1, most
    if high < 1:
        return None
    best = speed(host, work, devices, low, constants)
    if best.tokens_per_second_per_user < min_per_user:
        return None
    largest = speed(host, work, devices, high, constants)
    if largest.tokens_per_second_per_user >= min_per_user:
        return largest
    while low + 1 < high:
        middle = (low + high) // 2
        tried = speed(host, work, devices, middle, constants)
        if tried.tokens_per_second_per_user >= min_per_user:
            low, best = middle, tried
        else:
            high = middle
    return best


def same_network(one: ModelShape, other: ModelShape) -> bool:
    """Return whether two models run equally fast."""
    return (one.layers, one.heads, one.kv_elements, one.active_expert_share) == (
        other.layers,
        other.heads,
        other.kv_elements,
        other.active_expert_share,
    ) and abs(one.parameters / other.parameters - 1) < SAME_NETWORK


@dataclass(frozen=True)
class Estimate:
    """A speed, how it is known, and the range of its error."""

    speed: Speed
    basis: str
    range: Range
    label: str | None
    """A measurement behind it."""


def estimate(
    host: Host, work: Work, *, min_per_user: float = 0.0, max_first_token: float = math.inf
) -> Estimate | None:
    """Estimate a machine's speed; None where it does not serve the work within the limits.

    A machine that nobody says how many users it has is filled, or has a few where it is only fast
    enough for those.
    """
    works = [work]
    if work.users is None:
        works.append(replace(work, users=FEW_USERS - 1.0))
    found = [_estimate(host, tried, min_per_user, max_first_token) for tried in works]
    return max(
        (estimate for estimate in found if estimate is not None),
        key=lambda estimate: estimate.speed.tokens_per_second,
        default=None,
    )


def _estimate(host: Host, work: Work, min_per_user: float, latest: float) -> Estimate | None:
    model, device = speed_model(), host.device
    known = next(
        (
            measured
            for measured in model.measured.get((device.accelerator_id, work.load), [])
            if same_network(measured.model, work.model)
        ),
        None,
    )
    factor = model.factors.get((device.family, work.load), 1.0) * (known.factor if known else 1.0)
    limits = {"min_per_user": min_per_user, "max_first_token": latest}
    result = fastest(host, work, model.constants, factor=factor, **limits)
    basis = "measured" if known else "modeled"
    label = known.label if known else None
    return None if result is None else Estimate(result, basis, model.ranges[basis], label)
