"""Compute the memory and the operations that a language model needs, by workload.

Arithmetic only, no devices: plain numbers in, plain numbers out. Every rule names its paper. The
rules are for decoder-only transformers; docs/method.md says where they stop being true.
"""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Workload = Literal["pretrain", "full_finetune", "lora"]

BITS_PER_WEIGHT = {
    "fp32": 32.0,
    "bf16": 16.0,
    "fp16": 16.0,
    "q8_0": 8.5,
    "fp8": 8.0,
    "int8": 8.0,
    "q4_k_m": 4.85,
    "q4_0": 4.5,
    "int4": 4.5,
    "mxfp4": 4.25,
    "fp4": 4.5,
}
"""Bits of a stored weight with its scales. The formats of llama.cpp: size of the file over weights,
https://github.com/ggml-org/llama.cpp/blob/master/tools/quantize/README.md. FP4 is NVFP4, which has
a scale of 8 bits for 16 values, MXFP4 for 32:
https://developer.nvidia.com/blog/introducing-nvfp4-for-efficient-and-accurate-low-precision-inference.
INT4 and NF4 have one of 32 bits for 64 values: Dettmers et al., QLoRA, section 3,
https://arxiv.org/abs/2305.14314"""

PRECISIONS = ("fp32", "bf16", "fp16", "fp8", "int8", "fp4", "int4")
"""Formats of stored weights that may be requested; the others are those of measurements."""

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

FLOPS_PER_PARAMETER_AND_TOKEN: dict[Workload, int] = {"pretrain": 6, "full_finetune": 6, "lora": 4}
"""2 forward, 2 backward to the activations, 2 backward to the weights (not for LoRA, whose weights
are frozen). Kaplan et al., section 2.1, https://arxiv.org/abs/2001.08361"""

LOGIT_BYTES, LOGIT_TOKENS = 10, 8192
"""Bytes of a logit in training: 16 bits, its copy in 32 bits, and the gradient in 32 bits, which
frameworks keep at the same time. Of longer sequences the loss is computed in pieces of so many
tokens, https://arxiv.org/abs/2410.10989"""


@dataclass(frozen=True)
class ModelShape:
    """A decoder-only transformer."""

    name: str
    parameters: float
    active_parameters: float
    """Parameters that compute one token: fewer than ``parameters`` for mixtures of experts."""
    layers: int
    hidden: int
    kv_elements: int  # Numbers that the KV cache keeps per token and layer
    attention_width: int  # Heads × their width: rows of the query projection
    ffn: int | None  # Feed-forward width; None for a mixture of experts
    vocab: int
    basis: str  # sheet (a published model), or estimate (from the number of parameters alone)
    heads: int  # Attention heads: the most devices that one layer can be divided over
    kv_heads: int
    """Heads of keys and values; 1 for latent attention, whose one vector all heads share."""
    active_expert_share: float = 1.0
    """Experts at work for a token over all experts; 1 without experts."""
    context_limit: int | None = None
    """Longest context the model was trained for; None where it is not known."""
    window: int | None = None  # Tokens that the other layers keep; None where every layer keeps all
    full_attention_layers: int | None = None  # Layers that keep every token; None for all of them
    license: str | None = None
    embeds: bool = field(default=False, repr=False)  # calibration halves its points by the repr
    """Whether it reads texts and makes embeddings of them; it generates nothing then."""
    released_format: str | None = None
    """Format of 4 bits in which the weights are published; None where they have more bits."""


class Memory(NamedTuple):
    """Bytes: ``sharded`` are divided over the devices; each device needs ``per_device`` as well."""

    sharded: float
    per_device: float


def expert_parameters(model: ModelShape) -> float:
    """Count the parameters that are in experts: 0 for a dense model.

    From active = shared + experts × share and all = shared + experts.
    """
    if model.active_expert_share >= 1:
        return 0.0
    resting = model.parameters - model.active_parameters
    return resting / (1 - model.active_expert_share)


def parameters_read(model: ModelShape, batch: float) -> float:
    """Count the parameters that a step with ``batch`` sequences reads.

    All weights outside the experts, and the expected number of distinct experts: a sequence misses
    each with probability 1 - share, independently.
    """
    experts = expert_parameters(model)
    shared = model.parameters - experts
    return float(shared + experts * (1 - (1 - model.active_expert_share) ** batch))


