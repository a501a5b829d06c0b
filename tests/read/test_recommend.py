"""Recommendations: sensible machines for known jobs, and why the others are left out."""

import io
import json
import math
import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import typer
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from tests.helpers.cases import cases, named_cases, optional
from tests.helpers.releases import Release, with_private_hosts

import hwprices
from hwprices.cli.compare import with_serving
from hwprices.cli.recommend import Beside, read_number, render_recommendation
from hwprices.errors import HwpricesError
from hwprices.read.overlays import rules
from hwprices.read.ownership import Ownership
from hwprices.read.recommend import media
from hwprices.read.recommend.job import assumptions, make_job
from hwprices.read.recommend.question import Question
from hwprices.read.recommend.recommend import OUTPUT, REASONS, recommend
from hwprices.units import Money


def ranked(
    release: Release, model: float | str, workload: str = "inference", **more: Any
) -> tuple[pl.DataFrame, Mapping[str, str]]:
    """The machines that the job fits on, and the reason by machine for the others."""
    frame = recommend(model, workload, dataset=release, **more)
    assert frame.columns == [*OUTPUT]
    excluded = frame.drop_nulls("excluded_reason")
    assert excluded["excluded"].null_count() == 0, "every code has a sentence"
    reasons = dict(excluded.select("machine", "excluded").iter_rows())
    return frame.filter(pl.col("excluded_reason").is_null()), reasons


@named_cases("read/recommended", "question", "fit", "machines", "release")
def test_which_machines_do_a_job_and_why_others_do_not(
    release: Release, case: Mapping[str, Any]
) -> None:
    """Texts are patterns; null: not in the answer. ``fit``: all that are ranked, if listed."""
    own = with_images(release) if case.get("release") == "images" else release
    frame = recommend(**case["question"], dataset=own)
    assert frame.columns == [*OUTPUT]
    assert set(frame["excluded_reason"].drop_nulls()) <= set(REASONS["excluded_reason"])
    if "fit" in case:
        assert frame.drop_nulls("rank")["machine"].to_list() == case["fit"].split()
    rows = {row["machine"]: row for row in frame.iter_rows(named=True)}
    for machine, expected in case["machines"].items():
        row = rows.get(machine)
        for column, value in (expected or {}).items():
            found = row[column]
            if value is None or isinstance(value, str):
                assert re.fullmatch(str(value), str(found)), (machine, found)
            else:
                assert float(found) == pytest.approx(value), (machine, column)
        assert (row is None) == (expected is None), machine


@cases("read/users", serving=json.loads, users=json.loads)
def test_the_speed_of_one_user_is_asked_where_nothing_is_said_of_users(release, serving, users):
    """As with the command; with requests it said that they are the same as concurrency."""
    fit, _ = ranked(release, "7B", objective="speed", **serving)
    if users is None:
        assert fit["concurrency"].max() > 1  # type: ignore[operator]
        return
    assert set(fit["concurrency"]) == {users}
    named = serving | {"concurrency": users}
    assert fit.equals(ranked(release, "7B", objective="speed", **named)[0])


@pytest.mark.parametrize("workload", ["batch", "pretrain"])
def test_of_equally_fast_machines_the_cheaper_is_first(workload: str) -> None:
    """A copy of the model is as fast on a machine of one GPU as on one of eight."""
    sample = hwprices.open("sample")
    frame = recommend("7B", workload, objective="speed", dataset=sample, where="cloud")
    ranked = frame.drop_nulls("rank").sort("rank")
    each = pl.col("tokens_per_second_per_user") / pl.col("tokens_per_second")
    speed = pl.col("tokens_per_second_low") * (each if workload == "batch" else 1)
    rows = ranked.select(-speed.round_sig_figs(9), pl.col("basis") != "measured", "usd").rows()
    assert rows == sorted(rows)
    assert len({row[:2] for row in rows}) < len(rows)


def test_inference_is_ranked_by_the_work_and_not_by_the_hour(release: Release) -> None:
    fit, _ = ranked(release, "llama-2-70b", "inference", where="cloud")
    cost = fit["usd_per_million_tokens"].to_list()
    assert cost == sorted(cost)
    assert fit["usd_per_hour"].to_list() != sorted(fit["usd_per_hour"])


def test_7b_lora_is_answered_with_a_small_machine_first(release: Release) -> None:
    """A machine that is bought never stands among those that are rented."""
    fit, _ = ranked(release, "7B", "lora", context=2048)
    rented, bought = fit.filter(where="cloud"), fit.filter(where="local")
    assert rented["total_accelerators"].head(2).max() <= 4
    assert bought["machine"].to_list() == ["pc-rtx-4090", "dgx-h100"]
    for listed in (rented, bought):
        assert listed["rank"].to_list() == list(range(1, listed.height + 1))


def test_lora_on_narrow_weights_is_not_faster_than_on_16_bits(release: Release) -> None:
    """The weights are unpacked and computed in 16 bits."""
    hours = {
        precision: ranked(release, "7B", "lora", precision=precision)[0]
        .filter(machine="g6e.12xlarge")["hours"]
        .item()
        for precision in ("bf16", "int8", "int4")
    }
    assert hours["bf16"] < hours["int8"] == hours["int4"]


