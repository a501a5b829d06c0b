"""Compute the memory, operations and time that a language model needs, by workload.

Every function returns an expression on a frame with the columns SHAPE, which describe one model in
each row. Every rule names its paper. The rules are for decoder-only transformers; docs/method.md
says where they stop being true.

Expressions on a frame with the columns of a model (language_model.SHAPE) and of its machines. MFU
is model FLOPs utilisation, the share of the dense peak rate (Chowdhery et al., PaLM, appendix B,
https://arxiv.org/abs/2204.02311).
"""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import polars as pl

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


SHAPE = (
    *("parameters", "active_parameters", "layers", "hidden", "kv_elements", "attention_width"),
    *("ffn", "vocab", "heads", "kv_heads", "active_expert_share", "window"),
    "full_attention_layers",
)
"""Fields of ModelShape that the rules read, as columns of numbers."""

col = pl.col


def shape_columns(model: ModelShape) -> dict[str, pl.Expr]:
    """Return the columns SHAPE of one model."""
    return {name: pl.lit(getattr(model, name), pl.Float64) for name in SHAPE}


class Memory(NamedTuple):
    """Bytes: ``sharded`` are divided over the devices; each device needs ``per_device`` as well."""

    sharded: pl.Expr
    per_device: pl.Expr


def expert_parameters() -> pl.Expr:
    """Count the parameters in experts, as all = shared + experts, active = shared + used ones."""
    missed = 1 - col.active_expert_share
    unused = col.parameters - col.active_parameters
    return pl.when(missed > 0).then(unused / missed).otherwise(0.0)


def parameters_read(batch: pl.Expr) -> pl.Expr:
    """Count the parameters that a step with ``batch`` sequences reads.

    All but the experts that each of the sequences misses, with probability 1 - share.
    """
    return col.parameters - expert_parameters() * (1 - col.active_expert_share) ** batch


def adapter_parameters(rank: int = LORA_RANK) -> pl.Expr:
    """Count the trained parameters of LoRA: rank × (inputs + outputs) of every linear layer.

    Of a mixture of experts only the attention layers have adapters.
    """
    kv_width = col.kv_elements // 2
    attention = (col.hidden + col.attention_width) * 2 + (col.hidden + kv_width) * 2
    feed_forward = (3 * (col.hidden + col.ffn)).fill_null(0)
    return col.layers * rank * (attention + feed_forward)


def activation_bytes(context: pl.Expr) -> pl.Expr:
    """Count the bytes of the training activations of one device, which are computed again.

    2sbh for the input of each layer, 34sbh for the layer at work, and the logits (LOGIT_BYTES
    each): Korthikanti et al., sections 4 and 5, https://arxiv.org/abs/2205.05198. Attention scores
    are recomputed, so they have no term in s². Not divided over devices: each device works on its
    own batch.
    """
    layers = (2.0 * col.layers + 34.0) * context * col.hidden
    return layers + LOGIT_BYTES * pl.min_horizontal(context, LOGIT_TOKENS) * col.vocab


def cached_tokens(context: pl.Expr) -> pl.Expr:
    """Count tokens × layers that the cache keeps of a sequence, with sliding windows."""
    full = col.full_attention_layers
    windowed = full * context + (col.layers - full) * pl.min_horizontal(context, col.window)
    has_windows = col.window.is_not_null() & full.is_not_null()
    return pl.when(has_windows).then(windowed).otherwise(col.layers * context)


