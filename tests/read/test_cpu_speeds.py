"""How fast machines without accelerators serve models, and which of them are answered with."""

import math
from typing import Any

import polars as pl
import pytest
from tests.helpers.releases import Release

from hwprices.errors import HwpricesError
from hwprices.formulas.language_model import shape_columns
from hwprices.read.recommend.model_shape import model_shape
from hwprices.read.recommend.recommend import recommend
from hwprices.read.recommend.speed import at_size, with_cpu_rates
from hwprices.specs import sheets


def with_rates(cpu_id: str, machine: str, vcpus: int) -> dict[str, Any]:
    """The rates of a machine at AWS with Llama 2 7B."""
    row = {"number": 0, "provider": "aws", "machine": machine, "cpu_id": cpu_id}
    frame = pl.DataFrame([row | {"vcpus": vcpus}])
    llama = shape_columns(model_shape("llama-2-7b"))
    works = frame.with_columns(**llama, bytes_per_second=pl.lit(None, pl.Float64))
    return with_cpu_rates(works).row(0, named=True)


def test_every_cpu_and_model_of_the_sheet_is_known() -> None:
    """The ids are those of the sheets cpus and models."""
    rows = sheets.load("cpu_speeds")
    assert set(rows["cpu_id"]) <= set(sheets.load("cpus")["cpu_id"])
    assert set(rows["model_id"]) <= set(sheets.load("models")["model_id"])


def test_a_machine_has_the_speed_that_was_measured_on_it() -> None:
    """Its own rates give back the speed for one user of m7g.4xlarge, 15.98 tokens/s.

    A token reads 6.74 × 10^9 weights of 4.85 bits and a cache of 65 tokens, and computes.
    """
    found = with_rates("aws-graviton3", "m7g.4xlarge", 16)
    assert found["basis"] == "measured"
    assert found["label"].endswith("/m7g.4xlarge")
    read = 6.74e9 * 4.85 / 8 + 65 * 524_288
    computed = 2 * 6.74e9 + 4 * 4096 * 32 * 65
    seconds = read / found["bytes_per_second"] + computed / found["peak"]
    assert 1 / seconds == pytest.approx(15.98, rel=0.01)


def test_another_machine_with_the_cpu_has_its_rates_by_size() -> None:
    """Between 16 and 32 vCPUs lie the rates of 20."""
    found = [with_rates("aws-graviton4", "", vcpus) for vcpus in (16, 20, 32)]
    read = [rates["bytes_per_second"] for rates in found]
    assert read == sorted(read)
    assert read[0] < read[1] < read[2]
    assert {rates["basis"] for rates in found} == {"modeled"}


@pytest.mark.parametrize(("vcpus", "rate"), [(2, 4.0), (8, math.sqrt(8 * 16)), (64, 16.0)])
def test_a_rate_at_another_size(vcpus: int, rate: float) -> None:
    """A smaller machine has its share, a larger one no more than the largest."""
    measured = pl.DataFrame({"size": [4.0, 16.0], "rate": [8.0, 16.0], "vcpus": vcpus})
    assert measured.select(at_size()).item() == pytest.approx(rate)


def test_a_cpu_that_nobody_measured_has_no_rates() -> None:
    """Nothing is guessed from other CPUs."""
    assert with_rates("nvidia-grace", "", 8)["peak"] is None


def cpus(release: Release, model: str = "llama-3.1-8b", **serving: float) -> pl.DataFrame:
    """Ask for machines without accelerators."""
    return recommend(model, dataset=release, machines="cpus", **serving)


def test_machines_without_accelerators_are_ranked_when_asked_for(release: Release) -> None:
    """None has an accelerator, each has a measured CPU, and the work is priced."""
    fits = cpus(release, concurrency=1).filter(pl.col("excluded").is_null())
    assert fits.height
    assert fits["accelerator_id"].null_count() == fits.height
    assert set(fits["cpu_id"]) <= set(sheets.load("cpu_speeds")["cpu_id"])
    assert set(fits["basis"]) <= {"measured", "modeled"}
    assert set(fits["precision"]) == {"int8"}
    assert fits["usd_per_million_tokens"].null_count() == 0


def test_by_default_only_machines_with_accelerators_are_ranked(release: Release) -> None:
    """So answers to the usual questions do not change."""
    assert recommend("llama-3.1-8b", dataset=release)["cpu_id"].null_count() > 0
    everything = recommend("llama-3.1-8b", dataset=release, machines="all")
    alone = recommend("llama-3.1-8b", dataset=release)
    assert alone["cpu_id"].drop_nulls().is_empty()
    assert everything["cpu_id"].drop_nulls().len() > 0


def test_large_models_and_trainings_are_left_out_with_the_reason(release: Release) -> None:
    """CPUs were measured with models up to 15 billion parameters, and not in training."""
    assert "too_large_for_cpus" in set(cpus(release, "llama-3.1-70b")["excluded_reason"])
    tuned = recommend("7B", "lora", dataset=release, machines="cpus")
    assert "no_training_on_cpus" in set(tuned["excluded_reason"])
    assert tuned["excluded"].null_count() == 0


def test_a_user_is_not_served_slower_than_asked(release: Release) -> None:
    """A machine that reaches less than the requested speed is left out."""
    fast = cpus(release, concurrency=1, min_tokens_per_second=8)
    fits = fast.filter(pl.col("excluded").is_null())
    assert (fits["tokens_per_second_per_user"] >= 8).all()
    assert "too_slow" in set(fast["excluded_reason"])


def test_no_machine_to_buy_is_asked_for_without_an_accelerator() -> None:
    """None of them was measured."""
    with pytest.raises(HwpricesError, match="without an accelerator"):
        recommend("7B", dataset=None, machines="cpus", where="local")  # type: ignore[arg-type]
