"""Prices in another currency are compared only at a rate that the reader gives."""

from decimal import Decimal

import polars as pl
import pytest

from hwprices.errors import HwpricesError
from hwprices.read.currency import (
    NO_RATES,
    offers_in_usd,
    parse_rates,
    read_rates,
    to_usd,
)
from hwprices.units import Money

EUR = {"EUR": Decimal("1.08")}


def offers(*rows: dict[str, object]) -> pl.LazyFrame:
    """Make rows of offers with the columns that a conversion reads and fills in."""
    on_demand = ("on_demand_hourly", "on_demand_usd_per_hour", "on_demand_usd_per_year")
    figures = ("count", "memory_gib", "bf16_tflops", "fp8_tflops")
    schema = {
        **dict.fromkeys(("instance_type", "currency", "accelerator_kind"), pl.String),
        **dict.fromkeys((*on_demand, "usd_per_vcpu_hour", "usd_per_accelerator_hour"), Money),
        **dict.fromkeys((f"accelerator_{name}" for name in figures), pl.Float64),
        "vcpus": pl.Int32,
    }
    return pl.LazyFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)


SCALEWAY = {
    "instance_type": "H100-SXM-2-80G",
    "currency": "EUR",
    "on_demand_hourly": Decimal("6.6198"),
    "accelerator_kind": "gpu",
    "accelerator_count": 2.0,
    "vcpus": 32,
}
AWS = {
    "instance_type": "p5.48xlarge",
    "currency": "USD",
    "on_demand_hourly": Decimal("55.04"),
    "on_demand_usd_per_hour": Decimal("55.04"),
    "usd_per_accelerator_hour": Decimal("6.88"),
    "accelerator_kind": "gpu",
    "accelerator_count": 8.0,
}


def test_rates_are_read_from_the_option() -> None:
    assert parse_rates(["eur=1.08", " CNY = 0.14 "]) == EUR | {"CNY": Decimal("0.14")}
    assert parse_rates(None) == {}


@pytest.mark.parametrize("option", ["EUR", "EUR=", "EUR=0", "EUR=-1", "EUR=1,08", "USD=1", "€=1"])
def test_what_is_no_rate_is_an_error_that_shows_the_form(option: str) -> None:
    with pytest.raises(HwpricesError, match=r"--usd-per EUR=1\.08"):
        parse_rates([option])


def test_a_currency_given_twice_is_an_error() -> None:
    with pytest.raises(HwpricesError, match="EUR twice"):
        parse_rates(["EUR=1.08", "EUR=1.10"])


def test_conversion_is_decimal_and_null_without_a_rate() -> None:
    frame = pl.DataFrame({"c": ["EUR", "USD", "CNY"], "a": [Decimal("2.8665")] * 3})
    usd = frame.select(to_usd(pl.col("a"), pl.col("c"), EUR)).to_series()
    assert usd.to_list() == [Decimal("3.0958200000"), Decimal("2.8665000000"), None]


def test_offers_get_their_columns_in_usd() -> None:
    rows = offers_in_usd(offers(SCALEWAY, AWS), EUR).collect().to_dicts()
    assert rows[0]["on_demand_usd_per_hour"] == Decimal("7.149384")
    assert rows[0]["usd_per_accelerator_hour"] == Decimal("3.574692")
    assert rows[0]["usd_per_vcpu_hour"] is None  # of a machine with accelerators
    assert (rows[0]["on_demand_hourly"], rows[0]["currency"]) == (Decimal("6.6198"), "EUR")
    assert rows[1]["on_demand_usd_per_hour"] == Decimal("55.04")
    assert rows[1]["usd_per_accelerator_hour"] == Decimal("6.88")


def test_without_a_rate_nothing_is_compared_as_if_it_were_usd() -> None:
    row = offers_in_usd(offers(SCALEWAY), NO_RATES).collect().row(0, named=True)
    assert row["on_demand_usd_per_hour"] is None
    assert offers_in_usd(offers(SCALEWAY), {"CNY": Decimal("0.14")}).collect()[
        "usd_per_accelerator_hour"
    ].to_list() == [None]


def test_a_computed_rate_is_rounded_as_money_is() -> None:
    rates = read_rates({"EUR": 1 / 0.92, "gbp": Decimal(1) / Decimal(3), "JPY": 1e-07})
    assert rates == {
        "EUR": Decimal("1.0869565217"),
        "GBP": Decimal("0.3333333333"),
        "JPY": Decimal("0.0000001"),
    }
    for wrong in (0, -1, 1e-11, "x", float("nan"), float("inf"), Decimal("NaN")):
        with pytest.raises(HwpricesError, match="not an exchange rate"):
            read_rates({"EUR": wrong})