def test_each_user_gets_the_speed_that_is_asked_for(release: Release) -> None:
    slow, _ = ranked(release, "llama-3.1-8b", min_tokens_per_second=10)
    fast, out = ranked(release, "llama-3.1-8b", min_tokens_per_second=100)
    assert fast["tokens_per_second_per_user"].min() >= 99.9  # type: ignore[operator]
    assert any("does not reach the speed per user" in reason for reason in out.values())
    both = slow.join(fast, on="machine", suffix="_fast")
    assert (both["usd_per_million_tokens_fast"] >= both["usd_per_million_tokens"]).all()


@settings(max_examples=10, deadline=None)
@given(
    st.sampled_from(["llama-2-70b", "llama-3.1-8b", "mixtral-8x7b"]),
    st.floats(min_value=1, max_value=100),
    st.floats(min_value=0.05, max_value=3),
    st.sampled_from([None, 1, 20, 500]),
)
def test_no_ranked_machine_breaks_a_limit(release, model, wanted, latest, users) -> None:
    asked = {
        "concurrency": users,
        "min_tokens_per_second": wanted,
        "max_seconds_to_first_token": latest,
    }
    fit, _ = ranked(release, model, **asked, machines="all")
    each = fit["tokens_per_second_per_user"]
    assert (each >= wanted * (1 - 1e-9)).all()
    assert (fit["seconds_to_first_token"] <= latest * (1 + 1e-9)).all()


def test_costs_are_of_the_requests_asked_for_not_of_all_that_a_machine_could_do(release) -> None:
    """2 requests/s of 2,000 and 300 tokens: 55.04 × 10^6 / (4,600 × 3600) is 3.3237 USD."""
    serving = {"input_tokens": 2000, "output_tokens": 300, "requests_per_second": 2}
    fit, _ = ranked(release, "llama-3.1-8b", **serving)
    p5 = fit.filter(machine="p5.48xlarge").row(0, named=True)
    assert p5["tokens_per_second_low"] > 10_000
    assert float(p5["usd_per_million_tokens"]) == pytest.approx(3.3237, abs=1e-4)
    assert p5["usd_per_million_tokens_low"] == p5["usd_per_million_tokens"]
    grams = p5["operational_gco2e"] * 1e6 / (4600 * 3600)
    assert p5["gco2e_per_million_tokens"] == pytest.approx(grams)
    rented = fit.filter(where="cloud")
    assert rented["usd_per_hour"].to_list() == rented["usd_per_hour"].sort().to_list()
    assert "600 tokens/s of output, which costs are divided by" in p5["assumed"]
    pc = fit.filter(machine="pc-rtx-4090").row(0, named=True)
    saved = float(rented["usd_per_hour"][0]) - 0.65 * 1.56 * 0.13 * pc["nodes"]
    assert pc["payback_hours"] == pytest.approx(float(pc["purchase_price_usd"]) / saved)


def test_a_model_published_in_four_bits_is_served_in_them(release: Release) -> None:
    """OpenAI's gpt-oss-120b takes 60.8 GiB and runs on one GPU of 80 GB; here 61.2 GiB."""
    fit, _ = ranked(release, "gpt-oss-120b")
    assert set(fit["precision"]) == {"fp4"}
    assert "4-bit weights as released" in fit["assumed"][0]
    p5 = fit.filter(machine="p5.48xlarge").row(0, named=True)
    assert p5["compute_format"] == "bf16"
    assert p5["memory_needed_gib"] == pytest.approx(116.8 * 4.5 / 8 / 2**30 * 1e9 + 0.8, abs=0.1)
    asked, _ = ranked(release, "gpt-oss-120b", precision="fp8")
    assert asked.filter(machine="p5.48xlarge")["memory_needed_gib"].item() > 108
    assert "8-bit weights" in recommend("llama-3.1-70b", dataset=release)["assumed"][0]
    trained = recommend("gpt-oss-20b", "lora", dataset=release)
    assert set(trained["precision"].drop_nulls()) == {"bf16"}


def test_machines_in_a_row_are_not_faster_for_one_user(release: Release) -> None:
    """The network between two machines is not memory bus: a token passes one after the other."""
    job = {"precision": "bf16", "concurrency": 1, "max_nodes": 2}
    fit, _ = ranked(release, "llama-3.1-405b", "inference", **job)
    speed = dict(fit.select("machine", "tokens_per_second").iter_rows())
    assert speed["p5.48xlarge"] < speed["p5en.48xlarge"]


def test_70b_pretraining_takes_many_machines_with_rdma(release: Release) -> None:
    fit, out = ranked(release, "70B", "pretrain")
    assert "g6.xlarge" in out
    assert "pc-rtx-4090" in out
    gpus = fit.filter(~pl.col("accelerator_id").str.starts_with("google"))
    assert gpus["nodes"].min() > 50  # type: ignore[operator]
    best = gpus.row(0, named=True)
    assert best["machine"] == "p5.48xlarge"
    # 6 × 70e9 × 1.4e12 operations / (989.4e12 × 0.4 × 0.911) = 453,000 GPU-hours, and attention
    assert best["hours"] * best["total_accelerators"] == pytest.approx(453_000, rel=0.07)
    assert best["hours"] <= 30 * 24


def test_attention_makes_long_sequences_dearer(release: Release) -> None:
    """6 N a token are 48 GFLOP for 8B; attention to 131,072 tokens adds 103."""
    short, _ = ranked(release, "llama-3.1-8b", "lora", context=4096)
    long, _ = ranked(release, "llama-3.1-8b", "lora", context=65_536)
    hours = [fit.filter(machine="p5.48xlarge")["hours"].item() for fit in (short, long)]
    assert hours[1] > 2 * hours[0]


