"""Recommend machines for models of images, video and speech, where they were measured."""

from typing import NamedTuple

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.read.recommend.estimates import SCHEMA
from hwprices.read.recommend.model_shape import squeeze
from hwprices.read.recommend.question import Limits, Question
from hwprices.read.systems import representative
from hwprices.release.release import Tables


class Medium(NamedTuple):
    """A model that was measured in samples per second, what one sample is, and how it was."""

    benchmark: str
    sample: str
    setting: str = "in MLPerf's settings; a full queue"


IMAGE = Medium("stable-diffusion-xl", "an image of 1024 × 1024")

SPEECH = Medium(
    "whisper", "speech of up to 30 s, 23.6 s on average (1,000 samples are 6.6 hours of speech)"
)
"""MLPerf joins LibriSpeech's dev-clean (5.4 hours) and dev-other (5.3 hours) into 1,633 samples:
https://github.com/mlcommons/inference/tree/master/speech2text, and for the hours
https://www.danielpovey.com/files/2015_icassp_librispeech.pdf"""

VIDEO = Medium("wan-2.2-t2v-a14b", "a video of 81 frames of 1280 × 720")
"""The size is in the submissions' account of their bandwidth, such as
https://github.com/mlcommons/inference_results_v6.0/blob/main/closed/ASUSTeK/documentation/"""

FLUX = Medium(
    "flux.1-dev",
    "an image of 1024 × 1024 in 28 steps",
    "as xDiT and MaxDiffusion measured; one image at a time on each accelerator",
)
"""MLPerf measures FLUX.1 in training alone. The two programs' own pages have the rest."""

MEDIA = {
    **dict.fromkeys(("flux", "flux.1", "flux.1dev"), FLUX),
    **dict.fromkeys(("sdxl", "stablediffusionxl"), IMAGE),
    **dict.fromkeys(("whisper", "whisperlargev3"), SPEECH),
    **dict.fromkeys(("wan2.2", "wan2.2t2va14b"), VIDEO),
}
"""Name, squeezed: the benchmark."""

REFERENCE = "-reference-"
"""In the name of a system that ran MLCommons' reference implementation, which nobody tuned."""


def benchmark(question: Question) -> Medium | None:
    """Find the benchmark of a model of images, video or speech; None for other models.

    Raises:
        HwpricesError: the question has what only language models have: media are answered as they
            were measured.
    """
    medium = MEDIA.get(squeeze(str(question.model_parameters)))
    if medium is None:
        return None
    question.limits.check()
    given = question.changed()
    given += ["machines"] if question.limits.machines != Limits().machines else []
    if given:
        raise HwpricesError(
            f"{', '.join(given).replace('_', ' ')}: only for language models",
            "Leave it out: models of images, speech and video are answered as they were measured.",
        )
    return medium


def measured(benchmarks: pl.DataFrame, name: str) -> pl.DataFrame:
    """Choose the system that represents each accelerator.

    Returns accelerator_id, per_accelerator, measured_count and measurement.
    """
    rows = benchmarks.filter(
        pl.col("division").ne_missing("open"),
        model=name,
        scenario="Offline",
        result_unit="Samples/s",
    ).drop_nulls("per_accelerator")
    groups = rows.sort("system").group_by("accelerator_id", maintain_order=True)
    chosen = [representative(list(group.iter_rows(named=True))) for _, group in groups]
    return pl.DataFrame(chosen, schema=rows.schema).select(
        "accelerator_id",
        "per_accelerator",
        measured_count="accelerator_count",
        measurement=pl.format("{}/{}/{}", "model", "round", "system"),
    )


def with_rates(machines: pl.DataFrame, dataset: Tables, medium: Medium) -> pl.DataFrame:
    """Add samples/s and the columns of SCHEMA; of other numbers of accelerators their share."""
    col, lit = pl.col, pl.lit
    rates = measured(dataset.scan("benchmarks").collect(), medium.benchmark)
    untuned = col.measurement.str.contains(REFERENCE, literal=True)
    known = {"measurement", "reason", "basis", "nodes"}
    return machines.join(rates, on="accelerator_id", how="left").with_columns(
        *(lit(None, dtype).alias(name) for name, dtype in SCHEMA.items() if name not in known),
        samples_per_second=col.per_accelerator * col.accelerator_count,
        reason=pl.when(col.per_accelerator.is_null()).then(lit("not_measured")),
        basis=pl.when(untuned).then(lit("reference")).otherwise(lit("measured")),
        nodes=lit(1, dtype=pl.Int64),
    )
