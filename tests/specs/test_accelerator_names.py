"""Vendors' names of accelerators are matched to ids of the accelerator sheet."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.cases import cases

from hwprices.errors import HwpricesError
from hwprices.schemas.tables import AcceleratorNames
from hwprices.specs import accelerator_names

HEAD = ",".join(AcceleratorNames.columns) + "\n"
TAIL = ",https://example.org,2026-11-21\n"


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    (tmp_path / "accelerator_names").mkdir()
    ids = [
        "nvidia-l4",
        "nvidia-a100-sxm4-40gb",
        "nvidia-a100-sxm4-80gb",
        "nvidia-h200-sxm",
        "nvidia-t4",
    ]
    (tmp_path / "accelerators.csv").write_text("accelerator_id\n" + "\n".join(ids) + "\n")
    return tmp_path


def write(sheet: Path, *rules: str) -> Path:
    (sheet / "accelerator_names" / "cloud.csv").write_text(
        HEAD + "".join(rule + TAIL for rule in rules)
    )
    return sheet


def test_name_and_pattern_go_before_one_of_them(sheet: Path) -> None:
    rules = [
        "A100,,nvidia-a100-sxm4-40gb,,",
        r"A100,p4de\..*,nvidia-a100-sxm4-80gb,,",
        r",p5en\..*,nvidia-h200-sxm,8,141",
        r"L4,g6f\.large,nvidia-l4,0.125,24",
    ]
    match = accelerator_names.accelerator_matcher("cloud", write(sheet, *rules))
    assert match("A100", "p4d.24xlarge") == accelerator_names.Match(
        "nvidia-a100-sxm4-40gb", None, None
    )
    assert match("A100", "p4de.24xlarge") == accelerator_names.Match(
        "nvidia-a100-sxm4-80gb", None, None
    )
    assert (
        match(None, "p5en.48xlarge")
        == match("NVIDIA", "p5en.48xlarge")
        == accelerator_names.Match("nvidia-h200-sxm", 8.0, 141.0)
    )
    assert match("L4", "g6f.large") == accelerator_names.Match("nvidia-l4", 0.125, 24.0)
    assert match("L4", "g6f.large.metal") is None  # patterns match the whole type
    assert match(None, "m5.large") is None


def test_two_answers_of_one_rank_are_an_error(sheet: Path) -> None:
    match = accelerator_names.accelerator_matcher(
        "cloud", write(sheet, "A100,,nvidia-a100-sxm4-40gb,,", ",p4.*,nvidia-a100-sxm4-80gb,,")
    )
    with pytest.raises(HwpricesError, match=r"lines 2, 3 give different answers for 'A100' in p4d"):
        match("A100", "p4d.24xlarge")
    assert match("A100", "x1") is not None


def test_two_equal_answers_are_one(sheet: Path) -> None:
    match = accelerator_names.accelerator_matcher(
        "cloud", write(sheet, "T4,,nvidia-t4,,", ",g4.*,nvidia-t4,,")
    )
    assert match("T4", "g4dn.xlarge") == accelerator_names.Match("nvidia-t4", None, None)


def test_alternatives_of_a_pattern_are_its_own(sheet: Path) -> None:
    match = accelerator_names.accelerator_matcher(
        "cloud", write(sheet, r",g4\..*|g5,nvidia-t4,,", r"L4,(g6|gr6)f?\..*,nvidia-l4,,")
    )
    fitting = ["g4.large", "g5", "g6.large", "gr6f.large", "g5.large", "xg5", "m5.large"]
    accelerators = [one and one.accelerator_id for one in (match("L4", name) for name in fitting)]
    assert accelerators == ["nvidia-t4"] * 2 + ["nvidia-l4"] * 2 + [None] * 3
    assert match(None, "g6.large") is None


@cases("specs/broken_name_rules")
def test_a_broken_rule_is_named(sheet: Path, rule: str, message: str) -> None:
    with pytest.raises(HwpricesError) as error:
        accelerator_names.accelerator_matcher("cloud", write(sheet, rule))
    assert message in str(error.value)
    assert "line 2" in str(error.value)


def test_a_provider_without_a_sheet_is_an_error(sheet: Path) -> None:
    with pytest.raises(HwpricesError, match=r"accelerator_names/other\.csv is missing"):
        accelerator_names.accelerator_matcher("other", sheet)


@given(st.text(max_size=40), st.one_of(st.none(), st.text(max_size=20)))
def test_arbitrary_names_never_crash(instance_type: str, name: str | None) -> None:
    match = accelerator_names.accelerator_matcher("aws")(name, instance_type)
    assert match is None or match.accelerator_id
