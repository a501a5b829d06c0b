"""Estimate a job on each kind of machine: how many it takes, how fast they are, or why not.

Thousands of offers are a few hundred kinds of machines: the same accelerators, as many, with as
much memory. Each kind is estimated once.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from hwprices.formulas import language_model, training
from hwprices.formulas.training import Cluster
from hwprices.read.recommend.cpu_speeds import (
    CPU_CONSTANTS,
    FORMATS,
    LARGEST_MODEL,
    cpu_host,
    cpu_speeds,
)
from hwprices.read.recommend.machines import SHEET_COLUMNS
from hwprices.read.recommend.question import STORAGE_FORMATS, Job
from hwprices.read.recommend.speed import (
    COMPUTE_FORMATS,
    Device,
    Host,
    Range,
    Speed,
    Work,
    device,
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
"""Columns that make a kind of machine, with accelerators and without."""

SMALL_FAMILIES = ("apple", "arm", "jetson", "rdna", "other", "neuron", "gaudi", "pascal")
"""Families for which hardly any training was published."""

TPU_SLICE = {
    "google-tpu-v4": 4096,
    "google-tpu-v5e": 256,
    "google-tpu-v5p": 8960,
    "google-tpu-v6e": 256,
    "google-tpu-v7x": 9216,
}
"""Most chips that the links of a slice join: https://cloud.google.com/tpu/docs/system-architecture-tpu-vm"""

MOST_COPIES = 100_000  # machines side by side; no service rents more

RATES = [f"tokens_per_second_{end}" for end in ("p05", "low", "high", "p95")]
"""Ends of the range of tokens_per_second, in the order of speed.Range."""

SCHEMA = pl.Schema(
    {
        **dict.fromkeys(("reason", "precision", "compute_format"), pl.String),
        **dict.fromkeys(("basis", "measurement"), pl.String),
        **dict.fromkeys(("nodes", "nodes_needed", "accelerators_per_copy"), pl.Int64),
        **dict.fromkeys(("memory_needed_gib", "memory_usable_gib", "concurrency"), pl.Float64),
        **dict.fromkeys(("prompt_share", "seconds_to_first_token"), pl.Float64),
        **dict.fromkeys(("tokens_per_second", "tokens_per_second_per_user", *RATES), pl.Float64),
    }
)
"""Columns that ``with_estimates`` adds; null where the job does not run.

reason: code of why the machine is left out, of reasons.csv.
"""

Row = dict[str, Any]


def with_estimates(machines: pl.DataFrame, job: Job) -> pl.DataFrame:
    """Add the columns of SCHEMA to machines, with and without accelerators."""
    has_cpu = pl.col("cpu_id").is_not_null() | pl.col("accelerator_id").is_null()
    on_accelerators = _train if job.question.is_training else _serve
    both = ((~has_cpu, KIND, on_accelerators), (has_cpu, CPU_KIND, _serve_on_cpu))
    frames = []
    for chosen, columns, estimated in both:
        listed = machines.filter(chosen)
        runs = listed.filter(pl.col("obstacle").is_null())
        kinds = runs.select(columns).unique(maintain_order=True)
        rows = [estimated(row, job) for row in kinds.iter_rows(named=True)]
        known = pl.concat([kinds, pl.DataFrame(rows, schema=SCHEMA)], how="horizontal")
        frames.append(listed.join(known, columns, "left", nulls_equal=True, maintain_order="left"))
    return pl.concat(frames, how="vertical_relaxed")


def usual_precision(job: Job, accelerator: Device) -> str:
    """Return the format of the weights: as asked, as released in 4 bits, else 8 bits.

    8 bits lose next to nothing. They are FP8 where the device computes it, else INT8.
    """
    if job.precision or job.model.released_format:
        return job.precision or job.model.released_format or ""
    return "fp8" if accelerator.support.get("fp8") == "supported" else "int8"


