"""Compute the memory and the operations that a language model needs, by workload.

Arithmetic only, no devices. Every rule names its paper. The rules are for decoder-only
transformers; docs/method.md says where they stop being true.
"""

from dataclasses import dataclass
from typing import Literal

from hwprices.read.recommend.model_shape import ModelShape

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
"""int4 is for storage only: 4-bit weights, 16-bit arithmetic. The scales of quantised formats, a
few percent, are not counted."""

TRAINING_BYTES = {"weights": 2, "gradients": 2, "optimizer": 12}
"""Bytes per trained parameter with Adam in mixed precision: 16-bit weights and gradients; 32-bit
weights, momentum and variance. Rajbhandari et al., ZeRO, section 3.1,
https://arxiv.org/abs/1910.02054"""

KV_BYTES = 2
"""Keys and values stay in 16 bits also where the weights are quantised: vLLM's kv_cache_dtype is
auto by default, https://docs.vllm.ai/en/latest/configuration/engine_args/"""

LORA_RANK = 16
"""Between the 8 of Hu et al. (https://arxiv.org/abs/2106.09685) and the 64 of Dettmers et al.
(https://arxiv.org/abs/2305.14314)."""

PREFILL_TOKENS = 2048
"""vLLM prefills long prompts in pieces of this size:
https://docs.vllm.ai/en/latest/configuration/optimization/"""

FLOPS_PER_PARAMETER_AND_TOKEN: dict[Workload, int] = {
    "pretrain": 6,
    "full_finetune": 6,
    "lora": 4,
    "inference": 2,
}
"""2 forward, 2 backward to the activations, 2 backward to the weights (not for LoRA, whose weights
are frozen). Kaplan et al., section 2.1, https://arxiv.org/abs/2001.08361"""


@dataclass(frozen=True)
class Memory:
    """Bytes. ``sharded`` parts are divided over the devices; each device needs ``per_device``."""

    sharded: dict[str, float]
    per_device: float

    @property
    def total_sharded(self) -> float:
        """Sum of the parts that are divided."""
        return sum(self.sharded.values())


def adapter_parameters(model: ModelShape, rank: int = LORA_RANK) -> float:
    """Count the trained parameters of LoRA: rank × (inputs + outputs) of every linear layer.

    Of a mixture of experts only the attention layers have adapters.
    """
    kv_width = model.kv_elements // 2
    attention = (model.hidden + model.attention_width) * 2 + (model.hidden + kv_width) * 2
    feed_forward = 3 * (model.hidden + model.ffn) if model.ffn else 0
    return float(model.layers * rank * (attention + feed_forward))


def activation_bytes(model: ModelShape, context: int, batch: int) -> float:
    """Count the bytes of the training activations of one device, with recomputation.

    2sbh for the input of each layer, 34sbh for the layer at work, 4sbv for the logits: Korthikanti
    et al., sections 4 and 5, https://arxiv.org/abs/2205.05198. Attention scores are recomputed, so
    there is no term in s². Not divided over devices: each device works on its own batch.
    """
    tokens = context * batch
    layer_inputs = 2.0 * tokens * model.hidden * model.layers
    layer_at_work = 34.0 * tokens * model.hidden
    logits = 4.0 * tokens * model.vocab
    return layer_inputs + layer_at_work + logits


def kv_cache_bytes(model: ModelShape, context: int, batch: int) -> float:
    """Count the bytes of the keys and values of every token of every open sequence, in 16 bits."""
    return float(batch * context * model.layers * model.kv_elements * KV_BYTES)


def memory(
    model: ModelShape, workload: Workload, precision: str, context: int, batch: int
) -> Memory:
    """Count the bytes that the workload needs.

    ``batch`` counts sequences at once: per device in training, in all for inference.
    """
    weights = model.parameters * BYTES_PER_WEIGHT[precision]
    if workload == "inference":
        # one layer at work, as in training
        prefill = 34.0 * min(context, PREFILL_TOKENS) * model.hidden
        cache = kv_cache_bytes(model, context, batch)
        return Memory({"weights": weights, "kv_cache": cache}, prefill)
    activations = activation_bytes(model, context, batch)
    if workload == "lora":
        adapters = adapter_parameters(model) * sum(TRAINING_BYTES.values())
        return Memory({"weights": weights, "adapters": adapters}, activations)
    states = {part: model.parameters * size for part, size in TRAINING_BYTES.items()}
    return Memory(states, activations)


def training_flops(model: ModelShape, workload: Workload, tokens: float) -> float:
    """Count the operations of a training run.

    Recomputing activations is not counted, as in model FLOPs utilisation (MFU).
    """
    return FLOPS_PER_PARAMETER_AND_TOKEN[workload] * model.active_parameters * tokens


def bytes_read_per_step(model: ModelShape, precision: str, context: int, batch: int) -> float:
    """Count the bytes read to generate one token for each of ``batch`` sequences.

    Every weight that computes is read once, and so is every sequence's cache.
    """
    weights_used = min(model.parameters, model.active_parameters * batch)
    cache = kv_cache_bytes(model, context, batch)
    return weights_used * BYTES_PER_WEIGHT[precision] + cache
