"""Estimate a job on each kind of machine: how many it takes, how fast they are, or why not.

Thousands of offers are a few hundred kinds of machines: the same accelerators, as many, with as
much memory. Each kind is estimated once.
"""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import polars as pl

from hwprices.formulas import language_model, training
from hwprices.formulas.training import Cluster
from hwprices.read.recommend.devices import COMPUTE_FORMATS, Device, device
from hwprices.read.recommend.job import (
    READING_SPEED,
    SERVED_FORMAT,
    STORAGE_FORMATS,
    TRAINING_CONTEXT,
    Job,
    Serving,
    Training,
)
from hwprices.read.recommend.machines import SHEET_COLUMNS, TPU_SLICE
from hwprices.read.recommend.measurements import (
    TUNED_MODEL,
    TUNING_CONTEXT,
    TUNING_TOKENS,
    Tuning,
)
from hwprices.read.recommend.roofline import (
    Demand,
    Host,
    divisions,
    kv_bytes,
    measured_precision,
)
from hwprices.read.recommend.throughput import Estimator, ServedSpeed

KIND = [
    "accelerator_id",
    "accelerator_count",
    "devices",
    "usable_bytes",
    "clusters",
    "network_gbps",
    "inference_only",
]
"""Columns that make a kind of machine."""

SMALL_FAMILIES = ("apple", "arm", "jetson", "rdna", "other", "neuron", "gaudi", "pascal")
"""Families for which hardly any training was published."""

MOST_COPIES = 100_000  # machines side by side; no service rents more


@dataclass
class Estimate:
    """A job on a kind of machine. None where it does not run."""

    reason: str | None = None
    """Code of why the machine is left out; a key of exclusions.sentences."""
    nodes: int | None = None
    nodes_needed: int | None = None
    precision: str | None = None
    compute_format: str | None = None
    memory_needed_gib: float | None = None
    memory_usable_gib: float | None = None
    hours: float | None = None
    tokens_per_second: float | None = None
    tokens_per_second_per_user: float | None = None
    seconds_to_first_token: float | None = None
    concurrency: float | None = None
    prompt_share: float | None = None
    basis: str | None = None
    error: float | None = None
    error_p90: float | None = None
    measurement: str | None = None


SCHEMA = pl.Schema(
    {
        "reason": pl.String,
        "nodes": pl.Int64,
        "nodes_needed": pl.Int64,
        "precision": pl.String,
        "compute_format": pl.String,
        "memory_needed_gib": pl.Float64,
        "memory_usable_gib": pl.Float64,
        "hours": pl.Float64,
        "tokens_per_second": pl.Float64,
        "tokens_per_second_per_user": pl.Float64,
        "seconds_to_first_token": pl.Float64,
        "concurrency": pl.Float64,
        "prompt_share": pl.Float64,
        "basis": pl.String,
        "error": pl.Float64,
        "error_p90": pl.Float64,
        "measurement": pl.String,
    }
)
"""Columns that ``with_estimates`` adds."""


def with_estimates(machines: pl.DataFrame, job: Job, estimator: Estimator) -> pl.DataFrame:
    """Add the columns of SCHEMA to the machines that a job might run on."""
    possible = machines.filter(pl.col("obstacle").is_null())
    kinds = possible.unique(KIND, maintain_order=True).select(*KIND, *SHEET_COLUMNS)
    rows = [asdict(estimate(row, job, estimator)) for row in kinds.iter_rows(named=True)]
    estimates = pl.DataFrame(rows, schema=SCHEMA).select(
        *SCHEMA, pl.Series("kind_index", range(len(rows)), dtype=pl.UInt32)
    )
    keys = kinds.select(KIND).with_row_index("kind_index")
    joined = keys.join(estimates, on="kind_index").drop("kind_index")
    return machines.join(joined, on=KIND, how="left", nulls_equal=True)


def estimate(row: dict[str, Any], job: Job, estimator: Estimator) -> Estimate:
    """Estimate a job on a kind of machine: a row with the columns of KIND and of the sheet."""
    accelerator = device(row)
    if accelerator.bytes_per_second is None:
        return Estimate(reason="bandwidth_unknown")
    if job.is_training:
        return _train(row, accelerator, job, estimator)
    return _serve(row, accelerator, job, estimator)


