"""What a language model needs: bytes of memory and floating-point operations, by workload. Arithmetic only, no devices.

Every rule names its paper. The rules are for decoder-only transformers; docs/method.md says where they stop being true.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.specs import sheet_directory

Workload = Literal["pretrain", "full_finetune", "lora", "inference"]
WORKLOADS: tuple[Workload, ...] = ("pretrain", "full_finetune", "lora", "inference")

BYTES_PER_WEIGHT = {
    "fp32": 4.0,
    "bf16": 2.0,
    "fp16": 2.0,
    "fp8": 1.0,
    "int8": 1.0,
    "fp4": 0.5,
    "int4": 0.5,
}
"""int4 is storage only (4-bit weights, 16-bit arithmetic); the scales of quantised formats, a few percent, are not counted."""

TRAINING_BYTES = {"weights": 2, "gradients": 2, "optimizer": 12}
"""Bytes per trained parameter with Adam in mixed precision: 16-bit weights and gradients; 32-bit weights, momentum and variance.
Rajbhandari et al., ZeRO, section 3.1, https://arxiv.org/abs/1910.02054"""

KV_BYTES = 2  # keys and values stay in 16 bits unless the server is told otherwise, also where the weights are quantised

LORA_RANK = 16  # between the 8 of Hu et al. (https://arxiv.org/abs/2106.09685) and the 64 of Dettmers et al. (2305.14314)

PREFILL_TOKENS = 2048  # vLLM prefills long prompts in pieces of this size, https://docs.vllm.ai/en/latest/configuration/optimization/

TOKENS_PER_PARAMETER = 20
"""Compute-optimal training. Hoffmann et al., Chinchilla, https://arxiv.org/abs/2203.15556"""

FLOPS_PER_PARAMETER_AND_TOKEN: dict[Workload, int] = {
    "pretrain": 6,
    "full_finetune": 6,
    "lora": 4,
    "inference": 2,
}
"""2 forward, 2 back to the activations, 2 to the weights, which LoRA leaves frozen. Kaplan et al., section 2.1,
https://arxiv.org/abs/2001.08361"""

ASPECT = 112
"""hidden size / layers of the estimate: Llama 3.1 has 128, 102 and 130 (https://arxiv.org/abs/2407.21783), GPT-3 128, Llama 2 13B 128."""


@dataclass(frozen=True)
class Shape:
    """A decoder-only transformer. ``basis``: sheet (a published model) or estimate (from its size alone)."""

    name: str
    parameters: float
    active_parameters: float
    layers: int
    hidden: int
    kv_elements: int  # numbers the cache keeps per token and layer
    attention_width: int  # heads × their width: rows of the query projection
    ffn: int | None  # None: mixture of experts
    vocab: int
    basis: str


@dataclass(frozen=True)
class Memory:
    """Bytes. ``sharded`` parts are divided over the devices, ``per_device`` is needed on each of them."""

    sharded: dict[str, float]
    per_device: float

    @property
    def total_sharded(self) -> float:
        return sum(self.sharded.values())


@cache
def models() -> pl.DataFrame:
    """Published models of data/specs/models.csv."""
    return pl.read_csv((sheet_directory() / "models.csv").read_bytes())


def shape(model: float | str) -> Shape:
    """A model by name (llama-3.1-70b), or by its number of parameters (70e9, "70B"), whose shape is then an estimate.

    Raises:
        HwpricesError: neither a known name nor a number of parameters above 10 million.
    """
    if isinstance(model, str):
        wanted = re.sub(r"[^a-z0-9.]+", "-", model.strip().lower())
        for row in models().iter_rows(named=True):
            if wanted in (row["model_id"], row["model_id"].replace("-", "")):
                return _published(row)
    return _estimated(_parameters(model))


def _parameters(model: float | str) -> float:
    size = {"": 1.0, "m": 1e6, "b": 1e9, "t": 1e12}
    found = re.fullmatch(r"([0-9.]+(?:e[0-9]+)?)\s*([mbt]?)", str(model).strip().lower())
    parameters = float(found[1]) * size[found[2]] if found and found[1].count(".") <= 1 else 0.0
    if not 1e7 <= parameters <= 1e14:
        known = ", ".join(models()["model_id"])
        raise HwpricesError(
            f"{model!r} is neither a model that is known nor a number of parameters",
            f"Give 7e9 or 7B, or one of {known}.",
        )
    return parameters


