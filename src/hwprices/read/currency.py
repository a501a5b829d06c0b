"""Convert prices in other currencies to USD at exchange rates that the user gives.

The dataset has each price in the currency of its vendor. Columns named usd are null for other
currencies, so that nothing is compared by accident. An exchange rate (``--usd-per EUR=1.08``) fills
them in. A price in a currency without a rate is shown in that currency and has no figure in USD.
Only ``recommend`` has a built-in rate; its answers state the rate and its day.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal

import polars as pl

from hwprices import formulas
from hwprices.errors import HwpricesError
from hwprices.units import Money, WideMoney

Rates = Mapping[str, Decimal]
"""USD per unit of a currency (ISO 4217)."""

NO_RATES: Rates = {}

ECB_RATES: Rates = {"EUR": Decimal("1.1225")}
"""The ECB's reference rate on ECB_DAY, https://www.ecb.europa.eu/stats/shared/pdf/eurofxref.pdf"""

ECB_DAY = date(2026, 10, 2)
USD = "USD"

# up to the digits of a Python Decimal, and no positive exponent
OPTION = re.compile(r"([A-Za-z]{3})\s*=\s*(\d{1,9}(?:\.\d{1,40})?(?:[eE]-\d{1,2})?)")
LAST_PLACE = Decimal("1e-10")  # rates are rounded to this, as money is
HOURLY = "on_demand_usd_per_hour"


def parse_rates(options: Iterable[str] | None) -> Rates:
    """Read the values of ``--usd-per``: ``EUR=1.08`` means that one euro is 1.08 US dollars.

    Raises:
        HwpricesError: a value has another form, is not above zero, or a currency is given twice.
    """
    rates: dict[str, Decimal] = {}
    for option in options or ():
        match = OPTION.fullmatch(option.strip())
        currency, rate = (match[1].upper(), Decimal(match[2])) if match else ("", Decimal(0))
        rate = rate.quantize(LAST_PLACE)
        if not rate or currency == USD:
            raise HwpricesError(
                f"--usd-per {option}: this is not an exchange rate",
                "Write the dollars that one unit of the currency is worth: --usd-per EUR=1.08.",
            )
        if currency in rates:
            raise HwpricesError(f"--usd-per gives {currency} twice", "Leave one of them out.")
        rates[currency] = rate
    return rates


def read_rates(usd_per: Mapping[str, object]) -> Rates:
    """Read exchange rates from a mapping.

    Raises:
        HwpricesError: see ``parse_rates``.
    """
    written = {
        currency: f"{rate:f}" if isinstance(rate, Decimal) else rate
        for currency, rate in usd_per.items()
    }
    return parse_rates(f"{currency}={rate}" for currency, rate in written.items())


def usd_per(rates: Rates, currency: pl.Expr) -> pl.Expr:
    """Return the USD that one unit of the currency is worth: 1 for USD, null without a rate."""
    all_rates = {USD: Decimal(1), **rates}
    # as text: for a series of Decimal objects polars imports numpy, which takes as long as polars
    usd = pl.Series([f"{rate:f}" for rate in all_rates.values()]).cast(Money)
    return currency.replace_strict(list(all_rates), usd, default=None, return_dtype=Money)


def to_usd(amount: pl.Expr, currency: pl.Expr, rates: Rates) -> pl.Expr:
    """Convert money to USD, rounded to ten decimals; null without a rate."""
    return (amount.cast(WideMoney) * usd_per(rates, currency)).cast(Money)


def offers_in_usd(offers: pl.LazyFrame, rates: Rates) -> pl.LazyFrame:
    """Fill in the on-demand columns in USD for offers whose currency has a rate.

    Takes and returns the columns of offers. on_demand_hourly and currency stay in the vendor's
    currency, so that a user can see which rows were converted.
    """
    if not rates:
        return offers
    has_rate = pl.col("currency").is_in(list(rates))
    price = to_usd(pl.col("on_demand_hourly"), pl.col("currency"), rates)
    hourly = pl.when(has_rate).then(price).otherwise(pl.col(HOURLY)).alias(HOURLY)
    present = offers.collect_schema().names()
    derived = [
        pl.when(has_rate).then(figure.cast(Money)).otherwise(pl.col(name)).alias(name)
        for name, figure in _derived().items()
        if name in present
    ]
    return offers.with_columns(hourly).with_columns(derived)


def _derived() -> dict[str, pl.Expr]:
    """Return the columns of offers that follow from the on-demand price."""
    price, count = pl.col(HOURLY), pl.col("accelerator_count")
    vcpus = pl.when(pl.col("accelerator_kind") == "none").then("vcpus")
    return {
        "on_demand_usd_per_year": formulas.usd_per_year(price),
        "usd_per_vcpu_hour": formulas.divide(price, vcpus),
        "usd_per_accelerator_hour": formulas.divide(price, count),
        "usd_per_gib_accelerator_memory_hour": formulas.divide(
            price, pl.col("accelerator_memory_gib")
        ),
        "usd_per_pflop_hour_bf16": formulas.usd_per_pflop_hour(
            price, count, pl.col("accelerator_bf16_tflops")
        ),
        "usd_per_pflop_hour_fp8": formulas.usd_per_pflop_hour(
            price, count, pl.col("accelerator_fp8_tflops")
        ),
    }


def rates_used(currencies: Iterable[str], rates: Rates) -> list[str]:
    """Describe the rates of the currencies that have one, with the source of the built-in rate.

    >>> rates_used(["USD", "EUR"], ECB_RATES)
    ['EUR at 1.1225 USD (ECB, 2026-10-02)']
    """
    return [
        f"{name} at {rates[name].normalize():f} USD"
        + (f" (ECB, {ECB_DAY})" if rates[name] == ECB_RATES.get(name) else "")
        for name in sorted(set(currencies) & set(rates))
    ]
