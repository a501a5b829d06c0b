"""Estimate a job on each kind of machine: how many it takes, how fast they are, or why not.

Thousands of offers are a few hundred kinds of machines: the same accelerators, as many, with as
much memory. Each kind is estimated once.
"""

import math
from dataclasses import replace

import polars as pl

from hwprices.formulas import language_model, training
from hwprices.formulas.language_model import shape_columns
from hwprices.read.recommend import constants
from hwprices.read.recommend.cpu_speeds import with_cpu_rates
from hwprices.read.recommend.machines import SHEET_COLUMNS, first_of
from hwprices.read.recommend.question import Job
from hwprices.read.recommend.speed import (
    CACHE_BYTES,
    COMPUTE_FORMAT,
    COMPUTED,
    FAMILIES,
    FORMATS,
    PEAK,
    RANGE,
    estimated,
    with_device,
    with_divisions,
)
from hwprices.specs import packaged_sheet

col, lit = pl.col, pl.lit

KIND = [
    *("accelerator_id", "accelerator_count", "devices", "usable_bytes", "clusters"),
    *("network_gbps", "inference_only", "cpu_provider", "cpu_machine", "cpu_id", "vcpus"),
    *SHEET_COLUMNS,
]
"""Columns that make a kind of machine."""

IS_CPU = col.cpu_id.is_not_null()  # a machine to rent without accelerators

TPU_SLICE = {
    **{"google-tpu-v4": 4096, "google-tpu-v5e": 256, "google-tpu-v5p": 8960},
    **{"google-tpu-v6e": 256, "google-tpu-v7x": 9216},
}
"""Most chips that the links of a slice join: https://cloud.google.com/tpu/docs/system-architecture-tpu-vm"""

SPEED_RANGE = [f"tokens_per_second_{end}" for end in ("p05", "low", "high", "p95")]
"""Ends of the range of tokens_per_second, in the order of speed.RANGE."""

TEXTS = ("reason", "precision", "compute_format", "basis", "measurement", "serve_command")
COUNTS = ("nodes", "nodes_needed", "accelerators_per_copy")
FIGURES = ("memory_needed_gib", "memory_usable_gib", "concurrency", "prompt_share")
SPEEDS = ("seconds_to_first_token", "tokens_per_second", "tokens_per_second_per_user")

SCHEMA = pl.Schema(
    {
        **dict.fromkeys((*TEXTS, "sglang_command"), pl.String),
        **dict.fromkeys(COUNTS, pl.Int64),
        **dict.fromkeys((*FIGURES, *SPEEDS, *SPEED_RANGE), pl.Float64),
    }
)
"""Columns that ``with_estimates`` adds; null where the job does not run.

reason: code of why the machine is left out, of reasons.csv.
"""


def with_estimates(machines: pl.DataFrame, job: Job) -> pl.DataFrame:
    """Add the columns of SCHEMA to machines, with and without accelerators."""
    of_cpus = {"cpu_provider": "provider", "cpu_machine": "machine", "vcpus": "vcpus"}
    machines = machines.with_columns(
        pl.when(IS_CPU).then(name).alias(column) for column, name in of_cpus.items()
    )
    kinds = machines.filter(col.obstacle.is_null()).select(KIND).unique(maintain_order=True)
    kinds = kinds.with_row_index("number")
    described = with_device(kinds).with_columns(**shape_columns(job.model))
    parts = [
        part.select("number", *(col(n).cast(t) for n, t in SCHEMA.items() if n in part.columns))
        for part in (_train if job.question.is_training else _serve)(described, job)
    ]
    estimates = pl.concat([*parts, SCHEMA.to_frame()], how="diagonal")
    kinds = kinds.join(estimates, "number", "left")
    kinds = kinds.with_columns(nodes=pl.when(col.reason.is_null()).then("nodes"))
    return machines.join(kinds, KIND, "left", nulls_equal=True, maintain_order="left")


def usual_precision(job: Job) -> pl.Expr:
    """Return the format of the weights: as asked, as released in 4 bits, else 8 bits.

    8 bits lose next to nothing. They are FP8 where the device computes it, else INT8, which CPUs
    take of every model.
    """
    has_fp8 = ~IS_CPU & col.fp8_support.eq_missing("supported")
    in_8_bits = pl.when(has_fp8).then(lit("fp8")).otherwise(lit("int8"))
    released = pl.when(~IS_CPU).then(lit(job.model.released_format, pl.String))
    return pl.coalesce(lit(job.precision, pl.String), released, in_8_bits)


