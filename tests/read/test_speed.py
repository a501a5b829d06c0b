"""How fast machines serve: against published figures, and what the ranges promise."""

from itertools import pairwise
from typing import Any

import polars as pl
import pytest
import yaml
from tests.helpers.cases import cases
from tests.helpers.releases import Release

import hwprices
from hwprices.read.recommend import constants
from hwprices.read.recommend.estimates import usual_precision
from hwprices.read.recommend.inferencex import measured_works
from hwprices.read.recommend.job import make_job
from hwprices.read.recommend.question import Question
from hwprices.read.recommend.recommend import recommend
from hwprices.read.recommend.speed import NETWORK, estimated, fastest, speed_model, with_divisions
from hwprices.specs import sheets

OF_CPUS = ("basis", "label")  # columns of machines without accelerators


def work(model: str, **more: Any) -> pl.DataFrame:
    """A machine and its work: requests of 1,024 and 256 tokens in FP8 on one H100, or as named."""
    row = {
        **{"accelerator_id": "nvidia-h100-sxm5-80gb", "accelerators": 1, "precision": "fp8"},
        **{"input_tokens": 1024.0, "output_tokens": 256.0, "users": None, "min_per_user": 0.0},
        **{"kv_bytes": None, "tokens_per_second": None, "model_id": model},
        **more,
    }
    numbers = {"kv_bytes": pl.Float64, "users": pl.Float64}
    works = measured_works(pl.DataFrame([row], schema_overrides=numbers))
    return works.with_columns(min_per_user=row["min_per_user"])


def served(model: str, **more: Any) -> dict[str, Any]:
    """How the machine serves it."""
    works = work(model, **more).with_columns(pl.lit(None, pl.String).alias(n) for n in OF_CPUS)
    return estimated(works, speed_model()).row(0, named=True)


@cases(
    "read/published_speeds",
    **dict.fromkeys(("count", "input_tokens", "output_tokens"), int),
    **dict.fromkeys(("users", "published"), yaml.safe_load),
)
def test_a_published_figure_is_within_the_outer_range(
    accelerator, count, model, precision, input_tokens, output_tokens, users, published
) -> None:
    asked = {"input_tokens": input_tokens, "output_tokens": output_tokens, "users": users}
    machine = {"accelerator_id": accelerator, "accelerators": count}
    answer = served(model, precision=precision, **machine, **asked)
    assert answer["basis"] == "measured"
    assert answer["measurement"] is not None
    rate = answer["tokens_per_second"]
    assert rate * answer["p05"] < published < rate * answer["p95"]


def test_the_roofline_of_one_user_is_the_time_to_read_the_weights() -> None:
    """8.03 × 10^9 bytes and a cache of 151 MB over 3.35 TB/s, by 1.17, and 32 layers of 75 µs."""
    constants = speed_model().constants
    works = work("llama-3.1-8b", users=1).with_columns(factor=1.0)
    (rate,) = fastest(works, constants)["tokens_per_second"]
    read = (8.03e9 + 1152 * 32 * 2048) / 3.35e12 * constants["bytes"]
    computed = (2 * 8.03e9 + 4 * 4096 * 32 * 1152) / 1978.9e12 * constants["compute"]
    step = read + computed + 32 * constants["layer"] + constants["token"]
    prompt = 1024 * (2 * 8.03e9 + 4 * 4096 * 32 * 512) / 1978.9e12 * constants["compute"]
    assert rate == pytest.approx(256 / (256 * step + prompt), rel=0.001)


def test_more_users_get_more_tokens_in_total_and_fewer_each() -> None:
    speeds = [served("llama-3.1-8b", users=users) for users in (8, 32, 128, 512)]
    totals = [speed["tokens_per_second"] for speed in speeds]
    each = [speed["tokens_per_second_per_user"] for speed in speeds]
    assert totals == sorted(totals)
    assert each == sorted(each, reverse=True)


