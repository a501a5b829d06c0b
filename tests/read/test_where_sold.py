"""Who sells a device: each cloud's cheapest prices, its currency, and how old they are."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from rich.console import Console

from hwprices.cli.device import render_where_sold
from hwprices.read.currency import offers_in_usd
from hwprices.read.device.where_sold import where_sold
from hwprices.rows import frames
from hwprices.schemas.offer import Offers

NOW = datetime(2026, 11, 21, tzinfo=UTC)
OLD, NEW = datetime(2026, 8, 22, tzinfo=UTC), datetime(2026, 11, 20, tzinfo=UTC)

OFFERS: list[dict[str, Any]] = [
    {
        "provider": "aws",
        "region": "us-east-1",
        "instance_type": "p5.48xlarge",
        "accelerator_count": 8.0,
        "on_demand_hourly": Decimal("55.04"),
        "on_demand_usd_per_hour": Decimal("55.04"),
        "on_demand_observed_at": NEW,
    },
    {
        "provider": "coreweave",
        "region": "EUROPE",
        "instance_type": "NVIDIA HGX H100",
        "accelerator_count": 8.0,
        "on_demand_hourly": Decimal("49.24"),
        "on_demand_usd_per_hour": Decimal("49.24"),
        "spot_usd_per_hour": Decimal("19.51"),
        "on_demand_observed_at": NEW,
        "spot_observed_at": OLD,
    },
    {
        "provider": "scaleway",
        "region": "fr-par-2",
        "instance_type": "H100-SXM-2-80G",
        "accelerator_count": 2.0,
        "currency": "EUR",
        "on_demand_hourly": Decimal("6.6198"),
        "on_demand_observed_at": NEW,
    },
    {
        "provider": "crusoe",
        "region": "global",
        "instance_type": "NVIDIA B200 180GB HGX",
        "accelerator_count": 1.0,
        "on_demand_reason": "contact_sales",
        "on_demand_observed_at": OLD,
    },
    {
        "provider": "runpod",
        "region": "community",
        "instance_type": "1x NVIDIA H100 80GB HBM3",
        "accelerator_count": 1.0,
        "on_demand_hourly": Decimal("2.69"),
        "on_demand_usd_per_hour": Decimal("2.69"),
        "on_demand_observed_at": NEW,
    },
    {
        "provider": "runpod",
        "region": "secure",
        "instance_type": "1x NVIDIA H100 80GB HBM3",
        "accelerator_count": 1.0,
        "on_demand_hourly": Decimal("2.99"),
        "on_demand_usd_per_hour": Decimal("2.99"),
        "on_demand_observed_at": NEW,
    },
]


def answered(rates: dict[str, Decimal] | None = None) -> list[dict[str, Any]]:
    dates = dict.fromkeys(("on_demand_observed_at", "spot_observed_at"), pl.Datetime("us", "UTC"))
    schema = {**frames.dtypes(Offers), **dates}
    rows = [{name: {"currency": "USD", **row}.get(name) for name in schema} for row in OFFERS]
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
    console = Console(width=120, no_color=True)
    with console.capture() as output:
        console.print(render_where_sold(answered()))
    text = output.get()
    assert "2026-08-22, stale" in text
    assert "contact sales" in text
    assert "runpod, community hosts" in text
    assert "3.31 EUR" in text
    assert "--usd-per EUR=… makes its prices comparable" in text
