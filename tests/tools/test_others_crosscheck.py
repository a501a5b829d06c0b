"""The comparison with prices that others collected: complete, and its document up to date."""

import pytest
from tools import others_crosscheck as crosscheck

from hwprices.errors import HwpricesError


@pytest.fixture(scope="module")
def comparisons() -> list[crosscheck.Comparison]:
    return crosscheck.compare()


def test_the_document_is_up_to_date(comparisons, monkeypatch) -> None:
    monkeypatch.setattr(crosscheck, "compare", lambda: comparisons)
    assert crosscheck.TARGET.read_text(encoding="utf-8") == crosscheck.report(), "run make docs"


def test_every_row_that_others_collected_is_compared(comparisons) -> None:
    """Provider: rows compared, and those that agree in all figures."""
    assert {c.provider: (c.rows, c.agreeing) for c in comparisons} == {
        "coreweave": (24, 24),
        "crusoe": (4, 4),
        "digitalocean": (7, 7),
        "lambda": (7, 7),
        "nebius": (8, 6),
        "oracle": (198, 197),
        "ovh": (69, 69),
        "runpod": (43, 43),
        "scaleway": (14, 14),
        "together": (2, 2),
    }


def test_all_528_rows_are_compared_or_said_to_be_not_collected(comparisons) -> None:
    others = sum(len(rows) for rows in crosscheck.not_collected().values())
    assert (sum(c.rows for c in comparisons), others) == (376, 152)


@pytest.mark.shared
def test_the_figures_are_those_that_others_collected(shared) -> None:
    for file in sorted((shared / "truth" / "others").glob("*.csv")):
        assert (crosscheck.FIGURES / file.name).read_text() == file.read_text(), file.name


def test_a_difference_must_be_explained(comparisons, monkeypatch) -> None:
    monkeypatch.setattr(crosscheck, "compare", lambda: comparisons)
    monkeypatch.setattr(crosscheck, "explanations", lambda: {})
    with pytest.raises(HwpricesError, match=r"3 differences are not explained, first: .*L40S"):
        crosscheck.report()