@cases("read/recommended_places", limits=yaml.safe_load)
def test_places_are_understood_as_in_find(release: Release, limits: dict[str, str]) -> None:
    """Every offer of the small release is in these places, however they are spelled."""
    everywhere, _ = ranked(release, "7B", "lora")
    there, _ = ranked(release, "7B", "lora", **limits)
    assert there.equals(everywhere)


def test_memory_that_no_vendor_states_is_that_of_the_accelerators_sheet(release: Release) -> None:
    """Nebius, Together and Oracle name the GPUs and not their memory: 8 × 80 GiB of an H100."""
    unstated = pl.col("accelerators").list.eval(
        pl.element().struct.with_fields(memory_gib=pl.lit(None, dtype=pl.Float64))
    )
    nothing = pl.lit(None, dtype=pl.Float64)
    tables = release.tables | {
        "instance_types": release.tables["instance_types"].with_columns(
            accelerators=unstated, accelerator_memory_gib=nothing
        ),
        "offers": release.tables["offers"].with_columns(accelerator_memory_gib=nothing),
    }
    columns = ["machine", "rank", "memory_usable_gib", "usd_per_million_tokens"]
    stated, _ = ranked(release, "llama-3.1-70b")
    from_sheet, _ = ranked(Release(tables), "llama-3.1-70b")
    p5 = from_sheet.filter(machine="p5.48xlarge")
    assert p5["memory_usable_gib"].item() == pytest.approx(8 * 80 * 0.9)
    assert from_sheet.select(columns).equals(stated.select(columns))


def test_a_machine_to_buy_whose_cpus_compute_has_no_accelerator(release: Release) -> None:
    """Raspberry Pi 5: its 16 GB are those of its CPU."""
    machines = release.tables["local_hardware"].with_columns(
        accelerator_id=pl.lit("raspberry-pi-5"),
        accelerator_memory_gb=pl.lit(None, dtype=pl.Float64),
        unified_memory=True,
        complete=True,
    )
    _, out = ranked(Release({**release.tables, "local_hardware": machines}), "llama-3.1-8b")
    assert out["dgx-h100"] == "it has no accelerator"


def test_community_hosts_are_left_out_unless_asked_for(release: Release) -> None:
    """They are the cheapest, and nobody knows whether one is free: the line below names one."""
    hosts = with_private_hosts(release, ["g6.xlarge"])
    _, out = ranked(hosts, "7B", "lora", context=2048)
    assert out["g6.xlarge"] == "it is a community host; ask with the word community"
    for limits in ({"words": "community"}, {"region": "community"}):
        fit, _ = ranked(hosts, "7B", "lora", context=2048, **limits)
        assert "g6.xlarge" in set(fit["machine"])
    frame = recommend("7B", "lora", context=2048, dataset=hosts)
    assert "(1) are not ranked; the cheapest: g6.xlarge, runpod/community" in drawn(frame)


@pytest.mark.parametrize(
    ("objective", "column", "descending"),
    [
        ("cost", "usd", False),
        ("carbon", "operational_gco2e", False),
        ("speed", "tokens_per_second", True),
    ],
)
def test_each_objective_ranks_by_its_figure(release, objective, column, descending) -> None:
    fit, _ = ranked(release, "llama-3.1-8b", "lora", objective=objective, where="cloud")
    assert fit["rank"].to_list() == list(range(1, fit.height + 1))
    values = fit[column].drop_nulls()
    assert values.to_list() == values.sort(descending=descending).to_list()
    assert fit[column].null_count() == 0 or fit[column].to_list()[-1] is None, (
        "what is not known comes last"
    )


def with_commitments(release: Release) -> Release:
    """The release with two commitments of a year on the A3, as offers would choose them."""
    is_a3 = pl.col("instance_type") == "a3-highgpu-8g"
    price, option = "best_1y_usd_per_hour", "best_1y_option"
    offers = release.tables["offers"].with_columns(
        pl.when(is_a3).then(pl.lit(Decimal("61.38"))).cast(pl.Decimal(20, 10)).alias(price),
        pl.when(is_a3).then(pl.lit("committed_use_1y")).alias(option),
    )
    return Release({**release.tables, "offers": offers})


def test_the_best_commitment_is_named(release: Release) -> None:
    """The answer said "best 1y" and not which reservation, plan or commitment that is."""
    own = with_commitments(release)
    frame = recommend("llama-3.1-70b", dataset=own, where="cloud", option="commit_1y")
    a3 = frame.filter(rank=1).row(0, named=True)
    assert (a3["machine"], a3["purchase_option"]) == ("a3-highgpu-8g", "best_1y")
    assert (a3["best_1y_option"], a3["best_3y_option"]) == ("committed_use_1y", None)
    text = drawn(frame)
    assert "a3-highgpu-8g at gcp/us-central1, committed use 1y" in text
    assert "best 1y" not in text
    assert recommend("7B", "lora", dataset=own, where="local")["best_1y_option"].count() == 0


