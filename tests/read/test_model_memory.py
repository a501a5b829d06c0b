"""Memory and operations of language models, compared with published figures."""

from typing import get_args

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwprices.formulas import language_model
from hwprices.formulas.language_model import training_flops
from hwprices.read.recommend.model_shape import model_shape

GB = 1e9


def of(model: str | float, expression: pl.Expr) -> float:
    """Compute a figure of a model."""
    shape = pl.DataFrame({"number": 0}).with_columns(
        **language_model.shape_columns(model_shape(model))
    )
    return float(shape.select(expression).item())


def memory(
    model: str | float, workload: language_model.Workload, precision: str, context: int
) -> tuple[float, float]:
    """Bytes that are divided, and of each device."""
    both = language_model.training_memory(workload, precision, pl.lit(context))
    return of(model, both.sharded), of(model, both.per_device)


def test_training_gpt_2_takes_the_24_gb_of_the_zero_paper() -> None:
    """ZeRO, section 3.1: 16 bytes a parameter, 24 GB for GPT-2 of 1.5 B."""
    sharded, _ = memory(1.5e9, "full_finetune", "bf16", 1024)
    assert sharded == pytest.approx(24 * GB)


def test_llama_2_70b_trains_at_the_reported_share_of_the_peak() -> None:
    """1,720,320 A100 hours for 2 T tokens (Llama 2's paper) are 43 % of 312 dense TFLOPS."""
    flops = of("llama-2-70b", training_flops("pretrain", pl.lit(2e12), pl.lit(1)))
    assert flops / (1_720_320 * 3600 * 312e12) == pytest.approx(0.43, abs=0.01)


def test_llama_3_405b_operations() -> None:
    """Llama 3's paper: 3.8e25 FLOPs for 15.6 T tokens."""
    flops = of("llama-3.1-405b", training_flops("pretrain", pl.lit(15.6e12), pl.lit(1)))
    assert flops == pytest.approx(3.8e25, rel=0.01)


def test_activations_by_hand() -> None:
    """Llama 3.1 8B: 32 layers of 4,096, 128,256 words; 2sbh a layer, 34sbh at work, the logits.

    Of more than 8,192 tokens the logits are kept in pieces, so that they grow no further.
    """
    layer, logits = 4096 * 4096, 10 * 4096 * 128_256  # of 4,096 tokens
    kept, longer = (
        of("llama-3.1-8b", language_model.activation_bytes(pl.lit(context)))
        for context in (4096, 4 * 4096)
    )
    assert kept == 2 * layer * 32 + 34 * layer + logits
    assert longer == 4 * (2 * layer * 32 + 34 * layer) + 2 * logits
    for context, tokens in ((512, 512), (9000, 2048)):
        piece = of("llama-3.1-8b", language_model.prefill_bytes(pl.lit(context)))
        assert piece == 34 * tokens * 4096


def test_weights_have_the_bytes_of_their_format() -> None:
    """NVFP4: 4 bits and an eighth of 4 for scales. NF4: 4 bits and 32 bits for 64 values."""
    sizes = {"fp32": 4, "bf16": 2, "fp16": 2, "fp8": 1, "int8": 1, "fp4": 0.5625, "int4": 0.5625}
    assert sizes["fp4"] == (4 + 8 / 16) / 8
    assert sizes["int4"] == (4 + 32 / 64) / 8
    bits = language_model.BITS_PER_WEIGHT
    assert {precision: bits[precision] / 8 for precision in sizes} == sizes, "one figure for all"
    assert bits["mxfp4"] == 4 + 8 / 32


def test_kv_cache_by_hand() -> None:
    """Llama 3.1 70B: 80 layers × 2 × 8 heads × 128 × 2 bytes = 327,680 bytes a token.

    Llama 2 7B has no grouped queries: 32 × 2 × 32 × 128 × 2 = 524,288.
    """
    token = language_model.kv_cache_bytes(pl.lit(1))
    assert of("llama-3.1-70b", token) == 327_680
    assert of("llama-2-7b", token) == 524_288
    assert of("deepseek-r1", token) == 61 * 576 * 2


def test_lora_of_7b_by_hand() -> None:
    """Rank 16 on all linear layers of Llama 2 7B: 39,976,960 parameters, as PEFT counts them."""
    assert of("llama-2-7b", language_model.adapter_parameters()) == 39_976_960


@given(
    st.floats(min_value=1e8, max_value=1e12),
    st.sampled_from(get_args(language_model.Workload)),
    st.integers(min_value=128, max_value=65_536 * 64),
)
@settings(deadline=None)
def test_longer_contexts_never_need_less(size, workload, context) -> None:
    small = memory(size, workload, "bf16", context)
    big = memory(size, workload, "bf16", context * 2)
    assert small[0] <= big[0]
    assert small[1] < big[1]


@given(st.floats(min_value=1e8, max_value=1e12))
@settings(deadline=None)
def test_lora_needs_less_than_full_fine_tuning_and_4_bits_less_than_16(size: float) -> None:
    full, _ = memory(size, "full_finetune", "bf16", 2048)
    lora, _ = memory(size, "lora", "bf16", 2048)
    quantised, _ = memory(size, "lora", "int4", 2048)
    assert quantised < lora < full
