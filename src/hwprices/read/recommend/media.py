"""Choose the measured system that represents an accelerator."""

import re
import statistics
from collections.abc import Callable
from typing import Any

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.read.recommend.model_shape import squeeze
from hwprices.read.recommend.question import Question
from hwprices.release.release import Tables
from hwprices.specs import packaged_sheet


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


def _preferred(
    rows: list[dict[str, Any]], condition: Callable[[dict[str, Any]], bool]
) -> list[dict[str, Any]]:
    """Keep the rows that meet the condition, or all where none does."""
    return [row for row in rows if condition(row)] or rows


def software_name(software: str | None) -> str:
    """Return the program of a submission's software: "TensorRT 10.2, CUDA 12" is tensorrt."""
    match = re.match(r"[A-Za-z]+", software or "")
    return match[0].lower() if match else ""


def _round_order(benchmark_round: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", benchmark_round))


REFERENCE = "-reference-"
"""In the name of a system that ran MLCommons' reference implementation, which nobody tuned."""


MEDIA_OPTIONS = ("accelerator", "budget", "where", "objective", "option")
"""Options of a question that models of images, speech and video take."""


def benchmark(question: Question) -> dict[str, str] | None:
    """Find the row of a model in the sheet media_models; None for language models.

    Raises:
        HwpricesError: the question has what only language models have: media are answered as they
            were measured.
    """
    name = squeeze(str(question.model_parameters))
    rows = packaged_sheet("media_models").iter_rows(named=True)
    medium = next((row for row in rows if name in map(squeeze, row["names"].split(";"))), None)
    if medium is None:
        return None
    given = [name for name in question.changed() if name not in MEDIA_OPTIONS]
    if given:
        raise HwpricesError(
            f"{', '.join(given).replace('_', ' ')}: only for language models",
            "Leave it out: models of images, speech and video are answered as they were measured.",
        )
    question.check()
    return medium


def measured(benchmarks: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return accelerator_id, per_accelerator and measurement of the system that represents each."""
    rows = benchmarks.filter(
        pl.col("division").ne_missing("open"),
        model=name,
        scenario="Offline",
        result_unit="Samples/s",
    ).drop_nulls("per_accelerator")
    groups = rows.sort("system").group_by("accelerator_id", maintain_order=True)
    chosen = [representative(list(group.iter_rows(named=True))) for _, group in groups]
    return pl.DataFrame(chosen, schema=rows.schema).select(
        *("accelerator_id", "per_accelerator"),
        measurement=pl.format("{}/{}/{}", "model", "round", "system"),
    )


def with_rates(machines: pl.DataFrame, dataset: Tables, name: str) -> pl.DataFrame:
    """Add samples/s, their basis and measurement; of other numbers of accelerators their share."""
    rates = measured(dataset.scan("benchmarks").collect(), name)
    untuned = pl.col("measurement").str.contains(REFERENCE, literal=True)
    return machines.join(rates, "accelerator_id", "left").with_columns(
        reason=pl.when(pl.col("per_accelerator").is_null()).then(pl.lit("not_measured")),
        basis=pl.when(untuned).then(pl.lit("reference")).otherwise(pl.lit("measured")),
        samples_per_second=pl.col("per_accelerator") * pl.col("accelerator_count"),
        nodes=pl.lit(1, dtype=pl.Int64),
        nodes_needed=pl.lit(1, dtype=pl.Int64),
    )
