"""A file of InferenceX's results, as the sheet of serving speeds."""

from datetime import date
from typing import Any

import pytest
from tools.inferencex import ACCELERATORS, MODELS, serving_speeds

from hwprices.specs import sheets

RUN = "https://github.com/SemiAnalysisAI/InferenceX/actions/runs/20183691426/attempts/3"


def row(**changed: Any) -> dict[str, Any]:
    """A run of DeepSeek-R1 on eight MI325X, 77.6875 tokens/s each, as the dashboard has it."""
    usual = {
        **{"hardware": "mi325x", "framework": "sglang", "model": "dsr1", "precision": "fp8"},
        **{"spec_method": "none", "disagg": False, "is_multinode": False, "num_prefill_gpu": 8},
        **{"num_decode_gpu": 8, "benchmark_type": "single_turn", "isl": 1024, "osl": 1024},
        **{"conc": 16, "date": "2025-12-13", "run_url": RUN},
        "metrics": {"tput_per_gpu": 155.4, "output_tput_per_gpu": 77.6875, "median_ttft": 0.3},
    }
    return usual | changed


def test_a_row_is_the_one_that_the_sheet_has() -> None:
    older = row(date="2025-11-01", metrics={"output_tput_per_gpu": 50.0})
    slower = row(framework="vllm", metrics={"output_tput_per_gpu": 50.0})
    found = serving_speeds([row(), older, slower], date(2026, 11, 26))
    sheet = sheets.load("serving_speeds")
    assert set(found.columns) == set(sheet.columns)
    (known,) = sheet.filter(source_url=RUN, users=16, input_tokens=922).to_dicts()
    assert found.to_dicts() == [known]


@pytest.mark.parametrize(
    "changed",
    [
        {"disagg": True},
        {"is_multinode": True},
        {"num_decode_gpu": 16},
        {"spec_method": "mtp"},
        {"benchmark_type": "agentic"},
        {"hardware": "tpu-v7"},
        {"model": "unknown"},
        {"framework": "mori-sglang"},
    ],
)
def test_other_cases_are_left_out(changed: dict[str, Any]) -> None:
    assert serving_speeds([row(**changed)], date(2026, 11, 26)).is_empty()


def test_the_names_are_those_of_the_sheets() -> None:
    assert set(ACCELERATORS.values()) <= set(sheets.load("accelerators")["accelerator_id"])
    assert set(MODELS.values()) <= set(sheets.load("models")["model_id"])
