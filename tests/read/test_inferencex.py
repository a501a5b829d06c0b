"""A file of InferenceX's results, as the sheet of serving speeds and as an option of recommend."""

import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.helpers.cases import cases
from tests.helpers.releases import Release

from hwprices.errors import HwpricesError
from hwprices.read.recommend.inferencex import ACCELERATORS, MODELS, serving_speeds
from hwprices.read.recommend.question import Question
from hwprices.read.recommend.recommend import recommend
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
    whole = [row(conc=256, metrics={"output_tput_per_gpu": 50})] * 101
    found = serving_speeds([*whole, row(), older, slower], date(2026, 11, 26)).filter(users=16)
    sheet = sheets.load("serving_speeds")
    assert set(found.columns) == set(sheet.columns)
    (known,) = sheet.filter(source_url=RUN, users=16, input_tokens=922).to_dicts()
    assert found.to_dicts() == [known]


@cases("read/inferencex_left_out", changed=yaml.safe_load)
def test_other_cases_are_left_out(changed: dict[str, Any]) -> None:
    assert serving_speeds([row(**changed)], date(2026, 11, 26)).is_empty()


def test_the_names_are_those_of_the_sheets() -> None:
    assert set(ACCELERATORS.values()) <= set(sheets.load("accelerators")["accelerator_id"])
    assert set(MODELS.values()) <= set(sheets.load("models")["model_id"])


def test_estimates_are_corrected_by_the_runs_of_a_file(release: Release, tmp_path: Path) -> None:
    """GLM-5 was not measured on H200. One run is believed by half: of four times the estimate two.

    Lengths are 0.9 × 1,024 tokens.
    """
    serving = {
        "input_tokens": 922,
        "output_tokens": 922,
        "concurrency": 16,
        "min_tokens_per_second": 1,
        "max_seconds_to_first_token": 60,
    }
    question = Question("glm-5", precision="fp8", **serving)

    def eight_h200(speeds: str | None = None) -> dict[str, Any]:
        answer = recommend(replace(question, speeds=speeds), dataset=release)
        return answer.filter(machine="p5en.48xlarge").row(0, named=True)

    usual, file = eight_h200(), tmp_path / "runs.json"
    rate = usual["tokens_per_second"] * 4 / 8
    run = row(model="glm5", hardware="h200", metrics={"output_tput_per_gpu": rate})
    file.write_text(json.dumps([run, row(model="unknown")]))
    corrected = eight_h200(str(file))
    ratio = corrected["tokens_per_second"] / usual["tokens_per_second"]
    assert ratio == pytest.approx(2, rel=1e-3)
    assert (usual["basis"], corrected["basis"]) == ("modeled", "not yet run live")
    assert corrected["measurement"] == f"glm-5/SGLang/{RUN}"
    assert f"speeds of {file} first, not yet run live, 1 of 2 runs" in corrected["assumed"]
    assert "not yet run live" not in usual["assumed"]


def test_a_file_that_is_not_inferencex_is_refused(release: Release, tmp_path: Path) -> None:
    file = tmp_path / "runs.json"
    with pytest.raises(HwpricesError, match="No such file"):
        recommend("deepseek-r1", speeds=file, dataset=release)
    for text, message in (
        ("{", "is not in InferenceX's format"),
        ('[{"hardware": "h200"}]', "is not in InferenceX's format: KeyError"),
        (json.dumps([row(model="unknown")]), "no run of .* is of one machine"),
    ):
        file.write_text(text)
        with pytest.raises(HwpricesError, match=message):
            recommend("deepseek-r1", speeds=file, dataset=release)
    with pytest.raises(HwpricesError, match="speeds: not for the workload lora"):
        recommend(Question("7B", "lora", speeds=str(file)), dataset=release)
    with pytest.raises(HwpricesError, match="speeds: only for language models"):
        recommend("sdxl", speeds=file, dataset=release)
