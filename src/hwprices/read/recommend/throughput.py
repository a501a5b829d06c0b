"""Say how fast a machine serves a language model: as measured, scaled from it, or modelled."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache

import polars as pl

from hwprices.formulas import language_model, serving
from hwprices.formulas.language_model import KV_BYTES, ModelShape
from hwprices.formulas.serving import Efficiency, Replica, Request, Speed
from hwprices.read.recommend.devices import Calibration, Device
from hwprices.read.recommend.measurements import BITS_PER_WEIGHT, Kind, Measurement, Tuning
from hwprices.read.recommend.model_shape import model_shape
from hwprices.specs import sheet_directory

MEASURED_BATCHED = 8
"""From this many sequences at once, a filled machine is nearer than a single user."""

TRUST = {"serving": 0.5, "single_user": 0.5}
"""Exponent of measured over modelled speed of another model on the same accelerator. Chosen by the
error of predicting each measurement from the others (docs/method.md)."""


@dataclass(frozen=True)
class Machine:
    """A machine's accelerators of one kind."""

    device: Device
    count: int
    usable_bytes: float
    """Of one accelerator."""
    whole_devices: float = 1.0
    """Share of an accelerator that the machine has, if less than one."""


@dataclass(frozen=True)
class Demand:
    """What is asked of a machine that serves a model."""

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


@dataclass(frozen=True)
class Answer:
    """How fast a machine serves the model, and how that is known."""

    speed: Speed
    basis: str
    """measured, scaled, modelled, or unmeasured_family."""
    error: float
    """Share of the figure by which it is off in one case of two: the median of its kind."""
    error_p90: float
    devices_per_copy: int
    precision: str
    compute_format: str
    label: str | None
    """The measurement behind it."""


def load_calibration() -> Calibration:
    """Read what tools/calibration.py fitted."""
    return calibration_from(
        pl.read_csv((sheet_directory() / "efficiencies.csv").read_bytes()),
        pl.read_csv((sheet_directory() / "calibration.csv").read_bytes()),
        pl.read_csv((sheet_directory() / "utilisations.csv").read_bytes()),
    )


@cache
def calibration() -> Calibration:
    """Give the fitted efficiencies. Cached: the sheets are part of the package."""
    return load_calibration()


def calibration_from(
    efficiencies: pl.DataFrame,
    errors: pl.DataFrame | None = None,
    utilisations: pl.DataFrame | None = None,
) -> Calibration:
    """Make a calibration from the sheets; without the last two while they are being computed."""
    figures = {row["family"]: row for row in efficiencies.iter_rows(named=True)}
    families = {
        name: Efficiency(row["compute"], row["bandwidth"])
        for name, row in figures.items()
        if row["bandwidth"] is not None
    }
    return Calibration(
        efficiencies=families,
        single_user_bandwidth={name: figures[name]["single_user_bandwidth"] for name in families},
        experts=figures["experts"]["compute"],
        flops_per_byte=figures["flops_per_byte"]["compute"],
        utilisations={
            (row["accelerator_id"], row["precision"] == "fp8"): row["mfu"]
            for row in ([] if utilisations is None else utilisations.iter_rows(named=True))
        },
        errors={
            f"{row['basis']}/{row['kind']}": (row["median_error"], row["p90_error"])
            for row in ([] if errors is None else errors.iter_rows(named=True))
        },
    )


def roofline(
    machine: Machine, demand: Demand, fitted: Calibration, bits: float | None = None
) -> tuple[Speed, int] | None:
    """Compute the speed of a machine, and how many devices hold a copy of the model.

    Copies are tried on 1, 2, 4 … devices, at most as many as the model has heads; the division with
    the most tokens per second counts. None where no division serves the demand.
    """
    results = []
    for devices in divisions(machine.count, demand.model.heads):
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
        found = serving.fill(
            demand.model,
            copy,
            efficiency,
            request,
            most=most,
            min_tokens_per_second=demand.min_tokens_per_second,
        )
        if found is None or _too_late(found, demand):
            continue
        busy = copies if demand.concurrency is None else min(copies, demand.concurrency)
        results.append((_times(found, busy), devices))
    return max(results, key=lambda result: result[0].tokens_per_second, default=None)


def is_single_user(demand: Demand) -> bool:
    """Tell whether so few sequences are served that the memory alone decides."""
    return demand.concurrency is not None and demand.concurrency < MEASURED_BATCHED


def divisions(count: int, heads: int) -> Iterator[int]:
    """List the numbers of devices that a layer can be divided over: powers of two."""
    devices = 1
    while devices <= min(count, heads):
        yield devices
        devices *= 2


