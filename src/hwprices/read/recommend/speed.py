"""Estimate how fast accelerators serve a language model.

One roofline for every accelerator: the seconds in which a batch is answered are a sum of seven
parts, each with a fitted constant (Pope et al., https://arxiv.org/abs/2211.05102). A factor by
family and load corrects it, and where the same network was measured on the same accelerator, what
was measured does. tools/calibration.py fits all of it on published measurements and writes the
sheets speed_model and measured_speeds; docs/method.md shows how far the result is from measurements
that it was not fitted on.
"""

import math
import statistics
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import polars as pl

from hwprices.formulas import language_model
from hwprices.formulas.language_model import BITS_PER_WEIGHT, ModelShape
from hwprices.read.recommend.model_shape import model_shape
from hwprices.specs import packaged_sheet
from hwprices.units import NUMBER_FORMATS

FAMILIES = {
    **dict.fromkeys(("Blackwell", "Blackwell Ultra"), "blackwell"),
    **{"Hopper": "hopper", "Ada Lovelace": "ada", "Ampere": "ampere"},
    **dict.fromkeys(("Turing", "Volta"), "turing"),
    **dict.fromkeys(("Pascal", "Maxwell", "Kepler"), "pascal"),
    **dict.fromkeys(("CDNA", "CDNA 2", "CDNA 3", "CDNA 4", "Vega 20"), "cdna"),
    **dict.fromkeys(("RDNA 3", "RDNA 3.5", "RDNA 4"), "rdna"),
    **dict.fromkeys(("M1", "M2", "M3", "M4"), "apple"),
    **dict.fromkeys(("Xe-HPG", "Xe2"), "arc"),
    **dict.fromkeys(("Cortex-A72", "Cortex-A76"), "arm"),
    **dict.fromkeys(("Gaudi", "Gaudi 2", "Gaudi 3"), "gaudi"),
}
"""Architecture: family of devices that run the same kernels. Others are family ``other``."""

PCIE_BYTES_PER_SECOND = 25e9
"""One direction of PCIe 4.0 × 16, of which programs reach about 80 %, between cards without a link
of their own: https://pcisig.com/faq"""

SIXTEEN_BITS = ("bf16", "fp16")

COMPUTE_FORMATS = {
    "fp32": ("fp32",),
    "bf16": SIXTEEN_BITS,
    "fp16": ("fp16", "bf16"),
    "fp8": ("fp8", *SIXTEEN_BITS),
    "int8": ("int8", *SIXTEEN_BITS),
    "fp4": ("fp4", *SIXTEEN_BITS),
    "int4": SIXTEEN_BITS,
    **dict.fromkeys(("q8_0", "q4_k_m", "q4_0", "mxfp4"), SIXTEEN_BITS),  # llama.cpp's
}
"""Stored format: formats to compute in, the first that the device supports. Weights of 8 and 4 bits
run on devices with 16-bit arithmetic alone, which decompress them as they are read: vLLM's table of
quantization kernels, https://docs.vllm.ai/en/latest/features/quantization/"""

NARROWER = {"bf16": ("fp16", "fp8", "int8", "fp4"), "fp16": ("bf16", "fp8", "int8", "fp4")}
WIDTH = {"fp32": 32, "bf16": 16, "fp16": 16, "fp8": 8, "int8": 8, "fp4": 4}
"""Bits. Where a maker prints the rate of a narrower format alone, the rate of 16 bits is that rate
in proportion to the bits: FP4 500 and FP16 125 on GB10."""

LEAST_FLOPS_PER_BYTE = {"arc": 216, "blackwell": 117, "cdna": 26, "jetson": 164}
"""Family with matrix units: dense operations in 16 bits for each byte of the memory's bandwidth, of
the device of the sheet that has the fewest. One without any published rate is taken for that: RTX
PRO 4500 Server, MI308X, Flex 170, Jetson Orin NX."""


@dataclass(frozen=True)
class Device:
    """An accelerator. Rates are dense peaks in operations per second."""

    accelerator_id: str
    family: str
    rates: dict[str, float]
    support: dict[str, str]
    """Number format: supported, unsupported or unknown."""
    bytes_per_second: float | None
    link_bytes_per_second: float
    """In one direction, from one device to the others."""

    def compute_format(self, precision: str) -> str | None:
        """Return the format in which weights stored in ``precision`` are computed; None if none."""
        supported = (f for f in COMPUTE_FORMATS[precision] if self.support.get(f) == "supported")
        return next(supported, None)

    def rate(self, number_format: str) -> float | None:
        """Return the peak rate in a format, from a narrower one where it is not published."""
        formats = (number_format, *NARROWER.get(number_format, ()))
        rates = (
            self.rates[f] * WIDTH[f] / WIDTH[number_format] for f in formats if f in self.rates
        )
        return next(rates, None)


