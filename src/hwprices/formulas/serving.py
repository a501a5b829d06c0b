"""Compute how fast devices serve a language model: a roofline with efficiencies.

Plain numbers in, plain numbers out, no tables: a page in a browser can compute the same. Pope et
al., Efficiently Scaling Transformer Inference, https://arxiv.org/abs/2211.05102. The efficiencies
are fitted on measurements; docs/method.md shows how far the result is from them.
"""

import math
from dataclasses import dataclass, replace

from hwprices.formulas import language_model
from hwprices.formulas.language_model import ModelShape

FAST_LINK = 100e9
"""Bytes/s in one direction. Above it, devices are joined by a link of their own (NVLink, Infinity
Fabric, ICI); below, by the host's PCIe bus."""

ALL_REDUCE_SECONDS = {"fast": 10e-6, "pcie": 30e-6}
"""Time of an all-reduce of a few bytes. NCCL needs about 10 µs over NVLink; over PCIe it goes
through the host's memory. https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md"""

ALL_REDUCES_PER_LAYER = 2
"""After attention and after the feed-forward layer: Shoeybi et al., Megatron-LM,
https://arxiv.org/abs/1909.08053"""

LAYER_SECONDS = 35e-6
"""Time of a layer that is neither reading nor computing: starting its kernels, about ten of them.
Fitted: of 10, 20, 35 and 50 µs the one with the smallest errors for one user (docs/method.md)."""

MAX_SEQUENCES = 1024
"""Most sequences at once on one copy of the model: vLLM's default max_num_seqs on large devices,
https://docs.vllm.ai/en/latest/configuration/engine_args/"""


@dataclass(frozen=True)
class Replica:
    """The devices that hold one copy of a model. Rates are of one device, peaks."""

    devices: int
    flops_per_second: float
    bytes_per_second: float
    link_bytes_per_second: float
    """In one direction, from one device to the others."""
    usable_bytes: float
    stages: int = 1
    """Machines that the layers are divided over; ``devices`` are those of one machine."""


@dataclass(frozen=True)
class Efficiency:
    """Shares of the peak rates that programs reach."""

    compute: float
    bandwidth: float


@dataclass(frozen=True)
class Request:
    """What one user sends and gets, and how the model is stored."""

    input_tokens: float
    output_tokens: float
    bytes_per_weight: float
    bytes_per_kv: float


@dataclass(frozen=True)
class Speed:
    """How fast one replica serves a number of sequences at once."""

    batch: float
    tokens_per_second: float
    """Generated tokens of all sequences."""
    tokens_per_second_per_user: float
    seconds_to_first_token: float
    """Of a request that finds the machine free."""
    prompt_share: float
    """Share of the time that goes into reading prompts."""


def all_reduce_seconds(replica: Replica, tokens: float, hidden: int) -> float:
    """Compute the seconds in which devices add up their parts of ``tokens`` hidden states.

    The states have 16 bits. One device has nothing to add.
    """
    if replica.devices == 1:
        return 0.0
    fast = replica.link_bytes_per_second >= FAST_LINK
    latency = ALL_REDUCE_SECONDS["fast" if fast else "pcie"]
    sent = 2 * (replica.devices - 1) / replica.devices * tokens * hidden * 2
    return latency + sent / replica.link_bytes_per_second


def prompt_seconds(
    model: ModelShape, replica: Replica, efficiency: Efficiency, request: Request
) -> float:
    """Compute the seconds to read one prompt: those of its operations and of the all-reduces."""
    rate = replica.flops_per_second * replica.devices * efficiency.compute
    compute = language_model.prompt_flops(model, request.input_tokens) / rate
    reduce = ALL_REDUCES_PER_LAYER * all_reduce_seconds(replica, request.input_tokens, model.hidden)
    return compute + model.layers * reduce


