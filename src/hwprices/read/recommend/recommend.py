"""Recommend machines for a language-model job: where it fits, what it costs, why others are out.

Cloud machines come from offers, machines to buy from local_hardware. A figure that no sheet holds
is never invented: a machine that lacks it is left out, with that reason.
"""

from typing import Literal

import polars as pl

from hwprices import formulas
from hwprices.errors import HwpricesError
from hwprices.read.ownership import DEFAULTS, Ownership
from hwprices.read.recommend import machines, model_memory
from hwprices.read.recommend.exclusions import GIB, OVER_BUDGET, with_exclusions
from hwprices.read.recommend.job import MFU, Job, make_job
from hwprices.read.tables import Tables
from hwprices.units import NUMBER_FORMATS, WideMoney

Objective = Literal["cost", "carbon", "speed"]
OBJECTIVES: tuple[Objective, ...] = ("cost", "carbon", "speed")

PLACES = ("cloud", "local")

HOURLY_PRICES = [
    "usd_per_hour",
    "spot_usd_per_hour",
    "best_1y_usd_per_hour",
    "best_3y_usd_per_hour",
]

JOB_FIGURES = [
    "hours",
    "tokens_per_second",
    "usd",
    "spot_usd",
    "usd_per_million_tokens",
    "energy_kwh",
    "operational_gco2e",
]

OUTPUT = [
    "rank",
    "where",
    "provider",
    "region",
    "machine",
    "nodes",
    "total_accelerators",
    "accelerator_id",
    "memory_needed_gib",
    "memory_usable_gib",
    "purchase_option",
    *HOURLY_PRICES,
    *JOB_FIGURES,
    "excluded_reason",
    "excluded",
]
"""Columns of an answer.

- nodes: machines used together; total_accelerators, memory and hourly prices are of all of them.
- purchase_option: what usd_per_hour is the price of; tco for a machine that one owns.
- usd, energy_kwh, operational_gco2e: of the whole job; of one hour for inference. Emissions are
  those of the electricity, without those of making the machine.
- tokens_per_second: what training reaches at that MFU. For inference it is an upper bound by memory
  bandwidth and peak rate that is never reached (Pope et al., https://arxiv.org/abs/2211.05102).
- excluded_reason, excluded: code and sentence of why the machine is left out; null if it is in.
"""


def recommend(
    model_parameters: float | str,
    workload: str = "inference",
    precision: str = "bf16",
    context: int = 4096,
    budget: float | None = None,
    objective: str = "cost",
    *,
    dataset: Tables,
    batch: int | None = None,
    tokens: float | None = None,
    days: float | None = None,
    max_nodes: int | None = None,
    mfu: float = MFU,
    ownership: Ownership = DEFAULTS,
    where: str | None = None,
) -> pl.DataFrame:
    """List machines for a job: one row a machine (its best region), best first, then the others.

    ``model_parameters``: 70e9, "70B" or a name (llama-3.1-70b). ``budget``: USD for the job; for
    inference USD per hour. ``objective``: cost (USD of the job, or of one hour of inference),
    carbon or speed. ``where``: only cloud, or only local. An hour of a machine that one owns is
    cheap only if other work fills the rest of the time (``ownership.utilisation``).

    Columns: OUTPUT.

    Raises:
        HwpricesError: a value is out of range, or the dataset has no table offers.
    """
    _check(objective, where, budget)
    job = make_job(
        model_parameters,
        workload,
        precision,
        context,
        batch=batch,
        tokens=tokens,
        days=days,
        max_nodes=max_nodes,
        mfu=mfu,
    )
    frames = []
    if where != "local":
        frames.append(machines.cloud(dataset))
    if where != "cloud":
        frames.append(machines.local(dataset, ownership))
    frame = pl.concat(frames, how="vertical_relaxed")
    frame = with_exclusions(_with_figures(_with_nodes(frame, job), job), job, budget)
    return _in_order(_hide_figures(_best_regions(frame, objective), job)).select(OUTPUT)


def _check(objective: str, where: str | None, budget: float | None) -> None:
    """Raise HwpricesError for a value that is out of range."""
    if objective not in OBJECTIVES:
        raise HwpricesError(
            f"there is no objective {objective!r}", f"Choose one of {', '.join(OBJECTIVES)}."
        )
    if where is not None and where not in PLACES:
        raise HwpricesError(
            f"there is no place {where!r}", "Choose cloud or local, or leave it out for both."
        )
    if budget is not None and budget <= 0:
        raise HwpricesError("a budget is above 0 USD", "Correct it, or leave it out.")


