"""Choosing: what sensible answers are, and why each machine is left out."""

import subprocess
import sys
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers import small_release

from hwprices.errors import HwpricesError
from hwprices.read import ownership
from hwprices.read.ownership import Ownership
from hwprices.read.recommend.recommend import OUTPUT, job, recommend

HOPPER_8 = {"p5.48xlarge", "a3-highgpu-8g", "Standard_ND96isr_H100_v5", "dgx-h100"}


@pytest.fixture(scope="module")
def release() -> small_release.Release:
    return small_release.Release(small_release.build().tables)


def ask(
    release: small_release.Release, model: float | str, workload: str, **more: Any
) -> tuple[pl.DataFrame, Mapping[str, str]]:
    """The ranked machines, and the reason by machine for the others."""
    frame = recommend(model, workload, dataset=release, **more)
    assert frame.columns == OUTPUT
    return frame.filter(pl.col("excluded").is_null()), dict(
        frame.drop_nulls("excluded").select("machine", "excluded").iter_rows()
    )


def test_7b_lora_fits_one_24_gb_gpu(release: small_release.Release) -> None:
    fit, out = ask(release, "7B", "lora", context=2048)
    assert {"g6.xlarge", "g5.xlarge", "pc-rtx-4090"} <= set(fit["machine"])
    one_l4 = fit.filter(machine="g6.xlarge").row(0, named=True)
    assert (one_l4["nodes"], one_l4["accelerators"]) == (1, 1.0)
    assert 13 < one_l4["memory_needed_gib"] < one_l4["memory_usable_gib"] < 24
    assert out["g4dn.xlarge"] == "nvidia-t4 does not compute in bf16"
    assert "inference only" in out["inf2.48xlarge"]
    assert "part that needs a host" in out["rtx-4090-card"]


def test_7b_lora_in_four_bits_fits_one_t4(release: small_release.Release) -> None:
    fit, _ = ask(release, "7B", "lora", context=2048, precision="int4")
    assert fit.filter(machine="g4dn.xlarge").select("nodes", "accelerators").row(0) == (1, 1.0)


def test_full_fine_tuning_of_7b_does_not_fit_one_24_gb_gpu(release: small_release.Release) -> None:
    """16 bytes a parameter are 104 GiB."""
    fit, out = ask(release, "7B", "full_finetune", context=2048)
    assert "no RDMA network between them is known" in out["g6.xlarge"]
    assert fit.filter(machine="p4d.24xlarge")["nodes"].to_list() == [1]


def test_70b_inference_needs_more_than_one_80_gb_gpu_and_fits_four_l40s(
    release: small_release.Release,
) -> None:
    fit, out = ask(release, "llama-3.1-70b", "inference")
    assert {"g6e.12xlarge", "p4d.24xlarge"} | HOPPER_8 <= set(fit["machine"])
    assert "24.0 GiB can be used" in out["g6.xlarge"]
    assert "24.0 GiB can be used" in out["pc-rtx-4090"]
    assert fit.filter(where="cloud")["machine"][0] == "g6e.12xlarge", (
        "the cheapest hour in the cloud"
    )
    assert fit.filter(machine="g6e.12xlarge")["memory_needed_gib"].item() > 2 * 70


def test_405b_in_bf16_does_not_fit_eight_80_gb_but_eight_h200(
    release: small_release.Release,
) -> None:
    fit, out = ask(release, "llama-3.1-405b", "inference")
    assert set(out) >= HOPPER_8
    assert all("GiB can be used" in out[machine] for machine in HOPPER_8)
    assert set(fit["machine"]) == {"p5en.48xlarge"}


def test_405b_in_fp8_fits_eight_h100_and_no_a100(release: small_release.Release) -> None:
    fit, out = ask(release, "llama-3.1-405b", "inference", precision="fp8")
    assert set(fit["machine"]) == HOPPER_8 | {"p5en.48xlarge"}
    assert out["p4de.24xlarge"] == "nvidia-a100-sxm4-80gb does not compute in fp8"
    assert out["ct6e-standard-4t"] == "not known whether google-tpu-v6e computes in fp8"


def test_405b_in_bf16_over_two_machines_when_asked_for(release: small_release.Release) -> None:
    fit, _ = ask(release, "llama-3.1-405b", "inference", max_nodes=2)
    assert fit.filter(machine="p5.48xlarge").select("nodes", "accelerators", "usd").row(0) == (
        2,
        16.0,
        Decimal("110.08"),
    )


def test_70b_pretraining_is_for_many_machines_with_rdma(release: small_release.Release) -> None:
    fit, out = ask(release, "70B", "pretrain")
    assert "g6.xlarge" in out
    assert "pc-rtx-4090" in out
    assert fit["nodes"].min() > 50  # type: ignore[operator]
    gpus = fit.filter(~pl.col("accelerator_id").str.starts_with("google"))
    best = gpus.row(0, named=True)
    assert best["machine"] == "p5.48xlarge"
    # 6 × 70e9 × 1.4e12 operations / (989.4e12 × 0.4) = 412,700 GPU-hours
    assert best["hours"] * best["accelerators"] == pytest.approx(412_700, rel=1e-3)
    assert best["hours"] <= 30 * 24
    assert float(best["usd"]) == pytest.approx(412_700 * 6.88, rel=1e-3)


def test_machines_without_a_price_say_so(release: small_release.Release) -> None:
    _, out = ask(release, "70B", "pretrain")
    assert out["trn2.48xlarge"] == "no price: capacity_block_priced_by_offering"


