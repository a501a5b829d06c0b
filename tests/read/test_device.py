"""Answers about one device, and the names by which a device is found."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from tests.helpers.cases import amount, cases, named_cases
from tests.helpers.expected import plain
from tests.helpers.releases import Release, price, prices, with_private_hosts
from tests.helpers.terminal import drawn
from tools import devices

import hwprices
from hwprices.cli.device import render_device
from hwprices.errors import HwpricesError
from hwprices.formulas import TOKEN_MODELS
from hwprices.publish.join.machines import tokens
from hwprices.read.currency import NO_RATES
from hwprices.read.device import ANSWERS, device, figures, lookup, measured
from hwprices.read.ownership import DEFAULTS, Ownership
from hwprices.read.recommend import media
from hwprices.specs import sheets
from hwprices.units import Money

H100_AT_AZURE = "Standard_ND96isr_H100_v5"


def answered(release: Release, name: str, ownership: Ownership | None = None) -> dict[str, Any]:
    """The row about a device."""
    return device(release, name, ownership or Ownership()).row(0, named=True)


def lines_of(answer_frame: pl.DataFrame) -> list[str]:
    """The lines of an answer in a terminal."""
    return drawn(render_device(answer_frame)).splitlines()


def test_the_declared_columns_are_those_that_answers_fill(release: Release) -> None:
    known = lookup.candidates(release)
    asked = [lookup.find(known, name) for name in ("L4", "Graviton3", "DGX H100")]
    filled = {
        column
        for table, device_id in asked
        for column in ANSWERS[table](release, device_id, DEFAULTS, NO_RATES)
    }
    assert filled == set(lookup.SCHEMA) - {"missing"}


@cases("specs/asked_devices")
def test_every_device_that_people_ask_about_has_an_answer(release, name, device_id) -> None:
    frame = device(release, name)
    assert frame.schema == lookup.SCHEMA
    row = frame.row(0, named=True)
    assert row["device_id"] == device_id
    assert row["type"]
    assert row["dtypes"] or row["dtypes_unknown"] or row["type"] == "media"
    assert row["source_url"].startswith("https://")
    answers = [
        row["cheapest_usd_per_hour"] or row["part_usd_per_hour"] or row["tco_usd_per_hour"],
        row["purchase_price"],
        row["measured"],
        row["usd_per_million_tokens"],
        row["tflops_per_watt"],
        row["gco2e_per_hour"],
    ]
    without_answer = [value for value in answers if not value]
    assert len(row["missing"]) == len(without_answer), "one reason for each question"


@named_cases("read/devices", "device", "row", "has", "missing")
def test_what_is_answered_about_a_device(release: Release, case: Mapping[str, Any]) -> None:
    row = answered(release, case["device"])
    for column, expected in case["row"].items():
        if isinstance(expected, int | float) or str(expected).startswith("="):
            assert float(row[column]) == pytest.approx(float(amount(expected))), column
        else:
            assert plain(row[column]) == plain(expected), column
    for column, text in case.get("has", {}).items():
        assert text in row[column]
    assert len(row["missing"]) == case.get("missing", len(row["missing"]))


def test_private_people_ask_less_and_are_not_the_cheapest(release: Release) -> None:
    """Their price is apart; a year and a token have only prices of data centers."""
    hosts = with_private_hosts(release, ["p5.48xlarge"])
    row = answered(hosts, "nvidia-h100-sxm5-80gb")
    assert (row["private_host_usd_per_hour"], row["private_host_offer"]) == (
        Decimal("6.88"),
        "runpod/community/p5.48xlarge: on_demand",
    )
    assert row["on_demand_offer"] == "gcp/us-central1/a3-highgpu-8g"
    assert "runpod" not in row["cheapest_offer"] + row["usd_per_year_basis"] + row["gco2e_basis"]
    alone = with_private_hosts(release, ["p5.48xlarge", "a3-highgpu-8g", H100_AT_AZURE])
    row = answered(alone, "nvidia-h100-sxm5-80gb")
    nothing = ("on_demand_usd_per_hour", "spot_usd_per_hour", "cheapest_usd_per_hour")
    assert [row[name] for name in (*nothing, "usd_per_year")] == [None] * 4
    assert row["usd_per_million_tokens"] == []
    assert row["private_host_usd_per_hour"] is not None
    assert not [reason for reason in row["missing"] if reason.startswith("hourly cost")]
    lines = lines_of(device(alone, "nvidia-h100-sxm5-80gb"))
    (line,) = [line for line in lines if "USD/h, community hosts" in line]
    assert "runpod/community" in line


def test_a_price_has_its_own_day_and_not_that_of_other_ways_to_buy(release: Release) -> None:
    """On demand of a3-highgpu-8g was seen a year after the oldest price of its offer."""
    old = datetime(2025, 8, 16, tzinfo=UTC)
    is_spot = pl.col("purchase_option") == "spot"
    dated = release.tables["prices"].with_columns(
        observed_at=pl.when(is_spot).then(old).otherwise("observed_at")
    )
    offers = release.tables["offers"].with_columns(
        observed_at=pl.lit(old), spot_usd_per_hour=None, spot_usd_per_accelerator_hour=None
    )
    without_spot = Release({**release.tables, "prices": dated, "offers": offers})
    row = answered(without_spot, "nvidia-h100-sxm5-80gb")
    assert row["prices_observed"] == date(2026, 7, 30)
    assert {cloud["seen"] for cloud in row["where_sold"]} == {date(2026, 7, 30)}
    with_spot = Release({**release.tables, "prices": dated})
    row = answered(with_spot, "nvidia-h100-sxm5-80gb")
    assert row["prices_observed"] == date(2025, 8, 16), "the spot price is shown too"


def test_a_commitment_has_the_day_of_its_own_price(release: Release) -> None:
    """No id of it is in offers: it is found by its amount."""
    old = datetime(2025, 8, 16, tzinfo=UTC)
    committed = price("aws", "us-east-1", "g6.xlarge", "0.5", term_months=12, observed_at=old)
    tables = release.tables
    offers = tables["offers"].with_columns(
        committed_use_1y_usd_per_hour=pl.when(instance_type="g6.xlarge")
        .then(pl.lit(Decimal("0.5"), dtype=Money))
        .otherwise("committed_use_1y_usd_per_hour")
    )
    both = pl.concat([tables["prices"], prices(committed)])
    row = answered(Release({**tables, "prices": both, "offers": offers}), "L4")
    assert row["cheapest_offer"] == "aws/us-east-1/g6.xlarge: committed_use_1y"
    assert row["prices_observed"] == date(2025, 8, 16)


def test_prices_of_a_cpu_are_said_to_be_of_a_vcpu(release: Release) -> None:
    lines = lines_of(device(release, "Graviton3"))
    money = [line for line in lines if line.startswith(("USD/", "gCO2e/h"))]
    assert len(money) == 4
    assert [line for line in money if " per vCPU (" not in line] == []


def test_a_cpu_has_the_speeds_that_recommend_uses(release: Release) -> None:
    """llama-bench of Spare Cores on m7g and others; the answer was "no published measurement"."""
    frame = device(release, "Graviton3")
    row = frame.row(0, named=True)
    (speed,) = [
        result
        for result in row["measured"]
        if (result["model"], result["scenario"], result["system"])
        == ("llama-2-7b", "SingleUser", "aws/m7g.16xlarge")
    ]
    speeds = sheets.load("cpu_speeds").filter(cpu_id="aws-graviton3")
    key = {"model_id": "llama-2-7b", "kind": "single_user", "instance_type": "m7g.16xlarge"}
    rate = speeds.filter(**key)["tokens_per_second"].item()
    assert (speed["result"], speed["vcpus"]) == (rate, 64)
    assert (speed["precision"], speed["software"]) == ("q4_k_m", "llama.cpp b4753")
    assert (speed["input_tokens"], speed["output_tokens"], speed["users"]) == (1, 128, 1)
    assert speed["source_url"].startswith("https://github.com/SpareCores/")
    assert len(row["measured"]) == speeds.height
    assert not [reason for reason in row["missing"] if reason.startswith("measured")]
    assert [reason for reason in row["missing"] if "recommend NAME --machines cpus" in reason]
    lines = lines_of(frame)
    (line,) = [line for line in lines if "llama-2-7b SingleUser" in line]
    assert f"at most {rate:.4g} tokens/s on 64 vCPUs" in line
    assert [line for line in lines if "Spare Cores" in line and "CC BY-SA 4.0" in line]


def test_s12_a_cpu_names_only_machines_that_have_it(release: Release) -> None:
    """Known wrong number S12 (docs/known-wrong-numbers.md): another maker's processor.

    Another CPU of the same microarchitecture is added; no machine has it.
    """
    cpus = release.tables["cpus"]
    other = cpus.filter(cpu_id="aws-graviton3").with_columns(
        cpu_id=pl.lit("other-v1"), name=pl.lit("Other V1"), vendor=pl.lit("Other")
    )
    both = Release({**release.tables, "cpus": pl.concat([cpus, other])})
    assert answered(both, "Graviton3")["providers"] == ["aws"]
    row = answered(both, "Other V1")
    assert (row["providers"], row["regions"]) == ([], [])
    assert (row["cheapest_usd_per_hour"], row["gco2e_per_hour"]) == (None, None)


def test_arm_computes_in_half_precision_since_v8_2(release: Release) -> None:
    """lscpu shows fphp and asimdhp on Neoverse N1 (Armv8.2), and not on Cortex-A72 (Armv8.0)."""
    with_the_sheet = Release({**release.tables, "cpus": sheets.load("cpus")})
    with_fp16 = ["aws-graviton2", "aws-graviton4", "google-axion", "broadcom-bcm2712"]
    for cpu_id in with_fp16:
        assert "fp16" in answered(with_the_sheet, cpu_id)["dtypes"], cpu_id
    for cpu_id in ("aws-graviton", "broadcom-bcm2711", "amd-epyc-9r14"):
        row = answered(with_the_sheet, cpu_id)
        assert "fp16" not in row["dtypes"] + row["dtypes_unknown"], cpu_id


def test_a_price_without_a_date_is_called_undated(release: Release) -> None:
    machines = release.tables["local_hardware"].with_columns(price_date=pl.lit(None, dtype=pl.Date))
    row = answered(Release({**release.tables, "local_hardware": machines}), "DGX H100")
    assert row["purchase_basis"] == "street, undated"


def test_emissions_of_a_machine_to_buy_are_those_of_the_grid_asked_for(release: Release) -> None:
    on_grid = answered(release, "DGX H100", Ownership(grid_gco2e_per_kwh=100))
    assert on_grid["gco2e_per_hour"] == pytest.approx(10.2 * 1.56 * 100)


def test_a_price_in_euro_is_shown_without_a_rate(release: Release) -> None:
    machines = release.tables["local_hardware"].with_columns(price_currency=pl.lit("EUR"))
    row = answered(Release({**release.tables, "local_hardware": machines}), "DGX H100")
    assert (row["purchase_price"], row["purchase_currency"], row["purchase_price_usd"]) == (
        Decimal(269_000),
        "EUR",
        None,
    )


def test_a_price_in_euro_alone_is_not_called_no_price(release: Release) -> None:
    """Scaleway rents out a P100 for 1.22 EUR."""
    own = release.tables["offers"].filter(instance_type="g6.xlarge")
    in_euro = own.with_columns(
        pl.lit(None, Money).alias(name) for name in own.columns if "usd" in name
    ).with_columns(currency=pl.lit("EUR"), on_demand_hourly=pl.lit(Decimal("1.22"), Money))
    row = answered(Release({**release.tables, "offers": in_euro}), "L4")
    assert row["where_sold"][0]["on_demand_per_hour"] == Decimal("1.22")
    assert "hourly cost: no price in USD" in row["missing"]
    assert devices.not_rented(row) == "price in EUR alone"


@cases("read/unclear_devices")
def test_an_unclear_name_gives_the_nearest_devices(release, name, message) -> None:
    with pytest.raises(HwpricesError) as caught:
        device(release, name)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["Xeon", "aws graviton"])
def test_a_series_is_not_its_first_device(name: str) -> None:
    """ "xeon" was the Broadwell, "graviton" the one of 2018."""
    with pytest.raises(HwpricesError, match=f"'{name}' matches [0-9]+ devices"):
        hwprices.open("sample").device(name)


def test_a_device_whose_id_another_table_has_is_found_by_its_table(release: Release) -> None:
    sheet = sheets.load("cpus").filter(cpu_id="apple-m4")
    columns = release.tables["cpus"].columns
    both = pl.concat([release.tables["cpus"], sheet.select(columns)], how="vertical_relaxed")
    with_m4 = Release({**release.tables, "cpus": both})
    chip = answered(with_m4, "apple-m4")
    assert chip["type"] == "soc"
    assert chip["notes"].endswith("too: hwprices device cpus/apple-m4.")
    cpu = answered(with_m4, "cpus/apple-m4")
    assert (cpu["device_id"], cpu["type"]) == ("apple-m4", "cpu")
    assert "accelerators/apple-m4" in cpu["notes"]
    assert "hwprices device" not in (answered(with_m4, "Graviton3")["notes"] or "")


@cases("read/no_devices")
def test_what_is_no_device_says_what_to_ask(release: Release, name: str, message: str) -> None:
    with pytest.raises(HwpricesError) as caught:
        device(release, name)
    assert str(caught.value) == message


def test_spelling_does_not_matter(release: Release) -> None:
    devices = lookup.candidates(release)
    for name in ("RTX 4090", "rtx-4090", "RTX4090", "NVIDIA RTX 4090"):
        assert lookup.find(devices, name) == ("accelerators", "nvidia-rtx-4090")


def test_an_answer_is_drawn_as_a_table(release: Release) -> None:
    text = "\n".join(lines_of(device(release, "H100 SXM")))
    assert "6.88 (aws/us-east-1/p5.48xlarge)" in text
    assert "bf16 989.4 TFLOPS" in text


@cases("read/devices_of_machines")
def test_a_machine_or_family_of_a_cloud_means_its_accelerator(release, name, device_id) -> None:
    assert device(release, name)["device_id"].item() == device_id


def test_a_machine_that_nobody_sells_here_means_its_accelerator_too(release: Release) -> None:
    """trn2 has no offer in the sample: "unknown device 'trn2'", a machine of instance_types."""
    without = pl.col("instance_type").str.starts_with("trn2").not_()
    unsold = Release({**release.tables, "offers": release.tables["offers"].filter(without)})
    for name in ("trn2.48xlarge", "trn2"):
        row = answered(unsold, name)
        assert row["device_id"] == "aws-trainium2"
        assert row["missing"][0] == (
            "price of trn2.48xlarge: no offer in this release;"
            " hwprices price trn2.48xlarge says why"
        )
        assert not [reason for reason in answered(release, name)["missing"] if "trn2" in reason]
    assert not [reason for reason in answered(unsold, "Trainium2")["missing"] if "trn2" in reason]


def test_p4_is_a_card_and_a_family_and_both_are_offered(release: Release) -> None:
    with pytest.raises(HwpricesError, match="'P4' matches 3 devices") as caught:
        device(release, "P4")
    assert "nvidia-p4 (the device), nvidia-a100-sxm4-40gb (in machines of this name)" in str(caught)


def test_an_id_means_its_device_whatever_else_is_called_so() -> None:
    """A cloud sells machines named NVIDIA HGX H100, and one can buy the board of that name."""
    board = lookup.NamedDevice("local_hardware", "nvidia-hgx-h100", "HGX H100", "NVIDIA")
    sold_as = lookup.SoldAs({"nvidiahgxh100": ["nvidia-h100-sxm5-80gb"]})
    assert lookup.find([board], "nvidia-hgx-h100", sold_as) == ("local_hardware", "nvidia-hgx-h100")


def test_the_name_of_a_vendor_counts_where_no_device_has_its_words() -> None:
    """Some vendors sell an H100 SXM as "H100" and as "NVIDIA H100 80GB HBM3"."""
    sample = hwprices.open("sample")
    devices, sold_as = lookup.candidates(sample), lookup.SoldAs.of(sample)
    driver_name = lookup.find(devices, "NVIDIA H100 80GB HBM3", sold_as)
    assert driver_name == ("accelerators", "nvidia-h100-sxm5-80gb")
    for name, count in (("H100", 3), ("A100 80GB", 2), ("RTX PRO 6000", 3)):
        with pytest.raises(HwpricesError, match=f"matches {count} devices"):
            lookup.find(devices, name, sold_as)


def test_a_year_costs_the_cheapest_way_to_have_one(release: Release) -> None:
    """Of one p5.48xlarge it is on demand, unless a commitment for a year is cheaper."""
    offers = release.tables["offers"]
    committed = pl.when(instance_type="p5.48xlarge").then(pl.lit(Decimal(40)))
    cheaper = offers.with_columns(reserved_1y_no_upfront_usd_per_hour=committed.cast(Money))
    with_commitment = Release({**release.tables, "offers": cheaper})
    row = device(with_commitment, "H100 SXM").row(0, named=True)
    assert row["usd_per_year"] == Decimal(5) * 8760
    assert row["usd_per_year_basis"] == "aws/us-east-1/p5.48xlarge: reserved_1y_no_upfront"


def test_rates_and_tokens_of_a_machine_are_those_of_all_its_accelerators(release: Release) -> None:
    """DGX H100: 8 × 989.4 TFLOPS, 14.35 USD/h for 24,181 tokens/s."""
    row = answered(release, "DGX H100")
    rates = {rate["dtype"]: rate["rate"] for rate in row["dense_rates"]}
    assert rates["bf16"] == pytest.approx(8 * 989.4)
    (tokens,) = row["usd_per_million_tokens"]
    assert (tokens["model"], tokens["basis"]) == ("llama2-70b-99", figures.OWNED)
    assert float(tokens["usd"]) == pytest.approx(14.35 / (24_180.6 * 3.6e-3), rel=1e-3)


@pytest.fixture(scope="module")
def measured_release(release: Release) -> Release:
    """The small release with all measurements of the sheet."""
    return Release({**release.tables, "benchmarks": sheets.load("benchmarks")})


def test_the_speed_beside_a_price_of_tokens_is_the_one_it_rests_on(measured_release) -> None:
    """H100: 3,023 tokens/s each of eight, and not 3,902 each of 32."""
    for name, model in (("H100 SXM", "llama2_70b"), ("DGX H100", "llama2-70b-99")):
        row = answered(measured_release, name)
        (price,) = [p for p in row["usd_per_million_tokens"] if p["model"] == model]
        (shown,) = [
            result
            for result in row["measured"]
            if (result["model"], result["scenario"]) == ("llama2-70b-99", "Offline")
        ]
        assert (shown["per_accelerator"], shown["accelerators"]) == (3022.575, 8)
        assert shown["result"] == price["tokens_per_second"] == 24180.6
    lines = lines_of(device(measured_release, "H100 SXM"))
    (first,) = [line for line in lines if line.startswith("measured")]
    assert "llama2-70b-99 Offline v4.1: 3,023 Tokens/s per accelerator (24,181 on 8)" in first
    (tokens,) = [line for line in lines if line.startswith("USD/M tokens")]
    assert "measured on as many accelerators, 24,181 tokens/s on 8 in v4.1" in tokens


def test_a_price_of_tokens_says_the_lengths_it_is_for(measured_release: Release) -> None:
    """A token of Llama 3.1 405B has 14 tokens of prompt, one of Llama 2 70B has one."""
    row = answered(measured_release, "DGX H100")
    prices = {price["model"]: price for price in row["usd_per_million_tokens"]}
    lengths = {
        model: (price["input_tokens"], price["output_tokens"]) for model, price in prices.items()
    }
    assert lengths["llama2-70b-99"] == (294, 294)
    assert lengths["llama3.1-405b"] == (9428, 684)
    lines = lines_of(device(measured_release, "DGX H100"))
    assert [line for line in lines if "llama3.1-405b: 10.21 at 9,428 tokens in, 684 out" in line]
    results = {(result["model"], result["scenario"]): result for result in row["measured"]}
    server = results["llama2-70b-99", "Server"]
    assert (server["input_tokens"], server["output_tokens"]) == (294, 294)
    assert results["llama2_70b_lora", "training"]["input_tokens"] is None


def test_a_price_of_tokens_of_unknown_length_says_so(measured_release: Release) -> None:
    offers = measured_release.tables["offers"].with_columns(
        usd_per_million_tokens_gpt_oss_120b=pl.when(accelerator_id="nvidia-h100-sxm5-80gb")
        .then(pl.lit(Decimal("0.4885")))
        .cast(Money)
    )
    lines = lines_of(device(Release({**measured_release.tables, "offers": offers}), "H100 SXM"))
    assert [line for line in lines if "gpt_oss_120b: 0.4885, lengths not known" in line]


def test_device_and_offers_choose_the_same_systems() -> None:
    """Of every accelerator, benchmark and size of the sheet."""
    benchmarks = sheets.load("benchmarks")
    of_offers = tokens(benchmarks)
    with_all = Release({"benchmarks": benchmarks})
    for (count,), of_size in of_offers.group_by("accelerator_count"):
        results = measured.results(with_all, lambda *_, size=count: size)
        own = {
            (row["accelerator_id"], row["benchmark"]): measured.label(row)
            for row in results.filter(scenario="Offline").iter_rows(named=True)
        }
        for row in of_size.iter_rows(named=True):
            key = (row["accelerator_id"], TOKEN_MODELS[row["name"]])
            assert own[key] == row["label"]


def test_a_time_is_what_the_system_took(measured_release: Release) -> None:
    """1,733 ms on two L4 were shown as "866.3 accelerator-ms"; 27.6 minutes on 8 as 220.4."""
    row = answered(measured_release, "L4")
    (latency,) = [
        result
        for result in row["measured"]
        if (result["model"], result["scenario"]) == ("3d-unet-99", "SingleStream")
    ]
    assert latency["per_accelerator"] == latency["result"] == pytest.approx(1732.58, abs=0.01)
    assert (latency["unit"], latency["accelerators"]) == ("ms", 2)
    lines = "\n".join(lines_of(device(measured_release, "L4")))
    assert "3d-unet-99 SingleStream v4.1: 1,733 ms on 2 accelerators" in lines
    assert "accelerator-ms" not in lines
    h100 = answered(measured_release, "H100 SXM")["measured"]
    (tuning,) = [result for result in h100 if result["model"] == "llama2_70b_lora"]
    assert (tuning["result"], tuning["accelerators"]) == (pytest.approx(27.5531), 8)
    assert tuning["per_accelerator"] == pytest.approx(8 * 27.5531, rel=1e-4)
    assert tuning["unit"] == "accelerator-minutes"


def test_results_of_one_user_in_two_formats_stay_apart(measured_release: Release) -> None:
    """llama.cpp runs Llama 3 8B on M3 Max with 50.74 tokens/s in four bits, 22.39 in fp16."""
    frame = device(measured_release, "apple-m3-max")
    rates = {
        result["precision"]: result["per_accelerator"]
        for result in frame.row(0, named=True)["measured"]
        if (result["model"], result["scenario"]) == ("llama3-8b", "SingleUser")
    }
    assert rates == {"q4_k_m": 50.74, "fp16": 22.39}
    lines = lines_of(frame)
    assert [line for line in lines if "50.74 Tokens/s on 1 accelerator, q4_k_m" in line]


def test_images_rest_on_the_system_that_recommend_takes(measured_release: Release) -> None:
    benchmarks = measured_release.tables["benchmarks"]
    for benchmark in measured.SAMPLE_MODELS:
        taken = media.measured(benchmarks, benchmark)
        own = measured.results(measured_release, lambda *_: 8.0).filter(
            model=benchmark, scenario="Offline", result_unit="Samples/s"
        )
        assert own.select("accelerator_id", "per_accelerator").equals(
            taken.select("accelerator_id", "per_accelerator").sort("accelerator_id")
        )