def device(row: dict[str, Any]) -> Device:
    """Make a device from a row of the accelerator sheet."""
    kind, architecture = row["kind"], row["architecture"] or ""
    family = kind if kind in ("tpu", "neuron") else FAMILIES.get(architecture, "other")
    if kind == "soc" and family in ("ampere", "blackwell"):
        family = "jetson"  # its memory is not that of a card
    support = {f: row[f"{f}_support"] for f in NUMBER_FORMATS if f"{f}_support" in row}
    bandwidth = row["memory_bandwidth_gbs"]
    rates = {f: row[c] * 1e12 for f, c in NUMBER_FORMATS.items() if row.get(c)}
    if not rates and bandwidth is not None and family in LEAST_FLOPS_PER_BYTE:
        in_16_bits = LEAST_FLOPS_PER_BYTE[family] * bandwidth * 1e9
        rates = {
            name: in_16_bits * 16 / width
            for name, width in WIDTH.items()
            if width <= 16 and support.get(name) == "supported"
        }
    link = row["interconnect_gbs"]
    return Device(
        accelerator_id=row["accelerator_id"],
        family=family,
        rates=rates,
        support=support,
        bytes_per_second=None if bandwidth is None else bandwidth * 1e9,
        link_bytes_per_second=link / 2 * 1e9 if link else PCIE_BYTES_PER_SECOND,
    )


USABLE = 0.9
"""Share of a device's memory that a job may fill; the driver and fragmentation take the rest. It is
vLLM's default gpu_memory_utilization: https://docs.vllm.ai/en/latest/configuration/engine_args/"""

USABLE_UNIFIED = 0.75
"""Share of a memory that the CPU and its system use too. Metal's recommended working set is about
three quarters of the memory of large Macs:
https://developer.apple.com/documentation/metal/mtldevice/recommendedmaxworkingsetsize"""

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

SHRINK_LOCAL = 1.0
"""n measurements of a network on an accelerator are believed n / (n + this). Chosen by the error on
sources left out."""

SAME_NETWORK = 0.05
"""Models with the same layers and heads whose parameters differ by less run equally fast: Llama 2
70B and Llama 3.3 70B differ in their vocabulary."""

RANGE = ("p05", "p25", "p75", "p95")


@dataclass(frozen=True)
class Host:
    """Accelerators of one kind. ``usable_bytes``: of one of them."""

    device: Device
    count: int
    usable_bytes: float
    whole_devices: float = 1.0  # share of an accelerator that the machine has, if less than one
    stages: int = 1  # machines over which the layers are divided


def hosts(accelerators: pl.DataFrame) -> dict[str, Host]:
    """Return one accelerator of each kind with a known memory and bandwidth, by id."""
    share = {True: USABLE_UNIFIED, False: USABLE}
    known = accelerators.drop_nulls(["memory_gb", "memory_bandwidth_gbs"])
    return {
        row["accelerator_id"]: Host(
            device(row), 1, row["memory_gb"] * 2**30 * share[row["kind"] == "soc"]
        )
        for row in known.iter_rows(named=True)
    }


@dataclass(frozen=True)
class Work:
    """A model to serve, and the requests.

    ``users``: together; None: as many as fit. ``kv_bytes``: of a number in the cache; None: one
    where the device computes in 8 or 4 bits.
    """

    model: ModelShape
    precision: str
    input_tokens: float
    output_tokens: float
    users: float | None = None
    kv_bytes: float | None = None

    @property
    def load(self) -> str:
        """Whether so few users are served that memory bandwidth decides."""
        return "few" if self.users is not None and self.users < FEW_USERS else "full"


class Range(NamedTuple):
    """Factors of an estimate between which half, and nine in ten, of held-out measurements are."""

    p05: float
    p25: float
    p75: float
    p95: float


EXACT = Range(1.0, 1.0, 1.0, 1.0)


