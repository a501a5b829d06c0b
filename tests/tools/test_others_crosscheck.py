"""The comparison with prices that others collected: complete, and its document up to date."""

import pytest
from tools import others_crosscheck as crosscheck

from hwprices.errors import HwpricesError


def test_the_document_is_up_to_date() -> None:
    assert crosscheck.TARGET.read_text(encoding="utf-8") == crosscheck.report(), "run make docs"


@pytest.mark.parametrize(("provider", "rows", "agreeing"), [("oracle", 198, 197), ("ovh", 69, 69)])
def test_every_row_that_others_collected_is_compared(provider, rows, agreeing) -> None:
    (comparison,) = [c for c in crosscheck.compare() if c.provider == provider]
    assert (comparison.rows, comparison.agreeing) == (rows, agreeing)


def test_a_difference_must_be_explained(tmp_path, monkeypatch) -> None:
    nothing = tmp_path / "explained.csv"
    header = crosscheck.EXPLAINED.read_text().splitlines()[0]
    nothing.write_text(f"{header}\n")
    monkeypatch.setattr(crosscheck, "explanations", lambda: {})
    with pytest.raises(HwpricesError, match=r"not explained, first: .*Micro"):
        crosscheck.report()