def test_a_machine_is_filled_as_far_as_each_user_gets_the_speed() -> None:
    answer = served("llama-3.1-8b", min_per_user=50.0)
    users = answer["users_served"]
    assert users > constants.FEW_USERS
    assert answer["tokens_per_second_per_user"] >= 50
    more = served("llama-3.1-8b", users=users + 1)
    assert more["tokens_per_second_per_user"] < 50


def test_a_slow_card_serves_a_few_users() -> None:
    """One L4 reads 8 GB 37 times a second, which is enough for several users of 20 tokens/s."""
    answer = served("llama-3.1-8b", accelerator_id="nvidia-l4", min_per_user=20.0)
    assert 1 < answer["users_served"] < constants.FEW_USERS


@pytest.mark.parametrize("accelerator", ["nvidia-b200", "nvidia-h100-sxm5-80gb", "amd-mi300x"])
def test_twins_are_equally_fast(accelerator: str) -> None:
    """Llama 2 70B had 69,144 tokens/s on a machine where Llama 3.3 70B had 33,674."""
    two, three = (
        served(model, accelerator_id=accelerator, accelerators=8)["tokens_per_second"]
        for model in ("llama-2-70b", "llama-3.3-70b")
    )
    assert two == pytest.approx(three, rel=0.05)


@pytest.mark.parametrize(("model", "alike"), [("llama-3.3-70b", True), ("qwen2.5-72b", False)])
def test_a_network_is_known_by_its_shape(model: str, alike: bool) -> None:
    assert work("llama-2-70b").select(NETWORK).equals(work(model).select(NETWORK)) == alike


@pytest.mark.parametrize(
    ("model", "devices"), [("qwen2.5-7b", [1, 2, 4]), ("llama-3.1-70b", [1, 2, 4, 8])]
)
def test_a_copy_is_divided_as_its_heads_allow(model: str, devices: list[int]) -> None:
    """28 heads of Qwen2.5 7B divide over 4 devices and not over 8."""
    assert with_divisions(work(model, accelerators=8))["division"].to_list() == devices


@cases("read/weight_formats")
def test_weights_have_the_format_that_the_hardware_computes(accelerator, model, expected) -> None:
    device = sheets.load("accelerators").filter(accelerator_id=accelerator)
    device = device.with_columns(cpu_id=pl.lit(None, pl.String))
    assert device.select(usual_precision(make_job(Question(model)))).item() == expected


def test_s11_the_cautious_end_ranks_and_is_filled(release: Release) -> None:
    """A batch of 8 costs many times what a filled machine does; each row is ranked by what it
    costs at the lower end of its speed."""
    frame = recommend("llama-2-70b", dataset=release, where="cloud")
    few = recommend("llama-2-70b", dataset=release, where="cloud", concurrency=8)
    p5, p5_of_eight = (
        rows.filter(machine="p5.48xlarge").row(0, named=True) for rows in (frame, few)
    )
    assert p5_of_eight["usd_per_million_tokens"] > 5 * p5["usd_per_million_tokens"]
    # 1,024 + 256 tokens are 5 for each of output
    promised = p5["tokens_per_second_low"] * 5 * 3600 / 1e6
    assert float(p5["usd_per_million_tokens"]) == pytest.approx(55.04 / promised, rel=1e-6)
    ranked = frame.drop_nulls("rank")
    cost = ranked["usd_per_million_tokens"].to_list()
    assert cost == sorted(cost)
    assert (ranked["usd_per_million_tokens_low"] < ranked["usd_per_million_tokens"]).all()
    bounds = [f"tokens_per_second{end}" for end in ("_p05", "_low", "", "_high", "_p95")]
    for lower, upper in pairwise(bounds):
        assert (ranked[lower] < ranked[upper]).all()


