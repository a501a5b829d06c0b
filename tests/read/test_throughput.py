"""Speeds of machines: by hand, against measurements, and what must hold for any question."""

import math
import statistics
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tools.training_calibration import training_speeds

from hwprices import formulas
from hwprices.formulas import language_model, serving, training
from hwprices.formulas.serving import Efficiency, Replica, Request
from hwprices.formulas.training import Cluster
from hwprices.read.recommend.calibration import load_calibration
from hwprices.read.recommend.devices import Device, device
from hwprices.read.recommend.measurements import Measurement, Workload, measurements
from hwprices.read.recommend.model_shape import model_shape, published_models
from hwprices.read.recommend.roofline import Demand, Host, divisions
from hwprices.read.recommend.throughput import Estimator, as_in_format, work_per_token
from hwprices.specs.sheets import load

PERFECT = Efficiency(1.0, 1.0)
H100 = Replica(8, 1978.9e12, 3350e9, 450e9, 72 * 2.0**30)
CHAT = Request(512, 256, 1.0, 1.0)

SIZES = st.sampled_from(["llama-3.1-8b", "llama-3.1-70b", "mixtral-8x7b", "deepseek-r1", "3B"])
BATCHES = st.integers(min_value=1, max_value=512)
SHARES = st.floats(min_value=0.1, max_value=1.0)


@pytest.fixture(scope="module")
def devices() -> dict[str, Device]:
    """Every accelerator of the sheet."""
    rows = load("accelerators").iter_rows(named=True)
    return {row["accelerator_id"]: device(row) for row in rows}


@pytest.fixture(scope="module")
def measured() -> list[Measurement]:
    """The measurements of the sheet."""
    return measurements(load("benchmarks"))


def test_experts_are_read_as_often_as_expected() -> None:
    """DeepSeek-R1: 16.5 billion parameters that all tokens use; 8 of 256 experts for each token.

    8 sequences read 16.5 + 654.5 × (1 - (1 - 8/256)^8) = 163 billion, 16 read 277, not 8 × 37.
    """
    model = model_shape("deepseek-r1")
    assert language_model.parameters_read(model, 1) == pytest.approx(37e9)
    assert language_model.parameters_read(model, 8) == pytest.approx(163.1e9, rel=0.01)
    assert language_model.parameters_read(model, 16) == pytest.approx(277.3e9, rel=0.01)
    assert language_model.parameters_read(model, 100_000) == pytest.approx(671e9)


def test_windows_halve_the_cache_of_gpt_oss() -> None:
    """18 of 36 layers keep 128 tokens: 156 MB a sequence of 4,096, not 302 MB."""
    cache = language_model.kv_cache_bytes(model_shape("gpt-oss-120b"), 4096, 1)
    assert cache == 2 * 1024 * (18 * 4096 + 18 * 128)


def test_one_user_waits_for_the_memory_and_for_the_links() -> None:
    """70 GB over 8 × 3,350 GB/s are 2.63 ms; 80 layers × (35 µs + 2 × 10 µs) are 4.4 ms more."""
    model = model_shape("llama-3.1-70b")
    step = serving.step_seconds(model, H100, PERFECT, replace(CHAT, input_tokens=1), 1)
    assert step == pytest.approx(70.55e9 / 26.8e12 + 80 * 55e-6, rel=0.01)


@pytest.mark.parametrize(
    ("name", "count", "expected"),
    [
        ("llama-3.1-70b", 72, [1, 2, 4, 8, 16, 32, 64]),  # 64 heads; 8 KV heads, or copies of them
        ("llama-3.1-8b", 12, [1, 2, 4, 8]),
        ("qwen2.5-7b", 8, [1, 2, 4]),  # 28 heads: vLLM refuses 8
        ("qwen2.5-0.5b", 8, [1, 2]),  # 14 heads
        ("llama-3.2-3b", 16, [1, 2, 4, 8]),  # 24 heads
        ("phi-4", 8, [1, 2]),  # 40 heads divide over 8, its 10 KV heads over 2 alone
        ("gemma-2b", 8, [1, 2, 4, 8]),  # 1 KV head, copied
        ("deepseek-r1", 16, [1, 2, 4, 8, 16]),  # 128 heads that share one latent vector
        ("7B", 16, [1, 2, 4, 8, 16]),  # an estimate: 32 heads
        ("10M", 8, [1, 2, 4, 8]),
    ],
)
def test_a_layer_is_divided_as_its_heads_are(name: str, count: int, expected: list[int]) -> None:
    assert list(divisions(count, model_shape(name))) == expected


