"""Voltage Park's locations are one page; answers are in tests/cases/voltagepark/answers.yaml."""

import pytest
from tests.helpers.stub_server import Reply
from tests.helpers.vendor_tables import record_of

LOCATION = record_of("voltagepark", "locations")


@pytest.mark.parametrize("has_next", [True, None])
def test_a_part_of_the_locations_fails_the_unit(live, fetch, has_next) -> None:
    page = Reply.json({"results": [LOCATION], "has_next": has_next})
    live(voltagepark_url="").on("/bare-metal/locations", page)
    result = fetch("voltagepark", "locations")
    assert (result.status, len(result.pages)) == ("failed", 0)
    assert "is not all of the locations" in result.reason
