"""Quantiles of a marketplace are kept from release to release; of one day the newest count."""

from datetime import UTC, date, datetime
from decimal import Decimal

import polars as pl
from tests.helpers.releases import rows

from hwprices.publish.join import market_days


def quantiles(day: int, least: str, provider: str = "vast", gpus: int = 1) -> pl.DataFrame:
    seen = {"day": date(2026, 8, day), "observed_at": datetime(2026, 8, day, tzinfo=UTC)}
    offer = {"accelerator_id": "nvidia-b300", "gpus": gpus, "verification": "verified"}
    figures = {"offers": 1, "is_complete": True, "min_usd": least}
    return rows("market_quantiles", {"provider": provider, **seen, **offer, **figures})


def test_days_are_added_and_the_newest_pages_of_a_day_count() -> None:
    of_vast = [quantiles(22, "7.5"), quantiles(23, "8"), quantiles(23, "9", gpus=2)]
    known = pl.concat([*of_vast, quantiles(23, "3", "other")])
    table = market_days(quantiles(23, "7").lazy(), known.lazy())
    assert sorted(table.select("provider", "day", "gpus", "min_usd").rows()) == [
        ("other", date(2026, 8, 23), 1, Decimal(3)),
        ("vast", date(2026, 8, 22), 1, Decimal("7.5")),
        ("vast", date(2026, 8, 23), 1, Decimal(7)),
    ]
    assert market_days(known.clear().lazy(), known.lazy()).height == known.height
