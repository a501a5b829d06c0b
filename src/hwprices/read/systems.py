"""Choose the measured system that represents an accelerator."""

import re
import statistics
from collections.abc import Callable
from typing import Any


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
