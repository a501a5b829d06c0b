"""Describe a language model: its number of parameters, layers and widths."""

import re
from dataclasses import fields, replace
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.formulas.language_model import ModelShape
from hwprices.read.recommend import constants
from hwprices.specs import packaged_sheet

ASPECT, KV_HEADS, HEAD_WIDTH, FFN_RATIO, VOCABULARY = 112, 8, 128, 3.5, 128_256
"""Of an estimated shape, as of Llama 3 (https://arxiv.org/abs/2407.21783): hidden size / layers
(128, 102 and 130; GPT-3 128, Llama 2 13B 128), grouped-query attention, feed-forward width / hidden
size, and tokens."""

SMALLEST, LARGEST = 1e7, 1e14
"""Parameters. Below 10 million no language model needs a choice of machine; the largest
published models have about 10^12."""

RELEASED_IN_4_BITS = {"mxfp4": "fp4", "nvfp4": "fp4", "int4": "int4"}
"""release_precision of the sheet: the format to serve the weights in by default. OpenAI
names 60.8 GiB for gpt-oss-120b (https://arxiv.org/abs/2508.10925, table 1), whose experts have 4.25
bits and the rest 16: 116.8e9 × 4.5 / 8 bytes are 61.2 GiB."""

UNITS = {"": 1.0, "m": 1e6, "b": 1e9, "t": 1e12}

NAMES_LISTED = 12  # of the names in an error: more do not fit a line that one reads

COLUMNS = {
    **{"hidden": "hidden_size", "kv_elements": "kv_elements_per_layer", "ffn": "ffn_size"},
    **{"vocab": "vocab_size", "window": "window_tokens"},
}
"""Fields of ModelShape: columns of the sheet, where they have other names."""

TUNED = r"([-_ ](instruct|chat|it|hf))+([-_ ](v[0-9.]+|[0-9]{4}))?$"
"""What repositories add to the name of a model that was tuned: Mistral-7B-Instruct-v0.3,
Llama-2-70b-chat-hf, Qwen3-30B-A3B-Instruct-2507. The network is the same."""

STORED = r"([-_ ](awq|gptq|nvfp4|mxfp4|fp8|int4|int8|[48]bit|bnb|dynamic))+$"
"""What repositories add for the format of weights: Llama-3.3-70B-Instruct-FP8, -GPTQ-Int4."""

EMBEDDING = r"bge|gte|\be5\b|embed|minilm|mpnet|rerank|colbert|sentence"
"""In a name that is not in the sheet: a model that makes embeddings, whose like are suggested."""


def published_models() -> pl.DataFrame:
    """Load data/specs/models.csv."""
    return packaged_sheet("models")


def squeeze(name: str) -> str:
    """Keep letters, digits and points: "Llama 3.1 8B", "llama3.1-8b" and "llama-3.1-8b" match."""
    return re.sub(r"[^a-z0-9.]+", "", name.lower())


@lru_cache(maxsize=512)
def model_shape(model: float | str, active: float | str | None = None) -> ModelShape:
    """Describe a model given by name (llama-3.1-70b) or by number of parameters (70e9, "70B").

    The name may be that of a repository: meta-llama/Llama-3.1-70B-Instruct. From a number the shape
    is an estimate. ``active``: parameters that compute one token, of a mixture of experts given by
    its number; it has the layers of a dense model of those.

    Raises:
        HwpricesError: neither a published model nor a number of parameters from 10^7 to 10^14, or
            ``active`` is more than those, or given beside a name.
    """
    if isinstance(model, str):
        model = re.sub(STORED, "", model.strip(), flags=re.IGNORECASE)
    names = (squeeze(model), squeeze(of_repository(model))) if isinstance(model, str) else ()
    for wanted in names:
        for row in published_models().iter_rows(named=True):
            repository = row["repository"] or row["model_id"]
            known = (row["model_id"], row["name"], repository, repository.rpartition("/")[2])
            if wanted not in map(squeeze, known):
                continue
            if active is None:
                return _published(row)
            raise HwpricesError(
                f"the active parameters of {row['name']} are known",
                "Leave them out, or give the number of all parameters.",
            )
    if sized := with_size(str(model)):
        return model_shape(sized, active)
    parameters = _parse_parameters(model)
    if active is None:
        return _estimated(parameters)
    working = _parse_parameters(active)
    if working > parameters:
        raise HwpricesError(
            f"{active} active parameters are more than all {parameters / 1e9:.4g}B", "Correct one."
        )
    return replace(
        _estimated(working),
        name=f"{parameters / 1e9:.4g}B parameters, {working / 1e9:.4g}B active",
        parameters=parameters,
        ffn=None,
        active_expert_share=working / parameters,
    )


