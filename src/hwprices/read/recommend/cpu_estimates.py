"""Estimate how machines without accelerators serve a language model, or say why they do not."""

from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from hwprices.formulas import language_model, serving
from hwprices.formulas.language_model import BITS_PER_WEIGHT, KV_BYTES
from hwprices.formulas.serving import Request, Speed
from hwprices.read.recommend.calibration import Calibration
from hwprices.read.recommend.cpu_speeds import (
    ALONE_FORMAT,
    FILLED_FORMAT,
    FORMATS,
    LARGEST_MODEL,
    PEAKS,
    CpuMachine,
    CpuRates,
    CpuSpeed,
    MeasuredCpus,
    filled_speed,
    middle_ratio,
    replica,
)
from hwprices.read.recommend.estimates import SCHEMA, Estimate, minimum_speed, served
from hwprices.read.recommend.job import Job
from hwprices.read.recommend.roofline import MEASURED_BATCHED
from hwprices.read.recommend.throughput import ServedSpeed, times_rate

KIND = ["provider", "measured_type", "cpu_id", "vcpus", "usable_bytes"]
"""Columns that make a kind of machine; measured_type is null for types that nobody measured."""


def with_cpu_estimates(
    machines: pl.DataFrame, job: Job, speeds: MeasuredCpus, fitted: Calibration
) -> pl.DataFrame:
    """Add the columns of ``estimates.SCHEMA`` to the machines of ``machines.cpus``."""
    types = [row.instance_type for row in speeds.measured]
    machines = machines.with_columns(
        measured_type=pl.when(pl.col("machine").is_in(types)).then("machine")
    )
    kinds = machines.filter(pl.col("obstacle").is_null()).select(KIND).unique(maintain_order=True)
    estimator = CpuEstimator(job, speeds, fitted)
    rows = [asdict(estimator.estimate(row)) for row in kinds.iter_rows(named=True)]
    estimates = pl.DataFrame(rows, schema=SCHEMA).select(list(SCHEMA))
    joined = pl.concat([kinds, estimates], how="horizontal")
    return machines.join(joined, on=KIND, how="left", nulls_equal=True).drop("measured_type")


@dataclass(frozen=True)
class CpuEstimator:
    """Estimates one job on machines without accelerators."""

    job: Job
    speeds: MeasuredCpus
    fitted: Calibration

    @property
    def is_alone(self) -> bool:
        """Whether so few users are served that the memory alone decides."""
        users = self.job.serving.concurrency
        return users is not None and users < MEASURED_BATCHED

    @property
    def precision(self) -> str:
        """Format of the weights: as asked, else as measured."""
        return self.job.precision or (ALONE_FORMAT if self.is_alone else FILLED_FORMAT)

    @property
    def request(self) -> Request:
        """What each user sends and gets."""
        bytes_per_weight = BITS_PER_WEIGHT[self.precision] / 8
        return Request(self.job.input_tokens, self.job.output_tokens, bytes_per_weight, KV_BYTES)

    def estimate(self, row: dict[str, Any]) -> Estimate:
        """Estimate the job on a kind of machine: a row with the columns of KIND."""
        reason = self._reason()
        if reason:
            return Estimate(reason=reason, precision=self.precision)
        name, size = row["measured_type"] or "", row["vcpus"]
        machine = CpuMachine(row["provider"], name, row["cpu_id"], size, row["usable_bytes"])
        result = Estimate(precision=self.precision, nodes_needed=1)
        self._add_memory(result, machine)
        rates = self.speeds.rates(machine, self.job.model)
        if rates is None:
            result.reason = "cpu_not_measured"
            return result
        if self._most_users(machine, rates) < 1:
            result.reason = "too_small"
            return result
        answer = self._answer(machine, rates)
        if answer is None:
            result.reason = "too_slow"
            return result
        return served(result, answer, self.job, 1)

    def _reason(self) -> str | None:
        """Return the code of why no machine without accelerators does the job; None if one may."""
        if self.job.is_training:
            return "no_training_on_cpus"
        if self.job.model.active_parameters > LARGEST_MODEL:
            return "too_large_for_cpus"
        return None if self.precision in FORMATS else "precision_unsupported"

    def _add_memory(self, result: Estimate, machine: CpuMachine) -> None:
        model, request = self.job.model, self.request
        context = request.input_tokens + request.output_tokens
        weights = model.parameters * request.bytes_per_weight
        cache = language_model.kv_cache_bytes(model, context, 1, request.bytes_per_kv)
        working = language_model.prefill_bytes(model, max(1, int(request.input_tokens)))
        result.memory_needed_gib = (weights + cache + working) / 2**30
        result.memory_usable_gib = machine.usable_bytes / 2**30

    def _most_users(self, machine: CpuMachine, rates: CpuRates) -> float:
        """Count the users that fit in the memory, and no more than are requested."""
        copy = replica(rates, machine.usable_bytes)
        most = serving.largest_batch(self.job.model, copy, self.request)
        return min(most, self.job.serving.concurrency or most)

    def _answer(self, machine: CpuMachine, rates: CpuRates) -> ServedSpeed | None:
        """Describe how fast the machine serves the job; None where it does not as fast as asked."""
        own = None if self.is_alone else self._own_measurement(machine)
        ratio = self._ratio(machine, rates, own)
        speed = serving.fill(
            self.job.model,
            replica(rates, machine.usable_bytes),
            PEAKS,
            self.request,
            most=self._most_users(machine, rates),
            min_tokens_per_second=minimum_speed(self.job.serving) / ratio,
        )
        if speed is None:
            return None
        speed = times_rate(speed, ratio)
        if self._is_late(speed):
            return None
        basis = "scaled" if own else rates.basis
        kind = "cpu_single_user" if self.is_alone else "cpu_serving"
        error, p90 = self.fitted.errors[f"{basis}/{kind}"]
        return ServedSpeed(
            speed=speed,
            basis=basis,
            error=error,
            error_p90=p90,
            devices_per_copy=1,
            precision=self.precision,
            compute_format="",
            label=(own or rates).label,
        )

    def _own_measurement(self, machine: CpuMachine) -> CpuSpeed | None:
        """Find the measurement of this model on this machine type, in the requested format."""
        if self.precision != FILLED_FORMAT:
            return None
        return self.speeds.measurement(machine, self.job.model, "serving")

    def _ratio(self, machine: CpuMachine, rates: CpuRates, own: CpuSpeed | None) -> float:
        """Compute what the rates of llama.cpp miss of a machine filled by vLLM, in 16 bits."""
        if self.is_alone or self.precision not in ("bf16", "fp16"):
            return 1.0
        if own is None:
            return middle_ratio(self.speeds.filled_ratios, machine.cpu_id, self.job.model)
        modelled = filled_speed(rates, own.model, own.request, own.users)
        return own.tokens_per_second / modelled.tokens_per_second

    def _is_late(self, speed: Speed) -> bool:
        limit = self.job.serving.max_seconds_to_first_token
        return limit is not None and speed.seconds_to_first_token > limit