@dataclass(frozen=True)
class Speed:
    """How fast a machine serves: output tokens/s of all users, of each, and the first token.

    An estimate says how it is known (``basis``), its ``range``, and a measurement behind it.
    """

    users: float
    tokens_per_second: float
    tokens_per_second_per_user: float
    seconds_to_first_token: float
    prompt_share: float  # of the time: reading prompts
    devices_per_copy: int
    basis: str = "modeled"
    range: Range = EXACT
    label: str | None = None


class Known(NamedTuple):
    """A network that was measured on an accelerator: by how much it was faster than the roofline.

    ``label``: one of the measurements; ``basis``: what an estimate from it is called.
    """

    network: ModelShape
    factor: float
    label: str
    basis: str = "measured"


def correction(errors: Sequence[float], labels: Sequence[str]) -> tuple[float, str]:
    """Return the factor that errors of a network (ln measured / estimate) correct an estimate by.

    It is with the label of the measurement that is nearest to it.
    """
    middle, count = statistics.median(errors), len(errors)
    nearest = min(range(count), key=lambda number: abs(errors[number] - middle))
    return math.exp(middle * count / (count + SHRINK_LOCAL)), labels[nearest]


@dataclass(frozen=True)
class SpeedModel:
    """What tools/calibration.py fitted."""

    constants: tuple[float, ...]
    """In the order of PARTS."""
    factors: dict[tuple[str, str], float]
    """Family and load: factor of the speed."""
    ranges: dict[str, Range]
    """By basis: measured (this network on this accelerator) or modeled; training …, cpu."""
    measured: dict[tuple[str, str], list[Known]]
    """By accelerator and load."""
    runs: str = ""
    """How many runs of a file corrected it, of how many."""


@cache
def speed_model() -> SpeedModel:
    """Read the sheets that tools/calibration.py writes."""
    values = {
        (kind, name, case): value
        for kind, name, case, value in packaged_sheet("speed_model")
        .select("kind", "name", "load", "value")
        .iter_rows()
    }
    measured: dict[tuple[str, str], list[Known]] = {}
    for row in packaged_sheet("measured_speeds").iter_rows(named=True):
        known = Known(model_shape(row["model_id"]), row["factor"], row["measurement"])
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


def divisions(count: int, model: ModelShape) -> Iterator[int]:
    """List the numbers of devices, at most ``count``, that a layer can be divided over.

    Powers of two over which the heads divide, and the KV heads or copies of them: vLLM refuses
    others, https://docs.vllm.ai/en/v0.15.0/api/vllm/model_executor/models/llama/
    """
    for devices in (2**power for power in range(min(count, model.heads).bit_length())):
        divides = model.kv_heads % devices == 0 or devices % model.kv_heads == 0
        if model.heads % devices == 0 and divides:
            yield devices


def kv_bytes(device: Device, work: Work) -> float:
    """Return the bytes of a number in the cache."""
    narrow = device.compute_format(work.precision) in ("fp8", "fp4")
    return work.kv_bytes or (1.0 if narrow else 2.0)


def needed_bytes(host: Host, work: Work, devices: int) -> tuple[float, float, float]:
    """Return bytes of the weights, of one sequence's cache, and of work space on each device."""
    model, each = work.model, kv_bytes(host.device, work)
    context = work.input_tokens + work.output_tokens
    cached = language_model.kv_cache_bytes(model, context, 1, each, devices)
    space = language_model.prefill_bytes(model, max(1, int(work.input_tokens)))
    return model.parameters * BITS_PER_WEIGHT[work.precision] / 8, cached, space


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
    number_format, bandwidth = device.compute_format(work.precision), device.bytes_per_second
    assert number_format is not None
    assert bandwidth is not None
    peak = device.rate(number_format) or bandwidth * FLOPS_PER_BYTE
    share = devices * host.whole_devices
    group = max(1.0, batch / host.stages)
    context = work.input_tokens + work.output_tokens / 2  # half way through, near the mean
    each = kv_bytes(device, work)
    reads = language_model.parameters_read(model, group) * BITS_PER_WEIGHT[work.precision] / 8
    reads += language_model.kv_cache_bytes(model, context, group, each, devices)
    # two all-reduces a layer of 16-bit states: Megatron-LM, https://arxiv.org/abs/1909.08053
    reduces = 2 * model.layers if devices > 1 else 0
    sent = reduces * 2 * (devices - 1) / devices * model.hidden * 2 / device.link_bytes_per_second

    def listed(flops: float, byte_count: float, steps: float) -> list[float]:
        at_peak = [flops / peak / share, byte_count / bandwidth / share]
        experts = model.active_expert_share < 1
        compute, memory = ([0.0, s] if experts else [s, 0.0] for s in at_peak)
        return [*compute, *memory, steps * model.layers, steps * reduces]

    has_prompt = work.input_tokens > 1
    read = group * language_model.prompt_flops(model, work.input_tokens) if has_prompt else 0.0
    written = group * language_model.token_flops(model, context) * work.output_tokens
    tokens = group * work.output_tokens
    prompt = [*listed(read, 0.0, 0.0), 0.0, sent * group * work.input_tokens * has_prompt]
    answer = listed(written, reads * work.output_tokens, work.output_tokens)
    return prompt, [*answer, tokens, sent * tokens]


