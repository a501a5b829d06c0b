"""Memory and operations of language models against figures that others published."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwprices.errors import HwpricesError
from hwprices.read.recommend import model_memory

GB = 1e9


def test_zero_paper_one_and_a_half_billion_parameters_take_24_gb() -> None:
    """ZeRO, section 3.1: 16 bytes a parameter, 24 GB for GPT-2 of 1.5 B."""
    assert model_memory.memory(
        model_memory.shape(1.5e9), "full_finetune", "bf16", 1024, 1
    ).total_sharded == pytest.approx(24 * GB)


def test_llama_2_70b_training_takes_the_hours_that_were_reported() -> None:
    """Llama 2's paper: 1,720,320 A100 hours for 2 T tokens. At its 312 dense TFLOPS that is 43 % utilisation, as others report."""
    flops = model_memory.training_flops(model_memory.shape("llama-2-70b"), "pretrain", 2e12)
    assert flops / (1_720_320 * 3600 * 312e12) == pytest.approx(0.43, abs=0.01)


def test_llama_3_405b_operations() -> None:
    """Llama 3's paper: 3.8e25 FLOPs for 15.6 T tokens."""
    assert model_memory.training_flops(
        model_memory.shape("llama-3.1-405b"), "pretrain", 15.6e12
    ) == pytest.approx(3.8e25, rel=0.01)


def test_kv_cache_by_hand() -> None:
    """Llama 3.1 70B: 80 layers × 2 × 8 heads × 128 × 2 bytes = 327,680 bytes a token; without grouped queries Llama 2 7B needs 524,288."""
    assert model_memory.kv_cache_bytes(model_memory.shape("llama-3.1-70b"), 1, 1) == 327_680
    assert model_memory.kv_cache_bytes(model_memory.shape("llama-2-7b"), 1, 1) == 524_288
    assert model_memory.kv_cache_bytes(model_memory.shape("deepseek-r1"), 1, 1) == 61 * 576 * 2


def test_lora_of_7b_by_hand() -> None:
    """Rank 16 on all linear layers of Llama 2 7B: 39,976,960 parameters, as PEFT counts them."""
    assert model_memory.adapter_parameters(model_memory.shape("llama-2-7b")) == 39_976_960


@pytest.mark.parametrize(
    ("size", "layers", "hidden"), [(8.03e9, 32, 4096), (70.55e9, 80, 8192), (405.85e9, 126, 16384)]
)
def test_the_estimate_of_a_shape_is_near_what_was_built(
    size: float, layers: int, hidden: int
) -> None:
    guess = model_memory.shape(size)
    assert guess.basis == "estimate"
    assert guess.hidden == pytest.approx(hidden, rel=0.1)
    assert guess.layers == pytest.approx(layers, rel=0.2)


@pytest.mark.parametrize(
    ("text", "parameters"),
    [("7B", 7e9), ("70b", 70e9), (7e9, 7e9), ("1.5T", 1.5e12), ("350M", 350e6)],
)
def test_sizes_are_read(text: float | str, parameters: float) -> None:
    assert model_memory.shape(text).parameters == pytest.approx(parameters)


@pytest.mark.parametrize("name", ["Llama 3.1 70B", "llama-3.1-70b", "LLAMA_3.1_70B"])
def test_names_are_read(name: str) -> None:
    assert model_memory.shape(name).layers == 80


@pytest.mark.parametrize("nonsense", ["banana", "", "-7B", "0", 3.0, "7.0.1B", "nan"])
def test_nonsense_is_refused_in_one_line(nonsense: float | str) -> None:
    with pytest.raises(
        HwpricesError, match="neither a model that is known nor a number of parameters"
    ):
        model_memory.shape(nonsense)


@given(
    st.floats(min_value=1e8, max_value=1e12),
    st.sampled_from(model_memory.WORKLOADS),
    st.integers(min_value=128, max_value=65_536),
    st.integers(min_value=1, max_value=64),
)
def test_longer_contexts_and_bigger_batches_never_need_less(
    size: float, workload: model_memory.Workload, context: int, batch: int
) -> None:
    model = model_memory.shape(size)
    small, big = (
        model_memory.memory(model, workload, "bf16", context, batch),
        model_memory.memory(model, workload, "bf16", context * 2, batch * 2),
    )
    assert small.total_sharded <= big.total_sharded
    assert small.per_device <= big.per_device


@given(st.floats(min_value=1e8, max_value=1e12))
def test_lora_needs_less_than_full_fine_tuning_and_quantised_less_than_16_bit(size: float) -> None:
    model = model_memory.shape(size)
    full, lora, quantised = (
        model_memory.memory(model, w, p, 2048, 1).total_sharded
        for w, p in (("full_finetune", "bf16"), ("lora", "bf16"), ("lora", "int4"))
    )
    assert quantised < lora < full