def machine_of(row: dict[str, Any], accelerator: Device) -> Host:
    """Describe the accelerators of a kind of machine."""
    count = row["accelerator_count"]
    return Host(
        device=accelerator,
        count=int(row["devices"]),
        usable_bytes=row["usable_bytes"],
        whole_devices=min(1.0, count),
    )


def _joined(needed: int | None, job: Job) -> int | None:
    """Count the machines that are joined for a job; None where it fits on none, or not on one."""
    is_too_small = needed is None or (needed > 1 and job.max_nodes == 1)
    return None if is_too_small else needed


# Serving


def _serve(row: dict[str, Any], accelerator: Device, job: Job, estimator: Estimator) -> Estimate:
    """Estimate serving: as many machines as the users or requests need."""
    machine = machine_of(row, accelerator)
    precision = job.precision or _usual_precision(accelerator, job, estimator)
    reason = format_reason(accelerator, precision)
    if reason:
        return Estimate(reason=reason, precision=precision)
    demand = _demand(job, precision)
    needed = _stages(machine, demand)
    fitted = Estimate(precision=precision, nodes_needed=needed)
    joined = _joined(needed, job)
    _add_memory(fitted, machine, demand, joined or 1)
    if joined is None:
        fitted.reason = "too_small"
        return fitted
    if joined > 1 and not row["clusters"]:
        fitted.reason = "no_network"
        return fitted
    if joined > job.max_nodes:
        fitted.reason = "too_many_machines"
        return fitted
    demand = _demand(job, precision, nodes=joined)
    answer = estimator.answer(machine, demand, as_measured=job.is_vague)
    if answer is None:
        fitted.reason = "too_slow"
        return fitted
    return served(fitted, answer, job, joined)


def _usual_precision(accelerator: Device, job: Job, estimator: Estimator) -> str:
    """Return the default format of the weights.

    As measured, else as published where that is in 4 bits, else 8 bits.
    """
    measured = estimator.measurement(accelerator.accelerator_id, job.model, "serving")
    if measured is not None:
        return measured_precision(accelerator, measured)
    return job.model.released_format or SERVED_FORMAT


def format_reason(accelerator: Device, precision: str) -> str | None:
    """Return the code of why a device does not compute weights of that format; None if it does."""
    if accelerator.compute_format(precision) is not None:
        return None
    states = {accelerator.support.get(f) for f in COMPUTE_FORMATS[precision]}
    return "precision_unknown" if "unknown" in states else "precision_unsupported"


def _demand(job: Job, precision: str, nodes: int = 1) -> Demand:
    asked: Serving = job.serving
    kv = {"fp8": 1.0, "fp16": 2.0, None: None}[asked.kv_precision]
    return Demand(
        model=job.model,
        input_tokens=job.input_tokens,
        output_tokens=job.output_tokens,
        precision=precision,
        kv_bytes=kv,
        concurrency=asked.concurrency,
        min_tokens_per_second=minimum_speed(asked),
        max_seconds_to_first_token=asked.max_seconds_to_first_token,
        nodes=nodes,
    )


def minimum_speed(asked: Serving) -> float:
    """Return the speed that each user must have: as requested, else reading speed.

    One user alone is served at any speed.
    """
    if asked.min_tokens_per_second is not None:
        return asked.min_tokens_per_second
    return 0.0 if asked.concurrency == 1 else READING_SPEED


def _bytes_needed(machine: Host, demand: Demand) -> tuple[float, float]:
    """Return the bytes of weights and one sequence, and those that each device needs beside."""
    context = demand.input_tokens + demand.output_tokens
    weights = demand.model.parameters * language_model.BITS_PER_WEIGHT[demand.precision] / 8
    cache = language_model.kv_cache_bytes(
        demand.model, context, 1, kv_bytes(machine.device, demand), _split(machine, demand)
    )
    each = language_model.prefill_bytes(demand.model, max(1, int(demand.input_tokens)))
    return weights + cache, each


def _split(machine: Host, demand: Demand) -> int:
    """Return the most devices of a machine that a copy of the model can be divided over."""
    return max(divisions(machine.count, demand.model))


def _stages(machine: Host, demand: Demand) -> int | None:
    """Count the machines that hold one copy; None where a device has no room for its own part."""
    shared, each = _bytes_needed(machine, demand)
    free = (machine.usable_bytes - each) * _split(machine, demand)
    return math.ceil(shared / free) if free > 0 else None