@pytest.mark.parametrize(
    ("name", "devices", "copies"),
    [
        ("qwen3-235b-a22b", 4, 1),  # 4 KV heads
        ("qwen3-235b-a22b", 16, 4),
        ("llama-3.1-70b", 64, 8),
        ("gemma-2b", 8, 8),
        ("deepseek-r1", 16, 1),  # latent attention: a sequence is on one device
    ],
)
def test_more_devices_than_kv_heads_keep_copies_of_the_cache(
    name: str, devices: int, copies: int
) -> None:
    """Of Qwen3 235B on 16 devices, each KV head is on four of them."""
    model = model_shape(name)
    once = language_model.kv_cache_bytes(model, 1000, 1)
    assert language_model.kv_cache_bytes(model, 1000, 1, devices=devices) == copies * once


def test_copies_of_the_cache_leave_room_for_fewer_users() -> None:
    """Qwen3 235B in 8 bits on 16 V100, 28.8 GiB usable of each, for 2,560 tokens a user.

    255.2 GB are left beside 235 GB of weights and 16 × 0.285 GB to read prompts. A user has 94 × 2
    × 4 × 128 × 2 bytes a token, 0.493 GB, and each of the 4 KV heads is on four devices: 129 users.
    """
    replica = Replica(16, 125e12, 900e9, 150e9, 28.8 * 2.0**30)
    request = Request(2048, 512, 1.0, 2.0)
    assert serving.largest_batch(model_shape("qwen3-235b-a22b"), replica, request) == 129


def test_kv_heads_are_those_of_the_cache() -> None:
    """Keys and values of each KV head have the width of a head; latent attention keeps 512 + 64."""
    for row in published_models().iter_rows(named=True):
        width = row["attention_width"] // row["heads"]
        if "atent attention" in row["notes"]:
            assert (row["kv_heads"], row["kv_elements_per_layer"]) == (1, 576), row["model_id"]
        else:
            assert row["kv_elements_per_layer"] == 2 * row["kv_heads"] * width, row["model_id"]


def test_attention_counts_in_long_prompts() -> None:
    """Llama 3.1 8B reading 131,072 tokens: 2.1e15 for the matrices, 4.5e15 for attention."""
    model = model_shape("llama-3.1-8b")
    flops = language_model.prompt_flops(model, 131_072)
    matrices = 2 * model.parameters * 131_072
    assert matrices == pytest.approx(2.1e15, rel=0.01)
    assert flops - matrices == pytest.approx(4.5e15, rel=0.01)


@given(SIZES, BATCHES, SHARES)
@settings(max_examples=30, deadline=None)
def test_a_larger_batch_serves_more_tokens_and_each_user_no_faster(
    name: str, batch: int, share: float
) -> None:
    model, efficiency = model_shape(name), Efficiency(share, share)
    small = serving.speed(model, H100, efficiency, CHAT, batch)
    large = serving.speed(model, H100, efficiency, CHAT, 2 * batch)
    assert large.tokens_per_second >= small.tokens_per_second * (1 - 1e-9)
    assert large.tokens_per_second_per_user <= small.tokens_per_second_per_user * (1 + 1e-9)


