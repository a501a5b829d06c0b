"""Recommend machines for models of images, video and speech, where they were measured."""

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.read.recommend.model_shape import squeeze
from hwprices.read.recommend.question import Limits, Question
from hwprices.read.systems import representative
from hwprices.release.release import Tables
from hwprices.specs import packaged_sheet

REFERENCE = "-reference-"
"""In the name of a system that ran MLCommons' reference implementation, which nobody tuned."""


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
    question.limits.check()
    given = [*question.changed()]
    given += ["machines"] if question.limits.machines != Limits().machines else []
    if given:
        raise HwpricesError(
            f"{', '.join(given).replace('_', ' ')}: only for language models",
            "Leave it out: models of images, speech and video are answered as they were measured.",
        )
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