def step_seconds(
    model: ModelShape, replica: Replica, efficiency: Efficiency, request: Request, batch: float
) -> float:
    """Compute the seconds to generate one token for each of ``batch`` sequences.

    Half way through their output, which approximates its mean.
    """
    context = request.input_tokens + request.output_tokens / 2
    weights = language_model.parameters_read(model, batch) * request.bytes_per_weight
    cache = language_model.kv_cache_bytes(
        model, context, batch, request.bytes_per_kv, replica.devices
    )
    bandwidth = replica.bytes_per_second * replica.devices * efficiency.bandwidth
    rate = replica.flops_per_second * replica.devices * efficiency.compute
    compute = batch * language_model.token_flops(model, context) / rate
    reduce = ALL_REDUCES_PER_LAYER * all_reduce_seconds(replica, batch, model.hidden)
    return max((weights + cache) / bandwidth, compute) + model.layers * (LAYER_SECONDS + reduce)


def largest_batch(model: ModelShape, replica: Replica, request: Request) -> float:
    """Count the sequences whose cache fits beside the weights, at most MAX_SEQUENCES; 0 if none."""
    context = request.input_tokens + request.output_tokens
    working = language_model.prefill_bytes(model, int(request.input_tokens) or 1)
    free = (replica.usable_bytes - working) * replica.devices * replica.stages
    free -= model.parameters * request.bytes_per_weight
    sequences = free / language_model.kv_cache_bytes(
        model, context, 1, request.bytes_per_kv, replica.devices
    )
    return float(min(MAX_SEQUENCES * replica.stages, max(0, int(sequences))))


def speed(
    model: ModelShape, replica: Replica, efficiency: Efficiency, request: Request, batch: float
) -> Speed:
    """Compute how fast a replica serves ``batch`` sequences at once.

    While a sequence generates its tokens, the machine also reads the prompts of the others; with
    stages the sequences are divided into as many groups, each in another machine. The first token
    is that of a request alone: it waits for no other.
    """
    group = max(1.0, batch / replica.stages)
    step = step_seconds(model, replica, efficiency, request, group)
    alone = step_seconds(model, replica, efficiency, request, 1)
    prompt = prompt_seconds(model, replica, efficiency, request)
    prompts = group * prompt
    seconds = prompts + request.output_tokens * step
    per_user = request.output_tokens / seconds
    return Speed(
        batch=batch,
        tokens_per_second=batch * per_user,
        tokens_per_second_per_user=per_user,
        seconds_to_first_token=prompt + alone,
        prompt_share=prompts / seconds,
    )


def at_most(unlimited: Speed, most_tokens_per_second: float) -> Speed:
    """Hold the tokens of all sequences below a limit, which they share equally.

    The first token of a request alone takes as long as before.
    """
    share = min(1.0, most_tokens_per_second / unlimited.tokens_per_second)
    return replace(
        unlimited,
        tokens_per_second=unlimited.tokens_per_second * share,
        tokens_per_second_per_user=unlimited.tokens_per_second_per_user * share,
    )


def fill(
    model: ModelShape,
    replica: Replica,
    efficiency: Efficiency,
    request: Request,
    *,
    most: float,
    min_tokens_per_second: float = 0.0,
    most_tokens_per_second: float = math.inf,
) -> Speed | None:
    """Find the most sequences, at most ``most``, that are each served that fast.

    ``most_tokens_per_second``: more than these the replica never generates for all of them. None
    where not even one sequence is fast enough. A sequence is never faster in a larger batch, so the
    number is found by halving.
    """

    def of(batch: float) -> Speed:
        return at_most(speed(model, replica, efficiency, request, batch), most_tokens_per_second)

    low, high = 1, int(most)
    if high < 1 or of(low).tokens_per_second_per_user < min_tokens_per_second:
        return None
    while low < high:
        middle = (low + high + 1) // 2
        if of(middle).tokens_per_second_per_user >= min_tokens_per_second:
            low = middle
        else:
            high = middle - 1
    return of(float(low))
