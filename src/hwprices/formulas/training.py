"""Compute how long training takes: operations over the rate that a machine and its network reach.

Expressions on a frame with the columns of a model (language_model.SHAPE) and of its machines. MFU
is model FLOPs utilisation, the share of the dense peak rate (Chowdhery et al., PaLM, appendix B,
https://arxiv.org/abs/2204.02311).
"""

import polars as pl

from hwprices.formulas import language_model
from hwprices.formulas.language_model import Workload

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

col = pl.col


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
    flops = language_model.training_flops(workload, tokens, context)
    rate = col.flops_per_second * col.accelerator_count * col.mfu
    compute = flops / tokens * context * col.accelerator_count / rate
    sent = WEIGHT_PASSES * col.parameters * 2 * (col.nodes - 1) / col.nodes
    share = pl.min_horizontal(1.0, compute / (sent / col.network_bytes_per_second))
    alone = (col.nodes == 1) | col.is_tpu | (workload == "lora")
    share = pl.when(alone).then(1.0).otherwise(share)
    steps = flops / (rate * col.nodes * share) / 3600
    saved = pl.when(col.nodes > 1).then(steps / 24 * CHECKPOINT_HOURS_PER_DAY).otherwise(0.0)
    return steps + saved
