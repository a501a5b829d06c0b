"""Which machines a language-model job fits on, what it costs there, and why the others are left out.

Cloud machines come from offers, machines to buy from local_hardware. Memory and operations are those of ``hwprices.read.recommend.model_memory``; a
figure that no sheet holds is never invented: without it a machine is excluded, and says so.
"""

from dataclasses import dataclass
from typing import Literal

import polars as pl

from hwprices import formulas
from hwprices.errors import HwpricesError
from hwprices.read.ownership import DEFAULTS, Ownership, Tables
from hwprices.read.recommend import machines, model_memory
from hwprices.units import WideMoney

Objective = Literal["cost", "carbon", "speed"]
OBJECTIVES: tuple[Objective, ...] = ("cost", "carbon", "speed")

MFU = 0.4
"""Share of the peak that training reaches: 38-43 % on H100, https://arxiv.org/abs/2407.21783 table 4; 43 % on A100 (Llama 2)."""

MAX_NODES: dict[model_memory.Workload, int] = {
    "pretrain": 2048,
    "full_finetune": 32,
    "lora": 4,
    "inference": 1,
}
"""Llama 3.1 405B was trained on 2,048 machines of 8; serving from several machines is possible and slow, so it must be asked for."""

SEQUENCES = 8  # served at once unless said otherwise: a small team's worth of open conversations

FINE_TUNING_TOKENS = (
    1e8  # about 100,000 examples of 1,000 tokens; a matter of one's data, hence a parameter
)

OUTPUT = [
    *(
        "rank",
        "where",
        "provider",
        "region",
        "machine",
        "nodes",
        "accelerators",
        "accelerator_id",
        "memory_needed_gib",
        "memory_usable_gib",
    ),
    *(
        "price_basis",
        "usd_per_hour",
        "spot_usd_per_hour",
        "best_1y_usd_per_hour",
        "best_3y_usd_per_hour",
    ),
    *(
        "hours",
        "tokens_per_second",
        "usd",
        "spot_usd",
        "usd_per_million_tokens",
        "kwh",
        "operational_gco2e",
        "excluded",
    ),
]
"""Columns of an answer. usd_per_hour is for all nodes. usd, kwh and operational_gco2e (electricity alone, without what making the
machine emitted) are for the whole job, for inference for one hour. tokens_per_second is what training reaches at that MFU; for
inference it is a ceiling, by memory bandwidth and peak rate (Pope et al., https://arxiv.org/abs/2211.05102), never reached."""


@dataclass(frozen=True)
class Job:
    """What is asked: the model, and how it is to be trained or served."""

    model: model_memory.Shape
    workload: model_memory.Workload
    precision: str
    context: int
    batch: int
    tokens: float | None  # trained on; None for inference
    days: float | None  # deadline that the number of machines is made for
    max_nodes: int
    mfu: float

    @property
    def memory(self) -> model_memory.Memory:
        return model_memory.memory(
            self.model, self.workload, self.precision, self.context, self.batch
        )

    @property
    def flops(self) -> float | None:
        return (
            None
            if self.tokens is None
            else model_memory.training_flops(self.model, self.workload, self.tokens)
        )


