"""The bundled sample becomes a release, from its pages to what a reader gets.

Offers, devices and recommendations, with golden prices of the vendors.
"""

import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from tests.helpers.cases import cases
from tests.helpers.nightly import only_at_night
from tools import answers, devices

import hwprices
from hwprices import providers
from hwprices.read.dataset import Dataset
from hwprices.read.recommend.recommend import recommend
from hwprices.release.manifest import HISTORY_TABLES
from hwprices.schemas.tables import TABLES
from hwprices.specs import sheets


@pytest.fixture(scope="module")
def sample(sample_root: Path) -> Dataset:
    return hwprices.open(sample_root)


@pytest.fixture(scope="module")
def offers(sample: Dataset) -> pl.DataFrame:
    return sample.scan("offers").collect()


@only_at_night("makes the whole release twice")
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_release_is_the_same_on_one_core_and_on_eight(tmp_path: Path) -> None:
    """All of it but the history, which has the time of the release, and when rows were seen."""
    code = "import sys; from tests.helpers.sample_release import make; make(sys.argv[1])"
    releases = []
    for cores in ("1", "8"):
        root = tmp_path / cores
        environment = os.environ | {"POLARS_MAX_THREADS": cores}
        subprocess.run([sys.executable, "-c", code, str(root)], env=environment, check=True)
        releases.append(hwprices.open(root).release)
    digests = [
        {file.key: file.content_sha256 for name in made.tables for file in made.tables[name].files}
        for made in releases
    ]
    one, eight = (
        {key: digest for key, digest in own.items() if not key.startswith(HISTORY_TABLES)}
        for own in digests
    )
    assert len(one) > 20
    assert one == eight
    assert releases[0].content_sha256 == releases[1].content_sha256


def test_every_provider_is_published(sample: Dataset) -> None:
    """All but one have prices; Vast's market has quantiles."""
    priced = sample.prices.select(pl.col("provider").unique().sort()).collect().to_series()
    assert priced.to_list() == [name for name in providers.names() if name != "vast"]
    assert sample.prices.collect().height == 56_404
    assert sample.market_quantiles.collect().height > 0
    assert sample.verify() == []


@cases("publish/golden_prices", usd=float)
def test_golden_prices(offers: pl.DataFrame, usd: float, provider, region, instance_type) -> None:
    row = offers.filter(provider=provider, region=region, instance_type=instance_type)
    assert float(row["on_demand_usd_per_hour"].item()) == pytest.approx(usd, abs=1e-5)


def test_unit_prices_add_up_to_the_machine(offers: pl.DataFrame) -> None:
    divided = offers.drop_nulls("usd_per_accelerator_hour")
    assert divided.height > 100
    back = divided["usd_per_accelerator_hour"].cast(pl.Float64) * divided["accelerator_count"]
    assert (back / divided["on_demand_usd_per_hour"].cast(pl.Float64) - 1).abs().max() < 1e-6  # type: ignore[operator]


@pytest.mark.parametrize("table", TABLES)
def test_every_code_of_the_release_is_declared(sample: Dataset, table: str) -> None:
    """The vocabulary of each column has every value that the sample's release holds."""
    frame = sample.scan(table)
    for name, declared in TABLES[table].columns.items():
        vocabulary = declared.vocabulary
        if vocabulary is None:
            continue
        column = pl.col(name)
        values = column.explode() if isinstance(declared.dtype, pl.List) else column
        present = frame.select(values.drop_nulls().unique()).collect().to_series()
        undeclared = present.filter(~present.str.contains(vocabulary.regex()))
        assert undeclared.to_list() == [], f"{table}.{name}"


def test_no_row_of_the_sample_was_refused_by_a_check(sample: Dataset) -> None:
    reasons = sample.scan("quarantine").select(pl.col("reason").unique()).collect().to_series()
    assert reasons.filter(reasons.str.starts_with("check:")).to_list() == []


def test_machines_without_prices_are_those_that_the_samples_page_names(sample: Dataset) -> None:
    """data/sample/README.md: some have a row with a reason, others are offered and have no row."""
    google = pl.col("provider") == "gcp"
    rows = sample.prices.filter(google).select("instance_type", "effective_hourly").collect()
    offered = sample.availability.filter(google).select("instance_type").unique().collect()
    for family in ("h4d-", "x4-", "m4n-", "a3-edgegpu-", "ct6e-", "tpu7x-"):
        of_family = rows.filter(pl.col("instance_type").str.starts_with(family))
        assert of_family["effective_hourly"].null_count() == of_family.height > 0, family
    for family in ("a3-ultragpu-", "a4x-"):
        begins = pl.col("instance_type").str.starts_with(family)
        assert (rows.filter(begins).height, offered.filter(begins).height > 0) == (0, True)


