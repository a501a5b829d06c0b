"""Read members of a vendor's JSON objects, and refuse objects that are not understood."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

import polars as pl

PARSER_FAILURES = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
    pl.exceptions.PolarsError,
)
"""What code that reads a page raises over content that it does not expect: a missing member, a list
where a number should be, a number that does not fit, JSON that is nested too deep. RuntimeError
covers RecursionError and what polars raises for a Decimal of more than 38 digits."""

LARGEST_FIGURE = 10**18
"""Of anything in a machine, in bytes or bits a second; ``accelerators`` has limits by column."""

DECIMALS = 10  # Decimals of the tables' prices and quantities


class RefusedItemError(ValueError):
    """An item of a page gives no row. It becomes a quarantine row, and the page is read on.

    ``reason`` is the code of the quarantine row, ``message`` its sentence. ``word`` is the vendor's
    word that is not known yet; None where an item of a known kind is broken.
    """

    def __init__(self, reason: str, message: str, word: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.word = word


def member(item: Mapping[str, Any], name: str) -> Any:
    """Return a member.

    Raises:
        RefusedItemError: the object lacks it: the vendor has renamed or removed it.
    """
    if not isinstance(item, Mapping):
        raise RefusedItemError("unreadable_line", f"{item!r:.100} is not an object")
    if name not in item:
        raise RefusedItemError("unknown_column", f"the member {name} is missing", name)
    return item[name]


def text(item: Mapping[str, Any], name: str) -> str:
    """Return a member that is a text.

    Raises:
        RefusedItemError: it is missing, empty or of another type.
    """
    value = member(item, name)
    if not isinstance(value, str) or not value.strip():
        raise RefusedItemError("unreadable_line", f"{name} is {value!r:.100}")
    return value


def number(
    item: Mapping[str, Any],
    name: str,
    most: int = LARGEST_FIGURE,
    reason: str = "unreadable_line",
    too_large: str = "impossible_figure",
) -> Decimal | None:
    """Return a member that is a number from 0 to ``most``, also one written as text.

    Returns:
        the number, rounded to the decimals of the tables; None where the member is null.

    Raises:
        RefusedItemError: it is missing, of another type (``reason``) or larger (``too_large``).
    """
    value = member(item, name)
    if value is None:
        return None
    try:
        amount = Decimal(value) if type(value) in (int, str, Decimal) else None
    except InvalidOperation:
        amount = None
    if amount is None or not amount.is_finite() or amount < 0:
        raise RefusedItemError(reason, f"{name} is {value!r:.100}")
    if amount > most:
        raise RefusedItemError(too_large, f"{name} is {value!r:.100}")
    return amount if amount == amount.to_integral_value() else round(amount, DECIMALS)


def figure(item: Mapping[str, Any] | None, name: str) -> float | None:
    """Return a member that is a number above 0, None where it is missing, null or 0.

    Raises:
        RefusedItemError: it is of another type or size.
    """
    if not item or name not in item:
        return None
    amount = number(item, name)
    return float(amount) if amount else None


def whole(item: Mapping[str, Any], name: str, most: int = LARGEST_FIGURE) -> int | None:
    """Return a member that is a whole number from 0 to ``most``, None where it is null.

    Raises:
        RefusedItemError: it is missing, or of another type or size.
    """
    amount = number(item, name, most)
    if amount is not None and amount != int(amount):
        raise RefusedItemError("unreadable_line", f"{name} is {amount}")
    return None if amount is None else int(amount)


def money(item: Mapping[str, Any], name: str, most: int) -> Decimal | None:
    """Return a member that is a price from 0 to ``most``, None where it is null.

    Raises:
        RefusedItemError: it is missing, negative or not such a number.
    """
    value = member(item, name)
    if type(value) in (int, Decimal) and value < 0:
        raise RefusedItemError("price_not_positive", f"{name} is {value}")
    return number(item, name, most, "price_not_a_number", "price_not_a_number")


def items(content: Mapping[str, Any], name: str) -> list[Any]:
    """Return a member that is a list.

    Raises:
        RefusedItemError: it is missing or of another type.
    """
    value = member(content, name)
    if not isinstance(value, list):
        raise RefusedItemError("unreadable_line", f"{name} is not a list")
    return value
