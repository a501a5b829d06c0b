"""Estimate a job on each kind of machine: how many it takes, how fast they are, or why not."""

import math

import polars as pl

from hwprices.formulas import first_of, language_model
from hwprices.formulas.language_model import shape_columns
from hwprices.read.recommend import constants, speed
from hwprices.read.recommend.job import Job
from hwprices.specs import packaged_sheet

col, lit = pl.col, pl.lit

KIND = [
    *("provider", "machine", "accelerator_id", "accelerator_count", "devices", "usable_bytes"),
    *("clusters", "network_gbps", "cpu_id", "vcpus"),
]
"""Columns that make a kind of machine: thousands of offers are a few hundred of them."""

IS_CPU = col.cpu_id.is_not_null()  # a machine to rent without accelerators


def with_estimates(machines: pl.DataFrame, job: Job) -> pl.DataFrame:
    """Add how the job runs on each machine, with and without accelerators.

    Adds reason (why it is left out: a code of reasons.csv), nodes, nodes_needed (of one copy of the
    model), accelerators_per_copy, prompt_share (of the time of a service), and the columns of an
    answer between precision and concurrency; where the job does not run, those that are known.
    """
    machines = machines.with_columns(number=pl.struct(KIND).rank("dense"))
    kinds = machines.filter(col.obstacle.is_null()).unique("number", maintain_order=True)
    described = kinds.with_columns(**shape_columns(job.model))
    ends = dict(zip(("p05", "low", "high", "p95"), speed.RANGE, strict=True))
    rates = {f"tokens_per_second_{n}": col.tokens_per_second * col(p) for n, p in ends.items()}
    nodes = pl.when(col.reason.is_null()).then(col.nodes.cast(pl.Int64))
    estimates = (_train if job.is_training else _serve)(described, job)
    added = estimates.with_columns(**rates, nodes=nodes).drop({*machines.columns} - {"number"})
    return machines.join(added, "number", "left", maintain_order="left")


def usual_precision(job: Job) -> pl.Expr:
    """Return the format of the weights: as asked, as released in 4 bits, else 8 bits.

    8 bits lose next to nothing. They are FP8 where the device computes it, else INT8, which CPUs
    take of every model.
    """
    in_8_bits = pl.when(fp8_support="supported").then(lit("fp8")).otherwise(lit("int8"))
    released = pl.when(~IS_CPU).then(lit(job.model.released_format, pl.String))
    return pl.coalesce(lit(job.precision, pl.String), released, in_8_bits)


def _serve(kinds: pl.DataFrame, job: Job) -> pl.DataFrame:
    """Estimate as many machines as the users, the requests or the deadline need."""
    users = lit(job.concurrency, pl.Float64)
    machines = (
        speed.with_cpu_rates(kinds)
        .with_columns(precision=usual_precision(job))
        .with_columns(compute_format=speed.COMPUTE_FORMAT)
        .with_columns(
            input_tokens=lit(job.input_tokens),
            output_tokens=lit(job.output_tokens),
            family=pl.when(IS_CPU).then(lit("cpu")).otherwise("family"),
            device_share=pl.when(IS_CPU).then(1.0).otherwise(col.accelerator_count.clip(None, 1)),
            kv_bytes=speed.CACHE_BYTES,
            peak=pl.coalesce("peak", speed.PEAK),
            users=users,
            min_per_user=lit(job.min_tokens_per_second or 0.0),
            max_first_token=lit(job.max_seconds_to_first_token or math.inf),
        )
    )
    has_rates = col.bytes_per_second.is_not_null()
    of_cpus = col.precision.is_in([n for n, row in speed.FORMATS.items() if row["on_cpus"]])
    lacks = pl.when(IS_CPU).then(~of_cpus).otherwise(col.compute_format.is_null())
    is_unknown = pl.any_horizontal(
        (col.precision == stored) & (col(f"{computed}_support") == "unknown")
        for stored, computed in speed.COMPUTED
    )
    reasons = {
        "too_large_for_cpus": IS_CPU & (col.active_parameters > constants.LARGEST_CPU_MODEL),
        "cpu_not_measured": IS_CPU & ~has_rates & ~lacks,
        "bandwidth_unknown": ~IS_CPU & ~has_rates,
        "precision_unknown": lacks & is_unknown,
        "precision_unsupported": lacks,
    }
    is_widest = col.division == col.division.max().over("number")
    widest = speed.with_divisions(machines).filter(is_widest)
    machines = _with_memory(widest, job, reasons).drop("division")
    fits = machines.filter(col.reason.is_null()).with_columns(stages=col.nodes_needed)
    speeds = speed.estimated(fits, job.speed_model)
    if job.model.embeds:
        speeds = speeds.with_columns(
            basis=lit("modeled"),
            prompt_share=lit(1.0),
            tokens_per_second_per_user=lit(None, pl.Float64),
        )
    wanted = job.requested_tokens_per_second or 0.0
    if job.tokens is not None and job.days is not None:
        wanted = job.tokens / (job.days * 24 * 3600)
    rate = col.tokens_per_second * job.counted_tokens / job.output_tokens
    for_users, for_rate = users / col.users_served, wanted / (rate * col.p25)
    copies = pl.max_horizontal(1, for_users.ceil(), for_rate.ceil())
    speeds = speeds.with_columns(
        reason=pl.when(copies > constants.MOST_COPIES).then(lit("too_many_copies")),
        nodes=copies * col.stages,
        concurrency=pl.min_horizontal(col.users_served * copies, users),
        accelerators_per_copy=col.division.cast(pl.Int64),
        tokens_per_second=rate * copies,
    )
    too_slow = machines.join(speeds, "number", "anti").with_columns(
        col.reason.fill_null("too_slow")
    )
    return pl.concat([too_slow, speeds], how="diagonal_relaxed")