def _serve(row: Row, job: Job) -> Row:
    """Estimate serving on accelerators."""
    accelerator = device(row)
    if accelerator.bytes_per_second is None:
        return {"reason": "bandwidth_unknown"}
    precision = usual_precision(job, accelerator)
    computed = accelerator.compute_format(precision)
    if computed is None:
        states = {accelerator.support.get(f) for f in COMPUTE_FORMATS[precision]}
        return _not_computed(precision, "unknown" in states)
    share = min(1.0, row["accelerator_count"])
    host = Host(accelerator, int(row["devices"]), row["usable_bytes"], share)
    estimated = partial(estimate, model=job.speed_model)
    return {"compute_format": computed, **_serve_on(host, row, job, precision, estimated)}


def _not_computed(precision: str, is_unknown: bool) -> Row:
    reason = "precision_unknown" if is_unknown else "precision_unsupported"
    return {"precision": precision, "reason": reason}


def _serve_on_cpu(row: Row, job: Job) -> Row:
    """Estimate serving without accelerators, from measurements of the CPU."""
    precision = job.precision or "int8"
    if job.question.is_training:
        return {"reason": "no_training_on_cpus"}
    if job.model.active_parameters > LARGEST_MODEL:
        return {"reason": "too_large_for_cpus"}
    if precision not in FORMATS:
        return _not_computed(precision, is_unknown=False)
    machine = (row["provider"], row["machine"], row["vcpus"])
    found = cpu_host(cpu_speeds().get(row["cpu_id"], []), machine, row["usable_bytes"], job.model)
    if found is None:
        return {"reason": "cpu_not_measured"}
    host, label = found
    basis = "measured" if label.instance_type == row["machine"] else "modeled"
    name = f"{label.model_id}/{label.software}/{label.instance_type}"

    def estimated(host: Host, work: Work, **limits: float) -> Speed | None:
        model = speed_model()
        speed = fastest(host, work, CPU_CONSTANTS, factor=model.factors["cpu", work.load], **limits)
        return speed and replace(speed, basis=basis, range=model.ranges["cpu"], label=name)

    return _serve_on(host, row, job, precision, estimated)


def _serve_on(
    host: Host, row: Row, job: Job, precision: str, estimated: Callable[..., Speed | None]
) -> Row:
    """Estimate as many machines as the users, the requests or the deadline need.

    They are counted by the cautious figure.
    """
    work = Work(job.model, precision, job.input_tokens, job.output_tokens, users=job.users)
    devices = max(divisions(host.count, job.model))
    weights, cached, space = needed_bytes(host, work, devices)
    result: Row = {"precision": precision}
    result |= _memory(row, job, weights + cached, (host.usable_bytes, space, devices))
    if "reason" in result:
        return result
    stages = result["nodes_needed"]
    latest = job.max_first_token or math.inf
    limits = {"min_per_user": job.min_per_user, "max_first_token": latest}
    speed = estimated(replace(host, stages=stages), work, **limits)
    if speed is None:
        return result | {"reason": "too_slow"}
    wanted = job.requested_tokens_per_second or 0.0
    if job.tokens is not None and job.days is not None:
        wanted = job.tokens / (job.days * 24 * 3600)
    rate = speed.tokens_per_second * job.counted_tokens / job.output_tokens
    per_user: float | None = speed.tokens_per_second_per_user
    if job.model.embeds:  # no sheet has a speed of one, so the wide range is all that is promised
        low, high = speed.range.p05, speed.range.p95
        speed, per_user = replace(speed, basis="modeled", range=Range(low, low, high, high)), None
    needed = wanted / (rate * speed.range.p25)
    copies = max(1, math.ceil((job.users or 0) / speed.users), math.ceil(needed))
    if copies > MOST_COPIES:
        return result | {"reason": "too_many_copies"}
    return result | {
        "nodes": copies * stages,
        "concurrency": min(job.users or math.inf, speed.users * copies),
        "tokens_per_second_per_user": per_user,
        "seconds_to_first_token": speed.seconds_to_first_token,
        "prompt_share": 1.0 if job.model.embeds else speed.prompt_share,
        "accelerators_per_copy": speed.devices_per_copy,
        "measurement": speed.label,
        **_rates(rate * copies, speed.basis, speed.range),
    }


