"""Recommend machines for models of images, video and speech, where they were measured."""

from dataclasses import dataclass

import polars as pl

from hwprices import formulas
from hwprices.read.ownership import DEFAULTS, Ownership
from hwprices.read.recommend import machines
from hwprices.read.recommend.exclusions import (
    HOURS_PER_MONTH,
    best_regions,
    of_any_model,
    reason_code,
    sentence,
)
from hwprices.read.recommend.job import Limits, check_limits
from hwprices.read.recommend.measurements import representative
from hwprices.read.recommend.model_shape import squeeze
from hwprices.read.recommend.ranking import OUTPUT, only_where, with_payback
from hwprices.release.release import Tables
from hwprices.units import WideMoney


@dataclass(frozen=True)
class Medium:
    """A model that was measured in samples per second."""

    benchmark: str
    sample: str
    """What one sample is."""
    setting: str = "in MLPerf's settings; a full queue"
    """How it was measured."""


IMAGE = Medium("stable-diffusion-xl", "an image of 1024 × 1024")

SPEECH = Medium(
    "whisper", "speech of up to 30 s, 23.6 s on average (1,000 samples are 6.6 hours of speech)"
)
"""MLPerf packs LibriSpeech's dev-clean (5.4 hours) and dev-other (5.3 hours) into 1,633 samples:
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
    "flux": FLUX,
    "flux.1": FLUX,
    "flux.1dev": FLUX,
    "sdxl": IMAGE,
    "stablediffusionxl": IMAGE,
    "whisper": SPEECH,
    "whisperlargev3": SPEECH,
    "wan2.2": VIDEO,
    "wan2.2t2va14b": VIDEO,
}
"""Name, squeezed: the benchmark."""

REFERENCE = "-reference-"
"""In the name of a system that ran MLCommons' reference implementation, which nobody tuned."""

NOT_MEASURED = "this model was not measured on its accelerator"


def benchmark(name: str) -> Medium | None:
    """Find the benchmark of a model of images, video or speech; None for other models."""
    return MEDIA.get(squeeze(name))


def recommend(
    name: str, dataset: Tables, limits: Limits, ownership: Ownership = DEFAULTS
) -> pl.DataFrame:
    """List machines whose accelerator was measured with the model, best first, then the others.

    Columns: those of ``ranking.OUTPUT``; the speed is in samples_per_second. A machine with
    another number of accelerators than the measured system has its share of it.

    Raises:
        HwpricesError: a limit is out of range, or the release has no such place.
    """
    check_limits(limits)
    medium = MEDIA[squeeze(name)]
    frames = [machines.cloud(dataset, limits)]
    if limits.where != "cloud":
        frames.append(machines.local(dataset, ownership))
    rates = measured(dataset.scan("benchmarks").collect(), medium.benchmark)
    frame = pl.concat(frames, how="vertical_relaxed").join(rates, on="accelerator_id", how="left")
    frame = _with_figures(frame, limits)
    assumed = (
        f"{medium.sample} is a sample, {medium.setting}; {limits.option.replace('_', ' ')} prices"
    )
    ranked = only_where(_ranked(frame, limits), limits)
    return ranked.with_columns(assumed=pl.lit(assumed)).select(OUTPUT)


def measured(benchmarks: pl.DataFrame, name: str) -> pl.DataFrame:
    """Choose the rate that represents each accelerator, as for language models.

    Returns accelerator_id, per_accelerator, measured_count and measurement.
    """
    rows = benchmarks.filter(
        pl.col("model") == name,
        pl.col("scenario") == "Offline",
        pl.col("result_unit") == "Samples/s",
        pl.col("division").ne_missing("open"),
    ).drop_nulls("per_accelerator")
    groups = rows.sort("system").group_by("accelerator_id", maintain_order=True)
    chosen = [representative(list(group.iter_rows(named=True))) for _, group in groups]
    return pl.DataFrame(chosen, schema=rows.schema).select(
        "accelerator_id",
        "per_accelerator",
        measured_count="accelerator_count",
        measurement=pl.format("{}/{}/{}", "model", "round", "system"),
    )


def _with_figures(frame: pl.DataFrame, limits: Limits) -> pl.DataFrame:
    """Add every column of the answer; those of language models are null."""
    col, lit = pl.col, pl.lit
    same_size = col.accelerator_count == col.measured_count
    samples = col.per_accelerator * col.accelerator_count
    thousand = formulas.divide(
        col.usd_per_hour.cast(WideMoney) * 1000, samples * formulas.SECONDS_PER_HOUR
    )
    frame = frame.with_columns(
        reason=pl.when(col.per_accelerator.is_null()).then(lit("not_measured")),
        samples_per_second=samples,
        usd=col.usd_per_hour,
        usd_per_thousand_samples=thousand,
        gco2e_per_thousand_samples=col.operational_gco2e_per_hour
        * 1000
        / (samples * formulas.SECONDS_PER_HOUR),
        basis=pl.when(col.measurement.str.contains(REFERENCE, literal=True))
        .then(lit("reference"))
        .when(same_size)
        .then(lit("measured"))
        .otherwise(lit("scaled")),
        nodes=lit(1, dtype=pl.Int64),
        total_accelerators=col.accelerator_count,
        usd_per_month=col.usd_per_hour * HOURS_PER_MONTH,
        energy_kwh=col.energy_kwh_per_hour,
        operational_gco2e=col.operational_gco2e_per_hour,
    )
    frame = frame.with_columns(excluded_reason=reason_code(limits))
    reasons = of_any_model(limits) | {"not_measured": lit(NOT_MEASURED)}
    frame = frame.with_columns(excluded=sentence(reasons))
    thousands_per_hour = pl.col("samples_per_second") * formulas.SECONDS_PER_HOUR / 1000
    frame = with_payback(frame, "usd_per_thousand_samples", thousands_per_hour)
    missing = [name for name in OUTPUT if name not in frame.columns]
    return frame.with_columns(lit(None).alias(name) for name in missing)


def _ranked(frame: pl.DataFrame, limits: Limits) -> pl.DataFrame:
    """Keep the best region of each machine, ranked apart for renting and buying."""
    col = pl.col
    fits = col.excluded_reason.is_null()
    figures = {
        "cost": pl.when(col.where == "local")
        .then("purchase_price_usd")
        .otherwise("usd_per_thousand_samples")
        .cast(pl.Float64),
        "carbon": col.gco2e_per_thousand_samples,
        "speed": -col.samples_per_second,
        "throughput": -col.samples_per_second,
        "hourly": col.usd_per_hour.cast(pl.Float64),
    }
    ties = ["usd_per_hour", "provider", "machine", "region"]
    best = best_regions(frame, [figures[limits.objective], *ties])
    return best.sort(~fits, "where", "rank", "machine", nulls_last=True)