@given(SIZES, BATCHES, st.floats(min_value=1.0, max_value=8.0))
@settings(max_examples=30, deadline=None)
def test_faster_devices_are_never_slower(name: str, batch: int, factor: float) -> None:
    model = model_shape(name)
    better = replace(
        H100,
        flops_per_second=H100.flops_per_second * factor,
        bytes_per_second=H100.bytes_per_second * factor,
        link_bytes_per_second=H100.link_bytes_per_second * factor,
    )
    speeds = [serving.speed(model, r, PERFECT, CHAT, batch) for r in (H100, better)]
    assert speeds[1].tokens_per_second >= speeds[0].tokens_per_second


@given(SIZES, st.floats(min_value=1.0, max_value=4.0))
@settings(max_examples=30, deadline=None)
def test_more_memory_never_excludes(name: str, factor: float) -> None:
    model = model_shape(name)
    more = replace(H100, usable_bytes=H100.usable_bytes * factor)
    assert serving.largest_batch(model, more, CHAT) >= serving.largest_batch(model, H100, CHAT)


@given(SIZES, st.floats(min_value=1.0, max_value=300.0))
@settings(max_examples=20, deadline=None)
def test_filling_keeps_the_speed_of_each_user(name: str, wanted: float) -> None:
    model = model_shape(name)
    filled = serving.fill(
        model, H100, Efficiency(0.5, 0.5), CHAT, most=512, min_tokens_per_second=wanted
    )
    assert filled is None or filled.tokens_per_second_per_user >= wanted


def test_a_limit_of_all_tokens_leaves_fewer_users_and_not_slower_ones() -> None:
    """At most 1,010 tokens/s for all are 50 users of 20.2 tokens/s, whatever the memory holds."""
    model = model_shape("llama-3.1-8b")

    def filled(wanted: float, limit: float) -> serving.Speed:
        speed = serving.fill(
            *(model, H100, PERFECT, CHAT),
            most=512,
            min_tokens_per_second=wanted,
            most_tokens_per_second=limit,
        )
        assert speed is not None
        return speed

    assert filled(20, math.inf).batch == 512
    limited = filled(20, 1010)
    assert (limited.batch, limited.tokens_per_second) == (50, pytest.approx(1010))
    assert limited.tokens_per_second_per_user == pytest.approx(20.2)
    assert filled(0.001, 1000).tokens_per_second_per_user == pytest.approx(1000 / 512)


def test_the_first_token_is_that_of_a_request_alone() -> None:
    """The prompt and one step, however many are served beside it and whatever limits them."""
    model = model_shape("llama-3.1-70b")
    alone = serving.prompt_seconds(model, H100, PERFECT, CHAT)
    alone += serving.step_seconds(model, H100, PERFECT, CHAT, 1)
    for batch in (1, 8, 256):
        speed = serving.speed(model, H100, PERFECT, CHAT, batch)
        assert speed.seconds_to_first_token == alone
        assert serving.at_most(speed, 1.0).seconds_to_first_token == alone


def test_r1_on_eight_b200_serves_as_many_users_as_its_limit_allows(
    devices: dict[str, Device], measured: list[Measurement]
) -> None:
    """32,000 tokens in, 1,000 out, and 20 tokens/s for each user.

    MLPerf's fastest system did 7,313 tokens/s on each B200 with 800 tokens in and 3,880 out, which
    is the work of 160 tokens/s with the longer prompts: 1,282 on eight, and 1,282 / 20 = 64 users.
    """
    machine = Host(devices["nvidia-b200"], 8, 0.9 * 180 * 2.0**30)
    demand = Demand(model_shape("deepseek-r1"), 32_000, 1000, "fp4", min_tokens_per_second=20)
    estimator = Estimator(measured, {"nvidia-b200": machine.usable_bytes})
    answers = [
        estimator.answer(machine, one, as_measured=False)
        for one in (demand, replace(demand, min_tokens_per_second=5))
    ]
    speeds = [answer.speed for answer in answers if answer is not None]
    assert speeds[0].tokens_per_second == pytest.approx(1282.4, rel=1e-3)
    assert speeds[0].batch == 64
    assert speeds[0].tokens_per_second_per_user >= 20
    assert speeds[1].batch == 256
    assert speeds[1].seconds_to_first_token == speeds[0].seconds_to_first_token


