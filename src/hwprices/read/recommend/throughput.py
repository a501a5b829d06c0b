"""Describe how fast a machine serves a language model: as measured, scaled from it, or modelled."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from hwprices.formulas import language_model
from hwprices.formulas.language_model import ModelShape
from hwprices.formulas.serving import Speed
from hwprices.read.recommend.calibration import Calibration, calibration
from hwprices.read.recommend.devices import WIDTH, Device
from hwprices.read.recommend.measurements import Kind, Measurement, Tuning
from hwprices.read.recommend.model_shape import model_shape
from hwprices.read.recommend.roofline import (
    Demand,
    Host,
    is_single_user,
    measured_demand,
    measured_precision,
    predicted,
    roofline,
)

MATRIX = ("bf16", "fp16", "fp8", "int8", "fp4")
"""Formats that matrix units compute in."""

TRUST = {"serving": 0.5, "single_user": 0.5}
"""Exponent of measured over modelled speed of another model on the same accelerator. Chosen by the
error of predicting each measurement from the others (docs/method.md)."""


@dataclass(frozen=True)
class ServedSpeed:
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

    def answer(self, machine: Host, demand: Demand, *, as_measured: bool) -> ServedSpeed | None:
        """Describe how fast the machine serves the demand; None where it does not.

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
        compute_format = device.compute_format(demand.precision)
        nearest = self.nearest(device, demand.model, kind, compute_format)
        factor = self.nearest_factor(machine, demand.model, kind, compute_format)
        most = self._most_per_device(device, demand, kind)
        asked = _before_scaling(demand, factor)
        result = roofline(machine, asked, self.fitted, most_per_device=most / factor)
        if result is None:
            return None
        speed, devices = result
        scaled = times_rate(speed, factor)
        return self._answer(machine, demand, scaled, devices, nearest, kind)

    def _measured(self, machine: Host, nearest: Measurement) -> ServedSpeed | None:
        """Answer with the measurement itself: that of one accelerator, times their number.

        A system with as many accelerators goes before the one that represents all sizes.
        """
        key = (nearest.accelerator_id, nearest.workload.model_id, nearest.kind, machine.count)
        measurement = self.same_size.get(key, nearest)
        demand, bits = measured_demand(machine.device, measurement)
        result = roofline(machine, demand, self.fitted, bits)
        if result is None:
            return None
        speed, devices = result
        used = machine.count if measurement.kind == "serving" else 1
        rate = measurement.per_device * used * machine.whole_devices
        exact = times_rate(speed, rate / speed.tokens_per_second)
        same_size = used == measurement.devices and machine.whole_devices == 1
        basis = "measured" if same_size else "scaled"
        return self._answer(
            machine, demand, exact, devices, measurement, measurement.kind, basis=basis
        )

    def _answer(
        self,
        machine: Host,
        demand: Demand,
        speed: Speed,
        devices: int,
        nearest: Measurement | None,
        kind: Kind,
        basis: str | None = None,
    ) -> ServedSpeed:
        if basis is None:
            fitted = (machine.device.family, kind) in self.fitted.measured
            basis = "scaled" if nearest else "modelled" if fitted else "unmeasured_family"
        error, p90 = self.fitted.errors[f"{basis}/{kind}"]
        return ServedSpeed(
            speed=speed,
            basis=basis,
            error=error,
            error_p90=p90,
            devices_per_copy=devices,
            precision=demand.precision,
            compute_format=machine.device.compute_format(demand.precision) or "",
            label=nearest.label if nearest else None,
        )

    def nearest(
        self, device: Device, model: ModelShape, kind: Kind, compute_format: str | None
    ) -> Measurement | None:
        """Find the measurement of that accelerator that resembles the question most.

        The same model goes first, then what was computed in the same format (on a filled machine).
        A mixture of experts resembles another one, and then the nearest number of parameters at
        work.
        """
        candidates = [m for m in self.by_device.get(device.accelerator_id, []) if m.kind == kind]

        def distance(measurement: Measurement) -> tuple[bool, bool, bool, float, str]:
            other = model_shape(measurement.workload.model_id)
            kinds = (other.active_expert_share < 1) != (model.active_expert_share < 1)
            formats = kind == "serving" and measured_format(device, measurement) != compute_format
            ratio = other.active_parameters / model.active_parameters
            same = _same(measurement, model)
            return not same, formats, kinds, max(ratio, 1 / ratio), measurement.benchmark

        return min(candidates, key=distance, default=None)

    def nearest_factor(
        self, machine: Host, model: ModelShape, kind: Kind, compute_format: str | None
    ) -> float:
        """Compute measured over modelled speed of the nearest measurement; 1 without one."""
        nearest = self.nearest(machine.device, model, kind, compute_format)
        if nearest is None:
            return 1.0
        return self._factor(machine, nearest, compute_format, exact=_same(nearest, model))

    def _factor(
        self,
        machine: Host,
        measurement: Measurement,
        compute_format: str | None,
        *,
        exact: bool,
    ) -> float:
        """Compute measured over modelled speed of an accelerator: what the roofline misses.

        ``exact``: the measurement is of the same model. Of another one a part of it is believed.
        """
        usable = self.memory.get(machine.device.accelerator_id, machine.usable_bytes)
        device = as_in_format(machine.device, measurement, compute_format)
        modelled = predicted(measurement, device, usable, self.fitted)
        ratio = 1.0 if not modelled else measurement.per_device / modelled
        return float(ratio if exact else ratio ** TRUST[measurement.kind])

    def _most_per_device(self, device: Device, demand: Demand, kind: Kind) -> float:
        """Return the tokens/s of one accelerator that are the most work ever measured on it.

        Work is operations for each generated token, with those of its prompt, at most that of the
        fastest system with the same model; and never above the published peak.
        """
        limits = []
        number_format = device.compute_format(demand.precision)
        peak = device.rate(number_format) if number_format else None
        if peak is not None:
            limits.append(peak)
        exact = self.measurement(device.accelerator_id, demand.model, kind)
        if exact is not None and kind == "serving":
            limits.append(most_work(exact, demand.model))
        work = work_per_token(demand.model, demand.input_tokens, demand.output_tokens)
        return min(limits, default=math.inf) / work


