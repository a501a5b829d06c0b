"""Measured performance: MLPerf Inference and Training."""

import pandera.polars as pa
import polars as pl

from hwprices.schemas import columns
from hwprices.schemas.columns import Table, column
from hwprices.schemas.vocabulary import DIVISIONS, RESULT_UNITS, SCENARIOS, SUITES


class Benchmarks(Table):
    """One measured result: a system, or the median of several systems with the same accelerator.

    Systems that mix accelerators are left out. Figures per accelerator are computed by hwprices:
    MLPerf has no such metric.
    """

    accelerator_id: pl.String = columns.accelerator_id()
    suite: pl.String = column("Benchmark suite.", values=SUITES)
    model: pl.String = column("Benchmark, as MLPerf spells it: llama2-70b-99, llama2_70b_lora …")
    scenario: pl.String = column(
        "MLPerf Inference scenario; training for MLPerf Training.", values=SCENARIOS
    )
    round: pl.String = column("Round: v4.1, v5.1 …", str_matches=r"^v\d+\.\d+$")
    system: pl.String = column(
        "submitter/system as submitted; the word median where the row covers several systems."
    )
    system_count: pl.Int32 = column(
        "Systems that the row covers: 1, or how many the median is of.", gt=0
    )
    accelerator_count: pl.Float64 = column(
        "Accelerators of the system; null for a median over systems.", nullable=True, gt=0
    )
    result: pl.Float64 = column(
        "What was measured, for the whole system; null for a median over systems.",
        nullable=True,
        gt=0,
    )
    result_unit: pl.String = column(
        "Unit of result and of the per-accelerator figures: a rate, or minutes to train.",
        values=RESULT_UNITS,
    )
    per_accelerator: pl.Float64 = column(
        "Rate per accelerator: result / accelerator_count, or the median of that over the systems."
        " Null for a time.",
        nullable=True,
        gt=0,
    )
    per_accelerator_best: pl.Float64 = column(
        "Highest rate per accelerator among the systems.", nullable=True, gt=0
    )
    accelerator_hours: pl.Float64 = column(
        "Training: minutes × accelerators / 60.", unit="h", nullable=True, gt=0
    )
    runs: pl.Int32 = column("Training: runs the minutes are the mean of.", nullable=True, gt=0)
    derived: pl.Boolean = column(
        "The row has a figure computed by hwprices (per accelerator, accelerator-hours), which"
        " MLPerf does not score."
    )
    official: pl.Boolean = column(
        "Read from MLCommons' own repository; false for an unofficial copy or an unscaled time."
    )
    precision: pl.String = column(
        "Number format of the weights, where the submission says.", nullable=True
    )
    software: pl.String = column("Software, where the submission says.", nullable=True)
    division: pl.String = column(
        "Division of MLPerf; null when the source does not say.",
        nullable=True,
        values=DIVISIONS,
    )
    source_url: pl.String = columns.url("Where the result was read.", nullable=False)
    as_of: pl.Date = column("Day it was read.", unit="date")
    confidence: pl.String = columns.confidence()
    notes: pl.String = columns.notes()

    @pa.dataframe_check(name="derived_is_marked")
    def derived_is_marked(cls, data: pa.PolarsData) -> pl.LazyFrame:
        """Rows with a figure per accelerator, which is not MLPerf's, are marked."""
        computed = pl.any_horizontal(
            pl.col("per_accelerator", "per_accelerator_best", "accelerator_hours").is_not_null()
        )
        return data.lazyframe.select(computed == pl.col("derived"))

    class Config:
        name = "benchmarks"
        metadata = {"key": ["accelerator_id", "model", "scenario", "round", "system"]}
