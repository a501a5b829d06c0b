"""Compare what is answered for machines without accelerators with measurements of them."""

from hwprices.read.recommend.cpu_speeds import (
    CpuRates,
    CpuSpeed,
    MeasuredCpus,
    filled_speed,
    machine_of,
    middle_ratio,
)

Errors = dict[str, list[float]]
"""Basis: shares of the measured figures by which answers are off."""


def errors(rows: list[CpuSpeed]) -> dict[str, Errors]:
    """List the errors by kind and basis; each figure is predicted without itself.

    *scaled* is from other models on the same machine type, *modelled* from other machine types with
    its CPU. Weights of 16 bits for one user are predicted from measurements of four bits too.
    """
    alone: Errors = {"scaled": [], "modelled": []}
    filled: Errors = {"scaled": [], "modelled": []}
    ratios = MeasuredCpus(rows).filled_ratios
    of_cpu: dict[str, list[CpuSpeed]] = {}
    for row in rows:
        of_cpu.setdefault(row.cpu_id, []).append(row)
    for row in rows:
        if row.kind == "prompt":
            continue
        others = [pair for pair in ratios if pair[0].instance_type != row.instance_type]
        for basis in ("scaled", "modelled"):
            rates = _rates(of_cpu[row.cpu_id], row, basis)
            if rates is None:
                continue
            modelled = filled_speed(rates, row.model, row.request, row.users).tokens_per_second
            if row.kind == "serving":
                modelled *= middle_ratio(others, row.cpu_id, row.model)
            kind = filled if row.kind == "serving" else alone
            kind[basis].append(abs(modelled / row.tokens_per_second - 1))
    return {"cpu_serving": filled, "cpu_single_user": alone}


def _rates(of_cpu: list[CpuSpeed], target: CpuSpeed, basis: str) -> CpuRates | None:
    """Return the rates of the target's machine from the other rows of its CPU; None without any."""
    name = target.instance_type
    if basis == "modelled":
        kept = [row for row in of_cpu if row.instance_type != name]
    else:
        same_type = (row for row in of_cpu if row.instance_type == name)
        kept = [row for row in same_type if row.model_id != target.model_id]
    rates = MeasuredCpus(kept).rates(machine_of(target), target.model)
    return rates if rates is not None and rates.basis == basis else None
