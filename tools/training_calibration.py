"""Compute which share of its peak rate an accelerator reaches in training, and how sure that is.

``tools.calibration`` writes the results: data/specs/utilisations.csv, and the ranges of trainings
in data/specs/speed_model.csv.
"""

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl

from hwprices.formulas import language_model
from hwprices.formulas.training import EXPERTS_SHARE
from hwprices.read.recommend.model_shape import model_shape
from hwprices.read.recommend.speed import Device, device
from hwprices.specs import sheets

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


def training_errors() -> dict[str, list[float]]:
    """List ln(measured / estimate) of published trainings, by basis.

    measured: from an accelerator's other trainings. modeled: from those of other accelerators of
    its kind (TPU or not, FP8 or not).
    """
    speeds = training_speeds(sheets.load("training_speeds"), sheets.load("accelerators"))
    found: dict[str, list[float]] = {"measured": [], "modeled": []}
    for speed in speeds:
        others = [other for other in speeds if other is not speed]
        own = utilisations(others).get(speed.key)
        if own is not None:
            found["measured"].append(math.log(speed.mfu / (own[0] * speed.experts_share)))
        kin = [
            other.dense_mfu
            for other in others
            if (other.is_tpu, other.narrow) == (speed.is_tpu, speed.narrow)
            and other.device.accelerator_id != speed.device.accelerator_id
        ]
        expected = statistics.median(kin) * speed.experts_share
        found["modeled"].append(math.log(speed.mfu / expected))
    return found
