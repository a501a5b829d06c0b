"""Who sells a device: each cloud's cheapest prices, its currency, and how old they are."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from tests.helpers.terminal import drawn

from hwprices.cli.device import _cell, render_where_sold
from hwprices.cli.tables import money
from hwprices.read.currency import offers_in_usd
from hwprices.read.device.measured import where_sold
from hwprices.schemas.tables import Offers

NOW = datetime(2026, 11, 21, tzinfo=UTC)
OLD, NEW = datetime(2026, 8, 22, tzinfo=UTC), datetime(2026, 11, 20, tzinfo=UTC)

H100 = "1x NVIDIA H100 80GB HBM3"


def offer(
    provider: str, region: str, name: str, count: float, hourly: str | None, **more: Any
) -> dict[str, Any]:
    """An offer of a machine with so many devices, whose price was seen yesterday."""
    amount = Decimal(hourly) if hourly else None
    return {
        "provider": provider,
        "region": region,
        "instance_type": name,
        "accelerator_count": count,
        "currency": "USD",
        "on_demand_hourly": amount,
        "on_demand_usd_per_hour": amount if more.get("currency", "USD") == "USD" else None,
        "on_demand_observed_at": NEW,
        **more,
    }


SPOT = {"spot_usd_per_hour": Decimal("19.51"), "spot_observed_at": OLD}
ON_REQUEST = {"on_demand_reason": "contact_sales", "on_demand_observed_at": OLD}
OFFERS = [
    offer("aws", "us-east-1", "p5.48xlarge", 8, "55.04"),
    offer("coreweave", "EUROPE", "NVIDIA HGX H100", 8, "49.24", **SPOT),
    offer("scaleway", "fr-par-2", "H100-SXM-2-80G", 2, "6.6198", currency="EUR"),
    offer("crusoe", "global", "NVIDIA B200 180GB HGX", 1, None, **ON_REQUEST),
    offer("runpod", "community", H100, 1, "2.69"),
    offer("runpod", "secure", H100, 1, "2.99"),
]


def answered(rates: dict[str, Decimal] | None = None) -> list[dict[str, Any]]:
    dates = dict.fromkeys(("on_demand_observed_at", "spot_observed_at"), pl.Datetime("us", "UTC"))
    schema = {**Offers.dtypes, **dates}
    rows = [{name: row.get(name) for name in schema} for row in OFFERS]
    offers = offers_in_usd(pl.LazyFrame(rows, schema=schema), rates or {}).collect()
    clouds = ["aws", "coreweave", "crusoe", "gcp", "runpod", "scaleway"]
    return where_sold(offers, clouds, dict.fromkeys(clouds, NOW))


def cloud(rows: list[dict[str, Any]], provider: str) -> dict[str, Any]:
    (row,) = [row for row in rows if row["provider"] == provider]
    return row


def test_prices_are_of_one_device_and_the_cheapest_comes_first() -> None:
    rows = answered()
    assert [row["provider"] for row in rows[:3]] == ["runpod", "coreweave", "aws"]
    assert rows[1]["on_demand_usd_per_hour"] == Decimal("6.155")
    assert rows[1]["spot_usd_per_hour"] == Decimal("2.43875")


def test_machines_of_private_people_have_a_row_of_their_own_after_the_data_centers() -> None:
    """RunPod's Community Cloud asks less than its data centers, and is not the cheapest cloud."""
    rows = answered()
    first, last = rows[0], rows[-1]
    assert (first["provider"], first["private_host"]) == ("runpod", False)
    assert first["on_demand_offer"] == "secure/1x NVIDIA H100 80GB HBM3"
    assert (last["provider"], last["private_host"]) == ("runpod", True)
    assert last["on_demand_usd_per_hour"] == Decimal("2.69")


def test_another_currency_is_listed_and_not_compared() -> None:
    row = cloud(answered(), "scaleway")
    assert (row["currency"], row["on_demand_per_hour"]) == ("EUR", Decimal("3.3099"))
    assert row["on_demand_usd_per_hour"] is None


def test_with_a_rate_it_is_compared() -> None:
    rows = answered({"EUR": Decimal("1.08")})
    assert rows[1]["provider"] == "scaleway"
    assert rows[1]["on_demand_usd_per_hour"] == Decimal("3.574692")


@pytest.mark.parametrize(
    ("provider", "seen", "stale"),
    [("coreweave", date(2026, 8, 22), True), ("aws", date(2026, 11, 20), False)],
)
def test_a_price_older_than_90_days_is_stale(provider: str, seen: date, stale: bool) -> None:
    row = cloud(answered(), provider)
    assert (row["seen"], row["stale"]) == (seen, stale)


@pytest.mark.parametrize(
    ("provider", "reason"), [("crusoe", "contact_sales"), ("gcp", "not_listed")]
)
def test_a_cloud_without_a_price_says_why(provider: str, reason: str) -> None:
    row = cloud(answered(), provider)
    assert (row["on_demand_per_hour"], row["reason"], row["seen"]) == (None, reason, None)


def test_the_screen_shows_age_reason_and_what_to_do() -> None:
    text = drawn(render_where_sold(answered()), width=120)
    assert "2026-08-22, stale" in text
    assert "contact sales" in text
    assert "runpod, community hosts" in text
    assert "3.31 EUR" in text
    assert "--usd-per EUR=… makes its prices comparable" in text


@pytest.mark.parametrize(("stale", "mark"), [([True, False], ""), ([True, True], "*")])
def test_a_price_is_stale_if_nobody_has_it_newer(stale: list[bool], mark: str) -> None:
    sold = [{"on_demand_usd_per_hour": Decimal(2), "stale": is_stale} for is_stale in stale]
    row = {"on_demand_usd_per_hour": Decimal(2), "where_sold": sold}
    assert _cell(row, "on_demand_usd_per_hour") == money(Decimal(2)) + mark