def test_r1_in_four_bits_and_their_scales_does_not_fit_two_b200(
    devices: dict[str, Device],
) -> None:
    """671e9 × 4.5 / 8 is 377 GB; two have 0.9 × 360 GiB, which is 348 GB."""
    demand = Demand(model_shape("deepseek-r1"), 800, 3880, "fp4")
    usable = 0.9 * 180 * 2.0**30
    answers = [
        Estimator([], {}).answer(
            Host(devices["nvidia-b200"], count, usable), demand, as_measured=False
        )
        for count in (2, 4)
    ]
    assert [answer is not None for answer in answers] == [False, True]


def test_a_factor_of_another_format_does_not_slow_the_faster_device(
    devices: dict[str, Device], measured: list[Measurement]
) -> None:
    """B300 was measured faster than B200 with Llama 2 70B in FP4: 14,126 against 12,838 tokens/s.

    Its FP4 peak is half as large again, which was not reached; its FP8 peak is that of B200.
    """
    estimator = Estimator(measured, {})
    model = model_shape("llama-3.1-70b")
    for precision in ("fp8", "fp4", "int4", "bf16"):
        speeds = []
        for name, memory in (("nvidia-b200", 180), ("nvidia-b300", 270)):
            machine = Host(devices[name], 1, 0.9 * memory * 2.0**30)
            demand = Demand(model, 512, 256, precision, min_tokens_per_second=5)
            answer = estimator.answer(machine, demand, as_measured=False)
            assert answer is not None
            assert answer.basis == "scaled"
            speeds.append(answer.speed.tokens_per_second)
        assert speeds[0] < speeds[1], precision
    b300 = next(m for m in measured if m.accelerator_id == "nvidia-b300" and m.kind == "serving")
    assert as_in_format(devices["nvidia-b300"], b300, "fp8").rates["fp4"] == 2 * 4500e12
    assert as_in_format(devices["nvidia-b300"], b300, "bf16").rates["fp4"] == 4 * 2250e12
    for unchanged in ("fp4", "fp32", None):
        assert as_in_format(devices["nvidia-b300"], b300, unchanged) == devices["nvidia-b300"]


def test_a_measurement_in_the_format_that_is_asked_goes_first(
    devices: dict[str, Device], measured: list[Measurement]
) -> None:
    """MI355X ran Llama 2 70B in FP4 and Llama 3.1 8B in FP8; the same model goes before both."""
    estimator, device = Estimator(measured, {}), devices["amd-mi355x"]

    def nearest(model: str, compute_format: str) -> str:
        measurement = estimator.nearest(device, model_shape(model), "serving", compute_format)
        assert measurement is not None
        return measurement.benchmark

    assert nearest("llama-3.1-70b", "fp4") == "llama2-70b-99"
    assert nearest("llama-3.1-70b", "fp8") == "llama3.1-8b"
    assert nearest("llama-2-70b", "fp8") == "llama2-70b-99"


@pytest.mark.parametrize(
    ("accelerator", "filled", "alone"),
    [
        ("nvidia-l4", "modelled", "modelled"),
        ("nvidia-a100-sxm4-80gb", "unmeasured_family", "modelled"),
        ("nvidia-t4", "unmeasured_family", "modelled"),
        ("google-tpu-v6e", "modelled", "unmeasured_family"),
    ],
)
def test_a_family_is_measured_for_filled_machines_and_for_one_user_apart(
    devices: dict[str, Device], accelerator: str, filled: str, alone: str
) -> None:
    """MLPerf since v4.0 has no Ampere and no Turing, llama.cpp no TPU."""
    machine = Host(devices[accelerator], 8, 14 * 2.0**30)
    demand = Demand(model_shape("3B"), 512, 256, "bf16")
    fitted = load_calibration()
    for users, kind, basis in ((None, "serving", filled), (1, "single_user", alone)):
        answer = Estimator([], {}).answer(
            machine, replace(demand, concurrency=users), as_measured=False
        )
        assert answer is not None
        assert answer.basis == basis
        assert (answer.error, answer.error_p90) == fitted.errors[f"{basis}/{kind}"]