def cache_copies(devices: pl.Expr | int) -> pl.Expr:
    """Count how often the cache is kept where a layer is divided over that many devices.

    Each device keeps whole KV heads, so that of more devices than KV heads several keep the same
    one: https://docs.vllm.ai/en/v0.15.0/api/vllm/model_executor/models/llama/. Latent attention has
    one vector for all heads, and engines keep all of a sequence on one device then, so that nothing
    is copied: https://docs.ray.io/en/latest/serve/llm/user-guides/data-parallel-attention.html
    """
    keys_and_values = 2 * col.kv_heads * (col.attention_width // col.heads)
    copies = pl.max_horizontal(1.0, devices / col.kv_heads)
    return pl.when(col.kv_elements == keys_and_values).then(copies).otherwise(1.0)


def kv_cache_bytes(
    context: pl.Expr,
    batch: pl.Expr | float = 1,
    bytes_per_number: pl.Expr | float = KV_BYTES,
    devices: pl.Expr | int = 1,
) -> pl.Expr:
    """Count the bytes of the keys and values of every token of every open sequence.

    ``devices``: how many a layer is divided over. The bytes are those of all of them.
    """
    copies = cache_copies(devices)
    return batch * (cached_tokens(context) * col.kv_elements * copies) * bytes_per_number


def prefill_bytes(context: pl.Expr) -> pl.Expr:
    """Count the bytes of each device that a piece of a prompt needs: one layer at work."""
    return 34.0 * pl.min_horizontal(context, PREFILL_TOKENS) * col.hidden


def training_memory(workload: Workload, precision: str, context: pl.Expr) -> Memory:
    """Count the bytes that a training needs, with one sequence at a time on each device.

    ``precision``: of the weights that LoRA leaves as they are; ``context``: tokens of a sequence.
    """
    trained = adapter_parameters() if workload == "lora" else col.parameters
    states = trained * sum(TRAINING_BYTES.values())
    frozen = col.parameters * BITS_PER_WEIGHT[precision] / 8 if workload == "lora" else pl.lit(0.0)
    return Memory(frozen + states, activation_bytes(context))


def attention_flops(context: pl.Expr) -> pl.Expr:
    """Count the operations of attention for one token whose context holds that many tokens.

    4 × width × tokens in each layer: the scores and the weighted sum.
    """
    return 4.0 * col.attention_width * cached_tokens(context)


def prompt_flops(tokens: pl.Expr) -> pl.Expr:
    """Count the operations of reading a prompt: 2N a token, and attention to half of it."""
    return tokens * (2 * col.active_parameters + attention_flops(tokens / 2))


def token_flops(context: pl.Expr) -> pl.Expr:
    """Count the operations of generating one token after ``context`` others."""
    return 2 * col.active_parameters + attention_flops(context)


def training_flops(workload: Workload, tokens: pl.Expr, context: pl.Expr) -> pl.Expr:
    """Count the operations of a training run on sequences of ``context`` tokens.

    6ND (LoRA 4ND), and attention to half of the sequence, forward and twice backward. Recomputing
    activations is not counted, as in model FLOPs utilisation (MFU).
    """
    matrices = FLOPS_PER_PARAMETER_AND_TOKEN[workload] * col.active_parameters
    return (matrices + 3 * attention_flops(context / 2)) * tokens


FAST_LINK = 100e9
"""Bytes/s in one direction. Above it, devices are joined by a link of their own (NVLink, Infinity
Fabric, ICI); below, by the host's PCIe bus."""

MFU_FAST_LINK = 0.40
"""Devices with a link of their own, or one alone: the middle of H100 with dense models in bf16 in
data/specs/training_speeds.csv is 41 %, of A100 51 %."""

MFU_PCIE = 0.30  # Several devices that exchange gradients over the host's bus: an estimate

MFU_TPU = 0.60
"""The middle of MaxText's v5e, v5p and v6e with dense models in data/specs/training_speeds.csv."""

MFU_OTHER = 0.25
"""Devices of families with hardly any published training (Apple, Jetson, Radeon, Trainium, Gaudi):
an estimate below the others."""

NARROW_MFU = 0.38
"""In FP8: the middle of dense models on Hopper and Blackwell in data/specs/training_speeds.csv, on
8 to 1,024 devices (39 %), and of the LoRA of MLPerf Training on one machine (36 %)."""

EXPERTS_SHARE = 0.55
"""Share of the MFU that a mixture of experts keeps. In data/specs/training_speeds.csv it is 61 % on
H100, and 52 % on Blackwell in FP8, of what dense models reach there."""

UNPACKING = 0.8
"""Speed of LoRA on weights of 8 or 4 bits over that on 16 bits: they are unpacked for every use.
Dettmers et al., QLoRA, https://arxiv.org/abs/2305.14314"""

WEIGHT_PASSES = 3
"""Times that the weights cross the network in a step of divided training (ZeRO-3): gathered
forward, gathered backward, gradients spread. https://arxiv.org/abs/1910.02054, section 7"""

SETUP_HOURS = 0.25
"""Paid hours of a training beside its steps: start of the machine, loading the model, saving it.
An estimate."""

CHECKPOINT_HOURS_PER_DAY = 0.25
"""Hours of a day that saving checkpoints and restarts take on several machines. Llama 3 was at work
in more than 90 % of the time, https://arxiv.org/abs/2407.21783, section 3.3.4"""


def utilisation(*, narrow: bool, unpacked: bool) -> pl.Expr:
    """Return the MFU of one machine: that measured on its devices, else by its fabric.

    Columns: measured_mfu (what dense models reach on these devices, or null), accelerator_count,
    link_bytes_per_second, is_tpu, and is_small (of a family for which hardly any training was
    published).

    Args:
        narrow: computing in FP8.
        unpacked: weights are stored in fewer bits than they compute in.
    """
    by_pcie = (col.accelerator_count > 1) & (col.link_bytes_per_second < FAST_LINK)
    dense = (
        pl.when("is_tpu")
        .then(MFU_TPU)
        .when("is_small")
        .then(MFU_OTHER)
        .when(by_pcie)
        .then(MFU_PCIE)
        .otherwise(MFU_FAST_LINK)
    )
    share = pl.coalesce("measured_mfu", NARROW_MFU if narrow else dense)
    experts = pl.when(col.active_expert_share < 1).then(EXPERTS_SHARE).otherwise(1.0)
    return share * experts * (UNPACKING if unpacked else 1.0)


def job_hours(workload: Workload, tokens: pl.Expr, context: pl.Expr) -> pl.Expr:
    """Compute operations / (rate × MFU × devices): hours of a training.

    The weights cross the network while the machine computes; where they take longer, it waits. LoRA
    sends only its adapters; TPU have links of their own; an unknown network is taken as fast. Each
    device computes one sequence at a time.

    Columns: nodes (machines), and of one of them accelerator_count, flops_per_second (of an
    accelerator), mfu, is_tpu and network_bytes_per_second (to the others, in one direction; null if
    not known).
    """
    flops = training_flops(workload, tokens, context)
    rate = col.flops_per_second * col.accelerator_count * col.mfu
    compute = flops / tokens * context * col.accelerator_count / rate
    sent = WEIGHT_PASSES * col.parameters * 2 * (col.nodes - 1) / col.nodes
    share = pl.min_horizontal(1.0, compute / (sent / col.network_bytes_per_second))
    alone = (col.nodes == 1) | col.is_tpu | (workload == "lora")
    share = pl.when(alone).then(1.0).otherwise(share)
    steps = flops / (rate * col.nodes * share) / 3600
    saved = pl.when(col.nodes > 1).then(steps / 24 * CHECKPOINT_HOURS_PER_DAY).otherwise(0.0)
    return steps + saved
