"""Check the numbers of Oracle's JSON."""

from decimal import Decimal

DECIMALS = 10
"""Decimals of the tables. Oracle's figures have four."""


def exact(number: Decimal) -> Decimal:
    """Return a number that the tables can hold without rounding.

    Raises:
        ValueError: it has more decimals.
    """
    if round(number, DECIMALS) != number:
        raise ValueError(f"{number} has more than {DECIMALS} decimals")
    return number
