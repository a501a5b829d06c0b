"""How spot prices moved, and when they were below on-demand, from intervals with known figures."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import polars as pl
import pytest
from tests.helpers.releases import Row, rows

from hwprices.cli.history import machine_lines
from hwprices.read.find.break_even import spot_moves, spot_words

END = datetime(2026, 7, 20, tzinfo=UTC)


@dataclass
class World:
    """A release with a history."""

    rows: pl.DataFrame
    version: str = "20260720T000000Z"

    def scan(self, _table: str) -> pl.LazyFrame:
        return self.rows.lazy()


def interval(option: str, cents: int, days_ago: int, until: int | None, **more: object) -> Row:
    start, end = (END - timedelta(days=n) if n is not None else None for n in (days_ago, until))
    return {
        "purchase_option": option,
        "hourly": Decimal(cents) / 100,
        "valid_from": start,
        "valid_to": end,
        "state": "ended" if end else "current",
        "start_reason": "price_changed",
        "observed_first": start,
        "observed_last": start,
        "collection_unit": "past_spot/r1" if "hourly_low" in more else "spot/r1",
        **more,
    }


def history(*intervals: Row) -> pl.DataFrame:
    return rows("price_history", *intervals)


WORLD = World(
    history(
        interval("on_demand", 10, 400, None),
        # 30 days at 4 cents and 10 at 12, of which a day at 4 to 20
        interval("spot", 4, 40, 10),
        interval("spot", 12, 10, 9, hourly_low=Decimal("0.04"), hourly_high=Decimal("0.2")),
        interval("spot", 12, 9, None),
    )
)


def test_volatility_and_the_share_below_on_demand_are_weighted_with_time() -> None:
    (row,) = spot_moves(WORLD, WORLD.rows).to_dicts()
    assert (row["spot_days"], row["spot_low"], row["spot_high"]) == (
        40,
        Decimal("0.04"),
        Decimal("0.2"),
    )
    assert row["spot_mean"] == pytest.approx(0.06)
    assert row["spot_volatility"] == pytest.approx((0.75 * 0.02**2 + 0.25 * 0.06**2) ** 0.5 / 0.06)
    assert row["spot_below_on_demand"] == pytest.approx(0.75)


def test_only_the_last_90_days_count() -> None:
    older = history(interval("spot", 50, 300, 40), interval("spot", 4, 40, None))
    (row,) = spot_moves(World(older), older).to_dicts()
    assert (row["spot_days"], row["spot_below_on_demand"]) == (90, None)
    assert row["spot_mean"] == pytest.approx((50 * 0.5 + 40 * 0.04) / 90)


def test_the_history_says_what_is_backfilled() -> None:
    rows = WORLD.rows.filter(purchase_option="spot").with_columns(placeholder=pl.lit(False))

    lines = machine_lines(rows, spot_moves(WORLD, rows), width=200, chart=False, limit=5)

    text = "\n".join(lines)
    assert "last 40 days: 0.0400 to 0.2000, " in text
    assert spot_words({"spot_volatility": 0.577, "spot_below_on_demand": 0.75}) in text
    assert text.count("observed") == 2
    assert text.count("backfilled, mean of days") == 1
