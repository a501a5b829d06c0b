"""Choose, for each accelerator and language model, one measured speed that represents it."""

import re
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import polars as pl

from hwprices import formulas
from hwprices.specs import sheet_directory

Kind = Literal["serving", "single_user", "prompt"]

KINDS: dict[str, Kind] = {"Offline": "serving", "SingleUser": "single_user", "Prompt": "prompt"}
"""Scenario of the benchmark: what it measures."""

SINGLE_USER_TOKENS = (1, 512)
"""Input and output tokens of one sequence; llama-bench measures 128, others up to 1024."""

PROMPT_TOKENS = 1024


OLDEST_ROUND = 4000
"""Oldest round of MLPerf Inference that a speed is taken from, as ``benchmark_round_order`` numbers
it: v4.0. From v3.1 to v4.0 the same systems with H100 went from 107 to 240 samples/s of GPT-J, by
their software alone; what was measured before is a third to a half of what a device can do."""

TUNED_MODEL = "Llama 2 70B"
TUNING_BENCHMARK = "llama2_70b_lora"
TUNING_TOKENS = 3072 * 8192.0
"""MLPerf Training's LoRA reaches its quality after about 3,072 sequences of 8,192 tokens:
https://github.com/mlcommons/training/tree/master/llama2_70b_lora"""

TUNING_CONTEXT = 8192


@dataclass(frozen=True)
class Tuning:
    """A measured time of MLPerf Training's fine-tuning."""

    minutes: float
    label: str


@dataclass(frozen=True)
class Workload:
    """The model of a benchmark, and the mean lengths of its requests."""

    model_id: str
    input_tokens: float
    output_tokens: float


@dataclass(frozen=True)
class Measurement:
    """A measured speed of an accelerator."""

    accelerator_id: str
    kind: Kind
    benchmark: str
    workload: Workload
    precision: str | None
    """Number format of the weights; None where it is not known."""
    devices: int
    """Accelerators of the system; 8 for a median over systems of unknown size."""
    per_device: float
    """Tokens/s of one accelerator: generated, or read for kind prompt."""
    highest: float
    """The same of the fastest system, of any round."""
    label: str
    """benchmark/round/system, as in offers.benchmark_rounds."""


@cache
def workloads() -> dict[str, Workload]:
    """Load benchmark_workloads.csv by benchmark. Cached: the sheet is part of the package."""
    sheet = pl.read_csv((sheet_directory() / "benchmark_workloads.csv").read_bytes())
    return {
        row["benchmark"]: Workload(row["model_id"], row["input_tokens"], row["output_tokens"])
        for row in sheet.iter_rows(named=True)
    }


def software_name(software: str | None) -> str:
    """Return the program of a submission's software: "TensorRT 10.2, CUDA 12" is tensorrt."""
    match = re.match(r"[A-Za-z]+", software or "")
    return match[0].lower() if match else ""


def measurements(benchmarks: pl.DataFrame, *, by_size: bool = False) -> list[Measurement]:
    """Choose one measurement per accelerator, benchmark and kind.

    ``benchmarks`` is the sheet. Systems of known size go before medians over unknown ones. Of them
    the newest round counts, or an older one with a higher figure of as many accelerators; in it
    official results before copies, of those the fastest software (by its median system), and of it
    the middle system. Benchmarks whose lengths are not known are left out, as are the open division
    and rounds before OLDEST_ROUND. ``by_size``: one for each number of accelerators.
    """
    rows = formulas.with_benchmark(benchmarks).filter(
        pl.col("scenario").is_in(list(KINDS)),
        pl.col("result_unit") == "Tokens/s",
        pl.col("per_accelerator").is_not_null(),
        pl.col("division").ne_missing("open"),
        pl.col("benchmark").is_in(list(workloads())),
        formulas.benchmark_round_order(pl.col("round")) >= OLDEST_ROUND,
    )
    key = ["accelerator_id", "benchmark", "scenario"]
    if by_size:
        rows = rows.drop_nulls("accelerator_count")
        key.append("accelerator_count")
    groups = rows.sort("system").group_by(key, maintain_order=True)
    chosen = [_choose(list(group.iter_rows(named=True))) for _, group in groups]
    return sorted(chosen, key=lambda m: (m.accelerator_id, m.kind, m.benchmark, m.devices))


