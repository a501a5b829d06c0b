"""Recommendations: sensible machines for known jobs, and why the others are left out."""

import io
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from tests.helpers.small_release import Release

from hwprices.errors import HwpricesError
from hwprices.read.recommend.exclusions import sentences
from hwprices.read.recommend.job import make_job
from hwprices.read.recommend.recommend import OUTPUT, recommend
from hwprices.read.terminal.recommendation import render_recommendation

HOPPER_8 = {"p5.48xlarge", "a3-highgpu-8g", "Standard_ND96isr_H100_v5", "dgx-h100"}


def ranked(
    release: Release, model: float | str, workload: str, **more: Any
) -> tuple[pl.DataFrame, Mapping[str, str]]:
    """The machines that the job fits on, and the reason by machine for the others."""
    frame = recommend(model, workload, dataset=release, **more)
    assert frame.columns == OUTPUT
    excluded = frame.drop_nulls("excluded_reason")
    assert excluded["excluded"].null_count() == 0, "every code has a sentence"
    reasons = dict(excluded.select("machine", "excluded").iter_rows())
    return frame.filter(pl.col("excluded_reason").is_null()), reasons


def test_7b_lora_fits_one_24_gb_gpu(release: Release) -> None:
    fit, out = ranked(release, "7B", "lora", context=2048)
    assert {"g6.xlarge", "g5.xlarge", "pc-rtx-4090"} <= set(fit["machine"])
    one_l4 = fit.filter(machine="g6.xlarge").row(0, named=True)
    assert (one_l4["nodes"], one_l4["total_accelerators"]) == (1, 1.0)
    assert 13 < one_l4["memory_needed_gib"] < one_l4["memory_usable_gib"] < 24
    assert out["g4dn.xlarge"] == "nvidia-t4 does not compute in bf16"
    assert "inference only" in out["inf2.48xlarge"]
    assert "part that needs a host" in out["rtx-4090-card"]


def test_7b_lora_in_four_bits_fits_one_t4(release: Release) -> None:
    fit, _ = ranked(release, "7B", "lora", context=2048, precision="int4")
    assert fit.filter(machine="g4dn.xlarge").select("nodes", "total_accelerators").row(0) == (
        1,
        1.0,
    )


def test_full_fine_tuning_of_7b_does_not_fit_one_24_gb_gpu(release: Release) -> None:
    """16 bytes a parameter are 104 GiB."""
    fit, out = ranked(release, "7B", "full_finetune", context=2048)
    assert "no RDMA network between them is known" in out["g6.xlarge"]
    assert fit.filter(machine="p4d.24xlarge")["nodes"].to_list() == [1]


def test_70b_inference_needs_more_than_one_80_gb_gpu_and_fits_four_l40s(
    release: Release,
) -> None:
    fit, out = ranked(release, "llama-3.1-70b", "inference")
    assert {"g6e.12xlarge", "p4d.24xlarge"} | HOPPER_8 <= set(fit["machine"])
    assert "24.0 GiB can be used" in out["g6.xlarge"]
    assert "24.0 GiB can be used" in out["pc-rtx-4090"]
    assert fit.filter(where="cloud")["machine"][0] == "g6e.12xlarge", (
        "the cheapest hour in the cloud"
    )
    assert fit.filter(machine="g6e.12xlarge")["memory_needed_gib"].item() > 2 * 70


def test_405b_in_bf16_fits_eight_h200_and_not_eight_80_gb_gpus(
    release: Release,
) -> None:
    fit, out = ranked(release, "llama-3.1-405b", "inference")
    assert set(out) >= HOPPER_8
    assert all("GiB can be used" in out[machine] for machine in HOPPER_8)
    assert set(fit["machine"]) == {"p5en.48xlarge"}


def test_405b_in_fp8_fits_eight_h100_and_no_a100(release: Release) -> None:
    fit, out = ranked(release, "llama-3.1-405b", "inference", precision="fp8")
    assert set(fit["machine"]) == HOPPER_8 | {"p5en.48xlarge"}
    assert out["p4de.24xlarge"] == "nvidia-a100-sxm4-80gb does not compute in fp8"
    assert out["ct6e-standard-4t"] == "not known whether google-tpu-v6e computes in fp8"


def test_405b_in_bf16_over_two_machines_when_asked_for(release: Release) -> None:
    fit, _ = ranked(release, "llama-3.1-405b", "inference", max_nodes=2)
    assert fit.filter(machine="p5.48xlarge").select("nodes", "total_accelerators", "usd").row(
        0
    ) == (
        2,
        16.0,
        Decimal("110.08"),
    )


def test_70b_pretraining_takes_many_machines_with_rdma(release: Release) -> None:
    fit, out = ranked(release, "70B", "pretrain")
    assert "g6.xlarge" in out
    assert "pc-rtx-4090" in out
    assert fit["nodes"].min() > 50  # type: ignore[operator]
    gpus = fit.filter(~pl.col("accelerator_id").str.starts_with("google"))
    best = gpus.row(0, named=True)
    assert best["machine"] == "p5.48xlarge"
    # 6 × 70e9 × 1.4e12 operations / (989.4e12 × 0.4) = 412,700 GPU-hours
    assert best["hours"] * best["total_accelerators"] == pytest.approx(412_700, rel=1e-3)
    assert best["hours"] <= 30 * 24
    assert float(best["usd"]) == pytest.approx(412_700 * 6.88, rel=1e-3)