def test_a_family_that_was_not_measured_has_the_lowest_efficiencies() -> None:
    """The sheet says of each family and kind how often it was measured."""
    sheet = load("efficiencies")
    other = sheet.filter(family="other").row(0, named=True)
    for row in sheet.drop_nulls("bandwidth").iter_rows(named=True):
        if not row["serving_measurements"]:
            assert (row["compute"], row["bandwidth"]) == (other["compute"], other["bandwidth"])
        if not row["single_user_measurements"]:
            assert row["single_user_bandwidth"] == other["single_user_bandwidth"]


@given(
    name=st.sampled_from(["llama-3.1-8b", "llama-3.1-70b", "deepseek-r1", "llama-2-70b", "3B"]),
    accelerator=st.sampled_from(
        ["nvidia-b200", "nvidia-h100-sxm5-80gb", "nvidia-l40s", "amd-mi300x", "google-tpu-v5e"]
    ),
    lengths=st.tuples(st.integers(1, 3000), st.integers(1, 1000)),
    wanted=st.floats(min_value=0.1, max_value=200),
    latest=st.none() | st.floats(min_value=0.01, max_value=5),
    users=st.none() | st.integers(8, 4000),
)
@settings(max_examples=60, deadline=None)
def test_no_answer_breaks_a_limit_that_was_asked_for(
    devices: dict[str, Device],
    measured: list[Measurement],
    name: str,
    accelerator: str,
    lengths: tuple[int, int],
    wanted: float,
    latest: float | None,
    users: int | None,
) -> None:
    machine = Host(devices[accelerator], 8, 72 * 2.0**30)
    demand = Demand(
        *(model_shape(name), *lengths, "fp8"),
        concurrency=users,
        min_tokens_per_second=wanted,
        max_seconds_to_first_token=latest,
    )
    estimator = Estimator(measured, {accelerator: machine.usable_bytes})
    answer = estimator.answer(machine, demand, as_measured=False)
    if answer is None:
        return
    speed = answer.speed
    assert speed.tokens_per_second_per_user >= wanted * (1 - 1e-9)
    assert latest is None or speed.seconds_to_first_token <= latest * (1 + 1e-9)
    assert speed.tokens_per_second == pytest.approx(speed.batch * speed.tokens_per_second_per_user)


@given(
    st.decimals(min_value="0.01", max_value="1000", places=4),
    st.floats(min_value=1, max_value=1e6),
    st.integers(min_value=1, max_value=100),
)
@settings(max_examples=30, deadline=None)
def test_tokens_never_get_cheaper_when_the_price_rises(
    price: object, speed: float, more: int
) -> None:
    frame = pl.DataFrame({"usd": [price, price + more], "speed": [speed] * 2})  # type: ignore[operator]
    cost = formulas.usd_per_million_tokens(pl.col("usd"), pl.col("speed"))
    low, high = frame.select(cost).to_series()
    assert low <= high


def test_a_faster_measured_device_never_goes_behind_a_slower_dearer_one() -> None:
    """Of two devices alike in the sheet, the one that was measured faster is answered faster."""
    row = load("accelerators").filter(accelerator_id="nvidia-l40s").row(0, named=True)
    ids = ("slow", "fast")
    workload = Workload("llama-3.1-8b", 778, 128)
    results = [
        Measurement(name, "serving", "llama3.1-8b", workload, "fp8", 8, rate, rate, name)
        for name, rate in zip(ids, (1000.0, 2000.0), strict=True)
    ]
    estimator = Estimator(results, {})
    for model in ("llama-3.1-8b", "llama-3.1-70b", "3B"):
        speeds = []
        for name in ids:
            machine = Host(device(row | {"accelerator_id": name}), 8, 43 * 2.0**30)
            demand = Demand(model_shape(model), 512, 256, "fp8")
            answer = estimator.answer(machine, demand, as_measured=model == "llama-3.1-8b")
            assert answer is not None
            speeds.append(answer.speed.tokens_per_second)
        assert speeds[0] < speeds[1]


