"""Write the command that serves a model on a machine with vLLM.

Options: https://docs.vllm.ai/en/stable/cli/serve/. The commands follow it; none has been run.
"""

import re

import polars as pl

from hwprices.read.recommend.model_shape import published_models
from hwprices.read.recommend.question import Job

REPOSITORY = re.compile(r"https://huggingface\.co/(?!docs/|blog/|spaces/)([^/]+/[^/]+)")
"""The page of a model at Hugging Face, whose last two parts vLLM takes as its name."""

VENDORS = ("nvidia-", "amd-")
"""Makers of the GPUs that vLLM itself supports; other accelerators need a plug-in:
https://docs.vllm.ai/en/stable/getting_started/installation/"""

PLACEHOLDER = "MODEL"

PUBLISHED_FORMATS = ("fp8", "bf16", "fp16")
"""Formats in which weights are published, or which vLLM makes of them while it loads them:
https://docs.vllm.ai/en/stable/features/quantization/fp8/."""


def with_serve_command(frame: pl.DataFrame, job: Job | None) -> pl.DataFrame:
    """Add ``serve_command``: null in a training, of media, and on accelerators of other makers.

    MODEL in it is to be replaced by the weights: their repository is not known, or they must have
    been quantized before. A machine with more accelerators than a copy of the model needs runs
    several copies.
    """
    col, lit = pl.col, pl.lit
    if job is None or job.is_training:
        return frame.with_columns(serve_command=lit(None, dtype=pl.String))
    copies = (col.accelerator_count // col.accelerators_per_copy).clip(1)
    users = (col.concurrency / (col.nodes / col.nodes_needed) / copies).ceil().clip(1)
    needs_flag = (col.precision == "fp8") & lit(job.model.released_format is None)
    is_published = lit(job.model.released_format is not None) | col.precision.is_in(
        PUBLISHED_FORMATS
    )
    name = pl.when(is_published).then(lit(_repository(job.model.name))).otherwise(lit(PLACEHOLDER))
    parts = [
        pl.format("vllm serve {}", name),
        _option("tensor-parallel-size", col.accelerators_per_copy, col.accelerators_per_copy > 1),
        _option("pipeline-parallel-size", col.nodes_needed, col.nodes_needed > 1),
        _option("data-parallel-size", copies, copies > 1),
        pl.when(needs_flag).then(lit("--quantization fp8")),
        lit("--runner pooling" if job.model.embeds else None, pl.String),
        _option("max-model-len", lit(job.context), lit(True)),
        _option("max-num-seqs", users, lit(True)),
    ]
    is_supported = pl.any_horizontal(col.accelerator_id.str.starts_with(v) for v in VENDORS)
    command = pl.concat_str(*parts, separator=" ", ignore_nulls=True)
    runs = is_supported & col.concurrency.is_not_null() & (col.accelerator_count >= 1)
    return frame.with_columns(serve_command=pl.when(runs).then(command))


def _option(name: str, value: pl.Expr, needed: pl.Expr) -> pl.Expr:
    return pl.when(needed).then(pl.format(f"--{name} {{}}", value.cast(pl.Int64)))


def _repository(name: str) -> str:
    """Return the repository of a model's weights; PLACEHOLDER where it is not known."""
    page = published_models().filter(name=name)["source_url"]
    found = REPOSITORY.match(page[0]) if len(page) else None
    return found[1] if found else PLACEHOLDER
