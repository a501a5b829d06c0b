"""How fast machines without accelerators serve models, and which of them are answered with."""

import math

import polars as pl
import pytest
from tests.helpers.small_release import Release

from hwprices.errors import HwpricesError
from hwprices.read.recommend.cpu_speeds import CPU_CONSTANTS, at_size, cpu_host, cpu_speeds
from hwprices.read.recommend.model_shape import model_shape
from hwprices.read.recommend.question import Limits, Serving
from hwprices.read.recommend.recommend import recommend
from hwprices.read.recommend.speed import speed
from hwprices.specs import sheets

LLAMA = model_shape("llama-2-7b")


def test_every_cpu_and_model_of_the_sheet_is_known() -> None:
    """The ids are those of the sheets cpus and models."""
    rows = sheets.load("cpu_speeds")
    assert set(rows["cpu_id"]) <= set(sheets.load("cpus")["cpu_id"])
    assert set(rows["model_id"]) <= set(sheets.load("models")["model_id"])


def test_a_machine_has_the_speed_that_was_measured_on_it() -> None:
    """Its own rates give back the speed for one user of m7g.4xlarge, 15.98 tokens/s."""
    rows = cpu_speeds()["aws-graviton3"]
    row = next(
        row
        for row in rows
        if (row.vcpus, row.model_id, row.kind) == (16, "llama-2-7b", "single_user")
    )
    found = cpu_host(rows, (row.provider, row.instance_type, 16), math.inf, LLAMA)
    assert found is not None
    host, label = found
    assert label.instance_type == row.instance_type
    alone = speed(host, row.work, 1, 1, CPU_CONSTANTS)
    assert row.tokens_per_second == 15.98
    assert alone.tokens_per_second == pytest.approx(15.98, rel=0.01)


def test_another_machine_with_the_cpu_has_its_rates_by_size() -> None:
    """Between 16 and 32 vCPUs lie the rates of 20."""
    rows = cpu_speeds()["aws-graviton4"]
    read = []
    for vcpus in (16, 20, 32):
        found = cpu_host(rows, ("aws", "", vcpus), math.inf, LLAMA)
        assert found is not None
        read.append(found[0].device.bytes_per_second)
    assert read == sorted(read)
    assert read[0] < read[1] < read[2]


def test_a_rate_outside_the_measured_sizes() -> None:
    """A smaller machine has its share, a larger one no more than the largest."""
    assert at_size({4: 8.0, 16: 16.0}, 2) == 4.0
    assert at_size({4: 8.0, 16: 16.0}, 8) == pytest.approx(math.sqrt(8 * 16))
    assert at_size({4: 8.0, 16: 16.0}, 64) == 16.0


def test_a_cpu_that_nobody_measured_has_no_rates() -> None:
    """Nothing is guessed from other CPUs."""
    assert "nvidia-grace" not in cpu_speeds()
    assert cpu_host([], ("oracle", "", 8), math.inf, LLAMA) is None


def cpus(release: Release, model: str = "llama-3.1-8b", **serving: float) -> pl.DataFrame:
    """Ask for machines without accelerators."""
    limits = Limits(machines="cpus")
    return recommend(model, dataset=release, limits=limits, serving=Serving(**serving))


def test_machines_without_accelerators_are_ranked_when_asked_for(release: Release) -> None:
    """None has an accelerator, each has a measured CPU, and the work is priced."""
    fits = cpus(release, concurrency=1).filter(pl.col("excluded").is_null())
    assert fits.height
    assert fits["accelerator_id"].null_count() == fits.height
    assert set(fits["cpu_id"]) <= set(cpu_speeds())
    assert set(fits["basis"]) <= {"measured", "modeled"}
    assert set(fits["precision"]) == {"int8"}
    assert fits["usd_per_million_tokens"].null_count() == 0


def test_by_default_only_machines_with_accelerators_are_ranked(release: Release) -> None:
    """So answers to the usual questions do not change."""
    assert recommend("llama-3.1-8b", dataset=release)["cpu_id"].null_count() > 0
    everything = recommend("llama-3.1-8b", dataset=release, limits=Limits(machines="all"))
    alone = recommend("llama-3.1-8b", dataset=release)
    assert alone["cpu_id"].drop_nulls().is_empty()
    assert everything["cpu_id"].drop_nulls().len() > 0


def test_large_models_and_trainings_are_left_out_with_the_reason(release: Release) -> None:
    """CPUs were measured with models up to 15 billion parameters, and not in training."""
    assert "too_large_for_cpus" in set(cpus(release, "llama-3.1-70b")["excluded_reason"])
    tuned = recommend("7B", "lora", dataset=release, limits=Limits(machines="cpus"))
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
        recommend("7B", dataset=None, limits=Limits(machines="cpus", where="local"))  # type: ignore[arg-type]