def test_a_narrow_terminal_keeps_what_machines_are_ranked_by(release: Release) -> None:
    """The price of the work was left out before the number of machines; so was the evidence."""
    frame = recommend("llama-3.1-70b", dataset=release, where="cloud")
    console = Console(file=io.StringIO(), width=50)
    console.print(render_recommendation(frame, top=2))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    headings = next(line.split() for line in lines if line.startswith("   machine"))
    assert headings == ["machine", "GPUs", "$/GPU", "tokens"], headings
    assert re.search("in each row: .*basis (?:measured|modeled)", " ".join(lines)), lines


def test_the_first_sentence_and_three_options_fit_80_columns(release: Release) -> None:
    """The options hid tok/s per user; offers in EUR were named behind the assumptions."""
    frame = recommend("70B", dataset=release, where="cloud")
    job = make_job(Question("70B"))
    euros = frame.tail(1).with_columns(
        excluded=pl.lit("priced in EUR"), excluded_reason=pl.lit("other_currency")
    )
    console = Console(file=io.StringIO(), width=80)
    console.print(render_recommendation(pl.concat([frame, euros]), 2, beside=Beside(frame, job)))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    first, _, rest = " ".join(text.split()).partition(" Assumed: ")
    assert first.endswith(" tok/s per user; left out: 1 priced in EUR (--usd-per EUR=…).")
    options = rest.partition(" To rent ")[0]
    assert "$/1M tok/s machine USD/h tokens per user cheapest" in options
    columns = next(line.split() for line in text.splitlines() if line.startswith("   machine  "))
    assert columns[1:] == ["GPUs", "USD/h", "$/GPU", "tokens", "tok/s", "input"]
    assert "hidden" not in options


def test_the_assumptions_come_first(release: Release) -> None:
    frame = recommend("671B", dataset=release)
    assert "ask for deepseek-v3" in frame["assumed"][0]
    for model in ("llama-2-70b", "llama-3.1-8b", "deepseek-r1"):
        assumed = recommend(model, dataset=release)["assumed"][0]
        assert assumed.startswith("1,024 tokens in and 256 out; at least 20 tok/s per user; first")


def with_images(release: Release) -> Release:
    """The release with SDXL measured on eight H100: 18 images a second."""
    rows = release.tables["benchmarks"].filter(accelerator_id="nvidia-h100-sxm5-80gb")
    images = rows.with_columns(
        model=pl.lit("stable-diffusion-xl"),
        result=pl.lit(18.0),
        per_accelerator=pl.lit(2.25),
        result_unit=pl.lit("Samples/s"),
    )
    return Release({**release.tables, "benchmarks": images})


def test_samples_are_ranked_by_grams_which_are_shown(release: Release) -> None:
    """p5.48xlarge: 6.846 kW × 1.15 × 323.05 g are 2,543 g/h, of 18 × 3,600 images 39.25 / 1,000.

    A release takes the watts of its own CPU: 2,475 to 2,545 g.
    """
    frame = recommend("SDXL", dataset=with_images(release), objective="carbon")
    fit = frame.filter(where="cloud").drop_nulls("rank")
    grams = fit["gco2e_per_thousand_samples"].to_list()
    assert grams == sorted(grams)
    p5 = fit.filter(machine="p5.48xlarge").row(0, named=True)
    assert p5["gco2e_per_thousand_samples"] == pytest.approx(p5["operational_gco2e"] / 64.8)
    assert p5["gco2e_per_thousand_samples"] == pytest.approx(39, abs=1)
    assert "gCO2e/1000" in drawn(frame)


def test_equally_fast_machines_are_ranked_by_their_price(release: Release) -> None:
    """Every machine with eight H100 makes as many images; so does each in all of its regions."""
    offers = release.tables["offers"]
    dear = offers.filter(instance_type="a3-highgpu-8g").with_columns(
        region=pl.lit("asia-northeast1"), on_demand_usd_per_hour=pl.lit(Decimal("126.64"))
    )
    both = pl.concat([offers, dear], how="vertical_relaxed")
    measured = with_images(Release({**release.tables, "offers": both}))
    frame = recommend("SDXL", dataset=measured, objective="speed", where="cloud")
    assert frame.drop_nulls("rank").select("machine", "region").rows() == [
        ("p5.48xlarge", "us-east-1"),  # 55.04 USD/h
        ("a3-highgpu-8g", "us-central1"),  # 88.49
        ("Standard_ND96isr_H100_v5", "eastus"),  # 98.32
    ]


def test_speech_is_priced_and_untuned_software_is_named(release: Release) -> None:
    """MLPerf's samples of speech; MLCommons' reference implementation on a GPU says little."""
    rows = release.tables["benchmarks"].filter(accelerator_id="nvidia-h100-sxm5-80gb")
    tuned = rows.with_columns(
        model=pl.lit("whisper"),
        result=pl.lit(348.0),
        per_accelerator=pl.lit(43.5),
        result_unit=pl.lit("Samples/s"),
    )
    untuned = tuned.with_columns(
        accelerator_id=pl.lit("nvidia-l4"),
        system=pl.lit("GATEOverflow/GATEOverflow_AMD_AM5-reference-gpu-vllm-default_config"),
        accelerator_count=1.0,
        per_accelerator=pl.lit(1.46),
    )
    speech = Release({**release.tables, "benchmarks": pl.concat([tuned, untuned])})
    medium = media.benchmark(Question("FLUX.1-dev"))
    assert medium is not None
    assert medium["benchmark"] == "flux.1-dev"
    frame = recommend("whisper-large-v3", dataset=speech)
    p5 = frame.filter(machine="p5.48xlarge").row(0, named=True)
    assert float(p5["usd_per_thousand_samples"]) == pytest.approx(55.04 / (348 * 3.6))
    assert "1,000 samples are 6.6 hours of speech" in p5["assumed"]
    l4 = frame.filter(machine="g6.xlarge")
    assert l4["basis"].item() == "reference"
    assert "measured, untuned" in drawn(l4)