def _too_late(found: Speed, demand: Demand) -> bool:
    limit = demand.max_seconds_to_first_token
    return limit is not None and found.seconds_to_first_token > limit


def _times(found: Speed, copies: float) -> Speed:
    """Give the speed of several copies side by side."""
    return replace(
        found,
        batch=found.batch * copies,
        tokens_per_second=found.tokens_per_second * copies,
    )


def _replica(machine: Machine, devices: int, demand: Demand, fitted: Calibration) -> Replica | None:
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
    """Give the peak rate of a device; where none is published, one in proportion to its memory."""
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
    """Give the bytes of a number in the cache: one with 8-bit weights where FP8 is computed."""
    if demand.kv_bytes is not None:
        return demand.kv_bytes
    narrow = language_model.BYTES_PER_WEIGHT[demand.precision] <= 1
    return 1.0 if narrow and device.support.get("fp8") == "supported" else KV_BYTES


def measured_demand(device: Device, measurement: Measurement) -> tuple[Demand, float | None]:
    """Give the demand of a measurement, and the bits of a weight where they are odd.

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
    """Give the format in which a measurement stored its weights."""
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
    machine = Machine(device, measurement.devices, usable_bytes)
    if measurement.kind == "single_user":
        machine = replace(machine, count=1)
    result = roofline(machine, demand, fitted, bits)
    return None if result is None else result[0].tokens_per_second / machine.count


class Estimator:
    """Answers how fast machines serve models, from the measurements of a dataset."""

    def __init__(
        self,
        measured: Iterable[Measurement],
        memory: dict[str, float],
        fitted: Calibration | None = None,
        by_size: Iterable[Measurement] = (),
        tunings: dict[tuple[str, float], Tuning] | None = None,
    ) -> None:
        """Take the measurements, and the usable bytes of one accelerator by its id.

        ``by_size``: one for each number of accelerators, for machines with as many. ``tunings``:
        measured times of fine-tuning, by accelerator and their number.
        """
        self.fitted = fitted or calibration()
        self.memory = memory
        self.by_device: dict[str, list[Measurement]] = {}
        for measurement in measured:
            self.by_device.setdefault(measurement.accelerator_id, []).append(measurement)
        self.tunings = tunings or {}
        self.same_size = {
            (m.accelerator_id, m.workload.model_id, m.kind, m.devices): m for m in by_size
        }

    def measurement(self, accelerator_id: str, model: ModelShape, kind: Kind) -> Measurement | None:
        """Find the measurement of that model on that accelerator."""
        for candidate in self.by_device.get(accelerator_id, []):
            if candidate.kind == kind and _same(candidate, model):
                return candidate
        return None

    def answer(self, machine: Machine, demand: Demand, *, as_measured: bool) -> Answer | None:
        """Say how fast the machine serves the demand; None where it does not.

        ``as_measured``: the demand is the default one, so that a measurement of this model on this
        accelerator is the answer, in its own format and with its own lengths.
        """
        device = machine.device
        kind: Kind = "single_user" if is_single_user(demand) else "serving"
        exact = self.measurement(device.accelerator_id, demand.model, kind)
        if as_measured and exact is not None:
            answer = self._measured(machine, exact)
            if answer is not None:
                return answer
        nearest = self.nearest(device, demand.model, kind)
        factor = self.nearest_factor(machine, demand.model, kind)
        result = roofline(machine, _before_scaling(demand, factor), self.fitted)
        if result is None:
            return None
        found, devices = result
        scaled = _times_rate(found, factor)
        capped = self._capped(machine, demand, scaled, kind)
        return self._answer(machine, demand, capped, devices, nearest, kind)

    def _measured(self, machine: Machine, nearest: Measurement) -> Answer | None:
        """Answer with the measurement itself: that of one accelerator, times their number.

        A system with as many accelerators goes before the one that stands for all sizes.
        """
        key = (nearest.accelerator_id, nearest.workload.model_id, nearest.kind, machine.count)
        measurement = self.same_size.get(key, nearest)
        demand, bits = measured_demand(machine.device, measurement)
        result = roofline(machine, demand, self.fitted, bits)
        if result is None:
            return None
        found, devices = result
        used = machine.count if measurement.kind == "serving" else 1
        rate = measurement.per_device * used * machine.whole_devices
        exact = _times_rate(found, rate / found.tokens_per_second)
        same_size = used == measurement.devices and machine.whole_devices == 1
        basis = "measured" if same_size else "scaled"
        return self._answer(
            machine, demand, exact, devices, measurement, measurement.kind, basis=basis
        )

    def _answer(
        self,
        machine: Machine,
        demand: Demand,
        found: Speed,
        devices: int,
        nearest: Measurement | None,
        kind: Kind,
        basis: str | None = None,
    ) -> Answer:
        if basis is None:
            fitted = machine.device.family in self.fitted.efficiencies
            fitted = fitted and machine.device.family != "other"
            basis = "scaled" if nearest else "modelled" if fitted else "unmeasured_family"
        error, p90 = self.fitted.errors[f"{basis}/{kind}"]
        return Answer(
            speed=found,
            basis=basis,
            error=error,
            error_p90=p90,
            devices_per_copy=devices,
            precision=demand.precision,
            compute_format=machine.device.compute_format(demand.precision) or "",
            label=nearest.label if nearest else None,
        )

    def nearest(self, device: Device, model: ModelShape, kind: Kind) -> Measurement | None:
        """Find the measurement of that accelerator that resembles the model most.

        A mixture of experts resembles another one, and then the nearest number of parameters at
        work.
        """
        candidates = [m for m in self.by_device.get(device.accelerator_id, []) if m.kind == kind]

        def distance(measurement: Measurement) -> tuple[bool, float, str]:
            other = model_shape(measurement.workload.model_id)
            kinds = (other.active_expert_share < 1) != (model.active_expert_share < 1)
            ratio = other.active_parameters / model.active_parameters
            return kinds, max(ratio, 1 / ratio), measurement.benchmark

        return min(candidates, key=distance, default=None)

    def nearest_factor(self, machine: Machine, model: ModelShape, kind: Kind) -> float:
        """Compute measured over modelled speed of the nearest measurement; 1 without one."""
        nearest = self.nearest(machine.device, model, kind)
        if nearest is None:
            return 1.0
        return self._factor(machine, nearest, exact=_same(nearest, model))

    def _factor(self, machine: Machine, measurement: Measurement, *, exact: bool) -> float:
        """Compute measured over modelled speed of an accelerator: what the roofline misses.

        ``exact``: the measurement is of the same model. Of another one a part of it is believed.
        """
        usable = self.memory.get(machine.device.accelerator_id, machine.usable_bytes)
        modelled = predicted(measurement, machine.device, usable, self.fitted)
        ratio = 1.0 if not modelled else measurement.per_device / modelled
        return float(ratio if exact else ratio ** TRUST[measurement.kind])

    def _capped(self, machine: Machine, demand: Demand, found: Speed, kind: Kind) -> Speed:
        """Hold the speed below the most work that was ever measured on the accelerator.

        Work is operations for each generated token, with those of its prompt, at most that of the
        fastest system with the same model; and never above the published peak.
        """
        work = work_per_token(demand.model, demand.input_tokens, demand.output_tokens)
        limits = []
        number_format = machine.device.compute_format(demand.precision)
        peak = machine.device.rate(number_format) if number_format else None
        devices = machine.count * machine.whole_devices
        if peak is not None:
            limits.append(peak * devices / work)
        exact = self.measurement(machine.device.accelerator_id, demand.model, kind)
        if exact is not None and kind == "serving":
            limits.append(most_work(exact, demand.model) * devices / work)
        limit = min(limits, default=found.tokens_per_second)
        return _times_rate(found, min(1.0, limit / found.tokens_per_second))


def work_per_token(model: ModelShape, input_tokens: float, output_tokens: float) -> float:
    """Count the operations of one generated token, with its part of the prompt's."""
    prompt = language_model.prompt_flops(model, input_tokens) / output_tokens
    return prompt + language_model.token_flops(model, input_tokens + output_tokens / 2)


def most_work(measurement: Measurement, model: ModelShape) -> float:
    """Compute the operations per second of an accelerator in the fastest system with a model."""
    lengths = measurement.workload
    return measurement.highest * work_per_token(model, lengths.input_tokens, lengths.output_tokens)


def _same(measurement: Measurement, model: ModelShape) -> bool:
    return model_shape(measurement.workload.model_id).name == model.name


def _before_scaling(demand: Demand, factor: float) -> Demand:
    """Give the demand on the roofline whose speeds, times the factor, are those asked for."""
    latest = demand.max_seconds_to_first_token
    return replace(
        demand,
        min_tokens_per_second=demand.min_tokens_per_second / factor,
        max_seconds_to_first_token=None if latest is None else latest * factor,
    )


def _times_rate(found: Speed, factor: float) -> Speed:
    """Multiply every speed by a factor, and divide the time to the first token by it."""
    return replace(
        found,
        tokens_per_second=found.tokens_per_second * factor,
        tokens_per_second_per_user=found.tokens_per_second_per_user * factor,
        seconds_to_first_token=found.seconds_to_first_token / factor,
    )