def test_prices_of_input_and_output_make_up_the_blended_one(release: Release) -> None:
    frame = recommend("llama-3.1-8b", dataset=release, where="cloud").drop_nulls("rank")
    for row in frame.iter_rows(named=True):
        blended = 0.8 * float(row["usd_per_million_input_tokens"]) + 0.2 * float(
            row["usd_per_million_output_tokens"]
        )
        assert blended == pytest.approx(float(row["usd_per_million_tokens"]), rel=1e-6)


def test_a_batch_ends_before_its_deadline_at_the_cautious_speed(release: Release) -> None:
    frame = recommend("llama-3.1-8b", "batch", tokens=1e9, days=0.5, dataset=release)
    ranked = frame.drop_nulls("rank").filter(where="cloud")
    assert ranked.height
    for row in ranked.iter_rows(named=True):
        assert row["hours"] <= 12
        assert row["hours"] * 3600 * row["tokens_per_second_low"] == pytest.approx(1e9)
        paid = float(row["usd_per_hour"]) * (row["hours"] + 0.25)
        assert float(row["usd"]) == pytest.approx(paid, rel=1e-6)
    costs = ranked["usd"].to_list()
    assert costs == sorted(costs)
    longer = recommend("llama-3.1-8b", "batch", tokens=1e9, days=5, dataset=release)
    nodes = (rows.filter(machine="g6.xlarge")["nodes"].item() for rows in (frame, longer))
    assert next(nodes) > next(nodes)


def test_one_size_of_an_accelerator_is_ranked_in_each_cloud(release: Release) -> None:
    frame = recommend("7B", "lora", dataset=release, where="cloud")
    ranked = frame.drop_nulls("rank")
    assert ranked.select("provider", "accelerator_id").is_unique().all()
    others = frame.filter(excluded_reason="other_size")
    assert others["usd"].null_count() == 0, "their figures are kept"


@pytest.fixture(scope="module")
def sample() -> hwprices.Dataset:
    """The bundled sample: offers of thirteen providers, some in EUR."""
    return hwprices.open("sample")


def test_regions_for_governments_are_recommended_when_asked_for(release: Release) -> None:
    regions = release.tables["regions"].with_columns(
        kind=pl.when(region="us-east-1").then(pl.lit("gov")).otherwise("kind")
    )
    gov = Release({**release.tables, "regions": regions})
    frame = recommend("llama-3.1-8b", dataset=gov, where="cloud")
    assert "us-east-1" not in set(frame.drop_nulls("rank")["region"])
    p5 = frame.filter(machine="p5.48xlarge").row(0, named=True)
    assert (p5["rank"], p5["excluded_reason"]) == (None, "government")
    named = recommend("llama-3.1-8b", dataset=gov, region="us-east-1", where="cloud")
    assert "p5.48xlarge" in set(named.drop_nulls("rank")["machine"])
    near = recommend("llama-3.1-8b", dataset=gov, region="us-east", where="cloud")
    assert "us-east-1" not in set(near.drop_nulls("rank")["region"])  # a direction names no region


def test_offers_in_another_currency_are_counted_or_converted(sample: hwprices.Dataset) -> None:
    """By default at a dated rate of the ECB, which the answer names."""
    limits = {"where": "cloud", "usd_per": {}}
    left = recommend("llama-3.1-8b", dataset=sample, **limits)
    in_euro = left.filter(excluded_reason="other_currency")
    assert in_euro.height
    assert f"left out: {in_euro.height} priced in EUR (--usd-per EUR=…)" in left["assumed"][0]
    converted = recommend("llama-3.1-8b", dataset=sample, where="cloud")
    assert converted["assumed"][0].endswith("; EUR at 1.1225 USD (ECB, 2026-10-02)")
    assert "scaleway" in set(converted.drop_nulls("rank")["provider"])


