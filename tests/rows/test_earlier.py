"""Put today's times into rows that are taken over from an earlier run."""

from datetime import UTC, datetime

import polars as pl
from tests.helpers.releases import prices

from hwprices.rows import earlier


def at(hour):
    return datetime(2026, 10, 1, hour, tzinfo=UTC)


def test_times_of_pages_that_were_fetched_in_the_same_order():
    found = earlier.match_times([at(1), at(3), at(1)], [at(5), at(6), at(5)])
    assert found == {at(1): at(5), at(3): at(6)}


def test_pages_that_were_fetched_in_another_order_give_no_times():
    """A row with the earliest time of two pages would have the time of the other page."""
    assert earlier.match_times([at(1), at(3)], [at(6), at(5)]) is None
    assert earlier.match_times([at(1), at(1)], [at(5), at(6)]) is None
    assert earlier.match_times([at(1), at(3)], [at(5), at(5)]) is None


def test_rows_get_the_times_of_today():
    rows = prices({"observed_at": at(1)}, {"instance_type": "x", "observed_at": at(3)})
    now = earlier.with_times(rows, {at(1): at(5), at(3): at(6)})
    assert now["observed_at"].to_list() == [at(5), at(6)]
    assert now.drop("observed_at").equals(rows.drop("observed_at"))


def test_a_time_that_no_page_has_is_not_guessed():
    rows = pl.DataFrame({"observed_at": [at(2)]}, schema={"observed_at": pl.Datetime("us", "UTC")})
    assert earlier.with_times(rows, {at(1): at(5)}) is None
