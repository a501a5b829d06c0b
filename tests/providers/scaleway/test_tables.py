"""Scaleway's sample; answers are in tests/cases/scaleway/answers.yaml."""

from tests.helpers.vendor_tables import Tables, record_of

SERVER = record_of("scaleway", "servers")


def test_stock_is_the_vendors_word(sample: Tables) -> None:
    words = sample["stock"].group_by("state", "available").len().sort("state").rows()
    assert words == [("available", True, 14), ("scarce", True, 5), ("shortage", False, 10)]