def test_a_machine_without_a_price_is_excluded_with_the_reason(release: Release) -> None:
    _, out = ranked(release, "70B", "pretrain")
    assert out["trn2.48xlarge"] == "no price: capacity_block_priced_by_offering"


def test_a_machine_over_the_budget_is_excluded_with_its_cost(release: Release) -> None:
    fit, out = ranked(release, "llama-3.1-70b", "inference", budget=14)
    assert set(fit["machine"]) == {"g6e.12xlarge", "inf2.48xlarge"}
    assert out["p5.48xlarge"] == "costs 55.04 USD, over the budget"


@pytest.mark.parametrize(
    ("objective", "column", "descending"),
    [
        ("cost", "usd", False),
        ("carbon", "operational_gco2e", False),
        ("speed", "tokens_per_second", True),
    ],
)
def test_each_objective_ranks_by_its_figure(
    release: Release, objective: str, column: str, descending: bool
) -> None:
    fit, _ = ranked(release, "llama-3.1-8b", "lora", objective=objective)
    assert fit["rank"].to_list() == list(range(1, fit.height + 1))
    values = fit[column].drop_nulls()
    assert values.to_list() == values.sort(descending=descending).to_list()
    assert fit[column].null_count() == 0 or fit[column].to_list()[-1] is None, (
        "what is not known comes last"
    )


def test_spot_and_commitments_are_beside_the_price(release: Release) -> None:
    fit, _ = ranked(release, "llama-3.1-70b", "inference")
    a3 = fit.filter(machine="a3-highgpu-8g").row(0, named=True)
    assert (a3["purchase_option"], a3["usd_per_hour"], a3["spot_usd_per_hour"]) == (
        "on_demand",
        Decimal("88.4899999026"),
        Decimal("50.6095408219"),
    )


@settings(max_examples=15, deadline=None)
@given(st.floats(min_value=1e9, max_value=3e11), st.integers(min_value=512, max_value=16_384))
def test_what_fits_with_a_longer_context_fits_with_a_shorter(
    release: Release, size: float, context: int
) -> None:
    long, _ = ranked(release, size, "inference", context=2 * context)
    short, _ = ranked(release, size, "inference", context=context)
    assert set(long["machine"]) <= set(short["machine"])


@pytest.mark.parametrize("workload", ["pretrain", "full_finetune", "lora", "inference"])
@pytest.mark.parametrize("size", [1e7, 1e14])
def test_extreme_jobs_do_not_fail(release: Release, workload: str, size: float) -> None:
    for context in (1, 10_000_000):
        fit, out = ranked(release, size, workload, context=context, max_nodes=10**9)
        assert fit.height + len(out) > 0


def test_where_local_lists_only_machines_to_buy(release: Release) -> None:
    fit, out = ranked(release, "7B", "lora", where="local")
    assert set(fit["where"]) == {"local"}
    assert "g4dn.xlarge" not in out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"workload": "bake"}, "there is no workload 'bake'"),
        ({"precision": "bf17"}, "there is no precision 'bf17'"),
        ({"objective": "joy"}, "there is no objective 'joy'"),
        ({"budget": -1}, "a budget is above 0"),
        ({"where": "moon"}, "there is no place 'moon'"),
        ({"context": 0}, "context, batch, tokens and days are above 0"),
        ({"workload": "pretrain", "precision": "int4"}, "pretrain in int4"),
        ({"model_parameters": "banana"}, "'banana' is neither a model"),
    ],
)
def test_a_wrong_value_is_an_error_in_one_line(
    release: Release, more: dict[str, Any], message: str
) -> None:
    with pytest.raises(HwpricesError, match=message) as caught:
        recommend(**{"model_parameters": "7B", **more}, dataset=release)
    assert "\n" not in str(caught.value)


def test_the_defaults_are_the_documented_ones() -> None:
    pretrain, inference = make_job("70B", "pretrain"), make_job("70B")
    assert (pretrain.tokens, pretrain.days, pretrain.batch) == (1.4e12, 30, 1)
    assert (inference.tokens, inference.batch) == (None, 8)


def test_excluded_machines_have_a_code_and_a_sentence(release: Release) -> None:
    frame = recommend("7B", "lora", context=2048, budget=1, dataset=release)
    reasons = dict(frame.select("machine", "excluded_reason").iter_rows())
    assert reasons["g4dn.xlarge"] == "precision_unsupported"
    assert reasons["inf2.48xlarge"] == "inference_only"
    assert reasons["rtx-4090-card"] == "needs_host"
    assert reasons["p5.48xlarge"] == "over_budget"
    assert set(frame["excluded_reason"].drop_nulls()) <= set(sentences(make_job("7B", "lora")))


def test_only_a_machine_over_the_budget_keeps_its_figures(release: Release) -> None:
    frame = recommend("7B", "lora", context=2048, budget=1, dataset=release)
    has_figures = dict(frame.select("machine", pl.col("usd").is_not_null()).iter_rows())
    assert has_figures["p5.48xlarge"]
    assert not has_figures["g4dn.xlarge"]


def test_a_recommendation_is_drawn_as_a_table(release: Release) -> None:
    console = Console(file=io.StringIO(), width=200)
    frame = recommend("70B", dataset=release)
    console.print(render_recommendation(frame, top=2, excluded=1))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert "machines fit" in lines[0]
    assert "hours" not in lines[1], "inference has no hours"
    assert len(lines) == 5, "title, headings, two machines and one that is left out"