def _with_memory(machines: pl.DataFrame, job: Job, reasons: dict[str, pl.Expr]) -> pl.DataFrame:
    """Add the memory of the fewest machines that hold the job (nodes_needed), and reason.

    Columns: weight_bytes and sequence_bytes, which are divided over ``division`` devices, and
    space_bytes, which each needs beside. ``reasons`` go before those of the memory.
    """
    shared, each, devices = col.weight_bytes + col.sequence_bytes, col.space_bytes, col.division
    free = (col.usable_bytes - each) * devices
    needed = pl.when(free > 0).then((shared / free).ceil())
    is_too_small = needed.is_null() | ((needed > 1) & (job.max_nodes == 1))
    counted = pl.when(is_too_small).then(1).otherwise(needed)
    of_memory = {
        "too_small": is_too_small,
        "no_network": (needed > 1) & ~col.clusters,
        "too_many_machines": needed > job.max_nodes,
    }
    return machines.with_columns(
        nodes_needed=needed.cast(pl.Int64),
        reason=first_of(reasons | of_memory),
        memory_needed_gib=(shared + each * devices * counted) / 2**30,
        memory_usable_gib=col.usable_bytes * devices * counted / 2**30,
    )


def _train(kinds: pl.DataFrame, job: Job) -> pl.DataFrame:
    """Estimate a training: as few machines as hold it, more where the deadline asks."""
    precision, name = job.precision or "bf16", job.workload
    unpacked = not speed.FORMATS[precision]["trained"]
    computed = "fp16" if unpacked else precision  # bf16 is not replaced by fp16
    support, narrow, rate = col(f"{computed}_support"), computed == "fp8", col(f"rate_{computed}")
    reasons = {
        "no_training_on_cpus": IS_CPU,
        "precision_unsupported": support.eq_missing("unsupported"),
        "precision_unknown": support.ne_missing("supported"),
        "inference_only": col.inference_only,
    }
    tokens, context = lit(job.tokens, pl.Float64), lit(job.context, pl.Float64)
    shared, each = language_model.training_memory(name, precision, context)  # type: ignore[arg-type]
    bytes_ = {"weight_bytes": shared, "sequence_bytes": lit(0.0), "space_bytes": each}
    measured = packaged_sheet("utilisations").filter(precision="fp8" if narrow else "bf16")
    basis = pl.when(col.measured_mfu.is_null()).then(lit("modeled")).otherwise(lit("measured"))
    hours = language_model.job_hours(name, tokens, context)  # type: ignore[arg-type]
    frame = (
        _with_memory(kinds.with_columns(division="devices", **bytes_), job, reasons)
        .join(measured.select("accelerator_id", measured_mfu="mfu"), "accelerator_id", "left")
        .with_columns(
            precision=lit(precision),
            compute_format=lit(computed),
            flops_per_second=rate,
            network_bytes_per_second=pl.when(col.network_gbps > 0).then(col.network_gbps * 1e9 / 8),
            is_tpu=col.kind == "tpu",
            is_small="few_trainings",
            basis=basis,
            range=pl.format("training {}", basis),
        )
        .join(job.speed_model.ranges, "range", "left")
        .with_columns(
            limit=lit((job.days or math.inf) * 24) * col.p25,
            mfu=language_model.utilisation(narrow=narrow, unpacked=unpacked),
            nodes="nodes_needed",
        )
        .with_columns(
            nodes=pl.when((hours > col.limit) & col.clusters).then(1e9).otherwise("nodes")
        )
    )
    # from infinitely many machines down: machine-hours fall with fewer machines, so that each step
    # is enough and nearer to the fewest; a third changes no answer
    in_time = pl.max_horizontal(col.nodes_needed, (col.nodes * hours / col.limit).ceil())
    for _ in range(2):
        frame = frame.with_columns(
            nodes=pl.when(col.nodes > col.nodes_needed).then(in_time).otherwise("nodes")
        )
    late = {
        "rate_unknown": rate.is_null(),
        "too_many_machines": (col.nodes > job.max_nodes) | (col.nodes * col.devices > col.slice),
        "too_late": hours > col.limit,
    }
    return frame.with_columns(
        nodes_needed=col.nodes.cast(pl.Int64),
        reason=pl.coalesce("reason", first_of(late)),
        tokens_per_second=tokens / (hours * 3600),
    )