def job(
    model_parameters: float | str,
    workload: str = "inference",
    precision: str = "bf16",
    context: int = 4096,
    *,
    batch: int | None = None,
    tokens: float | None = None,
    days: float | None = None,
    max_nodes: int | None = None,
    mfu: float = MFU,
) -> Job:
    """A job with its defaults filled in. Pre-training: 20 tokens a parameter in 30 days; fine-tuning: 10^8 tokens, no deadline;
    inference: 8 sequences of ``context`` tokens at once.

    Raises:
        HwpricesError: a value that means nothing; the line says which and what it takes.
    """
    if workload not in model_memory.WORKLOADS:
        raise HwpricesError(
            f"there is no workload {workload!r}",
            f"Choose one of {', '.join(model_memory.WORKLOADS)}.",
        )
    if precision not in model_memory.BYTES_PER_WEIGHT:
        raise HwpricesError(
            f"there is no precision {precision!r}",
            f"Choose one of {', '.join(model_memory.BYTES_PER_WEIGHT)}.",
        )
    if precision in ("int4", "int8", "fp4") and workload in ("pretrain", "full_finetune"):
        raise HwpricesError(
            f"{workload} in {precision} is not reckoned here",
            "Choose bf16, fp16, fp8 or fp32, or workload lora.",
        )
    batch = batch if batch is not None else (SEQUENCES if workload == "inference" else 1)
    if not (
        context > 0
        and batch > 0
        and 0 < mfu <= 1
        and (tokens is None or tokens > 0)
        and (days is None or days > 0)
    ):
        raise HwpricesError(
            "context, batch, tokens and days are above 0, mfu is above 0 and at most 1",
            "Correct the value.",
        )
    model = model_memory.shape(model_parameters)
    if workload == "inference":
        tokens = days = None
    elif tokens is None:
        tokens = (
            model_memory.TOKENS_PER_PARAMETER * model.active_parameters
            if workload == "pretrain"
            else FINE_TUNING_TOKENS
        )
    if workload == "pretrain" and days is None:
        days = 30
    return Job(
        model,
        workload,
        precision,
        context,
        batch,
        tokens,
        days,
        max_nodes or MAX_NODES[workload],
        mfu,
    )


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
    """Machines for a job, best first, one row a machine (its best region), those left out after them with the reason.

    ``model_parameters``: 70e9, "70B" or a name (llama-3.1-70b). ``budget``: USD for the job; for inference USD per hour.
    ``objective``: cost (USD of the job; of one hour for inference), carbon, or speed. ``where``: cloud or local, for one of them
    alone; an hour of a machine of one's own is cheap as long as other work fills the rest (``ownership.utilisation``). Columns: OUTPUT.

    Raises:
        HwpricesError: a value that means nothing, or a dataset without offers.
    """
    if objective not in OBJECTIVES:
        raise HwpricesError(
            f"there is no objective {objective!r}", f"Choose one of {', '.join(OBJECTIVES)}."
        )
    if where not in (None, "cloud", "local"):
        raise HwpricesError(
            f"there is no place {where!r}", "Choose cloud or local, or leave it out for both."
        )
    if budget is not None and budget <= 0:
        raise HwpricesError("a budget is above 0 USD", "Correct it, or leave it out.")
    asked = job(
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
    found = [machines.cloud(dataset)] if where != "local" else []
    found += [machines.local(dataset, ownership)] if where != "cloud" else []
    frame = _excluded(
        _figures(_nodes(pl.concat(found, how="diagonal_relaxed"), asked), asked), asked, budget
    )
    return _ranked(frame, objective, asked.workload)


def _nodes(frame: pl.DataFrame, asked: Job) -> pl.DataFrame:
    """nodes, accelerators, memory_needed_gib and memory_usable_gib: as few machines as hold the job, more where a deadline asks."""
    c, need = pl.col, asked.memory
    room = c.usable_bytes - need.per_device  # of one device, for its share of what is divided
    holding = pl.when(room > 0).then((need.total_sharded / (room * c.devices)).ceil())
    by_deadline = 1.0
    if asked.flops is not None and asked.days is not None:
        rate = _rate(asked.precision) * c.accelerator_count * asked.mfu
        by_deadline = (asked.flops / (formulas.known_positive(rate) * asked.days * 86_400)).ceil()  # type: ignore[assignment]
    nodes = pl.when(holding.is_not_null()).then(pl.max_horizontal(holding, by_deadline))
    gib = 2.0**30
    return frame.with_columns(
        rate=_rate(asked.precision), holding=holding, nodes=nodes
    ).with_columns(
        accelerators=c.nodes * c.accelerator_count,
        memory_needed_gib=(need.total_sharded + need.per_device * c.nodes.fill_null(1) * c.devices)
        / gib,
        memory_usable_gib=c.usable_bytes * c.devices * c.nodes.fill_null(1) / gib,
    )


def _rate(precision: str) -> pl.Expr:
    """Dense FLOP/s of one device at that precision; 4-bit weights are computed with in 16 bits."""
    column = {"int4": "fp16_dense_tflops", "int8": "int8_dense_tops"}.get(
        precision, f"{precision}_dense_tflops"
    )
    return formulas.known_positive(pl.col(column)) * 1e12


def _figures(frame: pl.DataFrame, asked: Job) -> pl.DataFrame:
    """hours, tokens_per_second, usd, spot_usd, usd_per_million_tokens, kwh, operational_gco2e; prices become those of all nodes."""
    c = pl.col
    prices = ["usd_per_hour", "spot_usd_per_hour", "best_1y_usd_per_hour", "best_3y_usd_per_hour"]
    frame = frame.with_columns(c(name).cast(WideMoney) * c.nodes.cast(WideMoney) for name in prices)
    if asked.flops is not None:
        hours = asked.flops / (c.rate * asked.mfu * c.accelerators) / 3600
        speed = pl.lit(asked.tokens) / (hours * 3600)
    else:
        read = model_memory.bytes_read_per_step(
            asked.model, asked.precision, asked.context, asked.batch
        ) / (c.memory_bandwidth_gbs * 1e9 * c.accelerators)
        compute = 2 * asked.model.active_parameters * asked.batch / (c.rate * c.accelerators)
        hours, speed = (
            pl.lit(1.0),
            asked.batch / pl.max_horizontal(read, pl.when(read.is_not_null()).then(compute)),
        )
    frame = frame.with_columns(
        hours=hours, tokens_per_second=pl.when(c.nodes.is_not_null()).then(speed)
    )
    spent = c.hours.cast(WideMoney)
    return frame.with_columns(
        usd=c.usd_per_hour * spent,
        spot_usd=c.spot_usd_per_hour * spent,
        usd_per_million_tokens=formulas.usd_per_million_tokens(c.usd_per_hour, c.tokens_per_second),
        kwh=c.kwh_per_hour * c.nodes * c.hours,
        operational_gco2e=c.operational_gco2e_per_hour * c.nodes * c.hours,
    )


def _excluded(frame: pl.DataFrame, asked: Job, budget: float | None) -> pl.DataFrame:
    """The first reason for which a machine is left out; null where it is in."""
    c = pl.col
    support = c({"int4": "fp16_support"}.get(asked.precision, f"{asked.precision}_support"))
    training = asked.workload != "inference"
    several = c.nodes > 1
    too_small = pl.format(
        "needs {} GiB, {} of its {} GiB can be used",
        c.memory_needed_gib.round(1),
        (c.usable_bytes * c.devices / 2**30).round(1),
        c.machine_memory_gib.round(1),
    )
    reasons = [
        (c.obstacle.is_not_null(), c.obstacle),
        (
            support == "unsupported",
            pl.format("{} does not compute in {}", c.accelerator_id, pl.lit(asked.precision)),
        ),
        (
            support != "supported",
            pl.format(
                "not known whether {} computes in {}", c.accelerator_id, pl.lit(asked.precision)
            ),
        ),
        (
            pl.lit(training) & c.inference_only,
            pl.format("{} is for inference only", c.accelerator_id),
        ),
        (c.holding.is_null() | ((c.holding > 1) & (pl.lit(asked.max_nodes) == 1)), too_small),
        (
            pl.lit(training) & c.rate.is_null(),
            pl.format(
                "no rate in {} is published for {}", pl.lit(asked.precision), c.accelerator_id
            ),
        ),
        (
            several & ~c.clusters,
            pl.format(
                "needs {} machines, and no RDMA network between them is known",
                c.nodes.cast(pl.Int64),
            ),
        ),
        (
            c.nodes > asked.max_nodes,
            pl.format(
                "needs {} machines, more than {}", c.nodes.cast(pl.Int64), pl.lit(asked.max_nodes)
            ),
        ),
        (c.usd_per_hour.is_null(), c.no_price),
    ]
    if budget is not None:
        reasons.append(
            (
                c.usd > budget,
                pl.format("costs {} USD, over the budget", c.usd.cast(pl.Float64).round(2)),
            )
        )
    excluded = pl.coalesce(pl.when(condition).then(reason) for condition, reason in reasons)
    return frame.with_columns(excluded=excluded)


def _ranked(frame: pl.DataFrame, objective: str, workload: str) -> pl.DataFrame:
    """One region a machine, ranked; excluded machines last, by name, those that no job fits on at the end."""
    by = {
        "cost": pl.col("usd").cast(pl.Float64),
        "carbon": pl.col("operational_gco2e"),
        "speed": -pl.col("tokens_per_second"),
    }[objective]
    ties = [pl.col("usd"), pl.col("where"), pl.col("provider"), pl.col("machine"), pl.col("region")]
    order = [pl.col("excluded").is_not_null(), by, *ties]
    best = frame.sort(order, nulls_last=True).unique(
        ["where", "provider", "machine"], keep="first", maintain_order=True
    )
    inside = pl.col("excluded").is_null()
    rank = pl.when(inside).then(inside.cum_sum()).cast(pl.Int32).alias("rank")
    whole = [pl.col("nodes").cast(pl.Int64)]
    hours = pl.when(workload != "inference").then("hours").alias("hours")
    runs = pl.col("usd").is_not_null() & (inside | pl.col("excluded").str.starts_with("costs "))
    figures = [
        "tokens_per_second",
        "usd",
        "spot_usd",
        "usd_per_million_tokens",
        "kwh",
        "operational_gco2e",
    ]
    best = best.with_columns(rank, hours, *whole).with_columns(
        pl.when(runs).then(name).alias(name) for name in ("hours", *figures)
    )
    return pl.concat(
        [
            best.filter(inside),
            best.filter(~inside).sort(
                pl.col("obstacle").is_not_null(), "where", "provider", "machine"
            ),
        ]
    ).select(OUTPUT)