def test_rates_and_discounts_of_limits_may_be_written_as_everywhere(release, tmp_path) -> None:
    """``usd_per={"EUR": "1.08"}`` was a ValueError, a file of rules an AttributeError."""
    offers = release.tables["offers"].with_columns(
        on_demand_hourly="on_demand_usd_per_hour",
        currency=pl.lit("EUR"),
        on_demand_usd_per_hour=pl.lit(None, dtype=pl.Decimal(20, 10)),
    )
    in_euro = Release({**release.tables, "offers": offers})
    costs = []
    for rates in ({"eur": 2}, {"EUR": "2.0"}, {"EUR": Decimal(2)}):
        fit, _ = ranked(in_euro, "7B", usd_per=rates, where="cloud")
        costs.append(dict(fit.select("machine", "usd_per_hour").iter_rows()))
    assert costs[0] == costs[1] == costs[2]
    assert costs[0]["p5.48xlarge"] == 2 * Decimal("55.04")
    with pytest.raises(HwpricesError, match="this is not an exchange rate"):
        ranked(release, "7B", usd_per={"EUR": "much"})
    file = tmp_path / "discounts.yaml"
    file.write_text("- {match: {provider: aws}, discount: 50%}")
    for overlays in (str(file), file, rules.load(file)):
        fit, _ = ranked(release, "7B", overlays=overlays, where="cloud")
        (own,) = fit.filter(machine="p5.48xlarge")["usd_per_hour"]
        assert own == Decimal("27.52")


@settings(max_examples=15, deadline=None)
@given(st.floats(min_value=1e9, max_value=3e11), st.integers(min_value=512, max_value=16_384))
def test_what_fits_with_a_longer_context_fits_with_a_shorter(release, size, context) -> None:
    one = {"concurrency": 1}
    long, _ = ranked(release, size, "inference", context=2 * context, **one)
    short, _ = ranked(release, size, "inference", context=context, **one)
    assert set(long["machine"]) <= set(short["machine"])


@pytest.mark.parametrize("workload", ["pretrain", "full_finetune", "lora", "inference"])
@pytest.mark.parametrize("size", [1e7, 1e14])
def test_extreme_jobs_do_not_fail(release: Release, workload: str, size: float) -> None:
    for context in (1, 10_000_000):
        fit, out = ranked(release, size, workload, context=context, max_nodes=10**9)
        assert fit.height + len(out) > 0


@pytest.mark.parametrize("machines", ["accelerators", "all"])
def test_a_machine_to_buy_pays_after_the_same_hours_also_where_only_those_are_asked(
    release: Release, machines: str
) -> None:
    columns = ["machine", "rank", "rent_usd_per_hour", "payback_hours"]
    alone, both = (
        ranked(release, "llama-3.1-8b", where=where, machines=machines)[0]
        for where in ("local", None)
    )
    bought = both.filter(where="local").select(columns)
    assert alone.select(columns).equals(bought)
    assert bought["payback_hours"].null_count() == 0
    assert both.filter(where="cloud")["rent_usd_per_hour"].null_count() == both.height - 2


def test_setup_counts_for_the_owner_of_a_training_as_for_the_rent(release: Release) -> None:
    """DGX H100 has the GPUs of p5.48xlarge: an hour of its work costs 55.04 USD there.

    So it pays as in ``tco``, after 269,000 / (55.04 - 2.0686) = 5,078.2 hours, however short the
    training is: 0.30 hours and 0.25 of setup on both.
    """
    offers = release.tables["offers"].filter(instance_type="p5.48xlarge")
    one = Release({**release.tables, "offers": offers})
    fit, _ = ranked(one, "7B", "lora")
    alike = fit.filter(accelerator_id="nvidia-h100-sxm5-80gb")
    assert alike["hours"].to_list() == [pytest.approx(0.2963, abs=1e-4)] * 2
    dgx = fit.filter(machine="dgx-h100").row(0, named=True)
    assert float(dgx["rent_usd_per_hour"]) == pytest.approx(55.04)
    assert dgx["payback_hours"] == pytest.approx(5078.2, abs=0.5)


def test_never_is_only_where_the_electricity_costs_more_than_renting(release: Release) -> None:
    """10.2 kW × 1.56 × 4 USD are 63.65 USD/h, more than renting; 0.13 are 2.07."""
    frame = recommend("llama-2-70b", dataset=release, where="local")
    assert "7,700 h" in drawn(frame)
    dear = Ownership(usd_per_kwh=4)
    frame = recommend("llama-2-70b", dataset=release, where="local", ownership=dear)
    assert frame["payback_hours"].null_count() == frame.height
    assert "never" in drawn(frame)
    nothing = {"option": "block", "where": "local"}
    frame = recommend("llama-2-70b", dataset=release, **nothing)
    text = drawn(frame)
    assert frame["rank"].to_list()[0] == 1
    assert frame["rent_usd_per_hour"].null_count() == frame.height
    assert "never" not in text
    assert "Payback is unknown" in text