def test_spot_is_cheaper_or_flagged(offers: pl.DataFrame) -> None:
    expensive = offers.filter(
        pl.col("spot_usd_per_hour") >= pl.col("on_demand_usd_per_hour"),
        ~pl.col("flags").list.contains("spot_equals_on_demand"),
    )
    assert expensive.select("provider", "region", "instance_type").rows() == []


def test_a_token_price_comes_with_the_measurement_behind_it(offers: pl.DataFrame) -> None:
    priced = pl.any_horizontal(
        pl.col("^usd_per_million_tokens_.*$", "minutes_per_llama2_70b_lora").is_not_null()
    )
    measured = pl.col("benchmark_rounds").list.len() > 0
    on_demand = offers.filter(pl.col("on_demand_usd_per_hour").is_not_null())
    assert on_demand.filter(priced != measured).height == 0
    assert on_demand.filter(priced).height > 10


def test_most_machines_have_an_estimate_of_their_power(offers: pl.DataFrame) -> None:
    """Of the providers whose servers somebody has measured."""
    machines = offers.filter(
        pl.col("provider").is_in(sheets.load("power_coefficients")["provider"].unique().to_list()),
        pl.col("vcpus").is_not_null(),
        pl.col("memory_gib").is_not_null(),
        pl.col("accelerator_kind").is_in(["none", "gpu"]),
    )
    assert machines["estimated_watts"].is_not_null().mean() > 0.97  # type: ignore[operator]


def test_nearly_every_offer_has_emissions_and_flags_say_what_they_rest_on(offers) -> None:
    known = offers.drop_nulls("operational_gco2e_per_hour")
    assert known.height / offers.height >= 0.95
    flagged = pl.col("flags").list.set_intersection(
        ["power_from_tdp_estimate", "power_partly_unknown"]
    )
    published = pl.col("estimated_watts").is_not_null()
    assert known.filter(published != (flagged.list.len() == 0)).height == 0
    place_unknown = known.filter(pl.col("flags").list.contains("grid_place_unknown"))
    assert place_unknown["country"].null_count() == place_unknown.height > 400


def test_sensible_answers_from_the_sample(sample: Dataset) -> None:
    lora = recommend("7B", "lora", context=2048, dataset=sample, where="cloud").drop_nulls("rank")
    assert lora.filter(pl.col("machine") == "g6.xlarge")["nodes"].to_list() == [1]
    big = recommend("llama-3.1-405b", precision="bf16", dataset=sample, where="cloud")
    fit = set(big.drop_nulls("rank")["machine"])
    assert "p5en.48xlarge" in fit
    assert not {"p5.48xlarge", "a3-highgpu-8g", "Standard_ND96isr_H100_v5"} & fit
    eight = recommend("llama-3.1-405b", precision="fp8", dataset=sample, where="cloud").drop_nulls(
        "rank"
    )
    assert {"p5.48xlarge", "a3-highgpu-8g", "Standard_ND96isr_H100_v5"} <= set(eight["machine"])
    training = recommend("70B", "pretrain", dataset=sample, where="cloud").drop_nulls("rank")
    assert "p5.48xlarge" in set(training["machine"])
    assert training["nodes"].min() > 16  # type: ignore[operator]
    assert training["usd"].min() > Decimal(500_000)  # type: ignore[operator]


@only_at_night("asks 60 questions; tests/docs asks those of docs/questions.md")
@pytest.mark.slow
def test_the_page_of_answers_answers_every_question(sample: Dataset) -> None:
    """A command that fails, or prints none of the lines that it should, raises."""
    assert answers.page(sample.store.root).count("\n$ hwprices ") == len(answers.QUESTIONS)


def test_the_page_of_devices_has_a_figure_or_a_reason_in_every_cell(sample: Dataset) -> None:
    page = devices.page(sample)
    assert "Of 600 cells 341 are filled and 259 say why they are not." in page
    assert "|  |" not in page
