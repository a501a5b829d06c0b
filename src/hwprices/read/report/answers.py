"""Prepare the view "Recommend": what ``recommend`` answers about models that many ask for."""

from typing import Any

import polars as pl

from hwprices.read.ownership import DEFAULTS
from hwprices.read.recommend.machines import candidates
from hwprices.read.recommend.model_shape import model_shape
from hwprices.read.recommend.question import Limits, Question
from hwprices.read.recommend.recommend import recommend
from hwprices.release.release import Tables

MODELS = (
    *("llama-3.1-8b", "llama-3.3-70b", "llama-3.1-405b", "llama-4-scout", "llama-4-maverick"),
    *("qwen3-8b", "qwen3-32b", "qwen3-30b-a3b", "qwen3-235b-a22b", "qwen3-coder-480b-a35b"),
    *("gemma-3-27b", "mistral-small-24b", "phi-4", "gpt-oss-20b", "gpt-oss-120b"),
    *("deepseek-v3.2", "deepseek-v4-flash", "deepseek-v4-pro", "kimi-k2.5", "kimi-k3"),
    *("glm-4.6", "glm-5", "minimax-m2", "qwen3.5-35b-a3b", "qwen3.5-397b-a17b", "gemma-4-31b"),
)
"""Models that the page answers about; each takes about 0.07 s of processor time."""

YEARS_ON_SALE = 4
"""Machines to buy are shown for so many years after their release: a choice of this project."""

MOST = 15  # machines to rent of an answer, and as many to buy

COLUMNS = [
    *("where", "rank", "provider", "region", "machine", "nodes", "total_accelerators"),
    *("accelerator_id", "precision", "basis", "measurement", "usd_per_hour"),
    *("usd_per_million_tokens_low", "usd_per_million_tokens", "usd_per_million_input_tokens"),
    *("usd_per_million_output_tokens", "tokens_per_second_low", "tokens_per_second_high"),
    *("concurrency", "tokens_per_second_per_user", "seconds_to_first_token"),
    *("gco2e_per_million_tokens", "purchase_price_usd", "purchase_price_date"),
    *("rent_usd_per_hour", "payback_hours"),
]


def answers(dataset: Tables) -> tuple[list[dict[str, Any]], pl.DataFrame]:
    """Return the models with what is assumed of each, and the first machines of each answer.

    The frame has model_id and COLUMNS.
    """
    models, frames = [], []
    discontinued = too_old_to_buy(dataset)
    among = candidates(dataset, Limits(), DEFAULTS)
    for name in MODELS:
        frame = recommend(Question(name), dataset=dataset, among=among)
        first = frame.drop_nulls("rank").filter(
            pl.col("rank") <= MOST, ~pl.col("machine").is_in(discontinued)
        )
        frames.append(first.select(pl.lit(name).alias("model_id"), *COLUMNS))
        assumed = frame["assumed"].first() or ""
        models.append({"model_id": name, "name": model_shape(name).name, "assumed": assumed})
    return models, pl.concat(frames, how="vertical_relaxed")


def too_old_to_buy(dataset: Tables) -> list[str]:
    """List the machines to buy that are no longer on sale, by id."""
    is_old = pl.col("release_year") < pl.col("as_of").dt.year().max() - YEARS_ON_SALE
    local = dataset.scan("local_hardware").filter(is_old).select("device_id").collect()
    return local["device_id"].to_list()
