"""The page that compares the sample's prices with other collectors' is up to date.

Writing it compares and explains each price, and fails on one that is not explained.
"""

from pathlib import Path

import pytest
from tools import price_crosscheck


@pytest.mark.shared
def test_every_price_of_the_second_sources_is_equal_or_explained(shared: Path) -> None:
    page = price_crosscheck.render(shared)
    assert page == price_crosscheck.REPORT.read_text(), "run python -m tools.price_crosscheck"


def test_the_sources_agree_as_the_page_says() -> None:
    page = price_crosscheck.REPORT.read_text()
    assert "| 1,367 | 1,367 | 0 |" in page
    assert "| 1,361 | 1,361 | 0 |" in page
    assert "| 516 | 451 | 65 |" in page
    assert "| 7,212 | 7,212 | 0 |" in page
