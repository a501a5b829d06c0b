"""Compute how fast a machine serves a model from its rates, its memory and its links."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from hwprices.formulas import language_model, serving
from hwprices.formulas.language_model import BITS_PER_WEIGHT, KV_BYTES, ModelShape
from hwprices.formulas.serving import Replica, Request, Speed
from hwprices.read.recommend.calibration import Calibration
from hwprices.read.recommend.devices import Device
from hwprices.read.recommend.measurements import Measurement
from hwprices.read.recommend.model_shape import model_shape

MEASURED_BATCHED = 8
"""From this many sequences at once, a filled machine is nearer than a single user."""


@dataclass(frozen=True)
class Host:
    """A machine's accelerators of one kind."""

    device: Device
    count: int
    usable_bytes: float
    """Of one accelerator."""
    whole_devices: float = 1.0
    """Share of an accelerator that the machine has, if less than one."""


@dataclass(frozen=True)
class Demand:
    """What a machine that serves a model must do."""

    model: ModelShape
    input_tokens: float
    output_tokens: float
    precision: str
    """Format in which the weights are stored."""
    kv_bytes: float | None = None
    """Bytes of a number in the cache; None: one where the device computes in FP8, else two."""
    concurrency: float | None = None
    """Sequences at once; None: as many as the machine holds."""
    min_tokens_per_second: float = 0.0
    """For each user."""
    max_seconds_to_first_token: float | None = None
    nodes: int = 1


