"""The sheet passes every lint, and each lint finds the mistake that it is for."""

from pathlib import Path

import polars as pl
import pytest
from tests.helpers.sheet_copies import add, copy_with, set_cells
from tools import spec_lint

from hwprices.specs import sheets


def findings(directory: Path) -> set[tuple[str, str]]:
    return {(item.rule, item.accelerator_id) for item in spec_lint.lint(directory)}


def test_the_sheet_is_clean() -> None:
    assert spec_lint.lint() == []


@pytest.mark.parametrize(
    ("device", "cells", "rule"),
    [
        ("nvidia-l4", {"fp16_dense_tflops": "242"}, "sparse_as_dense"),
        ("nvidia-h100-sxm5-80gb", {"fp16_dense_tflops": "1979"}, "sparse_as_dense"),
        ("nvidia-b300", {"fp4_dense_tflops": "9000"}, "sparse_as_dense"),  # 18,000 halved by rule
        ("nvidia-l40s", {"fp8_dense_tflops": None}, "sparse_without_dense"),
        ("nvidia-a40", {"int8_dense_tops": "149.7"}, "int8_is_twice_fp16"),
        ("nvidia-a40", {"tf32_dense_tflops": "37.4"}, "tf32_is_half_fp16"),
        ("nvidia-a40", {"bf16_dense_tflops": "37.4"}, "bf16_is_fp16"),
        ("google-tpu-v6e", {"int8_dense_tops": "918"}, "int8_is_twice_bf16"),
        ("nvidia-t4", {"bf16_dense_tflops": "65"}, "rate_of_unsupported"),
        ("nvidia-l4", {"fp8_support": "unknown"}, "rate_of_unsupported"),
        ("nvidia-p40", {"memory_bandwidth_gbs": "694"}, "bandwidth"),
        ("nvidia-p40", {"memory_bus_bits": None}, "bandwidth"),
        ("nvidia-a10g", {"fp16_dense_tflops": "125"}, "unexplained"),
        ("nvidia-a100-pcie-40gb", {"tdp_w": "300"}, "needless_explanation"),
        ("nvidia-t4", {"tdp_w": None}, "second_source_of_nothing"),
        ("nvidia-l4", {"memory_gb": "23034"}, "implausible"),  # MiB
        ("nvidia-l4", {"fp32_dense_tflops": "30300"}, "implausible"),  # GFLOPS
        ("intel-gaudi1", {"verified": "true"}, "verified"),
        ("google-tpu-v4", {"tdp_w": "192"}, "estimate"),
        ("google-tpu-v4", {"tdp_estimate_source": None}, "source"),
        ("nvidia-rtx-4090", {"launch_price_source": None}, "source"),
    ],
)
def test_each_lint_finds_its_mistake(
    tmp_path: Path, device: str, cells: dict[str, str | None], rule: str
) -> None:
    assert (rule, device) in findings(
        copy_with(tmp_path, "accelerators", set_cells(device, **cells))
    )


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