def test_a_payback_after_the_machines_life_is_said_so(release: Release) -> None:
    """At half of all hours 5 years are 21,900."""
    frame = recommend("llama-2-70b", dataset=release, where="local")
    assert frame["payback_hours"][0] == pytest.approx(7682.2, abs=0.5)
    assert "> 5 years" not in drawn(frame)
    late = frame.with_columns(payback_hours=pl.col("payback_hours") * 3)
    assert "> 5 years" in drawn(late)


@cases("read/wrong_questions", question=yaml.safe_load)
def test_a_wrong_value_is_an_error_in_one_line(release, question, message) -> None:
    with pytest.raises(HwpricesError, match=message) as caught:
        recommend(**{"model_parameters": "7B", **question}, dataset=release)
    assert "\n" not in str(caught.value)


@cases("read/contexts", context=yaml.safe_load, asked=yaml.safe_load, expected=yaml.safe_load)
def test_a_context_changes_no_length_that_is_asked(context, asked, expected) -> None:
    job = make_job(Question("70B", context=context, input_tokens=asked[0], output_tokens=asked[1]))
    assert [job.input_tokens, job.output_tokens] == expected


@cases("read/precisions")
def test_a_precision_is_known_by_its_other_names(asked: str, expected: str) -> None:
    assert make_job(Question("7B", precision=asked)).precision == expected
    assert make_job(Question("7B", "lora", precision=asked)).precision == expected


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("mistral large", "mistral large is Mistral Large 2 123B; "),
        ("llama-3.1-8b", ""),
        ("7B", ""),
    ],
)
def test_the_size_of_a_model_that_was_left_out_is_said(model: str, said: str) -> None:
    assert assumptions(make_job(Question(model))).startswith(f"{said}1,024 tokens in")


def test_the_defaults_are_the_documented_ones() -> None:
    pretrain, service = make_job(Question("70B", "pretrain")), make_job(Question("70B"))
    assert (pretrain.tokens, pretrain.days, pretrain.precision) == (1.4e12, 30, "bf16")
    assert (service.input_tokens, service.output_tokens) == (1024, 256)
    batch = make_job(Question("70B", "batch"))
    assert (batch.tokens, batch.days) == (1e9, 1)
    alone = make_job(Question("70B", concurrency=1))
    limits = (
        *("min_tokens_per_second", "max_seconds_to_first_token"),
        *("concurrency", "requests_per_second"),
    )
    jobs = [[getattr(job, name) for name in limits] for job in (service, batch, alone)]
    assert jobs == [[20, 2, None, None], [None] * 4, [None, None, 1, None]]


def drawn(frame: pl.DataFrame) -> str:
    """What the command prints of an answer."""
    console = Console(file=io.StringIO(), width=200)
    console.print(render_recommendation(frame, top=2))
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_machines_to_rent_and_to_buy_are_counted_apart(release: Release) -> None:
    """Asked for together, each list has the counts that it has alone."""
    both = drawn(recommend("llama-3.1-70b", dataset=release))
    for where, title in (("cloud", "To rent"), ("local", "To buy")):
        alone = recommend("llama-3.1-70b", dataset=release, where=where)
        fit = alone["rank"].count()
        counts = f"{title} ({fit} machines fit, {alone.height - fit} do not)"
        assert counts in both
        assert counts in drawn(alone)
    none = drawn(recommend("llama-3.1-70b", dataset=release, budget_to_buy=1))
    assert "To buy: 0 machines fit, 3 do not:" in none


def test_why_no_machine_fits_is_counted_with_the_nearest_of_each_reason(release: Release) -> None:
    text = drawn(recommend("100T", dataset=release, where="cloud"))
    assert re.search(r"To rent: 0 machines fit, \d+ do not:", text)
    (line,) = [line for line in text.splitlines() if "can be used" in line][:1]
    assert re.match(r"  \d+ such as p5en.48xlarge: needs 93\d+.\d GiB, 1015.2 of its 1128.0", line)
    assert "Try: --max-nodes joins several machines" in text
    cpus = drawn(recommend("70B", dataset=release, machines="cpus"))
    assert "Try: --machines accelerators runs larger models." in cpus


def test_prices_of_an_hour_are_headed_so(release: Release) -> None:
    of_gcp = {"provider": "gcp", "where": "cloud"}
    lines = drawn(recommend("llama-3.1-8b", "lora", dataset=release, **of_gcp)).splitlines()
    assert "spot/h" in lines[4]


def test_how_many_machines_the_price_to_buy_is_for_is_shown(release: Release) -> None:
    """5,000 users of Llama 2 70B at 30 tokens/s take several DGX H100 of 269,000 USD."""
    users = {"concurrency": 5000, "min_tokens_per_second": 30}
    frame = recommend("llama-2-70b", dataset=release, where="local", **users)
    dgx = frame.filter(machine="dgx-h100").row(0, named=True)
    assert dgx["nodes"] > 1
    assert dgx["purchase_price_usd"] == dgx["nodes"] * 269_000
    assert drawn(frame).count(f"{dgx['nodes']} × dgx-h100") == 2


