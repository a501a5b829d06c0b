"""Write the commands that serve a model on a machine with vLLM and with SGLang; none has been run.

Options: https://docs.vllm.ai/en/stable/cli/serve/ and
https://docs.sglang.io/advanced_features/server_arguments.html.
"""

import polars as pl

from hwprices.read.recommend.job import Job
from hwprices.read.recommend.model_shape import published_models

PLACEHOLDER = "MODEL"

PUBLISHED_FORMATS = ("fp8", "bf16", "fp16")
"""Formats in which weights are published, or which both make of them while they load them:
https://docs.vllm.ai/en/stable/features/quantization/fp8/."""

OWN_CODE = ("MiniMaxAI/", "moonshotai/")
"""Owners of repositories with code of their own, which both programs run with an option only:
https://huggingface.co/moonshotai/Kimi-K2-Instruct, https://huggingface.co/MiniMaxAI/MiniMax-M2"""

ENGINES = {
    "serve_command": (
        "vllm serve {}",
        *("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size"),
        *("max-model-len", "max-num-seqs"),
    ),
    "sglang_command": (
        "python -m sglang.launch_server --model-path {}",
        *("tp-size", "pp-size", "dp-size", "context-length", "max-running-requests"),
    ),
}
"""Column: how the command begins, and its options for the devices of a layer, the machines in a
row, the copies of the model, the context, and the users of a copy."""


def with_serve_command(frame: pl.DataFrame, job: Job) -> pl.DataFrame:
    """Add the columns of ENGINES: null in a training, and where an engine does not run.

    MODEL in them is to be replaced by the weights: their repository is not known, or they must have
    been quantized before. A machine with more accelerators than a copy of the model needs runs
    several copies.
    """
    col, lit = pl.col, pl.lit
    if job.is_training:
        return frame
    copies = (col.accelerator_count // col.accelerators_per_copy).clip(1)
    users = (col.concurrency / (col.nodes / col.nodes_needed) / copies).ceil().clip(1)
    is_released = lit(job.model.released_format is not None)
    is_published = is_released | col.precision.is_in(PUBLISHED_FORMATS)
    repository = _repository(job.model.name)
    name = pl.when(is_published).then(lit(repository)).otherwise(lit(PLACEHOLDER))
    figures = (col.accelerators_per_copy, col.nodes_needed, copies, lit(job.context), users)
    named = [
        pl.when((col.precision == "fp8") & ~is_released).then(lit("--quantization fp8")),
        lit("--runner pooling" if job.model.embeds else None, pl.String),
        lit("--trust-remote-code" if repository.startswith(OWN_CODE) else None, pl.String),
    ]
    serves = col.concurrency.is_not_null() & (col.accelerator_count >= 1)
    runs = {
        # other makers' devices need a plug-in:
        # https://docs.vllm.ai/en/stable/getting_started/installation/
        "serve_command": col.accelerator_id.str.contains("^(nvidia|amd)-"),
        # https://docs.sglang.io/platforms/amd_gpu.html; of several machines each has its own
        # command, and of embeddings it supports some
        "sglang_command": col.accelerator_id.str.contains("^(nvidia-|amd-mi3)")
        & (col.bf16_support == "supported")
        & (col.nodes_needed == 1)
        & lit(not job.model.embeds),
    }
    commands = {}
    for column, (start, *options) in ENGINES.items():
        flags = [
            pl.when(figure > (1 if number < 3 else 0)).then(
                pl.format(f"--{option} {{}}", figure.cast(pl.Int64))
            )
            for number, (option, figure) in enumerate(zip(options, figures, strict=True))
        ]
        parts = [pl.format(start, name), *flags[:3], *named, *flags[3:]]
        command = pl.concat_str(*parts, separator=" ", ignore_nulls=True)
        commands[column] = pl.when(serves & runs[column]).then(command)
    return frame.with_columns(**commands)


def _repository(name: str) -> str:
    """Return the repository of a model's weights; PLACEHOLDER where it is not known."""
    found = published_models().filter(name=name)["repository"].drop_nulls()
    return found[0] if len(found) else PLACEHOLDER
