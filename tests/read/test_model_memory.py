"""Memory and operations of language models, compared with published figures."""

from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwprices.formulas import language_model
from hwprices.read.recommend.model_shape import model_shape

GB = 1e9


def test_training_gpt_2_takes_the_24_gb_of_the_zero_paper() -> None:
    """ZeRO, section 3.1: 16 bytes a parameter, 24 GB for GPT-2 of 1.5 B."""
    memory = language_model.training_memory(model_shape(1.5e9), "full_finetune", "bf16", 1024)
    assert memory.sharded == pytest.approx(24 * GB)


def test_llama_2_70b_trains_at_the_reported_share_of_the_peak() -> None:
    """1,720,320 A100 hours for 2 T tokens (Llama 2's paper) are 43 % of 312 dense TFLOPS."""
    flops = language_model.training_flops(model_shape("llama-2-70b"), "pretrain", 2e12, 1)
    assert flops / (1_720_320 * 3600 * 312e12) == pytest.approx(0.43, abs=0.01)


def test_llama_3_405b_operations() -> None:
    """Llama 3's paper: 3.8e25 FLOPs for 15.6 T tokens."""
    flops = language_model.training_flops(model_shape("llama-3.1-405b"), "pretrain", 15.6e12, 1)
    assert flops == pytest.approx(3.8e25, rel=0.01)


def test_activations_by_hand() -> None:
    """Llama 3.1 8B: 32 layers of 4,096, 128,256 words; 2sbh a layer, 34sbh at work, the logits.

    Of more than 8,192 tokens the logits are kept in pieces, so that they grow no further.
    """
    model = model_shape("llama-3.1-8b")
    layer, logits = 4096 * 4096, 10 * 4096 * 128_256  # of 4,096 tokens
    kept = language_model.activation_bytes(model, 4096)
    assert kept == 2 * layer * 32 + 34 * layer + logits
    longer = language_model.activation_bytes(model, 4 * 4096)
    assert longer == 4 * (2 * layer * 32 + 34 * layer) + 2 * logits
    assert language_model.prefill_bytes(model, 512) == 34 * 512 * 4096
    assert language_model.prefill_bytes(model, 9000) == 34 * 2048 * 4096


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
    assert language_model.kv_cache_bytes(model_shape("llama-3.1-70b"), 1, 1) == 327_680
    assert language_model.kv_cache_bytes(model_shape("llama-2-7b"), 1, 1) == 524_288
    assert language_model.kv_cache_bytes(model_shape("deepseek-r1"), 1, 1) == 61 * 576 * 2


def test_lora_of_7b_by_hand() -> None:
    """Rank 16 on all linear layers of Llama 2 7B: 39,976,960 parameters, as PEFT counts them."""
    assert language_model.adapter_parameters(model_shape("llama-2-7b")) == 39_976_960


@given(
    st.floats(min_value=1e8, max_value=1e12),
    st.sampled_from(get_args(language_model.Workload)),
    st.integers(min_value=128, max_value=65_536 * 64),
)
@settings(deadline=None)
def test_longer_contexts_never_need_less(
    size: float, workload: language_model.Workload, context: int
) -> None:
    model = model_shape(size)
    small = language_model.training_memory(model, workload, "bf16", context)
    big = language_model.training_memory(model, workload, "bf16", context * 2)
    assert small.sharded <= big.sharded
    assert small.per_device < big.per_device


@given(st.floats(min_value=1e8, max_value=1e12))
@settings(deadline=None)
def test_lora_needs_less_than_full_fine_tuning_and_4_bits_less_than_16(size: float) -> None:
    model = model_shape(size)
    full = language_model.training_memory(model, "full_finetune", "bf16", 2048)
    lora = language_model.training_memory(model, "lora", "bf16", 2048)
    quantised = language_model.training_memory(model, "lora", "int4", 2048)
    assert quantised.sharded < lora.sharded < full.sharded
