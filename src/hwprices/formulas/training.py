"""Compute how long training takes: operations over the rate that a machine and its network reach.

Plain numbers in, plain numbers out. MFU is model FLOPs utilisation, the share of the dense peak
rate (Chowdhery et al., PaLM, appendix B, https://arxiv.org/abs/2204.02311).
"""

from dataclasses import dataclass

from hwprices.formulas import language_model
from hwprices.formulas.language_model import ModelShape, Workload

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


@dataclass(frozen=True)
class Cluster:
    """Machines that train together. Rates are of one device."""

    nodes: int
    devices_per_node: float
    flops_per_second: float
    link_bytes_per_second: float
    network_bytes_per_second: float | None
    """Of one machine to the others, in one direction; None where it is not known."""
    is_tpu: bool = False
    is_small: bool = False  # Of a family for which hardly any training was published


def utilisation(
    cluster: Cluster,
    *,
    narrow: bool,
    unpacked: bool,
    has_experts: bool,
    measured: float | None = None,
) -> float:
    """Return the MFU of one machine: that measured on its devices, else by its fabric.

    ``narrow``: computing in FP8; ``unpacked``: weights stored in fewer bits than they compute in;
    ``measured``: what dense models reach on these devices.
    """
    share = _dense(cluster, narrow=narrow) if measured is None else measured
    if has_experts:
        share *= EXPERTS_SHARE
    return share * (UNPACKING if unpacked else 1.0)


def _dense(cluster: Cluster, *, narrow: bool) -> float:
    """Return the MFU of a dense model by the fabric."""
    if narrow:
        return NARROW_MFU
    if cluster.is_tpu:
        return MFU_TPU
    if cluster.is_small:
        return MFU_OTHER
    if cluster.devices_per_node > 1 and cluster.link_bytes_per_second < FAST_LINK:
        return MFU_PCIE
    return MFU_FAST_LINK


def job_hours(
    model: ModelShape,
    workload: Workload,
    cluster: Cluster,
    *,
    tokens: float,
    context: float,
    mfu: float,
) -> float:
    """Compute operations / (rate × MFU × devices): hours of a training.

    The weights cross the network while the machine computes; where they take longer, it waits. LoRA
    sends only its adapters; TPU have links of their own; an unknown network is taken as fast. Each
    device computes one sequence at a time.
    """
    flops = language_model.training_flops(model, workload, tokens, context)
    rate = cluster.flops_per_second * cluster.devices_per_node * mfu
    share = 1.0
    alone = cluster.nodes == 1 or cluster.is_tpu or workload == "lora"
    if not alone and cluster.network_bytes_per_second is not None:
        compute = flops / tokens * context * cluster.devices_per_node / rate
        sent = WEIGHT_PASSES * model.parameters * 2 * (cluster.nodes - 1) / cluster.nodes
        share = min(1.0, compute / (sent / cluster.network_bytes_per_second))
    steps = flops / (rate * cluster.nodes * share) / 3600
    return steps + (steps / 24 * CHECKPOINT_HOURS_PER_DAY if cluster.nodes > 1 else 0.0)
