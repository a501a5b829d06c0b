"""Read members of Oracle's JSON, and refuse what cannot be one."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

DECIMALS = 10
"""Decimals of the tables. Oracle's figures have four."""


def text(item: Mapping[str, Any], name: str) -> str:
    """Return a member that is a word.

    Raises:
        KeyError: there is none.
        ValueError: it is empty or something else.
    """
    value = item[name]
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name} is {value!r}")
    return value


def exact(number: Decimal) -> Decimal:
    """Return a number that the tables can hold without rounding.

    Raises:
        ValueError: it has more decimals.
    """
    if round(number, DECIMALS) != number:
        raise ValueError(f"{number} has more than {DECIMALS} decimals")
    return number