def test_the_shares_of_training_are_the_middle_of_what_was_published() -> None:
    """The constants, against the sheet: a figure of the sheet that moves them is noticed."""
    speeds = training_speeds(load("training_speeds"), load("accelerators"))

    def middle(is_tpu: bool, narrow: bool, has_experts: bool) -> float:
        return statistics.median(
            speed.mfu
            for speed in speeds
            if (speed.is_tpu, speed.narrow, speed.has_experts) == (is_tpu, narrow, has_experts)
            and "a100" not in speed.device.accelerator_id
        )

    assert middle(False, False, False) == pytest.approx(training.MFU_FAST_LINK, abs=0.02)
    assert middle(True, False, False) == pytest.approx(training.MFU_TPU, abs=0.02)
    assert middle(False, True, False) == pytest.approx(training.NARROW_MFU, abs=0.02)
    experts = middle(False, True, True) / middle(False, True, False)
    assert experts == pytest.approx(training.EXPERTS_SHARE, abs=0.05)


def test_hours_of_a_training_by_hand() -> None:
    """1e22 operations on 16 H100 at 40 %: 6.33216e15 of them a second, and 15 minutes a day."""
    pair = Cluster(2, 8, 989.4e12, 450e9, 50e9)
    steps = 1e22 / 6.33216e15 / 3600
    assert training.hours(1e22, pair, 0.4) == pytest.approx(steps * 24.25 / 24)
    assert training.hours(1e22, replace(pair, nodes=1), 0.4) == pytest.approx(steps * 2)


def test_the_share_that_a_network_leaves_by_hand() -> None:
    """70 billion parameters in 16 bits, half of them from the other machine, three times a step.

    That is 210 GB, 4.2 s at 400 Gbit/s. A step of 2,048 tokens a device computes for 2.17 s.
    """
    pair = Cluster(2, 8, 989.4e12, 450e9, 50e9)
    model = model_shape("70e9")
    per_token = 6 * model.parameters
    compute = per_token * 2048 * 8 / (989.4e12 * 8 * 0.4)

    def share(cluster: Cluster, workload: str = "pretrain", tokens: float = 2048) -> float:
        return training.network_share(model, workload, cluster, 0.4, per_token, tokens)  # type: ignore[arg-type]

    assert share(pair) == pytest.approx(compute / (3 * model.parameters * 2 / 2 / 50e9))
    assert share(pair) == pytest.approx(2.17 / 4.2, rel=0.01)
    assert share(pair, tokens=8192) == 1.0
    for other in (replace(pair, nodes=1), replace(pair, is_tpu=True)):
        assert share(other) == 1.0
    assert share(replace(pair, network_bytes_per_second=None)) == 1.0
    assert share(pair, "lora") == 1.0


def test_the_utilisation_follows_the_fabric() -> None:
    fast = Cluster(1, 8, 989.4e12, 450e9, None)
    clusters = {
        training.MFU_FAST_LINK: fast,
        training.MFU_PCIE: replace(fast, link_bytes_per_second=64e9),
        training.MFU_TPU: replace(fast, is_tpu=True),
        training.MFU_OTHER: replace(fast, is_small=True),
    }
    usual = {"narrow": False, "unpacked": False, "has_experts": False}
    assert {share: training.utilisation(one, **usual) for share, one in clusters.items()} == {
        share: share for share in clusters
    }
    alone = replace(fast, devices_per_node=1, link_bytes_per_second=64e9)
    assert training.utilisation(alone, **usual) == training.MFU_FAST_LINK
    narrow = training.utilisation(fast, narrow=True, unpacked=True, has_experts=True)
    assert narrow == pytest.approx(0.38 * 0.8 * 0.55)
    assert training.utilisation(fast, **usual, measured=0.5) == 0.5