def _choose(rows: list[dict[str, Any]]) -> Measurement:
    """Choose the row that represents a group of one accelerator, benchmark and scenario."""
    row = representative(rows)
    kind = KINDS[row["scenario"]]
    return Measurement(
        accelerator_id=row["accelerator_id"],
        kind=kind,
        benchmark=row["benchmark"],
        workload=_workload(row["benchmark"], kind),
        precision=row["precision"],
        devices=int(row["accelerator_count"] or 8),
        per_device=row["per_accelerator"],
        highest=max(row["per_accelerator_best"] or row["per_accelerator"] for row in rows),
        label=f"{row['model']}/{row['round']}/{row['system']}",
    )


def representative(rows: list[dict[str, Any]], *, less_is_better: bool = False) -> dict[str, Any]:
    """Choose the row that represents what an accelerator does with a benchmark.

    That of the newest round, or of an older one in which as many accelerators did more: hardware
    that did it once can do it, and a round with one slow system does not show otherwise.
    ``less_is_better``: per_accelerator is a time.
    """
    sign = -1 if less_is_better else 1

    def speed(row: dict[str, Any]) -> float:
        return sign * float(row["per_accelerator"])

    rows = _preferred(rows, lambda row: row["accelerator_count"] is not None)
    by_round: dict[tuple[int, ...], list[dict[str, Any]]] = {}
    for row in rows:
        by_round.setdefault(_round_order(row["round"]), []).append(row)
    best = _of_round(by_round.pop(max(by_round)), speed)
    for of_round in by_round.values():
        alike = [r for r in of_round if r["accelerator_count"] == best["accelerator_count"]]
        if alike:
            best = max(best, _of_round(alike, speed), key=speed)
    return best


def _of_round(
    rows: list[dict[str, Any]], speed: Callable[[dict[str, Any]], float]
) -> dict[str, Any]:
    """Choose the row of a round: official, of the fastest software, of that the middle system.

    Of two middle ones it is the lower figure.
    """
    rows = _preferred(rows, lambda row: bool(row["official"]))
    names = sorted({software_name(row["software"]) for row in rows})
    by_name = [[row for row in rows if software_name(row["software"]) == name] for name in names]
    fastest = max(by_name, key=lambda group: statistics.median(speed(row) for row in group))
    middle = sorted(fastest, key=lambda row: (row["per_accelerator"], row["system"]))
    return middle[(len(middle) - 1) // 2]


def tunings(benchmarks: pl.DataFrame) -> dict[tuple[str, float], Tuning]:
    """Choose a time of the fine-tuning for each accelerator and number of accelerators.

    That of the newest round, of several systems the middle one; or of an older round if shorter.
    """
    rows = benchmarks.filter(
        pl.col("model") == TUNING_BENCHMARK,
        pl.col("result_unit") == "minutes",
        pl.col("division").ne_missing("open"),
    ).drop_nulls(["accelerator_count", "result"])
    chosen = {}
    for key, group in rows.group_by("accelerator_id", "accelerator_count", maintain_order=True):
        by_round: dict[str, list[dict[str, Any]]] = {}
        for row in group.iter_rows(named=True):
            by_round.setdefault(row["round"], []).append(row)
        middles = [
            sorted(times, key=lambda row: (row["result"], row["system"]))[(len(times) - 1) // 2]
            for times in by_round.values()
        ]
        newest_first = sorted(middles, key=lambda row: _round_order(row["round"]), reverse=True)
        row = min(newest_first, key=lambda row: row["result"])
        label = f"{row['model']}/{row['round']}/{row['system']}"
        chosen[str(key[0]), float(str(key[1]))] = Tuning(row["result"], label)
    return chosen


def _preferred(
    rows: list[dict[str, Any]], condition: Callable[[dict[str, Any]], bool]
) -> list[dict[str, Any]]:
    """Keep the rows that meet the condition, or all where none does."""
    return [row for row in rows if condition(row)] or rows


def _workload(benchmark: str, kind: Kind) -> Workload:
    workload = workloads()[benchmark]
    if kind == "single_user":
        return Workload(workload.model_id, *SINGLE_USER_TOKENS)
    if kind == "prompt":
        return Workload(workload.model_id, PROMPT_TOKENS, 1)
    return workload


def _round_order(benchmark_round: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", benchmark_round))
