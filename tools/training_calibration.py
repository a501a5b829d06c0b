"""Compute which share of its peak rate an accelerator reaches in training, and how sure that is.

``tools.calibration`` writes the results: data/specs/utilisations.csv, and the ranges of trainings
in data/specs/speed_model.csv.
"""

import math

import polars as pl

from hwprices.formulas import language_model
from hwprices.formulas.language_model import EXPERTS_SHARE, FLOPS_PER_PARAMETER_AND_TOKEN
from hwprices.read.recommend.speed import shapes, with_device
from hwprices.specs import sheets

FEWEST = 3
"""Measured trainings whose middle represents an accelerator."""

KEY = ["accelerator_id", "precision"]
"""What a share is measured on: precision is fp8, or bf16 for all others."""

col = pl.col


def training_speeds() -> pl.DataFrame:
    """Return the sheet training_speeds: accelerator_id, precision (of KEY), is_tpu and shares.

    mfu: share of the dense peak rate, from tokens per second where the model is known, else as
    published; experts_share: of a dense model's MFU that this model reaches; dense_mfu: the
    equivalent MFU of a dense model.
    """
    sheet = sheets.load("training_speeds")
    rate = pl.coalesce(
        pl.when(precision=name).then(f"rate_{name}") for name in sheet["precision"].unique()
    )
    flops = pl.coalesce(
        pl.when(workload=name).then(language_model.training_flops(name, pl.lit(1.0), col.context))
        for name in FLOPS_PER_PARAMETER_AND_TOKEN
    )
    published = pl.coalesce(col.model_tflops * 1e12 / rate, "mfu")
    share = pl.when(col.active_expert_share < 1).then(EXPERTS_SHARE).otherwise(1.0)
    return (
        sheet.join(
            with_device(sheets.load("accelerators")).drop(
                *{*sheet.columns} - {"accelerator_id"}, strict=False
            ),
            "accelerator_id",
            maintain_order="left",
        )
        .join(shapes(sheet["model_id"].drop_nulls()), "model_id", "left", maintain_order="left")
        .select(
            "accelerator_id",
            precision=pl.when(precision="fp8").then("precision").otherwise(pl.lit("bf16")),
            is_tpu=col.kind == "tpu",
            experts_share=share,
            mfu=pl.coalesce(col.tokens_per_second * flops / rate, published),
        )
        .with_columns(dense_mfu=col.mfu / col.experts_share)
    )


def utilisations_sheet(speeds: pl.DataFrame) -> pl.DataFrame:
    """Make the sheet utilisations: the middle MFU of dense models, and the number of trainings.

    From FEWEST trainings on, of which one is of a dense model.
    """
    has_dense = (col.experts_share == 1).any()
    return (
        speeds.group_by(KEY)
        .agg(mfu=col.dense_mfu.median().round(3), measurements=pl.len(), has_dense=has_dense)
        .filter(col.measurements >= FEWEST, "has_dense")
        .drop("has_dense")
        .sort(KEY)
    )


def training_errors() -> dict[str, list[float]]:
    """List ln(measured / estimate) of published trainings, by basis.

    measured: from an accelerator's other trainings. modeled: from those of other accelerators of
    its kind (TPU or not, FP8 or not).
    """
    speeds = training_speeds().with_row_index("number")
    found: dict[str, list[float]] = {"measured": [], "modeled": []}
    for speed in speeds.iter_rows(named=True):
        others = speeds.filter(col.number != speed["number"])
        same_key = {name: speed[name] for name in KEY}
        kin = others.filter(
            col.accelerator_id != speed["accelerator_id"],
            is_tpu=speed["is_tpu"],
            precision=speed["precision"],
        )
        expected = {
            "measured": utilisations_sheet(others.filter(**same_key))["mfu"].max(),
            "modeled": kin["dense_mfu"].median(),
        }
        for basis, dense in expected.items():
            if dense is not None:
                found[basis].append(math.log(speed["mfu"] / (dense * speed["experts_share"])))
    return found