def _with_nodes(frame: pl.DataFrame, job: Job) -> pl.DataFrame:
    """Add how many machines the job needs: as few as hold it, more where the deadline asks.

    Adds rate (FLOP/s of one device), nodes_by_memory, nodes, total_accelerators, memory_needed_gib
    and memory_usable_gib.
    """
    col, memory = pl.col, job.memory
    # what one device has left for its share of what is divided
    free_bytes = col.usable_bytes - memory.per_device
    by_memory = pl.when(free_bytes > 0).then(
        (memory.total_sharded / (free_bytes * col.devices)).ceil()
    )
    frame = frame.with_columns(rate=_rate(job.precision), nodes_by_memory=by_memory)
    by_deadline = _nodes_by_deadline(job)
    nodes = pl.when(by_memory.is_not_null()).then(pl.max_horizontal(by_memory, by_deadline))
    frame = frame.with_columns(nodes=nodes)

    known_nodes = col.nodes.fill_null(1)
    needed = memory.total_sharded + memory.per_device * known_nodes * col.devices
    return frame.with_columns(
        total_accelerators=col.nodes * col.accelerator_count,
        memory_needed_gib=needed / GIB,
        memory_usable_gib=col.usable_bytes * col.devices * known_nodes / GIB,
    )


def _nodes_by_deadline(job: Job) -> pl.Expr:
    """Count the machines that finish the training in time; 1 where there is no deadline."""
    if job.flops is None or job.days is None:
        return pl.lit(1.0)
    machine_rate = pl.col("rate") * pl.col("accelerator_count") * job.mfu
    seconds = job.days * 86_400
    return (pl.lit(job.flops) / (formulas.known_positive(machine_rate) * seconds)).ceil()


def _rate(precision: str) -> pl.Expr:
    """Give the dense FLOP/s of one device at that precision; 4-bit weights compute in 16 bits."""
    column = NUMBER_FORMATS["fp16" if precision == "int4" else precision]
    return formulas.known_positive(pl.col(column)) * 1e12


def _with_figures(frame: pl.DataFrame, job: Job) -> pl.DataFrame:
    """Add JOB_FIGURES, and multiply the hourly prices by the number of machines."""
    col = pl.col
    nodes = col.nodes.cast(WideMoney)
    frame = frame.with_columns(col(price).cast(WideMoney) * nodes for price in HOURLY_PRICES)
    hours, speed = _hours_and_speed(job)
    frame = frame.with_columns(
        hours=hours, tokens_per_second=pl.when(col.nodes.is_not_null()).then(speed)
    )
    paid_hours = col.hours.cast(WideMoney)
    return frame.with_columns(
        usd=col.usd_per_hour * paid_hours,
        spot_usd=col.spot_usd_per_hour * paid_hours,
        usd_per_million_tokens=formulas.usd_per_million_tokens(
            col.usd_per_hour, col.tokens_per_second
        ),
        energy_kwh=col.energy_kwh_per_hour * col.nodes * col.hours,
        operational_gco2e=col.operational_gco2e_per_hour * col.nodes * col.hours,
    )


def _hours_and_speed(job: Job) -> tuple[pl.Expr, pl.Expr]:
    """Compute the hours of the job (1 for inference), and tokens per second."""
    col = pl.col
    if job.flops is not None:
        hours = job.flops / (col.rate * job.mfu * col.total_accelerators) / 3600
        return hours, pl.lit(job.tokens) / (hours * 3600)
    bytes_read = language_model.bytes_read_per_step(job.model, job.precision, job.context, job.batch)
    flops = 2 * job.model.active_parameters * job.batch
    read_seconds = bytes_read / (col.memory_bandwidth_gbs * 1e9 * col.total_accelerators)
    compute_seconds = flops / (col.rate * col.total_accelerators)
    # without a bandwidth the compute time alone would promise too much
    known_compute = pl.when(read_seconds.is_not_null()).then(compute_seconds)
    return pl.lit(1.0), job.batch / pl.max_horizontal(read_seconds, known_compute)


def _best_regions(frame: pl.DataFrame, objective: str) -> pl.DataFrame:
    """Keep the best region of each machine, and add its rank; null for a machine left out."""
    figure = {
        "cost": pl.col("usd").cast(pl.Float64),
        "carbon": pl.col("operational_gco2e"),
        "speed": -pl.col("tokens_per_second"),
    }[objective]
    fits = pl.col("excluded_reason").is_null()
    ties = ["usd", "where", "provider", "machine", "region"]
    best = frame.sort(~fits, figure, *ties, nulls_last=True).unique(
        ["where", "provider", "machine"], keep="first", maintain_order=True
    )
    return best.with_columns(rank=pl.when(fits).then(fits.cum_sum()).cast(pl.Int32))


def _hide_figures(frame: pl.DataFrame, job: Job) -> pl.DataFrame:
    """Drop the figures of a job that does not run: no fit, or no price.

    A machine that is only over the budget keeps them. Inference has no hours.
    """
    reason = pl.col("excluded_reason")
    runs = pl.col("usd").is_not_null() & (reason.is_null() | (reason == OVER_BUDGET))
    shown = dict.fromkeys(JOB_FIGURES, runs)
    shown["hours"] = runs & pl.lit(job.is_training)
    return frame.with_columns(
        pl.col("nodes").cast(pl.Int64),
        *(pl.when(condition).then(figure).alias(figure) for figure, condition in shown.items()),
    )


def _in_order(frame: pl.DataFrame) -> pl.DataFrame:
    """Sort ranked machines first, the others by name, and last those that no job fits on."""
    fits = pl.col("excluded_reason").is_null()
    excluded = frame.filter(~fits).sort(
        pl.col("obstacle").is_not_null(), "where", "provider", "machine"
    )
    return pl.concat([frame.filter(fits), excluded])