def test_operations_are_counted_as_the_sources_count_them() -> None:
    """Model TFLOPS of Megatron Bridge and Meta, against ours from their tokens per second."""
    for row in load("training_speeds").drop_nulls(["model_id", "model_tflops"]).to_dicts():
        if row["tokens_per_second"] is None or "gpt-oss" in row["model_id"]:
            continue  # windows of gpt-oss: sources count fewer or all tokens, by release
        model = model_shape(row["model_id"])
        flops = language_model.training_flops(model, row["workload"], 1, row["context"])
        counted = row["tokens_per_second"] * flops / 1e12
        assert counted == pytest.approx(row["model_tflops"], rel=0.11), row


def test_training_rests_on_the_accelerators_own_trainings() -> None:
    """Llama 3 405B on 16,384 H100 ran at 41 % of the peak; a mixture of experts reaches less."""
    fitted = load_calibration()
    assert fitted.utilisations["nvidia-h100-sxm5-80gb", False] == pytest.approx(0.41, abs=0.02)
    cluster = Cluster(4, 8, 989.4e12, 450e9, 400e9)
    share = {
        experts: training.utilisation(
            cluster, narrow=False, unpacked=False, has_experts=experts, measured=0.41
        )
        for experts in (False, True)
    }
    assert share[False] == 0.41
    assert share[True] == pytest.approx(0.41 * training.EXPERTS_SHARE)


def test_no_answer_does_more_work_than_was_measured(
    devices: dict[str, Device], measured: list[Measurement]
) -> None:
    """Every model that was measured, with shorter and longer requests."""
    estimator = Estimator(measured, {})
    for result in measured:
        accelerator = devices[result.accelerator_id]
        if result.kind != "serving" or accelerator.bytes_per_second is None:
            continue
        machine = Host(accelerator, 8, 72 * 2.0**30)
        model = model_shape(result.workload.model_id)
        lengths = (result.workload.input_tokens, result.workload.output_tokens)
        ceiling = result.highest * 8 * work_per_token(model, *lengths)
        for factor in (0.5, 1, 2):
            asked = (lengths[0] * factor, lengths[1])
            demand = Demand(model, *asked, "fp8", min_tokens_per_second=1)
            answer = estimator.answer(machine, demand, as_measured=False)
            if answer is not None:
                done = answer.speed.tokens_per_second * work_per_token(model, *asked)
                assert done <= ceiling * (1 + 1e-9), result.label


def test_a_network_that_is_too_slow_costs_speed() -> None:
    """70B in 16 bits crosses 100 Gbit/s in 3 × 141 GB / 12.5 GB/s = 34 s; one H100 computes 4 s."""
    model = model_shape("llama-3.1-70b")
    flops = language_model.training_flops(model, "pretrain", 1, 4096)
    slow = Cluster(500, 1, 989.4e12, 450e9, 12.5e9)
    share = training.network_share(model, "pretrain", slow, 0.4, flops, 4096)
    assert 0.1 < share < 0.2
    fast = Cluster(64, 8, 989.4e12, 450e9, 400e9)
    assert training.network_share(model, "pretrain", fast, 0.4, flops, 4096) == 1


def test_parameters_of_dense_models_follow_from_their_widths() -> None:
    """Layers × (attention + feed-forward) and one or two vocabularies make the parameters."""
    dense = published_models().filter(pl.col("experts").is_null())
    assert published_models().height >= 60
    for row in dense.iter_rows(named=True):
        hidden, vocab = row["hidden_size"], row["vocab_size"]
        two_matrices = "two feed-forward" in row["notes"] or row["model_id"].startswith(
            ("bloom", "falcon", "gpt-3")
        )
        attention = 2 * hidden * row["attention_width"] + hidden * row["kv_elements_per_layer"]
        layer = attention + (2 if two_matrices else 3) * hidden * row["ffn_size"]
        body = row["layers"] * layer / 1e9
        low, high = body + vocab * hidden / 1e9, body + 2 * vocab * hidden / 1e9
        assert low * 0.93 <= row["parameters_b"] <= high * 1.12, row["model_id"]
