"""How named machines serve a model: what ``compare`` adds to their specification."""

import polars as pl

from hwprices.read.recommend.question import Limits, Question
from hwprices.read.recommend.recommend import recommend
from hwprices.release.release import Tables


def with_model(dataset: Tables, machines: pl.DataFrame, model: str) -> pl.DataFrame:
    """Add how each machine serves a model on demand, as ``recommend`` estimates it.

    Args:
        dataset: the release.
        machines: a row for each, with provider and instance_type.
        model: a name or a number of parameters.

    Adds tokens_per_second (of all users, cautious), usd_per_million_tokens (of input and output
    together, at that speed), tokens_from (measured or modeled) and does_not_serve, the reason where
    it does not.

    Raises:
        HwpricesError: the model is not known.
    """
    answer = recommend(
        Question(model, limits=Limits(where="cloud", machines="all")), dataset=dataset
    )
    figures = answer.select(
        "provider",
        "usd_per_million_tokens",
        instance_type="machine",
        tokens_per_second="tokens_per_second_low",
        tokens_from="basis",
        does_not_serve=pl.when(pl.col("tokens_per_second_low").is_null()).then("excluded"),
    )
    # of a community host and a data center's machine with one name, the ranked one comes first
    return machines.join(
        figures.unique(["provider", "instance_type"], keep="first", maintain_order=True),
        ["provider", "instance_type"],
        "left",
        maintain_order="left",
    )