def adapter_parameters(model: ModelShape, rank: int = LORA_RANK) -> float:
    """Count the trained parameters of LoRA: rank × (inputs + outputs) of every linear layer.

    Of a mixture of experts only the attention layers have adapters.
    """
    kv_width = model.kv_elements // 2
    attention = (model.hidden + model.attention_width) * 2 + (model.hidden + kv_width) * 2
    feed_forward = 3 * (model.hidden + model.ffn) if model.ffn else 0
    return float(model.layers * rank * (attention + feed_forward))


def activation_bytes(model: ModelShape, context: int) -> float:
    """Count the bytes of the training activations of one device, which are computed again.

    2sbh for the input of each layer, 34sbh for the layer at work, and the logits (LOGIT_BYTES
    each): Korthikanti et al., sections 4 and 5, https://arxiv.org/abs/2205.05198. Attention scores
    are recomputed, so they have no term in s². Not divided over devices: each device works on its
    own batch.
    """
    layers = (2.0 * model.layers + 34.0) * context * model.hidden
    return layers + LOGIT_BYTES * min(context, LOGIT_TOKENS) * model.vocab


def cached_tokens(model: ModelShape, context: float) -> float:
    """Count tokens × layers that the cache keeps of a sequence, with sliding windows."""
    if model.window is None or model.full_attention_layers is None:
        return model.layers * context
    windowed = model.layers - model.full_attention_layers
    return model.full_attention_layers * context + windowed * min(context, model.window)


def cache_copies(model: ModelShape, devices: int) -> float:
    """Count how often the cache is kept where a layer is divided over that many devices.

    Each device keeps whole KV heads, so that of more devices than KV heads several keep the same
    one: https://docs.vllm.ai/en/v0.15.0/api/vllm/model_executor/models/llama/. Latent attention has
    one vector for all heads, and engines keep all of a sequence on one device then, so that nothing
    is copied: https://docs.ray.io/en/latest/serve/llm/user-guides/data-parallel-attention.html
    """
    keys_and_values = 2 * model.kv_heads * (model.attention_width // model.heads)
    is_latent = model.kv_elements != keys_and_values
    return 1.0 if is_latent else max(1.0, devices / model.kv_heads)


def kv_cache_bytes(
    model: ModelShape,
    context: float,
    batch: float,
    bytes_per_number: float = KV_BYTES,
    devices: int = 1,
) -> float:
    """Count the bytes of the keys and values of every token of every open sequence.

    ``devices``: how many a layer is divided over. The bytes are those of all of them.
    """
    numbers = cached_tokens(model, context) * model.kv_elements * cache_copies(model, devices)
    return float(batch * numbers * bytes_per_number)


def prefill_bytes(model: ModelShape, context: int) -> float:
    """Count the bytes of each device that a piece of a prompt needs: one layer at work."""
    return 34.0 * min(context, PREFILL_TOKENS) * model.hidden


def training_memory(model: ModelShape, workload: Workload, precision: str, context: int) -> Memory:
    """Count the bytes that a training needs, with one sequence at a time on each device.

    ``precision``: of the weights that LoRA leaves as they are; ``context``: tokens of a sequence.
    """
    trained = adapter_parameters(model) if workload == "lora" else model.parameters
    states = trained * sum(TRAINING_BYTES.values())
    frozen = model.parameters * BITS_PER_WEIGHT[precision] / 8 if workload == "lora" else 0.0
    return Memory(frozen + states, activation_bytes(model, context))


def attention_flops(model: ModelShape, context: float) -> float:
    """Count the operations of attention for one token whose context holds that many tokens.

    4 × width × tokens in each layer: the scores and the weighted sum.
    """
    return 4.0 * model.attention_width * cached_tokens(model, context)


def prompt_flops(model: ModelShape, tokens: float) -> float:
    """Count the operations of reading a prompt: 2N a token, and attention to half of it."""
    return tokens * (2 * model.active_parameters + attention_flops(model, tokens / 2))


def token_flops(model: ModelShape, context: float) -> float:
    """Count the operations of generating one token after ``context`` others."""
    return 2 * model.active_parameters + attention_flops(model, context)


def training_flops(model: ModelShape, workload: Workload, tokens: float, context: float) -> float:
    """Count the operations of a training run on sequences of ``context`` tokens.

    6ND (LoRA 4ND), and attention to half of the sequence, forward and twice backward. Recomputing
    activations is not counted, as in model FLOPs utilisation (MFU).
    """
    matrices = FLOPS_PER_PARAMETER_AND_TOKEN[workload] * model.active_parameters
    return (matrices + 3 * attention_flops(model, context / 2)) * tokens