def test_budget_cuts_and_says_what_it_would_cost(release: small_release.Release) -> None:
    fit, out = ask(release, "llama-3.1-70b", "inference", budget=15)
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
    release: small_release.Release, objective: str, column: str, descending: bool
) -> None:
    fit, _ = ask(release, "llama-3.1-8b", "lora", objective=objective)
    assert fit["rank"].to_list() == list(range(1, fit.height + 1))
    known = fit[column].drop_nulls()
    assert known.to_list() == known.sort(descending=descending).to_list()
    assert fit[column].null_count() == 0 or fit[column].to_list()[-1] is None, (
        "what is not known comes last"
    )


def test_spot_and_commitments_are_beside_the_price(release: small_release.Release) -> None:
    fit, _ = ask(release, "llama-3.1-70b", "inference")
    a3 = fit.filter(machine="a3-highgpu-8g").row(0, named=True)
    assert (a3["price_basis"], a3["usd_per_hour"], a3["spot_usd_per_hour"]) == (
        "on_demand",
        Decimal("88.4899999026"),
        Decimal("50.6095408219"),
    )


@settings(max_examples=15, deadline=None)
@given(st.floats(min_value=1e9, max_value=3e11), st.integers(min_value=512, max_value=16_384))
def test_what_fits_with_a_longer_context_fits_with_a_shorter(size: float, context: int) -> None:
    release = RELEASES.setdefault("one", small_release.Release(small_release.build().tables))
    long, short = (
        set(ask(release, size, "inference", context=c)[0]["machine"])
        for c in (2 * context, context)
    )
    assert long <= short


@pytest.mark.parametrize("workload", ["pretrain", "full_finetune", "lora", "inference"])
@pytest.mark.parametrize("size", [1e7, 1e14])
def test_absurd_jobs_are_answered(
    release: small_release.Release, workload: str, size: float
) -> None:
    for context in (1, 10_000_000):
        fit, out = ask(release, size, workload, context=context, max_nodes=10**9)
        assert fit.height + len(out) > 0


def test_one_place_alone(release: small_release.Release) -> None:
    fit, out = ask(release, "7B", "lora", where="local")
    assert set(fit["where"]) == {"local"}
    assert "g4dn.xlarge" not in out


RELEASES: dict[str, small_release.Release] = {}


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
def test_nonsense_is_refused_in_one_line(
    release: small_release.Release, more: dict[str, Any], message: str
) -> None:
    with pytest.raises(HwpricesError, match=message) as caught:
        recommend(**{"model_parameters": "7B", **more}, dataset=release)
    assert "\n" not in str(caught.value)


def test_owning_by_hand(release: small_release.Release) -> None:
    """DGX H100: 373,000 USD / (5 × 8760 h × 0.5) = 17.0320 USD/h, 10.2 kW × 1.56 × 0.13 = 2.0686 USD/h."""
    row = ownership.owned(release, Ownership()).filter(device_id="dgx-h100").row(0, named=True)
    assert float(row["capital_usd_per_hour"]) == pytest.approx(17.0320, abs=1e-4)
    assert float(row["energy_usd_per_hour"]) == pytest.approx(2.0686, abs=1e-4)
    assert row["tco_usd_per_hour"] == row["capital_usd_per_hour"] + row["energy_usd_per_hour"]


def test_break_even_by_hand(release: small_release.Release) -> None:
    """Against p5.48xlarge at 55.04: 373,000 / (55.04 - 2.0686) = 7,041.5 hours of use, 1.6 years at half of all hours."""
    frame = ownership.break_even(release)
    row = frame.filter(device_id="dgx-h100").row(0, named=True)
    assert row["cloud_offer"] == "aws/us-east-1/p5.48xlarge"
    assert row["break_even_hours"] == pytest.approx(7041.5, abs=0.5)
    assert row["break_even_years"] == pytest.approx(1.608, abs=1e-3)
    assert frame.filter(device_id="pc-rtx-4090")["break_even_hours"].to_list() == [None], (
        "no cloud here sells it"
    )


def test_other_currencies_need_a_rate() -> None:
    tables = dict(small_release.build().tables)
    tables["local_hardware"] = tables["local_hardware"].with_columns(price_currency=pl.lit("EUR"))
    release = small_release.Release(tables)
    assert ownership.owned(release)["usd"].to_list() == [None] * 3
    assert ownership.owned(release, Ownership(usd_per={"EUR": 1.1}))["usd"].to_list() == [
        Decimal("410300"),
        Decimal("3300"),
        Decimal("1758.9"),
    ]
    _, out = ask(release, "7B", "lora", context=2048)
    assert out["pc-rtx-4090"] == "priced in EUR"


def test_ownership_that_cannot_be() -> None:
    with pytest.raises(HwpricesError, match="utilisation above 0"):
        Ownership(utilisation=0)


def test_reading_needs_neither_pandera_nor_prefect() -> None:
    code = "import sys, hwprices.read.recommend.recommend, hwprices.read.ownership, hwprices.read.device.device; sys.exit(','.join(m for m in ('pandera', 'prefect', 'boto3') if m in sys.modules) or 0)"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], check=False, capture_output=True, text=True
        ).stderr
        == ""
    )


def test_the_defaults_are_the_documented_ones() -> None:
    pretrain = job("70B", "pretrain")
    assert (pretrain.tokens, pretrain.days, pretrain.batch) == (1.4e12, 30, 1)
    assert (job("70B").tokens, job("70B").batch) == (None, 8)