def _split(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split machines that are left out from the others."""
    return frame.filter(col.reason.is_not_null()), frame.filter(col.reason.is_null())


def _serve(kinds: pl.DataFrame, job: Job) -> list[pl.DataFrame]:
    """Estimate as many machines as the users, the requests or the deadline need."""
    machines = (
        with_cpu_rates(kinds)
        .with_columns(precision=usual_precision(job))
        .with_columns(compute_format=pl.when(~IS_CPU).then(COMPUTE_FORMAT))
    )
    has_rates = col.bytes_per_second.is_not_null()
    of_cpus = [name for name, row in FORMATS.items() if row["on_cpus"]]  # of llama.cpp and vLLM
    is_not_computed = has_rates & col.compute_format.is_null()
    lacks = pl.when(IS_CPU).then(~col.precision.is_in(of_cpus)).otherwise(is_not_computed)
    is_unknown = pl.any_horizontal(
        (col.precision == stored) & (col(f"{computed}_support") == "unknown")
        for stored, computed in COMPUTED
    )
    undescribed = {
        "too_large_for_cpus": IS_CPU & (col.active_parameters > constants.LARGEST_CPU_MODEL),
        "cpu_not_measured": IS_CPU & ~has_rates & ~lacks,
        "bandwidth_unknown": ~IS_CPU & ~has_rates,
    }
    reasons = {"precision_unknown": lacks & ~IS_CPU & is_unknown, "precision_unsupported": lacks}
    is_described = ~pl.any_horizontal(undescribed.values())
    left_out, machines = _split(
        machines.with_columns(
            *(pl.when(is_described).then(n).alias(n) for n in ("precision", "compute_format")),
            reason=first_of(undescribed | reasons),
        )
    )
    machines = machines.with_columns(
        input_tokens=lit(job.input_tokens),
        output_tokens=lit(job.output_tokens),
        family=pl.when(IS_CPU).then(lit("cpu")).otherwise("family"),
        device_share=pl.when(IS_CPU).then(1.0).otherwise(col.accelerator_count.clip(None, 1)),
        kv_bytes=CACHE_BYTES,
        peak=pl.coalesce("peak", PEAK),
        users=lit(job.users, pl.Float64),
        min_per_user=lit(job.min_per_user),
        max_first_token=lit(job.max_first_token or math.inf),
    )
    widest = with_divisions(machines).filter(col.division == col.division.max().over("number"))
    shared = col.weight_bytes + col.sequence_bytes
    machines = _with_memory(widest, job, shared, col.space_bytes, col.division).drop("division")
    too_small, fits = _split(machines.with_columns(stages=col.nodes_needed))
    model = job.speed_model
    if job.model.embeds:  # the speed of a generation says nothing
        model = replace(model, measured=model.measured.clear())
    speeds = estimated(fits, model)
    too_slow = fits.join(speeds, "number", "anti").with_columns(reason=lit("too_slow"))
    return [left_out, too_small, too_slow, _machines_needed(speeds, job)]


def _machines_needed(speeds: pl.DataFrame, job: Job) -> pl.DataFrame:
    """Count the machines by their cautious speed, and add the figures of all of them."""
    wanted = job.requested_tokens_per_second or 0.0
    if job.tokens is not None and job.days is not None:
        wanted = job.tokens / (job.days * 24 * 3600)
    if job.model.embeds:  # no sheet has a speed of one, so the wide range is all that is promised
        speeds = speeds.with_columns(
            p25="p05",
            p75="p95",
            basis=lit("modeled"),
            prompt_share=lit(1.0),
            tokens_per_second_per_user=lit(None, pl.Float64),
        )
    rate = col.tokens_per_second * job.counted_tokens / job.output_tokens
    for_users = ((job.users or 0) / col.users_served).ceil()
    copies = pl.max_horizontal(1, for_users, (wanted / (rate * col.p25)).ceil())
    too_many = pl.when(copies > constants.MOST_COPIES)
    speeds = speeds.with_columns(copies=copies, reason=too_many.then(lit("too_many_copies")))
    served = pl.min_horizontal(col.users_served * col.copies, lit(job.users, pl.Float64))
    return _with_range(
        speeds.with_columns(
            nodes=pl.when(col.reason.is_null()).then(col.copies * col.stages),
            concurrency=pl.when(col.reason.is_null()).then(served),
            accelerators_per_copy=col.division,
            tokens_per_second=rate * col.copies,
        )
    )


def _with_range(estimates: pl.DataFrame) -> pl.DataFrame:
    """Add the columns SPEED_RANGE."""
    ends = zip(SPEED_RANGE, RANGE, strict=True)
    return estimates.with_columns(
        (col.tokens_per_second * col(end)).alias(name) for name, end in ends
    )


def _with_memory(
    machines: pl.DataFrame, job: Job, shared: pl.Expr, each: pl.Expr, devices: pl.Expr
) -> pl.DataFrame:
    """Add the memory of the fewest machines that hold the job, and why they may not be joined.

    ``shared``: bytes that are divided over the devices; ``each``: bytes that each needs beside.
    """
    free = (col.usable_bytes - each) * devices
    machines = machines.with_columns(nodes_needed=pl.when(free > 0).then((shared / free).ceil()))
    needed, is_joined = col.nodes_needed, col.nodes_needed > 1
    is_too_small = needed.is_null() | (is_joined & (job.max_nodes == 1))
    reasons = {
        "too_small": is_too_small,
        "no_network": is_joined & ~col.clusters,
        "too_many_machines": needed > job.max_nodes,
    }
    counted = pl.when(is_too_small).then(1).otherwise(needed)
    return machines.with_columns(
        reason=first_of(reasons),
        memory_needed_gib=(shared + each * devices * counted) / 2**30,
        memory_usable_gib=col.usable_bytes * devices * counted / 2**30,
    )


def _train(kinds: pl.DataFrame, job: Job) -> list[pl.DataFrame]:
    """Estimate a training: as few machines as hold it, more where the deadline asks."""
    precision, name = job.precision or "bf16", job.question.workload
    unpacked = not FORMATS[precision]["trained"]
    computed = "fp16" if unpacked else precision  # bf16 is not replaced by fp16
    support, narrow = col(f"{computed}_support"), computed == "fp8"
    reasons = {
        "no_training_on_cpus": IS_CPU,
        "precision_unsupported": support.eq_missing("unsupported"),
        "precision_unknown": support.ne_missing("supported"),
        "inference_only": col.inference_only,
    }
    kinds = kinds.with_columns(reason=first_of(reasons), precision=lit(precision))
    left_out, kinds = _split(kinds)
    left_out = left_out.with_columns(precision=pl.when(~IS_CPU).then("precision"))
    tokens, context = lit(job.tokens, pl.Float64), lit(job.context, pl.Float64)
    memory = language_model.training_memory(name, precision, context)  # type: ignore[arg-type]
    rate, small = col(f"rate_{computed}"), FAMILIES.filter("few_trainings")["family"]
    unrated = pl.when(rate.is_null()).then(lit("rate_unknown"))
    machines = _with_memory(kinds, job, *memory, col.devices)
    too_small, fits = _split(
        machines.with_columns(reason=pl.coalesce("reason", unrated), compute_format=lit(computed))
    )
    measured = packaged_sheet("utilisations").filter(precision="fp8" if narrow else "bf16")
    basis = pl.when(col.measured_mfu.is_null()).then(lit("modeled")).otherwise(lit("measured"))
    hours = training.job_hours(name, tokens, context)  # type: ignore[arg-type]
    fits = (
        fits.join(measured.select("accelerator_id", measured_mfu="mfu"), "accelerator_id", "left")
        .with_columns(
            nodes=col.nodes_needed,
            flops_per_second=rate,
            network_bytes_per_second=pl.when(col.network_gbps > 0).then(col.network_gbps * 1e9 / 8),
            is_tpu=col.kind == "tpu",
            is_small=col.family.is_in(small.to_list()),
            basis=basis,
            range=pl.format("training {}", basis),
            slice=col.accelerator_id.replace_strict(TPU_SLICE, default=math.inf),
        )
        .join(job.speed_model.ranges, "range", "left")
        .with_columns(
            limit=lit((job.days or math.inf) * 24) * col.p25,
            mfu=training.utilisation(narrow=narrow, unpacked=unpacked),
        )
        .with_columns(hours=hours)
    )
    grows = (col.hours > col.limit) & (col.nodes <= job.max_nodes) & col.clusters
    more = pl.max_horizontal(col.nodes + 1, (col.nodes * col.hours / col.limit).ceil())
    while fits.select(grows.any()).item():  # each time by a machine at least, up to max_nodes
        fits = fits.with_columns(nodes=pl.when(grows).then(more).otherwise("nodes"))
        fits = fits.with_columns(hours=hours)
    is_large = (col.nodes > job.max_nodes) | (col.nodes * col.devices > col.slice)
    reasons = {
        "no_network": (col.nodes > 1) & ~col.clusters,
        "too_many_machines": is_large,
        "too_late": col.hours > col.limit,
    }
    fits = fits.with_columns(
        nodes_needed=col.nodes,
        reason=first_of(reasons),
        tokens_per_second=tokens / (col.hours * 3600),
    )
    return [left_out, too_small, _with_range(fits)]
