"""Estimate a job on each kind of machine: how many it takes, how fast they are, or why not.

Thousands of offers are a few hundred kinds of machines: the same accelerators, as many, with as
much memory. Each kind is estimated once.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import polars as pl

from hwprices.formulas import training
from hwprices.formulas.training import Cluster
from hwprices.read.recommend.cpu_speeds import (
    CPU_CONSTANTS,
    FORMATS,
    LARGEST_MODEL,
    cpu_host,
    cpu_speeds,
)
from hwprices.read.recommend.devices import COMPUTE_FORMATS, Device, device
from hwprices.read.recommend.job import Job
from hwprices.read.recommend.machines import SHEET_COLUMNS, TPU_SLICE
from hwprices.read.recommend.question import STORAGE_FORMATS
from hwprices.read.recommend.speed import (
    Estimate,
    Host,
    Range,
    Work,
    divisions,
    estimate,
    fastest,
    needed_bytes,
    speed_model,
)
from hwprices.specs import packaged_sheet

KIND = [
    *("accelerator_id", "accelerator_count", "devices", "usable_bytes", "clusters"),
    *("network_gbps", "inference_only"),
    *SHEET_COLUMNS,
]
CPU_KIND = ["provider", "machine", "cpu_id", "vcpus", "usable_bytes", "clusters"]
"""Columns that make a kind of machine."""

SMALL_FAMILIES = ("apple", "arm", "jetson", "rdna", "other", "neuron", "gaudi", "pascal")
"""Families for which hardly any training was published."""

MOST_COPIES = 100_000  # machines side by side; no service rents more


@dataclass
class Row:
    """A job on a kind of machine. None where it does not run."""

    reason: str | None = None
    """Code of why the machine is left out; a key of exclusions.sentences."""
    nodes: int | None = None
    nodes_needed: int | None = None
    accelerators_per_copy: int | None = None
    precision: str | None = None
    compute_format: str | None = None
    memory_needed_gib: float | None = None
    memory_usable_gib: float | None = None
    tokens_per_second: float | None = None
    tokens_per_second_p05: float | None = None
    tokens_per_second_low: float | None = None
    tokens_per_second_high: float | None = None
    tokens_per_second_p95: float | None = None
    tokens_per_second_per_user: float | None = None
    seconds_to_first_token: float | None = None
    concurrency: float | None = None
    prompt_share: float | None = None
    basis: str | None = None
    measurement: str | None = None

    def fill(self, rate: float, known: Range) -> None:
        """Set the tokens/s of all machines, and their range."""
        self.tokens_per_second = rate
        self.tokens_per_second_p05, self.tokens_per_second_p95 = rate * known.p05, rate * known.p95
        self.tokens_per_second_low, self.tokens_per_second_high = rate * known.p25, rate * known.p75


_INTEGERS = ("nodes", "nodes_needed", "accelerators_per_copy")
_TEXTS = ("reason", "precision", "compute_format", "basis")

SCHEMA = pl.Schema(
    {
        name: pl.Int64
        if name in _INTEGERS
        else pl.String
        if name in (*_TEXTS, "measurement")
        else pl.Float64
        for name in Row.__dataclass_fields__
    }
)
"""Columns that ``with_estimates`` adds."""


def with_estimates(machines: pl.DataFrame, job: Job) -> pl.DataFrame:
    """Add the columns of SCHEMA to machines, with and without accelerators."""
    has_cpu = pl.col("cpu_id").is_not_null() | pl.col("accelerator_id").is_null()
    on_accelerators = _train if job.is_training else _serve
    return pl.concat(
        [
            _by_kind(machines.filter(~has_cpu), KIND, partial(on_accelerators, job=job)),
            _by_kind(machines.filter(has_cpu), CPU_KIND, partial(_serve_on_cpu, job=job)),
        ],
        how="vertical_relaxed",
    )


def _by_kind(
    machines: pl.DataFrame, columns: list[str], estimate: Callable[[dict[str, Any]], Row]
) -> pl.DataFrame:
    """Estimate each kind of machine once; those with an obstacle have no estimate."""
    kinds = machines.filter(pl.col("obstacle").is_null()).select(columns).unique(
        maintain_order=True
    )  # fmt: skip
    rows = [asdict(estimate(row)) for row in kinds.iter_rows(named=True)]
    listed = pl.concat([kinds, pl.DataFrame(rows, schema=SCHEMA)], how="horizontal")
    return machines.join(listed, on=columns, how="left", nulls_equal=True, maintain_order="left")


def usual_precision(job: Job, accelerator: Device) -> str:
    """Return the format of the weights: as asked, as released in 4 bits, else 8 bits.

    8 bits lose next to nothing. They are FP8 where the device computes it, else INT8.
    """
    if job.precision or job.model.released_format:
        return job.precision or job.model.released_format or ""
    return "fp8" if accelerator.support.get("fp8") == "supported" else "int8"


def format_reason(accelerator: Device, precision: str) -> str | None:
    """Return the code of why a device does not compute weights of that format; None if it does."""
    if accelerator.compute_format(precision) is not None:
        return None
    states = {accelerator.support.get(f) for f in COMPUTE_FORMATS[precision]}
    return "precision_unknown" if "unknown" in states else "precision_unsupported"


# Serving


def _serve(row: dict[str, Any], job: Job) -> Row:
    """Estimate serving on accelerators."""
    accelerator = device(row)
    if accelerator.bytes_per_second is None:
        return Row(reason="bandwidth_unknown")
    precision = usual_precision(job, accelerator)
    result = Row(precision=precision, reason=format_reason(accelerator, precision))
    if result.reason:
        return result
    result.compute_format = accelerator.compute_format(precision)
    share = min(1.0, row["accelerator_count"])
    host = Host(accelerator, int(row["devices"]), row["usable_bytes"], share)
    return _serve_on(host, row, job, result, estimate)


def _serve_on_cpu(row: dict[str, Any], job: Job) -> Row:
    """Estimate serving without accelerators, from measurements of the CPU."""
    precision = job.precision or "int8"
    if job.is_training:
        return Row(reason="no_training_on_cpus")
    if job.model.active_parameters > LARGEST_MODEL:
        return Row(reason="too_large_for_cpus")
    if precision not in FORMATS:
        return Row(reason="precision_unsupported", precision=precision)
    machine = (row["provider"], row["machine"], row["vcpus"])
    found = cpu_host(cpu_speeds().get(row["cpu_id"], []), machine, row["usable_bytes"], job.model)
    if found is None:
        return Row(reason="cpu_not_measured")
    host, label = found
    basis = "measured" if label.instance_type == row["machine"] else "modeled"
    name = f"{label.model_id}/{label.software}/{label.instance_type}"
    model = speed_model()

    def estimated(host: Host, work: Work, **limits: float) -> Estimate | None:
        factor = model.factors["cpu", work.load]
        speed = fastest(host, work, CPU_CONSTANTS, factor=factor, **limits)
        return None if speed is None else Estimate(speed, basis, model.ranges["cpu"], name)

    return _serve_on(host, row, job, Row(precision=precision), estimated)


def _serve_on(
    host: Host,
    row: dict[str, Any],
    job: Job,
    result: Row,
    estimated: Callable[..., Estimate | None],
) -> Row:
    """Fill in as many machines as the users, the requests or the deadline need."""
    kv = {"fp8": 1.0, "fp16": 2.0, None: None}[job.question.serving.kv_precision]
    lengths = (job.input_tokens, job.output_tokens)
    work = Work(job.model, result.precision or "", *lengths, users=job.users, kv_bytes=kv)
    devices = max(divisions(host.count, job.model))
    weights, cached, space = needed_bytes(host, work, devices)
    if not _fits(result, row, job, weights + cached, (host.usable_bytes, space, devices)):
        return result
    stages = result.nodes_needed or 1
    answer = estimated(
        replace(host, stages=stages),
        work,
        min_per_user=job.min_per_user,
        max_first_token=job.max_first_token or math.inf,
    )
    return _served(result, answer, job, stages)


def _fits(
    result: Row, row: dict[str, Any], job: Job, shared: float, memory: tuple[float, float, int]
) -> bool:
    """Fill in the memory; return whether so few machines hold the job that may be joined.

    ``shared``: bytes that are divided. ``memory``: bytes of a device that can be used, those that
    each needs beside, and devices of a machine.
    """
    usable, each, devices = memory
    free = (usable - each) * devices
    needed = math.ceil(shared / free) if free > 0 else None
    result.nodes_needed = needed
    if needed is None or (needed > 1 and job.max_nodes == 1):
        needed, result.reason = 1, "too_small"
    elif needed > 1 and not row["clusters"]:
        result.reason = "no_network"
    elif needed > job.max_nodes:
        result.reason = "too_many_machines"
    result.memory_needed_gib = (shared + each * devices * needed) / 2**30
    result.memory_usable_gib = usable * devices * needed / 2**30
    return result.reason is None


def _served(result: Row, answer: Estimate | None, job: Job, stages: int) -> Row:
    """Fill in the speed, of as many machines side by side as the cautious figure needs."""
    if answer is None:
        result.reason = "too_slow"
        return result
    speed, promised = answer.speed, answer.speed.tokens_per_second * answer.range.p25
    wanted = job.requested_tokens_per_second or 0.0
    if job.tokens is not None and job.days is not None:
        wanted = job.tokens / (job.days * 24 * 3600)
    copies = max(1, math.ceil((job.users or 0) / speed.users), math.ceil(wanted / promised))
    if copies > MOST_COPIES:
        result.reason = "too_many_copies"
        return result
    result.nodes = copies * stages
    result.concurrency = min(job.users or math.inf, speed.users * copies)
    result.fill(speed.tokens_per_second * copies, answer.range)
    result.tokens_per_second_per_user = speed.tokens_per_second_per_user
    result.seconds_to_first_token = speed.seconds_to_first_token
    result.prompt_share = speed.prompt_share
    result.accelerators_per_copy = speed.devices_per_copy
    result.basis, result.measurement = answer.basis, answer.label
    return result


# Training


def _train(row: dict[str, Any], job: Job) -> Row:
    """Estimate a training: as few machines as hold it, more where the deadline asks."""
    accelerator = device(row)
    precision = job.precision or "bf16"
    computed = "fp16" if precision in STORAGE_FORMATS else precision
    state = accelerator.support.get(computed)  # bf16 is not replaced by fp16
    result = Row(precision=precision)
    if state != "supported":
        result.reason = f"precision_{'unsupported' if state == 'unsupported' else 'unknown'}"
        return result
    if row["inference_only"]:
        result.reason = "inference_only"
        return result
    compute = accelerator.compute_format(computed)
    rate = accelerator.rate(compute) if compute else None
    memory = job.memory(precision)
    sizes = (row["usable_bytes"], memory.per_device, int(row["devices"]))
    result.compute_format = compute
    if not _fits(result, row, job, memory.total_sharded, sizes):
        return result
    if rate is None:
        result.reason = "rate_unknown"
        return result
    known = _utilisations().get((row["accelerator_id"], "fp8" if compute == "fp8" else "bf16"))
    known = None if job.question.mfu else known
    basis = "measured" if known else "modeled"
    _fill_training(result, row, job, (accelerator, rate, known), basis)
    return result


def _utilisations() -> dict[tuple[str, str], float]:
    """Return the shares of their peak rate that accelerators reached, by id and format."""
    sheet = packaged_sheet("utilisations").select("accelerator_id", "precision", "mfu")
    return {(name, precision): mfu for name, precision, mfu in sheet.iter_rows()}


def _fill_training(
    result: Row,
    row: dict[str, Any],
    job: Job,
    reached: tuple[Device, float, float | None],
    basis: str,
) -> None:
    """Choose the number of machines that keep the deadline, and fill in their speed.

    ``reached``: the device, its peak rate, and the share of it that was measured.
    """
    known = speed_model().ranges[f"training {basis}"]
    limit = (job.days or math.inf) * 24
    nodes = result.nodes_needed or 1
    hours = _hours(row, job, reached, nodes)
    while hours / known.p25 > limit and nodes <= job.max_nodes and row["clusters"]:
        nodes = max(nodes + 1, math.ceil(nodes * hours / known.p25 / limit))
        hours = _hours(row, job, reached, nodes)
    result.nodes_needed = nodes
    if nodes > 1 and not row["clusters"]:
        result.reason = "no_network"
    elif nodes > job.max_nodes or nodes * row["devices"] > TPU_SLICE.get(
        row["accelerator_id"], math.inf
    ):
        result.reason = "too_many_machines"
    elif hours / known.p25 > limit:
        result.reason = "too_late"
    else:
        result.nodes, result.basis = nodes, basis
        result.fill((job.tokens or 0.0) / (hours * 3600), known)


def _hours(
    row: dict[str, Any], job: Job, reached: tuple[Device, float, float | None], nodes: int
) -> float:
    """Compute the hours of a training on that many machines."""
    accelerator, rate, measured = reached
    network = row["network_gbps"]
    cluster = Cluster(
        nodes=nodes,
        devices_per_node=row["devices"] * min(1.0, row["accelerator_count"]),
        flops_per_second=rate,
        link_bytes_per_second=accelerator.link_bytes_per_second,
        network_bytes_per_second=network * 1e9 / 8 if network else None,
        is_tpu=row["kind"] == "tpu",
        is_small=accelerator.family in SMALL_FAMILIES,
    )
    return training.job_hours(
        job.model,
        job.workload,
        cluster,
        tokens=job.tokens or 0.0,
        context=job.context,
        batch=job.question.batch or 1,
        mfu=job.question.mfu
        or training.utilisation(
            cluster,
            narrow=accelerator.compute_format(job.precision or "bf16") == "fp8",
            unpacked=job.precision in STORAGE_FORMATS,
            has_experts=job.model.active_expert_share < 1,
            measured=measured,
        ),
    )
