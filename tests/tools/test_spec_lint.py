"""The sheet passes every lint, and each lint finds the mistake that it is for."""

from pathlib import Path

import polars as pl
from tests.helpers.cases import cases, optional
from tests.helpers.sheet_copies import add, copy_with, set_cells
from tools import spec_lint

from hwprices.specs import sheets


def findings(directory: Path) -> set[tuple[str, str]]:
    return {(item.rule, item.accelerator_id) for item in spec_lint.lint(directory)}


def test_the_sheet_is_clean() -> None:
    assert spec_lint.lint() == []


@cases("specs/lint", value=optional)
def test_each_lint_finds_its_mistake(tmp_path, device, column, value, rule) -> None:
    assert (rule, device) in findings(
        copy_with(tmp_path, "accelerators", set_cells(device, **{column: value}))
    )


RESULT = {
    "suite": "mlperf_inference",
    "model": "llama3.1-8b",
    "scenario": "Offline",
    "round": "v5.1",
    "system_count": "1",
    "result_unit": "Tokens/s",
    "derived": "false",
    "official": "true",
    "source_url": "https://example.org",
    "as_of": "2026-01-01",
    "confidence": "high",
}


@cases("specs/other_devices")
def test_a_result_on_the_row_of_another_device(tmp_path: Path, system: str) -> None:
    edit = add(accelerator_id="nvidia-b300", system=system, **RESULT)
    assert findings(copy_with(tmp_path, "benchmarks", edit)) == {("other_device", "nvidia-b300")}


def test_a_language_model_that_is_not_in_tokens(tmp_path: Path) -> None:
    cells = RESULT | {"scenario": "Interactive", "result_unit": "Queries/s"}
    edit = add(accelerator_id="nvidia-b200", system="Dell/B200", **cells)
    found = findings(copy_with(tmp_path, "benchmarks", edit))
    assert found == {("benchmark_unit", "nvidia-b200"), ("benchmark_unit", "")}


def test_tokens_of_speech_are_no_samples(tmp_path: Path) -> None:
    """An L4 with 349 "samples" a second: those are tokens, of 5.5 pieces of speech."""
    cells = RESULT | {"model": "whisper", "result_unit": "Samples/s"}
    cells |= {"per_accelerator": "349.25", "derived": "true"}
    edit = add(accelerator_id="nvidia-l4", system="Dell/L4x4", **cells)
    assert findings(copy_with(tmp_path, "benchmarks", edit)) == {("speech", "nvidia-l4")}


def test_gpus_alone_are_no_complete_machine(tmp_path: Path) -> None:
    is_board = pl.col("device_id") == "amd-8x-mi300x-server"
    complete = pl.when(is_board).then(pl.lit("true")).otherwise("complete").alias("complete")
    directory = copy_with(tmp_path, "local_hardware", lambda frame: frame.with_columns(complete))
    assert findings(directory) == {("complete_machine", "amd-mi300x")}


def test_an_exception_that_is_not_needed(tmp_path: Path) -> None:
    edit = add(accelerator_id="nvidia-l4", rule="int8_is_twice_fp16", reason="none")
    assert ("int8_is_twice_fp16", "nvidia-l4") in findings(
        copy_with(tmp_path, "ratio_exceptions", edit)
    )


def test_check_rows_for_unknown_devices_and_columns(tmp_path: Path) -> None:
    edit = add(
        accelerator_id="nvidia-x1",
        figure="fp12_dense_tflops",
        source="s",
        value="1",
        source_url="https://example.org",
        as_of="2026-01-01",
    )
    rules = findings(copy_with(tmp_path, "second_sources", edit))
    assert {("unknown_device", "nvidia-x1"), ("unknown_figure", "")} <= rules


def test_no_hopper_rate_is_the_sparse_one() -> None:
    hopper = sheets.load("accelerators").filter(
        pl.col("architecture") == "Hopper", pl.col("form_factor").is_in(["sxm", "pcie"])
    )
    assert hopper.filter(pl.col("fp16_dense_tflops") > 1000).is_empty()