def _published(row: dict[str, object]) -> Shape:
    number = {name: float(str(row[name])) for name in ("parameters_b", "active_parameters_b")}
    whole = {
        name: int(str(row[name]))
        for name in (
            "layers",
            "hidden_size",
            "kv_elements_per_layer",
            "attention_width",
            "vocab_size",
        )
    }
    return Shape(
        name=str(row["name"]),
        parameters=number["parameters_b"] * 1e9,
        active_parameters=number["active_parameters_b"] * 1e9,
        layers=whole["layers"],
        hidden=whole["hidden_size"],
        kv_elements=whole["kv_elements_per_layer"],
        attention_width=whole["attention_width"],
        ffn=None if row["ffn_size"] is None else int(str(row["ffn_size"])),
        vocab=whole["vocab_size"],
        basis="sheet",
    )


def _estimated(parameters: float) -> Shape:
    """A dense model of that size with Llama 3's proportions: N ≈ 12 × layers × hidden² (Kaplan et al.), 8 KV heads of 128."""
    hidden = max(128, round((parameters * ASPECT / 12) ** (1 / 3) / 128) * 128)
    layers = max(1, round(parameters / (12 * hidden**2)))
    billions = f"{parameters / 1e9:.4g}B parameters"
    return Shape(
        billions,
        parameters,
        parameters,
        layers,
        hidden,
        2 * 8 * 128,
        hidden,
        round(3.5 * hidden),
        128_256,
        "estimate",
    )


def adapter_parameters(model: Shape, rank: int = LORA_RANK) -> float:
    """Trained parameters of LoRA: rank × (inputs + outputs) of every linear layer; of mixtures of experts, attention only."""
    kv = model.kv_elements // 2
    attention = (model.hidden + model.attention_width) * 2 + (model.hidden + kv) * 2
    feed_forward = 3 * (model.hidden + model.ffn) if model.ffn else 0
    return float(model.layers * rank * (attention + feed_forward))


def activation_bytes(model: Shape, context: int, batch: int) -> float:
    """Training activations of one device with recomputation: 2sbh for the input of each layer, 34sbh for the layer at work, 4sbv logits.

    Korthikanti et al., sections 4 and 5, https://arxiv.org/abs/2205.05198 (attention scores are recomputed, so no term in s²).
    Not divided over devices: each works on a batch of its own.
    """
    tokens = context * batch
    return (
        2.0 * tokens * model.hidden * model.layers
        + 34.0 * tokens * model.hidden
        + 4.0 * tokens * model.vocab
    )


def kv_cache_bytes(model: Shape, context: int, batch: int) -> float:
    """Keys and values of every token of every sequence that is open at once, in 16 bits."""
    return float(batch * context * model.layers * model.kv_elements * KV_BYTES)


def memory(model: Shape, workload: Workload, precision: str, context: int, batch: int) -> Memory:
    """Bytes that the workload needs. ``batch``: sequences at once, per device in training, in all for inference."""
    weights = model.parameters * BYTES_PER_WEIGHT[precision]
    if workload == "inference":
        prefill = (
            34.0 * min(context, PREFILL_TOKENS) * model.hidden
        )  # one layer at work, as in training
        return Memory(
            {"weights": weights, "kv_cache": kv_cache_bytes(model, context, batch)}, prefill
        )
    activations = activation_bytes(model, context, batch)
    if workload == "lora":
        return Memory(
            {
                "weights": weights,
                "adapters": adapter_parameters(model) * sum(TRAINING_BYTES.values()),
            },
            activations,
        )
    return Memory(
        {part: model.parameters * size for part, size in TRAINING_BYTES.items()}, activations
    )


def training_flops(model: Shape, workload: Workload, tokens: float) -> float:
    """Operations of a training run. Recomputed activations are the hardware's affair and not counted, as in MFU."""
    return FLOPS_PER_PARAMETER_AND_TOKEN[workload] * model.active_parameters * tokens


def bytes_read_per_step(model: Shape, precision: str, context: int, batch: int) -> float:
    """What generating one token for each of ``batch`` sequences reads: the weights at work once, and every sequence's cache."""
    at_work = min(model.parameters, model.active_parameters * batch)
    return at_work * BYTES_PER_WEIGHT[precision] + kv_cache_bytes(model, context, batch)
