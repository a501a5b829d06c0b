"""Compute which share of its peak rate an accelerator reaches in training, and how sure that is.

``tools.calibration`` writes the results: data/specs/utilisations.csv, and the rows "fine-tuning and
training" of the table in docs/method.md.
"""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl

from hwprices.formulas import language_model, training
from hwprices.formulas.training import EXPERTS_SHARE, Cluster
from hwprices.read.recommend.devices import Device, device
from hwprices.read.recommend.measurements import (
    TUNING_BENCHMARK,
    TUNING_CONTEXT,
    TUNING_TOKENS,
    tunings,
)
from hwprices.read.recommend.model_shape import model_shape

ONE_MACHINE = 8  # accelerators; larger systems of MLPerf's fine-tuning take more steps

FEWEST = 3
"""Measured trainings whose middle represents an accelerator."""

Key = tuple[str, bool]
"""Accelerator, and whether it computes in FP8."""


@dataclass(frozen=True)
class TrainingSpeed:
    """A published training: a row of the sheet training_speeds."""

    device: Device
    is_tpu: bool
    devices: float
    narrow: bool
    """Computing in FP8."""
    has_experts: bool
    mfu: float
    """Share of the dense peak rate: from tokens per second where the model is known, else as
    published."""

    @property
    def key(self) -> Key:
        """What the share is measured on."""
        return self.device.accelerator_id, self.narrow

    @property
    def experts_share(self) -> float:
        """The share of a dense model's MFU that this model reaches."""
        return EXPERTS_SHARE if self.has_experts else 1.0

    @property
    def dense_mfu(self) -> float:
        """The equivalent MFU of a dense model."""
        return self.mfu / self.experts_share


def training_speeds(sheet: pl.DataFrame, accelerators: pl.DataFrame) -> list[TrainingSpeed]:
    """Read the sheet training_speeds."""
    rows = {row["accelerator_id"]: row for row in accelerators.iter_rows(named=True)}
    return [_speed(row, rows[row["accelerator_id"]]) for row in sheet.iter_rows(named=True)]


def _speed(row: dict[str, Any], accelerator: dict[str, Any]) -> TrainingSpeed:
    described = device(accelerator)
    rate = described.rate(row["precision"])
    assert rate is not None, row["accelerator_id"]
    shape = model_shape(row["model_id"]) if row["model_id"] else None
    if shape and row["tokens_per_second"]:
        flops = language_model.training_flops(shape, row["workload"], 1, row["context"])
        mfu = row["tokens_per_second"] * flops / rate
    elif row["model_tflops"]:
        mfu = row["model_tflops"] * 1e12 / rate
    else:
        mfu = row["mfu"]
    return TrainingSpeed(
        device=described,
        is_tpu=accelerator["kind"] == "tpu",
        devices=row["accelerators"],
        narrow=row["precision"] == "fp8",
        has_experts=shape is not None and shape.active_expert_share < 1,
        mfu=mfu,
    )


def utilisations(speeds: Iterable[TrainingSpeed]) -> dict[Key, tuple[float, int]]:
    """Return the middle MFU of dense models, and the number of trainings.

    From FEWEST trainings on, of which one is of a dense model.
    """
    by_key: dict[Key, list[TrainingSpeed]] = {}
    for speed in speeds:
        by_key.setdefault(speed.key, []).append(speed)
    return {
        key: (round(statistics.median(speed.dense_mfu for speed in listed), 3), len(listed))
        for key, listed in sorted(by_key.items())
        if len(listed) >= FEWEST and not all(speed.has_experts for speed in listed)
    }


def utilisations_sheet(speeds: list[TrainingSpeed]) -> pl.DataFrame:
    """Make the sheet utilisations."""
    rows = [
        (accelerator_id, "fp8" if narrow else "bf16", mfu, count)
        for (accelerator_id, narrow), (mfu, count) in utilisations(speeds).items()
    ]
    schema = ["accelerator_id", "precision", "mfu", "measurements"]
    return pl.DataFrame(rows, schema=schema, orient="row").sort("accelerator_id", "precision")


def errors(
    speeds: list[TrainingSpeed], accelerators: pl.DataFrame, benchmarks: pl.DataFrame
) -> dict[str, list[float]]:
    """List how far answers are from trainings that they are not based on, by basis.

    scaled: an accelerator's other trainings, and all of them for MLPerf's fine-tuning. modelled:
    the trainings of other accelerators of its kind (TPU or not, FP8 or not), and for MLPerf's
    fine-tuning the assumed share.
    """
    scaled = []
    modelled = []
    for speed in speeds:
        others = [other for other in speeds if other is not speed]
        own = utilisations(others).get(speed.key)
        if own is not None:
            scaled.append(abs(own[0] * speed.experts_share / speed.mfu - 1))
        kin = [
            other.dense_mfu
            for other in others
            if (other.is_tpu, other.narrow) == (speed.is_tpu, speed.narrow)
            and other.device.accelerator_id != speed.device.accelerator_id
        ]
        modelled.append(abs(statistics.median(kin) * speed.experts_share / speed.mfu - 1))
    known = utilisations(speeds)
    rows = {row["accelerator_id"]: row for row in accelerators.iter_rows(named=True)}
    for accelerator_id, count, minutes in _measured_tunings(benchmarks):
        accelerator = device(rows[accelerator_id])
        own = known.get((accelerator_id, True))
        if own is not None:
            scaled.append(_tuning_error(accelerator, count, minutes, own[0]))
        modelled.append(_tuning_error(accelerator, count, minutes, None))
    return {"scaled": scaled, "modelled": modelled}


def _measured_tunings(benchmarks: pl.DataFrame) -> list[tuple[str, float, float]]:
    """List MLPerf's fine-tuning on one machine: accelerator, how many, minutes."""
    return [
        (accelerator_id, count, tuning.minutes)
        for (accelerator_id, count), tuning in tunings(benchmarks).items()
        if count <= ONE_MACHINE
    ]


def _tuning_error(
    accelerator: Device, count: float, minutes: float, measured: float | None
) -> float:
    """Compare MLPerf's fine-tuning with the time that an MFU gives."""
    model = model_shape("llama-2-70b")
    flops = language_model.training_flops(model, "lora", TUNING_TOKENS, TUNING_CONTEXT)
    rate = accelerator.rate("fp8") or 0.0
    cluster = Cluster(1, count, rate, accelerator.link_bytes_per_second, None)
    mfu = training.utilisation(
        cluster, narrow=True, unpacked=False, has_experts=False, measured=measured
    )
    return abs(training.hours(flops, cluster, mfu) * 60 / minutes - 1)


def tuning_spread(benchmarks: pl.DataFrame) -> list[float]:
    """List how far each system's fine-tuning is from the one that represents its size."""
    chosen = tunings(benchmarks)
    rows = benchmarks.filter(model=TUNING_BENCHMARK).drop_nulls(["accelerator_count", "result"])
    return [
        abs(chosen[row["accelerator_id"], row["accelerator_count"]].minutes / row["result"] - 1)
        for row in rows.iter_rows(named=True)
    ]
