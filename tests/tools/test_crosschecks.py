"""docs/crosschecks.md and its CSV files: computed again, complete, every difference explained."""

from pathlib import Path

import pytest
from tests.helpers.cases import rows as case_rows
from tools.crosschecks import __main__ as tool
from tools.crosschecks import others

from hwprices.errors import HwpricesError


def test_the_page_and_the_files_are_up_to_date() -> None:
    assert tool.main(["--check"]) == 0


@pytest.mark.shared
def test_the_lists_of_the_research_folder_give_the_same_lines(shared: Path) -> None:
    assert tool.main([str(shared), "--check"]) == 0


def test_every_source_has_its_figures() -> None:
    """Source: figures compared and equal. Rows of the other clouds are counted, not figures."""
    summary = {r["source"]: (int(r["compared"]), int(r["equal"])) for r in tool.read("summary")}
    figures = case_rows("tools/crosscheck_figures", compared=int, equal=int)
    assert summary == {row["source"]: (row["compared"], row["equal"]) for row in figures}


def test_azures_meters_decide_who_is_right() -> None:
    (e32,) = [
        row
        for row in tool.read("differences")
        if (row["machine"], row["region"]) == ("Standard_E32as_v5", "westeurope")
    ]
    assert (e32["sample"], e32["other"]) == ("2.192", "3.664")
    assert "Cloud Services" in e32["why"]


def test_all_528_rows_are_compared_or_listed_as_not_collected() -> None:
    compared = sum(sum((c.equal, len(c.differences))) for c in others.compare())
    not_collected = sum(int(row["rows"]) for row in others.not_collected())
    assert (compared, not_collected) == (467, 61)


@pytest.mark.shared
def test_the_figures_are_those_that_others_collected(shared: Path) -> None:
    for file in sorted(others.FIGURES.glob("*.csv")):
        assert file.read_text() == (shared / "truth" / "others" / file.name).read_text(), file.name


@pytest.mark.parametrize(
    ("explained", "message"),
    [
        ("", "the difference of nebius, NVIDIA .*, price is not explained"),
        ("oracle,BM.GPU4.8,price,gone\n", "nothing differs in oracle, BM.GPU4.8, price"),
    ],
)
def test_a_difference_has_an_explanation_and_an_explanation_a_difference(
    tmp_path, monkeypatch, explained, message
) -> None:
    for file in others.HERE.glob("*.csv"):
        (tmp_path / file.name).write_text(file.read_text())
    lines = (
        (tmp_path / "explained.csv").read_text()
        if explained
        else "provider,instance_type,field,why\n"
    )
    (tmp_path / "explained.csv").write_text(lines + explained)
    monkeypatch.setattr(others, "HERE", tmp_path)
    with pytest.raises(HwpricesError, match=message):
        others.compare()
