"""List the published speeds that the speed model of recommend is fitted on."""

from dataclasses import dataclass

import polars as pl

from hwprices import formulas
from hwprices.formulas.language_model import ModelShape
from hwprices.read.recommend.model_shape import model_shape
from hwprices.specs import sheets

OLDEST_ROUND = 4000
"""Oldest round of MLPerf Inference that counts, as ``benchmark_round_order`` numbers it: v4.0. From
v3.1 to v4.0 the same systems went from 107 to 240 samples/s of GPT-J by their software alone."""

BEAM_SEARCH = ("gptj-99",)
"""Benchmarks that search four continuations of each answer, which nobody serves:
https://github.com/mlcommons/inference/tree/master/language/gpt-j"""

REFERENCE = "-reference-"
"""In the name of a system that ran MLCommons' reference implementation, which nobody tuned."""

LARGEST_SYSTEM = 8
"""Accelerators: larger systems are several machines, whose copies of the model say nothing new."""

TUNED = "mlperf"
"""Source whose systems vendors tune for months; nobody else reaches its speeds, so that they are
divided by a constant before they count."""


ONE_COPY = ("spare-cores-vllm",)
"""Sources that divide one copy of the model over all accelerators, however many would be faster:
``--tensor-parallel-size`` is their number (not for bitsandbytes, of which the sheet has none), in
https://github.com/SpareCores/sc-images/blob/main/vllm-common/benchmark.py"""


@dataclass(frozen=True)
class Work:
    """A model to serve, and the requests.

    ``users``: together; None: as many as fit. ``kv_bytes``: of a number in the cache; None: one
    where the device computes in FP8 or FP4.
    """

    model: ModelShape
    precision: str
    input_tokens: float
    output_tokens: float
    users: float | None = None
    kv_bytes: float | None = None


@dataclass(frozen=True)
class Measurement:
    """A published speed of a machine."""

    accelerator_id: str
    accelerators: int
    model_id: str
    work: Work
    tokens_per_second: float
    source: str
    label: str


def measurements(families: dict[str, str]) -> list[Measurement]:
    """List published speeds: the sheets of serving speeds, and of benchmarks the systems.

    Of MLPerf's Offline and llama.cpp's generation the median system of the newest round counts, for
    each accelerator, benchmark and number of accelerators.
    ``families``: of the accelerators, by id.
    """
    speeds = pl.concat(sheets.load(name) for name in ("serving_speeds", "spare_cores_speeds"))
    of_run = ["source_url", "accelerator_id", "model_id", "precision", "input_tokens"]
    one_user = pl.when(users=1).then("tokens_per_second").max().over(of_run)
    # several users that together get less than one alone: requests were cut off by the time limit
    speeds = speeds.filter(pl.col("tokens_per_second") >= one_user.fill_null(0.0))
    listed = [
        Measurement(
            row["accelerator_id"],
            row["accelerators"],
            row["model_id"],
            Work(
                model_shape(row["model_id"]),
                row["precision"],
                *(row["input_tokens"], row["output_tokens"], row["users"]),
                kv_bytes=2.0 if row["precision"].startswith("q") else None,
            ),
            row["tokens_per_second"],
            row["source"],
            f"{row['model_id']}/{row['software']}/{row['source_url']}",
        )
        for row in speeds.iter_rows(named=True)
    ]
    workloads = sheets.load("benchmark_workloads")
    key = ["accelerator_id", "benchmark", "scenario", "accelerator_count"]
    order = formulas.benchmark_round_order(pl.col("round"))
    systems = (
        formulas.with_benchmark(sheets.load("benchmarks"))
        .filter(
            pl.col("scenario").is_in(["Offline", "SingleUser"]),
            pl.col("result_unit") == "Tokens/s",
            pl.col("division").ne_missing("open"),
            order >= OLDEST_ROUND,
            ~pl.col("benchmark").is_in(BEAM_SEARCH),
            ~pl.col("system").str.contains(REFERENCE, literal=True),
            pl.col("accelerator_count").fill_null(8) <= LARGEST_SYSTEM,
        )
        .with_columns(pl.col("accelerator_count").fill_null(8))  # a median over systems of 8
        .drop_nulls("per_accelerator")
        .filter(order == order.max().over(key))
        .sort("per_accelerator", "system")
        .group_by(key, maintain_order=True)
        .agg(pl.all().gather((pl.len() - 1) // 2).first())
        .join(workloads.select("benchmark", "model_id", "input_tokens", "output_tokens"),
              on="benchmark")
    )  # fmt: skip
    for row in systems.iter_rows(named=True):
        alone = row["scenario"] == "SingleUser"
        count = 1 if alone else int(row["accelerator_count"])
        precision = row["precision"] or ("fp16" if alone else "")
        if not alone and precision not in ("fp4", "fp8", "int8"):
            # submissions run in the narrowest format that keeps the accuracy
            precision = "fp4" if families.get(row["accelerator_id"]) == "blackwell" else "fp8"
        work = Work(
            model_shape(row["model_id"]),
            precision,
            1.0 if alone else row["input_tokens"],
            512.0 if alone else row["output_tokens"],
            users=1.0 if alone else None,
            kv_bytes=2.0 if alone else None,
        )
        source = {"mlperf_inference": TUNED, "llama_cpp": "llama.cpp"}.get(row["suite"], "makers")
        label = f"{row['benchmark']}/{row['round']}/{row['system']}"
        speed_of_all = row["per_accelerator"] * count
        of = (row["accelerator_id"], count, row["model_id"])
        listed.append(Measurement(*of, work, speed_of_all, source, label))
    return listed
