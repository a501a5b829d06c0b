"""Figures that others published wrong: S1 to S9 of docs/known-wrong-numbers.md."""

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl
import pytest
from tests.helpers.cases import cases, named_cases, number

Device = Callable[[str], dict[str, Any]]


@named_cases("specs/figures")
def test_devices_have_these_figures(device: Device, case: Mapping[str, Mapping[str, Any]]) -> None:
    for name, figures in case.items():
        row = device(name)
        assert {column: row[column] for column in figures} == figures


def test_m4_has_matrix_instructions(device: Device) -> None:
    for name in ("m4", "m4-pro", "m4-max"):
        assert "sme2" in device(f"apple-{name}")["ai_features"]


@cases("specs/dense_rates", dense=number, sparse=number)
def test_s2_rates_are_dense(device: Device, name: str, dense: float, sparse: float) -> None:
    row = device(name)
    assert row["fp16_dense_tflops"] == row["bf16_dense_tflops"] == dense
    assert sparse not in [
        value
        for column, value in row.items()
        if column in ("fp16_dense_tflops", "bf16_dense_tflops")
    ]


def test_s4_efficiency_of_l4(device: Device) -> None:
    l4 = device("nvidia-l4")
    assert round(l4["fp32_dense_tflops"] / l4["tdp_w"], 2) == 0.42
    assert round(l4["fp16_dense_tflops"] / l4["tdp_w"], 2) == 1.68


def test_s5_blackwell_ultra_is_not_halved_by_rule(device: Device) -> None:
    b300, b200 = device("nvidia-b300"), device("nvidia-b200")
    assert b300["int8_dense_tops"] < b200["int8_dense_tops"] / 20
    assert b300["fp64_dense_tflops"] < b200["fp64_dense_tflops"] / 20


def test_s6_no_tdp_where_none_is_published(accelerators: pl.DataFrame) -> None:
    clouds = accelerators.filter(pl.col("kind").is_in(["tpu", "neuron"]))
    undisclosed = clouds.filter(
        ~pl.col("accelerator_id").is_in(["google-tpu-v2", "google-tpu-v3"])
    )  # TDP in the maker's paper
    assert undisclosed.height >= 10
    assert undisclosed["tdp_w"].null_count() == undisclosed.height
    assert undisclosed.filter(
        pl.col("tdp_estimate_w").is_not_null() & pl.col("tdp_estimate_source").is_null()
    ).is_empty()
    v4 = undisclosed.row(by_predicate=pl.col("accelerator_id") == "google-tpu-v4", named=True)
    assert (v4["measured_power_mean_w"], v4["measured_power_max_w"]) == (170, 192)


def test_s7_no_mixed_system_and_derived_figures_are_marked(sheets) -> None:
    benchmarks = sheets["benchmarks"]
    systems = benchmarks.filter(
        pl.col("accelerator_count").is_not_null() & pl.col("per_accelerator").is_not_null()
    )
    assert systems.height > 1000
    assert systems.filter(
        (pl.col("result") / pl.col("accelerator_count") / pl.col("per_accelerator") - 1).abs()
        > 1e-6
    ).is_empty()
    assert systems["derived"].all()
    inference = systems.filter(suite="mlperf_inference")
    unnamed = inference.filter(pl.col("software").is_null())  # as this submission leaves it
    assert set(unnamed["system"]) == {"ORACLE/8xMI355X_2xEPYC_9575F"}
    assert inference.filter(round="v5.1")["precision"].null_count() == 0
    # two submissions of v5.1 mix MI300X and MI325X, 48 and 24 accelerators in one system
    assert systems.filter(
        pl.col("accelerator_id").str.starts_with("amd-mi3"),
        pl.col("round") == "v5.1",
        pl.col("accelerator_count").is_in([24.0, 48.0]),
    ).is_empty()


def test_s8_a_gb300_is_no_b300(sheets: Mapping[str, pl.DataFrame]) -> None:
    results = sheets["benchmarks"]
    system = pl.col("system").str.to_lowercase()
    of_gb300 = results.filter(system.str.contains("gb300|theia_|ars-121gl-nb3"))
    assert of_gb300.height >= 59
    assert set(of_gb300["accelerator_id"]) == {"nvidia-gb300"}
    # LoRA on 8 accelerators: HGX B300 takes 8.5 to 9.8 minutes, GB300 5.771
    lora = results.filter(model="llama2_70b_lora", accelerator_count=8.0)
    b300, gb300 = (lora.filter(accelerator_id=f"nvidia-{name}") for name in ("b300", "gb300"))
    assert b300["result"].min() > 8
    assert gb300["result"].to_list() == [5.771]


def test_rates_of_mi350x_are_units_times_clock(device: Device) -> None:
    """2,309.6 in lists is 2,306.9 with two digits swapped; FP8 and FP4 were right."""
    mi350x = device("amd-mi350x")
    fp16 = 256 * 4096 * 2.2e9 / 1e12
    assert mi350x["fp16_dense_tflops"] == mi350x["bf16_dense_tflops"] == pytest.approx(fp16, 1e-4)
    assert mi350x["fp8_dense_tflops"] == pytest.approx(2 * fp16, rel=1e-4)


def test_llama_8b_interactive_is_measured_in_tokens(sheets: Mapping[str, pl.DataFrame]) -> None:
    rows = sheets["benchmarks"].filter(model="llama3.1-8b", scenario="Interactive")
    assert rows.filter(round="v5.1").height == 8
    assert set(rows["result_unit"]) == {"Tokens/s"}


def test_an_eighth_of_a_server_is_not_the_price_of_a_gpu(device, sheets) -> None:
    machines = sheets["local_hardware"]
    dgx = machines.row(by_predicate=pl.col("device_id") == "nvidia-dgx-h100", named=True)
    launch_price = device("nvidia-h100-sxm5-80gb")["launch_price_usd"]
    assert 25_000 <= launch_price <= 30_000  # Raymond James, August 2023
    assert launch_price < dgx["price"] / 8


def test_notes_claim_no_format_that_the_device_lacks(accelerators: pl.DataFrame) -> None:
    claimed = accelerators.filter(
        pl.col("notes").str.contains(r"(FP8|BF16 and FP8) with FP32 accumulate")
    )
    assert set(claimed["fp8_support"]) <= {"supported"}


def test_a_price_without_a_date_says_so(sheets: Mapping[str, pl.DataFrame]) -> None:
    machines = sheets["local_hardware"].filter(pl.col("price").is_not_null())
    undated = machines.filter(pl.col("price_source").str.contains("undated"))
    assert undated.height == 4
    assert undated["price_date"].null_count() == 4
    assert machines.height - undated.height == machines["price_date"].count()
    own_notes = machines.filter(pl.col("price_source").str.contains("Project's own notes"))
    assert own_notes.height == 4


def test_a_maker_that_publishes_nothing_has_a_row_that_says_so(device: Device) -> None:
    sohu = device("etched-sohu")
    assert sohu["disclosure"] == "none"
    assert sohu["confidence"] == "low"
    assert not sohu["verified"]
    figures = [
        name for name in sohu if name.endswith(("_tflops", "_tops", "_w", "_gb", "_gbs", "_usd"))
    ]
    assert {sohu[name] for name in figures} == {None}
    assert {sohu[name] for name in sohu if name.endswith("_support")} == {"unknown"}
