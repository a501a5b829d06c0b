"""The comparison with prices that others collected: complete, and its document up to date."""

import pytest
from tools import others_crosscheck as crosscheck

from hwprices.errors import HwpricesError


def test_the_document_is_up_to_date() -> None:
    assert crosscheck.TARGET.read_text(encoding="utf-8") == crosscheck.report(), "run make docs"


ROWS = {"coreweave": 24, "oracle": 198, "ovh": 69, "runpod": 43, "scaleway": 14}
"""Rows that others collected, of each cloud."""

AGREEING = ROWS | {"oracle": 197}


def test_every_row_that_others_collected_is_compared() -> None:
    comparisons = crosscheck.compare()
    assert {c.provider: c.rows for c in comparisons} == ROWS
    assert {c.provider: c.agreeing for c in comparisons} == AGREEING


def test_a_difference_must_be_explained(tmp_path, monkeypatch) -> None:
    nothing = tmp_path / "explained.csv"
    header = crosscheck.EXPLAINED.read_text().splitlines()[0]
    nothing.write_text(f"{header}\n")
    monkeypatch.setattr(crosscheck, "explanations", lambda: {})
    with pytest.raises(HwpricesError, match=r"not explained, first: .*Micro"):
        crosscheck.report()
