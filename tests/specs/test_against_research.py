"""Compare the sheets with the research folder.

It holds figures compiled elsewhere, and what drivers and kernels report in the clouds.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.helpers.cases import rows
from tools import spec_lint

from hwprices.specs.accelerator_names import accelerator_matcher
from hwprices.units import NUMBER_FORMATS

pytestmark = pytest.mark.shared

Device = Callable[[str], dict[str, Any]]

RENAMED = {row["listed"]: row["accelerator_id"] for row in rows("specs/renamed")}

COLUMNS = {
    "memory_gb": "memory_gb",
    "memory_bw_gbs": "memory_bandwidth_gbs",
    "tdp_w": "tdp_w",
    **NUMBER_FORMATS,
}

EXPLAINED = rows("specs/different", is_left_out=bool)
DIFFERENT, LEFT_OUT = (
    {(row["accelerator_id"], row["figure"]) for row in EXPLAINED if row["is_left_out"] is left_out}
    for left_out in (False, True)
)


def facts(shared: Path) -> list[dict[str, str | None]]:
    return pl.read_csv(shared / "specs" / "accelerators_facts.csv", infer_schema=False).rows(
        named=True
    )


def test_every_compiled_figure_agrees_or_is_explained(shared: Path, device: Device) -> None:
    different = set()
    for fact in facts(shared):
        name = RENAMED.get(str(fact["id"]), str(fact["id"]))
        row = device(name)
        for other, figure in COLUMNS.items():
            value = fact[other]
            if value is None or (
                row[figure] is not None
                and abs(row[figure] / float(value) - 1) <= spec_lint.TOLERANCE
            ):
                continue
            different.add((name, other))
            assert (name, other) in (DIFFERENT if row[figure] is not None else LEFT_OUT), (
                name,
                other,
                value,
                row[figure],
            )
    assert different == DIFFERENT | LEFT_OUT


def test_what_was_compiled_with_low_confidence_is_not_verified(shared, device) -> None:
    low = [
        RENAMED.get(str(fact["id"]), str(fact["id"]))
        for fact in facts(shared)
        if fact["confidence"] == "low"
    ]
    assert len(low) == 15
    raised = {"nvidia-rtx-pro-4500-server"}  # a second source was found since
    assert [name for name in low if device(name)["verified"] and name not in raised] == []


PRODUCTS = {row["product"]: row["accelerator_id"] for row in rows("specs/products")}

MEASURED_POWER_DIFFERS = {
    # Azure runs it at power_limit_default_w; at most it draws its TDP of 400 W
    "nvidia-h100-nvl-94gb": "310 W"
}

MOST_MEMORY_HELD_BACK = 0.07
"""ECC on GDDR and the driver take up to a sixteenth of the memory."""


def measured(shared: Path) -> list[dict[str, Any]]:
    frame = pl.read_csv(shared / "specs" / "gpu_measured_by_instance.csv", infer_schema=False)
    return [
        row for row in frame.rows(named=True) if not re.search(r"-\d+Q$", row["product"])
    ]  # g6f: slices of an L4


def test_power_limits_and_memory_measured_in_the_clouds(shared: Path, device: Device) -> None:
    rows = measured(shared)
    assert len(rows) > 80
    for row in rows:
        spec = device(PRODUCTS[row["product"]])
        mib = float(row["mem"].removesuffix(" MiB"))
        held_back = 1 - mib / 1024 / spec["memory_gb"]
        assert -0.001 <= held_back <= MOST_MEMORY_HELD_BACK, (row["instance_type"], held_back)
        if (watts := re.match(r"[\d.]+", row["power_default"] or "")) is None:
            continue
        if spec["accelerator_id"] in MEASURED_POWER_DIFFERS:
            assert float(watts[0]) == spec["power_limit_default_w"]
            assert float(re.match(r"[\d.]+", row["power_max"])[0]) == spec["tdp_w"]  # type: ignore[index]
        else:
            assert float(watts[0]) == spec["tdp_w"], row["instance_type"]


def test_matching_finds_the_gpu_that_the_driver_shows(shared: Path) -> None:
    """Azure names no GPU: its machine sizes decide."""
    azure = accelerator_matcher("azure")
    sizes = [row for row in measured(shared) if row["vendor"] == "azure"]
    assert len(sizes) == 4
    for row in sizes:
        match = azure(None, row["instance_type"])
        assert match is not None
        assert match.accelerator_id == PRODUCTS[row["product"]]
        assert match.count == float(row["gpus"])


FLAGS = {
    "amx_int8": "amx_int8",
    "amx_bf16": "amx_bf16",
    "amx_fp16": "amx_fp16",
    "avx512": "avx512f",
    "avx512_vnni": "avx512_vnni",
    "avx512_bf16": "avx512_bf16",
    "avx512_fp16": "avx512_fp16",
    "avx_vnni": "avx_vnni",
    "avx2": "avx2",
    "dotprod": "asimddp",
    "i8mm": "i8mm",
    "arm_bf16": "bf16",
    "sve": "sve",
    "sve2": "sve2",
    "sme": "sme",
    "sme2": "sme2",
}

HIDDEN_BY_SOME_CLOUDS = {
    "avx512_vnni": {"Cascade Lake", "Ice Lake"},  # older sizes present an older CPU to their guests
    "amx_fp16": {"Granite Rapids"},  # documented by Intel, not passed on
}


def test_cpu_features_against_the_flags_that_guests_see(shared, sheets) -> None:
    cpus = sheets["cpus"].filter(pl.col("model_pattern").is_not_null())
    patterns = [
        (re.compile(row["model_pattern"], re.IGNORECASE), row) for row in cpus.rows(named=True)
    ]
    types = 0
    for guest in pl.read_csv(shared / "specs" / "cpu_flags_by_model.csv", infer_schema=False).rows(
        named=True
    ):
        matching = [row for pattern, row in patterns if pattern.fullmatch(guest["cpu_model"])]
        assert len(matching) <= 1, guest["cpu_model"]
        if not matching:
            continue
        types += int(guest["n_types"])
        for figure, other in FLAGS.items():
            supported, shown = matching[0][figure] == "supported", guest[other] == "1"
            hidden = (
                supported
                and not shown
                and matching[0]["microarchitecture"] in HIDDEN_BY_SOME_CLOUDS.get(figure, ())
            )
            assert supported == shown or hidden, (guest["cpu_model"], figure)
    assert (
        types > 2400
    )  # of 2,700 types; the rest show no model (GCP writes Intel(R) Xeon(R) CPU @ 2.20GHz)


INFERENCE_DIFFERS = {
    "gptj-99": "the sheet has tokens, the other list samples",
    "gptj-99.9": "the sheet has tokens, the other list samples",
    "wan-2.2-t2v-a14b": "the other list has four decimals of 0.0023",
    "whisper": "the other list has tokens called samples, the sheet samples",
}


def test_benchmarks_against_the_medians_compiled_elsewhere(shared, sheets) -> None:
    compiled = pl.read_csv(shared / "specs" / "mlperf_inference_by_accelerator.csv").with_columns(
        pl.col("accelerator_id").replace(RENAMED)
    )
    key = ["accelerator_id", "model", "scenario", "round"]
    sheet = sheets["benchmarks"].drop_nulls("per_accelerator")
    # the other list lacks previews, machines with a raised power limit, edge systems, and systems
    # of several nodes of v6.0
    same = sheet.filter(
        ~pl.col("notes").fill_null("").str.contains("Preview|thermal"),
        pl.col("accelerator_id") != "nvidia-rtx-4090",
        (pl.col("round") != "v6.0") | (pl.col("accelerator_count") <= 10),
    )
    medians = same.group_by(key).agg(
        pl.col("per_accelerator").median().alias("figure"), pl.col("result_unit").first()
    )
    both = compiled.filter(
        ~pl.col("model").is_in(list(INFERENCE_DIFFERS)),
        pl.col("accelerator_id") != "nvidia-rtx-4090",
    ).join(medians, on=key, how="left")
    assert both.height > 250
    assert both["figure"].null_count() == 0
    # The other list has fewer systems of several nodes. Its Server rates are completed samples;
    # the sheet has scheduled samples, as MLPerf scores them.
    different = both.filter(
        (pl.col("figure") / pl.col("median") - 1).abs()
        > pl.when(pl.col("scenario") == "Server").then(0.03).otherwise(0.01)
    )
    assert different.select(*key).rows() == []


def test_training_times_are_those_logged(shared: Path, sheets: Mapping[str, pl.DataFrame]) -> None:
    compiled = pl.read_csv(shared / "specs" / "mlperf_training_minutes.csv").select(
        "round",
        "benchmark",
        system=pl.format("{}/{}", "submitter", "system"),
        minutes="minutes_to_train",
        total="accel_total",
    )
    rounds = compiled["round"].unique()
    sheet = sheets["benchmarks"].filter(
        pl.col("suite") == "mlperf_training", pl.col("round").is_in(rounds.implode())
    )
    both = sheet.join(
        compiled,
        left_on=["round", "model", "system"],
        right_on=["round", "benchmark", "system"],
        how="left",
    )
    assert sheet.height == compiled.height == both.height
    assert both.filter(
        (pl.col("result") != pl.col("minutes")) | (pl.col("accelerator_count") != pl.col("total"))
    ).is_empty()


def test_grid_and_pue_are_those_published(shared: Path, sheets: Mapping[str, pl.DataFrame]) -> None:
    google = pl.read_csv(shared / "specs" / "gcp_region_carbon_2024.csv")
    grid = dict(
        zip(
            google["Google Cloud Region"],
            google["Grid carbon intensity (gCO2eq / kWh)"],
            strict=True,
        )
    )
    sheet = sheets["region_footprint"].filter(provider="gcp").drop_nulls("grid_gco2e_per_kwh")
    for region, value, year in sheet.select(
        "region", "grid_gco2e_per_kwh", "grid_year"
    ).iter_rows():
        assert region not in grid or (value, year) == (grid[region], 2024)
    assert set(grid) - set(sheet["region"]) == {"us-east2"}  # no region that customers can use
    published = pl.read_csv(shared / "specs" / "pue_by_region_facts.csv")
    names = {"aws": "Amazon Web Services", "gcp": "Google Cloud"}
    for provider, name in names.items():
        newest = (
            published.filter(pl.col("cloud-provider") == name)
            .drop_nulls("power-usage-effectiveness")
            .sort("year")
            .group_by("cloud-region")
            .last()
        )
        newest_by_region = {
            row["cloud-region"]: (row["power-usage-effectiveness"], row["year"])
            for row in newest.rows(named=True)
        }
        from_sheet = sheets["region_footprint"].filter(provider=provider, pue_basis="region")
        assert {
            region: (pue, year)
            for region, pue, year in from_sheet.select("region", "pue", "pue_year").iter_rows()
        } == newest_by_region