def work_per_token(model: ModelShape, input_tokens: float, output_tokens: float) -> float:
    """Count the operations of one generated token, with its part of the prompt's."""
    prompt = language_model.prompt_flops(model, input_tokens) / output_tokens
    return prompt + language_model.token_flops(model, input_tokens + output_tokens / 2)


def most_work(measurement: Measurement, model: ModelShape) -> float:
    """Compute the operations per second of an accelerator in the fastest system with a model."""
    lengths = measurement.workload
    return measurement.highest * work_per_token(model, lengths.input_tokens, lengths.output_tokens)


def measured_format(device: Device, measurement: Measurement) -> str | None:
    """Return the format in which a measurement was computed."""
    return device.compute_format(measured_precision(device, measurement))


def as_in_format(device: Device, measurement: Measurement, compute_format: str | None) -> Device:
    """Return the device as a factor for another format than that of the measurement needs it.

    Matrix units are twice as fast in half the bits. Where a maker prints more for the measured
    format, it is the excess that was not reached, and a factor from it would slow the other one:
    B300 has 13,500 TFLOPS in FP4 and 4,500 in FP8, B200 9,000 and 4,500. So the measured format is
    given the rate that follows from the other.
    """
    measured = measured_format(device, measurement)
    if measured == compute_format or measured not in MATRIX or compute_format not in MATRIX:
        return device
    rate = device.rate(compute_format)
    if rate is None:
        return device
    as_usual = rate * WIDTH[compute_format] / WIDTH[measured]
    return replace(device, rates={**device.rates, measured: as_usual})


def _same(measurement: Measurement, model: ModelShape) -> bool:
    return model_shape(measurement.workload.model_id).name == model.name


def _before_scaling(demand: Demand, factor: float) -> Demand:
    """Return the demand on the roofline whose speeds, times the factor, are the requested ones."""
    latest = demand.max_seconds_to_first_token
    return replace(
        demand,
        min_tokens_per_second=demand.min_tokens_per_second / factor,
        max_seconds_to_first_token=None if latest is None else latest * factor,
    )


def times_rate(speed: Speed, factor: float) -> Speed:
    """Multiply every speed by a factor, and divide the time to the first token by it."""
    return replace(
        speed,
        tokens_per_second=speed.tokens_per_second * factor,
        tokens_per_second_per_user=speed.tokens_per_second_per_user * factor,
        seconds_to_first_token=speed.seconds_to_first_token / factor,
    )