def test_a_modeled_machine_precedes_a_measured_one_by_its_cautious_figure_alone(sample) -> None:
    ranked = recommend("llama-3.1-8b", dataset=sample, where="cloud").drop_nulls("rank")
    assert set(ranked["basis"]) == {"measured", "modeled"}
    costs = ranked["usd_per_million_tokens"].to_list()
    assert costs == sorted(costs)
    widths = (
        (ranked["tokens_per_second_high"] / ranked["tokens_per_second_low"])
        .round(3)
        .to_frame("width")
        .with_columns(basis=ranked["basis"])
        .unique()
    )
    width = {basis: value for value, basis in widths.iter_rows()}
    assert width["modeled"] > width["measured"]


def test_models_of_2026_are_answered(sample: hwprices.Dataset) -> None:
    """Eight MI325X hold 1.56 TB of Kimi K3's weights in four bits; eight H200 do not."""
    frame = recommend("kimi-k3", dataset=sample, where="cloud")
    fits = set(frame.drop_nulls("rank")["accelerator_id"])
    assert "amd-mi325x" in fits
    assert "nvidia-h200-sxm" not in fits
    for name in ("deepseek-v3.2", "kimi-k2.5", "glm-5", "qwen3.5-27b", "gemma-4-31b"):
        assert recommend(name, dataset=sample, where="cloud")["rank"].count() > 0


def test_a_speed_of_one_user_is_no_measurement_of_several() -> None:
    """llama.cpp served one user on an H100 PCIe. Several are modeled, and are not faster each."""
    h100 = {"accelerator_id": "nvidia-h100-pcie-80gb", "precision": "q4_k_m"}
    alone, several = (served("llama-3-70b", **h100, users=users) for users in (1, 4))
    assert (alone["basis"], several["basis"]) == ("measured", "modeled")
    assert several["measurement"] is None
    assert several["tokens_per_second"] / 4 < alone["tokens_per_second"]
    filled = served("llama-3-70b", accelerator_id="nvidia-h100-pcie-80gb", min_per_user=14.0)
    assert 1 < filled["users_served"] < constants.FEW_USERS
    assert filled["basis"] == "modeled"


def test_the_required_speed_holds_at_the_cautious_end(sample: hwprices.Dataset) -> None:
    """A Jetson was ranked "at 20 tok/s" although its cautious speed was 16.3."""
    frame = recommend("llama-3.1-8b", dataset=sample, where="local").drop_nulls("rank")
    each = frame["tokens_per_second_low"] / frame["concurrency"]
    assert each.min() >= 20  # type: ignore[operator]
    assert each.to_list() == pytest.approx(frame["tokens_per_second_per_user"].to_list())


def test_a_device_that_is_faster_in_32_bits_computes_in_them() -> None:
    """P40: 0.18 TFLOPS in 16 bits and 11.8 in 32; llama.cpp generates 56.8 tokens/s on it."""
    work = {"precision": "q4_0", "input_tokens": 1.0, "output_tokens": 512.0, "users": 1.0}
    answer = served("llama-2-7b", accelerator_id="nvidia-p40", **work)
    rate = answer["tokens_per_second"]
    assert rate * answer["p05"] < 56.8 < rate * answer["p95"]
    unknown = served("llama-3-8b", accelerator_id="nvidia-p40", **work)
    assert unknown["tokens_per_second"] > 15


def test_metal_recommends_two_thirds_of_a_small_mac(sample: hwprices.Dataset) -> None:
    """gpt-oss-20b takes 11.1 GiB with its cache; 10.7 of 16 can be used."""
    frame = recommend("gpt-oss-20b", dataset=sample, where="local", concurrency=1)
    mini = frame.filter(machine="apple-mac-mini-m4-16gb").row(0, named=True)
    assert mini["excluded_reason"] == "too_small"
    assert mini["memory_usable_gib"] == pytest.approx(16 * 0.67)
    pro = frame.filter(machine="apple-mac-mini-m4-pro-64gb").row(0, named=True)
    assert pro["memory_usable_gib"] == pytest.approx(64 * 0.75)