def with_size(name: str) -> str | None:
    """Return the one model whose id is the name and a size: mistral-large of mistral-large-123b.

    None if other ids begin with the name too: gemma may mean gemma-2b or gemma-3-27b.
    """
    start = re.sub(r"[^a-z0-9.]+", "-", of_repository(name).replace("+", " plus"))
    begins = pl.col("model_id").str.starts_with(f"{start}-")
    ids = published_models().filter(begins)["model_id"].to_list()
    is_sized = len(ids) == 1 and re.fullmatch(r"(-a?[\d.]+b)+", ids[0].removeprefix(start))
    return str(ids[0]) if is_sized else None


def of_repository(name: str) -> str:
    """Drop the owner, and what says how the model was tuned, from the name of a repository."""
    model = name.strip().lower().rpartition("/")[2]
    return re.sub(TUNED, "", model).removeprefix("meta-")


def stored_as(name: str) -> str | None:
    """Return the format of the weights that the name of a repository ends with: fp8, awq."""
    found = re.search(STORED, name.strip().lower())
    formats = re.findall(r"awq|gptq|[a-z]*fp[48]|int[48]|[48]bit", found[0] if found else "")
    return formats[-1] if formats else None


def look_alike(shape: ModelShape) -> str | None:
    """Return the name of a mixture of experts of the size of an estimated shape, if any."""
    size = pl.col("parameters_b") * 1e9
    is_near = (shape.parameters / size - 1).abs() < constants.SAME_SIZE
    found = published_models().filter(is_near, pl.col("experts") > 0)["model_id"]
    return found.first() if shape.basis == "estimate" else None  # type: ignore[return-value]


def _parse_parameters(model: float | str) -> float:
    """Read 7e9, "7B" or "350M" as a number of parameters."""
    text = str(model).strip().lower()
    match = re.fullmatch(r"((?:\d+\.?\d*|\.\d+)(?:e\+?\d+)?)\s*([mbt]?)", text)
    if match is None:
        kind = "embedding" if re.search(EMBEDDING, text) else "text"
        names = [*published_models().filter(kind=kind)["model_id"]]
        if kind == "text":
            names += packaged_sheet("media_models")["names"].str.split(";").list.first().to_list()
        meant, nearest = _meant(of_repository(text), names), _nearest(text, names)
        if len(meant) > 1:
            listed = ", ".join(meant[:NAMES_LISTED]) + " …" * (len(meant) > NAMES_LISTED)
            raise HwpricesError(f"{model!r} may be {len(meant)} models", f"Write one of {listed}")
        raise HwpricesError(
            f"{model!r} is neither a model that is known nor a number of parameters",
            f"Give 7e9 or 7B, or one of {', '.join(nearest[:NAMES_LISTED])} …",
        )
    parameters = float(match[1]) * UNITS[match[2]]
    if not SMALLEST <= parameters <= LARGEST:
        raise HwpricesError(
            f"{model!r} is a number of parameters that is not from {SMALLEST:.0e} to {LARGEST:.0e}",
            "Give it as 70e9 or 70B.",
        )
    return parameters


def _meant(text: str, names: list[str]) -> list[str]:
    """List the names that have all words of a text: qwen3-32b and qwen2.5-32b for "qwen 32b".

    The newest first: the sheet lists the generations of a family in their order.
    """
    first, *others = re.split(r"[^a-z0-9.]+", text)
    parts = {name: name.split("-") for name in names}
    of_family = {n: of for n, of in parts.items() if first in (of[0], of[0].rstrip("0123456789."))}
    return [name for name, of in of_family.items() if {*others} <= {*of}][::-1]


def _nearest(text: str, names: list[str]) -> list[str]:
    """Sort names by likeness, after those that are meant."""
    meant = _meant(text, names)
    others = [name for name in names if name not in meant]
    likeness = {name: SequenceMatcher(a=text, b=name).ratio() for name in others}
    return [*meant, *sorted(others, key=likeness.__getitem__, reverse=True)]


def _published(row: dict[str, Any]) -> ModelShape:
    """Turn a row of models.csv into a shape."""
    listed: dict[str, Any] = {
        one.name: row.get(COLUMNS.get(one.name, one.name)) for one in fields(ModelShape)
    }
    computed: dict[str, Any] = {
        "parameters": row["parameters_b"] * 1e9,
        "active_parameters": row["active_parameters_b"] * 1e9,
        "basis": "sheet",
        "active_expert_share": row["active_experts"] / row["experts"] if row["experts"] else 1.0,
        "embeds": row["kind"] == "embedding",
        "released_format": RELEASED_IN_4_BITS.get(row["release_precision"]),
    }
    return ModelShape(**listed | computed)


def _estimated(parameters: float) -> ModelShape:
    """Make a dense model of that size with the proportions of Llama 3.

    parameters ≈ 12 × layers × hidden² (Kaplan et al., https://arxiv.org/abs/2001.08361); the hidden
    size is rounded to a multiple of the head width, the heads to a multiple of the KV heads, over
    which they are grouped.
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
        heads=max(1, round(hidden / HEAD_WIDTH / KV_HEADS)) * KV_HEADS,
        kv_heads=KV_HEADS,
    )