def roofline(
    machine: Host,
    demand: Demand,
    fitted: Calibration,
    bits: float | None = None,
    most_per_device: float = math.inf,
) -> tuple[Speed, int] | None:
    """Compute the speed of a machine, and how many devices hold a copy of the model.

    Copies are tried on 1, 2, 4 … devices that the heads of the model divide over; the division with
    the most tokens per second counts, of those that are equal the one with the most users, and then
    the one whose first token comes first. ``bits``: of a stored weight, where they are odd.
    ``most_per_device``: tokens/s that one accelerator generates at most. None where no division
    serves the demand.
    """
    results = []
    for devices in divisions(machine.count, demand.model):
        copies = machine.count // devices
        copy = _replica(machine, devices, demand, fitted)
        if copy is None:
            return None
        request = _request(machine.device, demand, bits)
        efficiency = fitted.efficiency(
            machine.device.family,
            has_experts=demand.model.active_expert_share < 1,
            single_user=is_single_user(demand),
        )
        most = serving.largest_batch(demand.model, copy, request)
        if demand.concurrency is not None:
            most = min(most, -(-demand.concurrency // copies))
        speed = serving.fill(
            demand.model,
            copy,
            efficiency,
            request,
            most=most,
            min_tokens_per_second=demand.min_tokens_per_second,
            most_tokens_per_second=most_per_device * machine.whole_devices * devices * copy.stages,
        )
        if speed is None or _too_late(speed, demand):
            continue
        busy = copies if demand.concurrency is None else min(copies, demand.concurrency)
        results.append((_of_copies(speed, busy), devices))
    return max(results, key=lambda result: _merit(result[0]), default=None)


def _merit(speed: Speed) -> tuple[float, float, float]:
    """Return what divisions of a machine are compared by, the largest first.

    Divisions that reach the same limit differ in the last digits alone, which do not count.
    """
    equal_digits = float(f"{speed.tokens_per_second:.9g}")
    return equal_digits, speed.batch, -speed.seconds_to_first_token


def is_single_user(demand: Demand) -> bool:
    """Return whether so few sequences are served that the memory alone decides."""
    return demand.concurrency is not None and demand.concurrency < MEASURED_BATCHED


def divisions(count: int, model: ModelShape) -> Iterator[int]:
    """List the numbers of devices, at most ``count``, that a layer can be divided over.

    Powers of two over which the heads divide, and the KV heads or copies of them: vLLM refuses
    others, https://docs.vllm.ai/en/v0.15.0/api/vllm/model_executor/models/llama/
    """
    devices = 1
    while devices <= min(count, model.heads):
        heads_divide = model.heads % devices == 0
        if heads_divide and (model.kv_heads % devices == 0 or devices % model.kv_heads == 0):
            yield devices
        devices *= 2


def _too_late(speed: Speed, demand: Demand) -> bool:
    limit = demand.max_seconds_to_first_token
    return limit is not None and speed.seconds_to_first_token > limit


def _of_copies(speed: Speed, copies: float) -> Speed:
    """Return the speed of several copies side by side."""
    return replace(
        speed,
        batch=speed.batch * copies,
        tokens_per_second=speed.tokens_per_second * copies,
    )


def _replica(machine: Host, devices: int, demand: Demand, fitted: Calibration) -> Replica | None:
    """Describe a copy of the model on ``devices``; None without a bandwidth or a format."""
    device = machine.device
    number_format = device.compute_format(demand.precision)
    if device.bytes_per_second is None or number_format is None:
        return None
    rate = compute_rate(device, number_format, fitted)
    return Replica(
        devices=devices,
        flops_per_second=rate * machine.whole_devices,
        bytes_per_second=device.bytes_per_second * machine.whole_devices,
        link_bytes_per_second=device.link_bytes_per_second,
        usable_bytes=machine.usable_bytes,
        stages=demand.nodes,
    )


def compute_rate(device: Device, number_format: str, fitted: Calibration) -> float:
    """Return the peak rate of a device; if unpublished, one in proportion to its memory."""
    rate = device.rate(number_format)
    if rate is not None:
        return rate
    assert device.bytes_per_second is not None
    compute = fitted.efficiencies.get(device.family, fitted.efficiencies["other"]).compute
    return fitted.flops_per_byte * device.bytes_per_second / compute


def _request(device: Device, demand: Demand, bits: float | None) -> Request:
    stored = bits if bits is not None else BITS_PER_WEIGHT[demand.precision]
    return Request(demand.input_tokens, demand.output_tokens, stored / 8, kv_bytes(device, demand))


def kv_bytes(device: Device, demand: Demand) -> float:
    """Return the bytes of a number in the cache: one with 8-bit weights where FP8 is computed."""
    if demand.kv_bytes is not None:
        return demand.kv_bytes
    narrow = language_model.BYTES_PER_WEIGHT[demand.precision] <= 1
    return 1.0 if narrow and device.support.get("fp8") == "supported" else KV_BYTES


def measured_demand(device: Device, measurement: Measurement) -> tuple[Demand, float | None]:
    """Return the demand of a measurement, and the bits of a weight where they are odd.

    MLPerf's column of precision often names the weights that a submission starts from. Submissions
    run in the narrowest format that reaches the accuracy: FP4 where there is FP4, else FP8.
    """
    demand = Demand(
        model=model_shape(measurement.workload.model_id),
        input_tokens=measurement.workload.input_tokens,
        output_tokens=measurement.workload.output_tokens,
        precision=measured_precision(device, measurement),
        concurrency=None if measurement.kind == "serving" else 1,
        kv_bytes=None if measurement.kind == "serving" else KV_BYTES,
    )
    bits = None
    if measurement.kind != "serving" and measurement.precision is not None:
        bits = BITS_PER_WEIGHT[measurement.precision]
    return demand, bits


def measured_precision(device: Device, measurement: Measurement) -> str:
    """Return the format in which a measurement stored its weights."""
    if measurement.kind != "serving":
        bits = BITS_PER_WEIGHT[measurement.precision or "fp16"]
        return "int4" if bits < 6 else "int8" if bits < 10 else "fp16"
    if measurement.precision in ("fp4", "fp8", "int8"):
        return measurement.precision
    narrow = ("fp4", "fp8") if device.family in ("blackwell", "cdna") else ("fp8",)
    return next((f for f in narrow if device.support.get(f) == "supported"), "fp16")


def predicted(
    measurement: Measurement, device: Device, usable_bytes: float, fitted: Calibration
) -> float | None:
    """Compute tokens/s of one accelerator for what was measured on it."""
    demand, bits = measured_demand(device, measurement)
    machine = Host(device, measurement.devices, usable_bytes)
    if measurement.kind == "single_user":
        machine = replace(machine, count=1)
    result = roofline(machine, demand, fitted, bits)
    return None if result is None else result[0].tokens_per_second / machine.count