def seconds(
    host: Host, work: Work, devices: int, batch: float, constants: tuple[float, ...]
) -> list[float]:
    """Compute how long one copy on ``devices`` takes for prompts and answers of a batch."""
    both = parts(host, work, devices, batch)
    return [sum(c * x for c, x in zip((*constants, 1.0), s, strict=True)) for s in both]


def speed(
    host: Host, work: Work, devices: int, batch: float, constants: tuple[float, ...]
) -> Speed:
    """Compute how fast one copy on ``devices`` serves a batch; the first token is of one alone."""
    prompt, answer = seconds(host, work, devices, batch, constants)
    read, written = seconds(host, work, devices, 1, constants)
    per_user = work.output_tokens / (prompt + answer)
    return Speed(
        users=batch,
        tokens_per_second=batch * per_user,
        tokens_per_second_per_user=per_user,
        seconds_to_first_token=read + written / work.output_tokens,
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

    Each copy has the largest batch that gives each user the speed, which never rises with the
    batch. ``factor`` multiplies the speed of the roofline. None where no division serves the work.
    """
    found = []
    for devices in divisions(host.count, work.model):
        copies = host.count // devices
        busy = copies if work.users is None else min(copies, work.users)
        most = largest_batch(host, work, devices)
        if work.users is not None:
            most = min(most, math.ceil(work.users / copies))

        def is_slow(batch: int, devices: int = devices) -> bool:
            per_user = work.output_tokens / sum(seconds(host, work, devices, batch, constants))
            return per_user * factor < min_per_user

        if most and is_slow(most):
            most = bisect_left(range(1, most), True, key=is_slow)
        if most:
            one = speed(host, work, devices, most, constants)
            all_copies = replace(
                one,
                users=one.users * busy,
                tokens_per_second=one.tokens_per_second * busy * factor,
                tokens_per_second_per_user=one.tokens_per_second_per_user * factor,
                seconds_to_first_token=one.seconds_to_first_token / factor,
            )
            found += [all_copies] if all_copies.seconds_to_first_token <= max_first_token else []
    return max(found, key=lambda one: one.tokens_per_second, default=None)


def same_network(one: ModelShape, other: ModelShape) -> bool:
    """Return whether two models run equally fast."""
    shapes = [(m.layers, m.heads, m.kv_elements, m.active_expert_share) for m in (one, other)]
    return shapes[0] == shapes[1] and abs(one.parameters / other.parameters - 1) < SAME_NETWORK


def estimate(
    host: Host, work: Work, model: SpeedModel | None = None, **limits: float
) -> Speed | None:
    """Estimate a machine's speed; None where it does not serve the work within the limits.

    A machine that nobody says how many users it has is filled, or has a few where it is only fast
    enough for those. ``limits``: those of ``fastest``.
    """
    few = [replace(work, users=FEW_USERS - 1.0)] if work.users is None else []
    found = [_estimate(host, tried, model or speed_model(), limits) for tried in (work, *few)]
    return max(filter(None, found), key=lambda one: one.tokens_per_second, default=None)


def _estimate(host: Host, work: Work, model: SpeedModel, limits: dict[str, float]) -> Speed | None:
    device = host.device
    none = Known(work.model, 1.0, "", "modeled")
    networks = model.measured.get((device.accelerator_id, work.load), [])
    alike = (one for one in networks if same_network(one.network, work.model))
    known = none if work.model.embeds else next(alike, none)
    factor = known.factor * model.factors.get((device.family, work.load), 1.0)
    result = fastest(host, work, model.constants, factor=factor, **limits)
    width = model.ranges["measured" if known.label else "modeled"]
    return result and replace(result, basis=known.basis, range=width, label=known.label or None)