def test_a_recommendation_is_drawn_as_a_table(release: Release) -> None:
    lines = drawn(recommend("70B", dataset=release)).splitlines()
    assert lines[0].startswith("Serve it on ct6e-standard-4t at gcp/us-central1: ")
    assert re.search(r"\$0\.\d\d–0\.\d\d per 1M tokens at 20 tok/s per user", lines[0])
    assert lines[1].startswith("Assumed: 1,024 tokens in and 256 out")
    assert "machines fit" in lines[2]
    assert any(line.startswith("To buy") for line in lines)
    assert "hours" not in lines[3], "a service has no hours"


def test_a_question_is_asked_whole(release: Release) -> None:
    question = Question("7B", "lora", budget=20)
    asked = recommend(question, dataset=release)
    assert asked.equals(recommend("7B", "lora", budget=20, dataset=release))
    with pytest.raises(HwpricesError, match="beside a Question"):
        recommend(question, budget=5, dataset=release)


@cases("read/serve_commands", precision=optional, command=optional)
def test_commands_of_vllm_and_sglang_fit_the_machine(release, model, precision, machine, command):
    """All accelerators work, the lengths are the question's, and others than GPUs have none."""
    answer = recommend(model, precision=precision, dataset=release).filter(machine=machine)
    both = answer.select("serve_command", "sglang_command").row(0)
    if command is None:
        assert both == (None, None)
        return
    vllm, sglang = both
    assert re.match(f"vllm serve {command}", vllm)
    assert re.match(rf"python -m sglang\.launch_server --model-path {command}", sglang)
    for written, sizes in ((vllm, "(?:tensor|data)-parallel-size"), (sglang, "(?:tp|dp)-size")):
        assert math.prod(map(int, re.findall(rf"--{sizes} (\d+)", written))) == 8
    assert "--max-model-len 1280" in vllm
    assert "--context-length 1280" in sglang
    assert vllm.rpartition(" ")[2] == sglang.rpartition(" ")[2], "users of a copy"


def test_a_mixture_of_experts_is_described_by_its_two_sizes(release: Release) -> None:
    """671B with 37B active is DeepSeek-R1's: its weights need 8 H200 or B200, and no 8 H100."""
    rows = {
        model: recommend(*asked, dataset=release, **named).select("machine", "memory_needed_gib")
        for model, asked, named in [
            ("named", ("deepseek-r1",), {}),
            ("sizes", ("671B",), {"active_parameters": "37B"}),
        ]
    }
    sizes, named = (dict(rows[model].drop_nulls().iter_rows()) for model in ("sizes", "named"))
    assert sizes["p5.48xlarge"] == pytest.approx(named["p5.48xlarge"], rel=0.1)


@pytest.mark.parametrize(
    "limits", [{"words": "h100 l4"}, {"accelerator": "h100,l4"}, {"accelerator": ["H100", "l4"]}]
)
def test_machines_are_limited_to_accelerators_by_name(release: Release, limits: Any) -> None:
    answer = recommend("llama-3.1-8b", **limits, dataset=release)
    assert set(answer["accelerator_id"]) == {"nvidia-h100-sxm5-80gb", "nvidia-l4"}


@cases("read/contradicting_limits", limits=yaml.safe_load)
def test_accelerators_and_machines_without_any_contradict(release: Release, limits: Any) -> None:
    with pytest.raises(HwpricesError):
        recommend("llama-3.1-8b", **limits, dataset=release)


def test_a_kind_includes_machines_whose_accelerator_is_unclear(sample_root: str) -> None:
    data = hwprices.open(sample_root)
    gpus, h100s = (data.recommend("8B", accelerator=n, where="cloud") for n in ("gpu", "h100"))
    unclear = h100s.filter(excluded_reason="accelerators_unclear")["machine"]
    assert len(unclear)
    assert set(unclear) <= set(gpus["machine"])


@pytest.mark.parametrize("limits", [{"words": "tpu"}, {"accelerator": "tpu"}])
def test_machines_are_limited_to_a_kind_of_accelerator(sample_root: str, limits: Any) -> None:
    answer = hwprices.open(sample_root).recommend("llama-3.1-8b", **limits, where="cloud")
    assert answer["accelerator_id"].str.starts_with("google-tpu-").all()
    assert answer["machine"].str.starts_with("ct").any()


def test_machines_are_compared_by_how_they_serve_a_model(release: Release) -> None:
    named = pl.DataFrame({"provider": ["aws"] * 2, "instance_type": ["p5.48xlarge", "g6.xlarge"]})
    p5, g6 = with_serving(named, "llama-3.3-70b", release).to_dicts()
    ranked = recommend("llama-3.3-70b", dataset=release).filter(machine="p5.48xlarge")
    assert p5["usd_per_million_tokens"] == ranked["usd_per_million_tokens"][0] > 0
    assert p5["tokens_per_second"] == ranked["tokens_per_second_low"][0]
    assert p5["does_not_serve"] is None
    assert g6["tokens_per_second"] is None
    assert g6["does_not_serve"].startswith("needs 66")