def _add_memory(fitted: Estimate, machine: Host, demand: Demand, nodes: int) -> None:
    shared, each = _bytes_needed(machine, demand)
    devices = _split(machine, demand)
    fitted.memory_needed_gib = (shared + each * devices * nodes) / 2**30
    fitted.memory_usable_gib = machine.usable_bytes * devices * nodes / 2**30


def served(fitted: Estimate, answer: ServedSpeed, job: Job, stages: int) -> Estimate:
    """Fill in the speed, of as many machines side by side as are needed."""
    speed = answer.speed
    wanted_users = job.serving.concurrency or 0.0
    wanted_tokens = job.asked_tokens_per_second or 0.0
    copies = max(
        1,
        math.ceil(wanted_users / speed.batch),
        math.ceil(wanted_tokens / speed.tokens_per_second),
    )
    if copies > MOST_COPIES:
        fitted.reason = "too_many_copies"
        return fitted
    fitted.nodes = copies * stages
    fitted.compute_format = answer.compute_format
    fitted.precision = answer.precision
    fitted.concurrency = min(wanted_users, speed.batch * copies) or speed.batch * copies
    fitted.tokens_per_second = speed.tokens_per_second * copies
    fitted.tokens_per_second_per_user = speed.tokens_per_second_per_user
    fitted.seconds_to_first_token = speed.seconds_to_first_token
    fitted.prompt_share = speed.prompt_share
    fitted.basis, fitted.measurement = answer.basis, answer.label
    fitted.error, fitted.error_p90 = answer.error, answer.error_p90
    return fitted


# Training


def _train(row: dict[str, Any], accelerator: Device, job: Job, estimator: Estimator) -> Estimate:
    """Estimate a training: as few machines as hold it, more where the deadline asks."""
    assert job.training is not None
    precision = job.precision or "bf16"
    machine = machine_of(row, accelerator)
    reason = training_format_reason(accelerator, precision)
    if reason:
        return Estimate(reason=reason, precision=precision)
    if row["inference_only"]:
        return Estimate(reason="inference_only", precision=precision)
    compute = accelerator.compute_format(training_format(precision))
    rate = accelerator.rate(compute) if compute else None
    fitted = Estimate(precision=precision, compute_format=compute)
    memory = job.memory(precision)
    free = machine.usable_bytes - memory.per_device
    needed = math.ceil(memory.total_sharded / (free * machine.count)) if free > 0 else None
    fitted.nodes_needed = needed
    joined = _joined(needed, job)
    devices = machine.count * (joined or 1)
    fitted.memory_needed_gib = (memory.total_sharded + memory.per_device * devices) / 2**30
    fitted.memory_usable_gib = machine.usable_bytes * devices / 2**30
    if joined is None:
        fitted.reason = "too_small"
    elif rate is None:
        fitted.reason = "rate_unknown"
    else:
        narrow = compute == "fp8"
        measured = estimator.fitted.utilisations.get((row["accelerator_id"], narrow))
        reached = HourlyRate(rate, narrow, measured)
        tuning = _tuning(row, job, estimator)
        if tuning is not None:
            modelled = _hours(row, machine, job, reached, 1)
            reached = replace(reached, factor=_tuning_hours(tuning, job) / modelled)
        _fill_training(fitted, row, machine, job, reached)
        _add_training_basis(fitted, job, estimator, measured, tuning)
    return fitted


@dataclass(frozen=True)
class HourlyRate:
    """The peak rate of a device in training, and what is known of the share that is reached."""

    flops_per_second: float
    narrow: bool
    """Computing in FP8."""
    measured: float | None
    """Share that dense models reached on this accelerator; None where it was not measured."""
    factor: float = 1.0
    """Measured over modelled hours, where this very training was measured on one machine."""


def _add_training_basis(
    fitted: Estimate,
    job: Job,
    estimator: Estimator,
    measured: float | None,
    tuning: Tuning | None,
) -> None:
    """Return the basis of the hours: ``tuning`` if it was measured on one machine."""
    if fitted.hours is None:
        return
    assert job.training is not None
    is_scaled = tuning is not None or (measured is not None and not job.training.mfu)
    fitted.basis = "scaled" if is_scaled else "modelled"
    if tuning is not None:
        fitted.measurement = tuning.label
        if fitted.nodes == 1:
            fitted.basis, fitted.precision = "measured", None
    fitted.error, fitted.error_p90 = estimator.fitted.errors[f"{fitted.basis}/training"]