def _rates(rate: float, basis: str, known: Range) -> Row:
    """Return the tokens/s of all machines, and their range."""
    ends = {name: rate * end for name, end in zip(RATES, known, strict=True)}
    return {"tokens_per_second": rate, "basis": basis, **ends}


def _memory(row: Row, job: Job, shared: float, memory: tuple[float, float, int]) -> Row:
    """Return the memory of the fewest machines that hold the job; why, if they may not be joined.

    ``shared``: bytes that are divided. ``memory``: bytes of a device that can be used, those that
    each needs beside, and devices of a machine.
    """
    usable, each, devices = memory
    free = (usable - each) * devices
    needed = math.ceil(shared / free) if free > 0 else None
    result: Row = {"nodes_needed": needed}
    if needed is None or (needed > 1 and job.max_nodes == 1):
        needed, result["reason"] = 1, "too_small"
    elif needed > 1 and not row["clusters"]:
        result["reason"] = "no_network"
    elif needed > job.max_nodes:
        result["reason"] = "too_many_machines"
    result["memory_needed_gib"] = (shared + each * devices * needed) / 2**30
    return result | {"memory_usable_gib": usable * devices * needed / 2**30}


def _train(row: Row, job: Job) -> Row:
    """Estimate a training: as few machines as hold it, more where the deadline asks."""
    accelerator, precision = device(row), job.precision or "bf16"
    unpacked = precision in STORAGE_FORMATS
    computed = "fp16" if unpacked else precision
    state = accelerator.support.get(computed)  # bf16 is not replaced by fp16
    if state != "supported":
        return _not_computed(precision, state != "unsupported")
    if row["inference_only"]:
        return {"precision": precision, "reason": "inference_only"}
    model, name = job.model, job.question.workload
    sharded, each = language_model.training_memory(model, name, precision, job.context)  # type: ignore[arg-type]
    sizes = (row["usable_bytes"], each, int(row["devices"]))
    result: Row = {"precision": precision, "compute_format": computed}
    result |= _memory(row, job, sharded, sizes)
    rate = accelerator.rate(computed)
    if "reason" in result or rate is None:
        return {"reason": "rate_unknown", **result}
    narrow = computed == "fp8"
    key = {"accelerator_id": row["accelerator_id"], "precision": "fp8" if narrow else "bf16"}
    measured = next(iter(packaged_sheet("utilisations").filter(**key)["mfu"]), None)
    basis = "measured" if measured else "modeled"
    known, network = speed_model().ranges[f"training {basis}"], row["network_gbps"]
    one = Cluster(
        nodes=1,
        devices_per_node=row["devices"] * min(1.0, row["accelerator_count"]),
        flops_per_second=rate,
        link_bytes_per_second=accelerator.link_bytes_per_second,
        network_bytes_per_second=network * 1e9 / 8 if network else None,
        is_tpu=row["kind"] == "tpu",
        is_small=accelerator.family in SMALL_FAMILIES,
    )
    mfu = training.utilisation(
        one,
        narrow=narrow,
        unpacked=unpacked,
        has_experts=model.active_expert_share < 1,
        measured=measured,
    )
    tokens = job.tokens or 0.0

    def hours(nodes: int) -> float:
        cluster, context = replace(one, nodes=nodes), job.context
        return training.job_hours(model, name, cluster, tokens=tokens, context=context, mfu=mfu)  # type: ignore[arg-type]

    limit = (job.days or math.inf) * 24 * known.p25
    nodes = result["nodes_needed"]
    while hours(nodes) > limit and nodes <= job.max_nodes and row["clusters"]:
        nodes = max(nodes + 1, math.ceil(nodes * hours(nodes) / limit))
    result["nodes_needed"] = nodes
    slice_size = TPU_SLICE.get(row["accelerator_id"], math.inf)
    reasons = {
        "no_network": nodes > 1 and not row["clusters"],
        "too_many_machines": nodes > job.max_nodes or nodes * row["devices"] > slice_size,
        "too_late": hours(nodes) > limit,
    }
    if reason := next((code for code, holds in reasons.items() if holds), None):
        return result | {"reason": reason}
    return result | {"nodes": nodes, **_rates(tokens / (hours(nodes) * 3600), basis, known)}