def test_accelerators_are_compared_by_how_one_of_them_serves_a_model(release: Release) -> None:
    """Of H100 the best machine to rent counts, of L4 none serves a model of 70 billion."""
    ids = ["nvidia-h100-sxm5-80gb", "nvidia-l4", "nvidia-rtx-4090"]
    named = pl.DataFrame({"device_id": ids, "name": ["H100", "L4", "RTX 4090"]})
    h100, l4, none = with_serving(named, "llama-3.3-70b", release).to_dicts()
    ranked = recommend("llama-3.3-70b", dataset=release, where="cloud")
    best = ranked.filter(accelerator_id=ids[0]).row(0, named=True)
    assert h100["served_on"] == f"{best['machine']} at {best['provider']}"
    for end, column in (("low", "tokens_per_second"), ("high", "tokens_per_second_high")):
        assert h100[column] == best[f"tokens_per_second_{end}"] / best["total_accelerators"]
    assert h100["usd_per_million_tokens_low"] < h100["usd_per_million_tokens"]
    assert l4["does_not_serve"].startswith("needs 66")
    assert (l4["tokens_per_second"], none["does_not_serve"]) == (None, None)


def test_a_data_centers_machine_is_compared_before_a_community_hosts(release: Release) -> None:
    """RunPod sells machines of one name in both; the order of the offers does not matter."""
    hosts = with_private_hosts(release, ["p5.48xlarge"]).tables
    offers, place = hosts["offers"], hosts["regions"].filter(region="community")
    twice = (pl.col("on_demand_usd_per_hour", "on_demand_hourly") * 2).cast(Money)
    center = offers.filter(region="community").with_columns(twice, region=pl.lit("US-1"))
    regions = pl.concat([hosts["regions"], place.with_columns(region=pl.lit("US-1"))])
    named = pl.DataFrame({"provider": ["runpod"], "instance_type": ["p5.48xlarge"]})
    for rows in ([offers, center], [center, offers]):
        both = Release({**hosts, "offers": pl.concat(rows), "regions": regions})
        (served,) = with_serving(named, "llama-3.3-70b", both).to_dicts()
        answer = recommend("llama-3.3-70b", dataset=both).filter(machine="p5.48xlarge")
        cost = dict(answer.select("region", "usd_per_million_tokens").iter_rows())
        assert served["usd_per_million_tokens"] == cost["US-1"] > cost["community"]


def test_machines_for_embeddings_are_ranked_by_speed_when_asked_for(release: Release) -> None:
    """A text has no speed per user: with the objective speed the cheapest hour was first."""
    frame = recommend("bge-m3", objective="speed", dataset=release, where="cloud")
    rates = frame.drop_nulls("rank")["tokens_per_second_low"].to_list()
    assert len(rates) > 1
    assert rates == sorted(rates, reverse=True)


def test_embeddings_cost_money_for_what_they_read(release: Release) -> None:
    """8 H100 at 55.04 USD/h read a text of 1,024 tokens with 2 × 6.98 × 10^9 operations each."""
    frame = recommend("intfloat/e5-mistral-7b-instruct", dataset=release)
    p5 = frame.filter(machine="p5.48xlarge").row(0, named=True)
    flops = 2 * 6.98e9 + 4 * 4096 * 32 * 512
    assert 0.4 < p5["tokens_per_second"] * flops / (8 * 989.4e12) < 0.7
    expected = 55.04 / (p5["tokens_per_second_low"] * 3600 / 1e6)
    assert float(p5["usd_per_million_tokens"]) == pytest.approx(expected, rel=1e-6)
    assert p5["usd_per_million_input_tokens"] == p5["usd_per_million_tokens"]
    assert p5["usd_per_million_output_tokens"] is None
    assert p5["tokens_per_second_per_user"] is None
    assert (p5["basis"], p5["precision"]) == ("modeled", "bf16")
    assert "--runner pooling" in p5["serve_command"]
    assert p5["sglang_command"] is None
    assert "never measured" in p5["assumed"]
    everywhere = recommend("bge-m3", dataset=release, machines="all").drop_nulls("rank")
    assert everywhere["cpu_id"].count() > 0  # of which other models were measured
    assert set(everywhere["basis"]) == {"modeled"}
    job = make_job(Question("bge-m3", context=8192))
    assert (job.input_tokens, job.output_tokens, job.context) == (8192, 1, 8192)
    assert "in int8, with the range" in assumptions(make_job(Question("bge-m3", precision="8bit")))
    assert "prompts" not in assumptions(make_job(Question("bge-m3", "lora")))
    assert re.match(r"Serve it on [^:]+: \$[\d.–]+ per 1M tokens\.", drawn(frame))


def test_a_number_may_have_a_letter_for_its_size() -> None:
    assert [read_number(float, text) for text in ("1T", "1.5b", "2e9", "0.5")] == [
        1e12,
        1.5e9,
        2e9,
        0.5,
    ]
    assert [read_number(int, text) for text in ("128k", "1.001k")] == [128_000, 1_001]
    for wrong in ("abc", "4096.5", "1e999", "inf", "nan", "", "k"):
        with pytest.raises(typer.BadParameter, match="write 1e9, 1B or 128k"):
            read_number(int, wrong)


def test_a_count_of_accelerators_is_that_of_the_machine(sample_root: Path) -> None:
    """DeepSeek-V3 on 8 A100: no machine has the memory, and no other count is an answer."""
    frame = hwprices.open(sample_root).recommend("deepseek-v3", words="8x a100")
    assert frame["rank"].null_count() == frame.height > 0
    assert "too_small" in {*frame["excluded_reason"]}
    fits = hwprices.open(sample_root).recommend("llama-3.3-70b", words="2x h100", where="cloud")
    assert {*fits.drop_nulls("rank")["total_accelerators"]} == {2}
