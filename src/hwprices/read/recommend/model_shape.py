"""Describe a language model: its number of parameters, layers and widths."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.specs import sheet_directory

ASPECT = 112
"""hidden size / layers of an estimated shape: Llama 3.1 has 128, 102 and 130
(https://arxiv.org/abs/2407.21783), GPT-3 128, Llama 2 13B 128."""

KV_HEADS, HEAD_WIDTH = 8, 128
"""Grouped-query attention of an estimated shape, as in Llama 3 (https://arxiv.org/abs/2407.21783)."""

FFN_RATIO = 3.5  # feed-forward width / hidden size of Llama 3, https://arxiv.org/abs/2407.21783

VOCABULARY = 128_256  # tokens of Llama 3, https://arxiv.org/abs/2407.21783

SMALLEST, LARGEST = 1e7, 1e14
"""Parameters. Below 10 million it is no language model that needs a choice of machine; the largest
published models have about 10^12."""

UNITS = {"": 1.0, "m": 1e6, "b": 1e9, "t": 1e12}


@dataclass(frozen=True)
class ModelShape:
    """A decoder-only transformer."""

    name: str
    parameters: float
    active_parameters: float
    """Parameters that compute one token: fewer than ``parameters`` for mixtures of experts."""
    layers: int
    hidden: int
    kv_elements: int
    """Numbers that the KV cache keeps per token and layer."""
    attention_width: int
    """Heads × their width: rows of the query projection."""
    ffn: int | None
    """Feed-forward width; None for a mixture of experts."""
    vocab: int
    basis: str
    """sheet (a published model), or estimate (from the number of parameters alone)."""


@cache
def published_models() -> pl.DataFrame:
    """Load data/specs/models.csv. Cached: the sheet is part of the package and does not change."""
    return pl.read_csv((sheet_directory() / "models.csv").read_bytes())


def model_shape(model: float | str) -> ModelShape:
    """Describe a model given by name (llama-3.1-70b) or by number of parameters (70e9, "70B").

    From a number the shape is an estimate.

    Raises:
        HwpricesError: neither a published model nor a number of parameters above 10 million.
    """
    if isinstance(model, str):
        name = re.sub(r"[^a-z0-9.]+", "-", model.strip().lower())
        for row in published_models().iter_rows(named=True):
            if name in (row["model_id"], row["model_id"].replace("-", "")):
                return _published(row)
    return _estimated(_parse_parameters(model))


def _parse_parameters(model: float | str) -> float:
    """Read 7e9, "7B" or "350M" as a number of parameters."""
    match = re.fullmatch(r"([0-9.]+(?:e[0-9]+)?)\s*([mbt]?)", str(model).strip().lower())
    is_number = match is not None and match[1].count(".") <= 1
    parameters = float(match[1]) * UNITS[match[2]] if match and is_number else 0.0
    if not SMALLEST <= parameters <= LARGEST:
        names = ", ".join(published_models()["model_id"])
        raise HwpricesError(
            f"{model!r} is neither a model that is known nor a number of parameters",
            f"Give 7e9 or 7B, or one of {names}.",
        )
    return parameters


def _published(row: dict[str, Any]) -> ModelShape:
    """Turn a row of models.csv into a shape."""
    return ModelShape(
        name=str(row["name"]),
        parameters=float(row["parameters_b"]) * 1e9,
        active_parameters=float(row["active_parameters_b"]) * 1e9,
        layers=int(row["layers"]),
        hidden=int(row["hidden_size"]),
        kv_elements=int(row["kv_elements_per_layer"]),
        attention_width=int(row["attention_width"]),
        ffn=None if row["ffn_size"] is None else int(row["ffn_size"]),
        vocab=int(row["vocab_size"]),
        basis="sheet",
    )


def _estimated(parameters: float) -> ModelShape:
    """Make a dense model of that size with the proportions of Llama 3.

    parameters ≈ 12 × layers × hidden² (Kaplan et al., https://arxiv.org/abs/2001.08361); the hidden
    size is rounded to a multiple of the head width.
    """
    exact_hidden = (parameters * ASPECT / 12) ** (1 / 3)
    hidden = max(HEAD_WIDTH, round(exact_hidden / HEAD_WIDTH) * HEAD_WIDTH)
    return ModelShape(
        name=f"{parameters / 1e9:.4g}B parameters",
        parameters=parameters,
        active_parameters=parameters,
        layers=max(1, round(parameters / (12 * hidden**2))),
        hidden=hidden,
        kv_elements=2 * KV_HEADS * HEAD_WIDTH,
        attention_width=hidden,
        ffn=round(FFN_RATIO * hidden),
        vocab=VOCABULARY,
        basis="estimate",
    )
