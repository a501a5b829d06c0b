"""Describe machines without accelerators by the rates that they reached with language models.

Two rates decide: the bytes of weights that a machine reads in a second while it generates for one
user, and the operations that it does in a second while it reads a prompt. They are those of the
machine type, or of others with its CPU.
"""

from functools import cache

import polars as pl

from hwprices.formulas import language_model
from hwprices.read.recommend import constants
from hwprices.read.recommend.speed import BITS, shapes
from hwprices.specs import packaged_sheet

col = pl.col

CPU_SPEEDS_SOURCE = "Spare Cores, https://github.com/SpareCores/sc-inspector-data, CC BY-SA 4.0"
"""Where the sheet cpu_speeds is from, and its license."""

OF_ALL = "q4_k_m"  # the format in which every machine was measured


@cache
def cpu_rates() -> pl.DataFrame:
    """Return the sheet cpu_speeds with the two rates. Cached: it is part of the package.

    rate: of a single user bytes, of a prompt operations per second; token_bytes and token_flops: of
    a token; measured_parameters: at work for a token.
    """
    sheet = packaged_sheet("cpu_speeds").filter(precision=OF_ALL)
    context = col.input_tokens + col.output_tokens / 2
    weights = language_model.parameters_read(pl.lit(1.0)) * BITS
    of_prompt = language_model.prompt_flops(col.input_tokens) / col.input_tokens
    return (
        sheet.join(shapes(sheet["model_id"]), "model_id", maintain_order="left")
        .with_columns(token_bytes=weights / 8 + language_model.kv_cache_bytes(context))
        .select(
            *("cpu_id", "token_bytes"),
            measure="kind",
            own_cloud="provider",
            own_type="instance_type",
            size=col.vcpus.cast(pl.Float64),
            rate=pl.when(kind="prompt").then(of_prompt).otherwise("token_bytes")
            * col.tokens_per_second,
            token_flops=language_model.token_flops(context),
            measured_parameters="active_parameters",
            label=pl.format("{}/{}/{}", "model_id", "software", "instance_type"),
        )
    )


def with_cpu_rates(machines: pl.DataFrame, *, of_others: bool = False) -> pl.DataFrame:
    """Add the rates that each machine reaches, with a measurement of them.

    Its own measurements count, else those of its cloud, else all of its CPU. Of several models the
    nearest in size counts. Machines with accelerators (no cpu_id) keep their bytes_per_second.

    Args:
        machines: number, provider, machine, cpu_id, vcpus, active_parameters and
            bytes_per_second.
        of_others: leave out what was measured on the machine's own type.

    Adds bytes_per_second, peak, label, and basis: measured where the machine's own count. They are
    null where one of the rates was not measured.
    """
    rank = {
        "is_other_type": col.own_type != col.machine,
        "is_other_cloud": col.own_cloud != col.provider,
        "distance": (col.measured_parameters / col.active_parameters).log().abs(),
    }
    of = ["number", "measure"]
    pairs = (
        machines.join(cpu_rates(), "cpu_id", maintain_order="left_right")
        .with_columns(**rank)
        .filter(col.is_other_type | (not of_others))
        .sort(*rank, maintain_order=True)
        .filter(pl.all_horizontal(col(name) == col(name).first().over(of) for name in rank))
    )
    rates = (
        pairs.group_by(*of, "size", "vcpus")
        .agg(col.rate.quantile(0.5, "lower"))
        .sort("size")
        .group_by(of)
        .agg(at_size().alias("rate"))
        .pivot("measure", ["single_user", "prompt"], index="number", values="rate")
    )
    labels = (
        pairs.filter(measure="single_user")
        .sort((col.size - col.vcpus).abs(), "own_type", maintain_order=True)
        .unique("number", keep="first", maintain_order=True)
        .select("number", "label", "is_other_type", "token_bytes", "token_flops")
    )
    # the time of a token is that of reading and computing together: take computing out of it
    computing = (col.token_flops / col.prompt) / (col.token_bytes / col.single_user)
    of_type = pl.when(~col.is_other_type).then(pl.lit("measured"))
    return (
        machines.join(rates.drop_nulls(), "number", "left", maintain_order="left")
        .join(labels, "number", "left", maintain_order="left")
        .with_columns(
            bytes_per_second=pl.coalesce(
                "bytes_per_second", col.single_user / (1 - computing).clip(constants.LEAST_READING)
            ),
            peak=col.prompt,
            basis=of_type.when("is_other_type").then(pl.lit("modeled")),
        )
    )


def at_size() -> pl.Expr:
    """Read a rate at a number of vCPUs from the rates at others, sorted by size.

    Between two sizes it is interpolated (both axes logarithmic); a smaller machine than all has its
    share of the smallest, a larger one no more than the largest.
    """
    vcpus, is_below = col.vcpus.first(), col.size <= col.vcpus
    below, rate_below = (col(name).filter(is_below).last() for name in ("size", "rate"))
    above, rate_above = (col(name).filter(~is_below).first() for name in ("size", "rate"))
    share = (vcpus / below).log() / (above / below).log()
    between = rate_below ** (1 - share) * rate_above**share
    return pl.coalesce(between, rate_below, rate_above * vcpus / above)