def _tuning(row: dict[str, Any], job: Job, estimator: Estimator) -> Tuning | None:
    """Find the measured time of this fine-tuning on one machine; None if the question differs.

    MLPerf fixes sequences and rank and leaves the format to the submitter; it says nothing about
    another batch, optimizer, share of the peak rate, or weights that are unpacked.
    """
    asked = job.training
    assert asked is not None
    usual_context = min(TRAINING_CONTEXT, job.model.context_limit or TRAINING_CONTEXT)
    is_measured = (
        job.workload == "lora"
        and job.model.name == TUNED_MODEL
        and job.precision == "bf16"
        and job.context in (usual_context, TUNING_CONTEXT)
        and asked == Training(tokens=asked.tokens, days=asked.days)
    )
    key = (row["accelerator_id"], row["accelerator_count"])
    return estimator.tunings.get(key) if is_measured else None


def _tuning_hours(tuning: Tuning, job: Job) -> float:
    """Compute the hours that the tokens of a job take at the measured speed."""
    assert job.training is not None
    return tuning.minutes / 60 * job.training.tokens / TUNING_TOKENS


def training_format(precision: str) -> str:
    """Return the format that weights stored in ``precision`` are trained in: 16 bits if packed."""
    return "fp16" if precision in STORAGE_FORMATS else precision


def training_format_reason(accelerator: Device, precision: str) -> str | None:
    """Return the code of why a device does not train in a format; bf16 is not replaced by fp16."""
    state = accelerator.support.get(training_format(precision))
    if state == "supported":
        return None
    return "precision_unsupported" if state == "unsupported" else "precision_unknown"


def _fill_training(
    fitted: Estimate, row: dict[str, Any], machine: Host, job: Job, rate: HourlyRate
) -> None:
    """Choose the number of machines that keep the deadline, and compute the hours."""
    training_job = job.training
    assert training_job is not None
    assert fitted.nodes_needed is not None
    nodes = fitted.nodes_needed
    hours = _hours(row, machine, job, rate, nodes)
    limit = (training_job.days or math.inf) * 24
    while hours > limit and nodes <= job.max_nodes and row["clusters"]:
        nodes = max(nodes + 1, math.ceil(nodes * hours / limit))
        hours = _hours(row, machine, job, rate, nodes)
    chips = TPU_SLICE.get(machine.device.accelerator_id, math.inf)
    fitted.nodes_needed = nodes
    if nodes > 1 and not row["clusters"]:
        fitted.reason = "no_network"
    elif nodes > job.max_nodes or nodes * machine.count > chips:
        fitted.reason = "too_many_machines"
    elif hours > limit:
        fitted.reason = "too_late"
    else:
        fitted.nodes, fitted.hours = nodes, hours
        fitted.tokens_per_second = training_job.tokens / (hours * 3600)


def _hours(row: dict[str, Any], machine: Host, job: Job, rate: HourlyRate, nodes: int) -> float:
    """Compute the hours of a training on that many machines."""
    training_job = job.training
    assert training_job is not None
    network = row["network_gbps"]
    cluster = Cluster(
        nodes=nodes,
        devices_per_node=machine.count * machine.whole_devices,
        flops_per_second=rate.flops_per_second,
        link_bytes_per_second=machine.device.link_bytes_per_second,
        network_bytes_per_second=network * 1e9 / 8 if network else None,
        is_tpu=row["kind"] == "tpu",
        is_small=machine.device.family in SMALL_FAMILIES,
    )
    unpacked = job.precision in STORAGE_FORMATS
    mfu = training_job.mfu or training.utilisation(
        cluster,
        narrow=rate.narrow,
        unpacked=unpacked,
        has_experts=job.model.active_expert_share < 1,
        measured=rate.measured,
    )
    share = training.network_share(
        job.model,
        job.workload,
        cluster,
        mfu,
        job.flops / training_job.tokens,
        job.context * training_job.batch,
    )
    return training.hours(job.flops, cluster, mfu * share) * rate.factor
