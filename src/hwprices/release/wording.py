"""Write numbers, names, ages, and how a price is bought, into sentences."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

AGES = ((timedelta(days=2), "d"), (timedelta(hours=2), "h"), (timedelta(minutes=1), "min"))
"""From which age on it is told in which unit."""

SECONDS = {"d": 86_400, "h": 3_600, "min": 60}
USUAL_PLANS = ("standard", "resource")  # Plans that the purchase option alone says


def purchase(row: Mapping[str, Any]) -> str:
    """Write how something is bought: ``reserved convertible 3y, all upfront``."""
    words = [row["purchase_option"].replace("_", " ")]
    if row["commitment_plan"] and row["commitment_plan"] not in USUAL_PLANS:
        words.append(row["commitment_plan"].replace("_", " "))
    if row["term_months"]:
        words.append(f"{row['term_months'] // 12}y")
    upfront = row["payment_option"] in ("partial_upfront", "all_upfront")
    return " ".join(words) + (f", {row['payment_option'].replace('_', ' ')}" if upfront else "")


def system(row: Mapping[str, Any]) -> str:
    """Write operating system, software, license and tenancy, without what is usual."""
    words = [row["os"]]
    if row["software"] != "none":
        words.append(f"+ {row['software']}")
    words += [
        code
        for code in (row["license_model"], row["tenancy"])
        if code not in ("included", "shared")
    ]
    return " ".join(words)


def ago(age: timedelta | None) -> str:
    """Write an age as people say it: ``5 h ago``."""
    if age is None:
        return "never"
    for least, unit in AGES:
        if age >= least:
            return f"{int(age.total_seconds()) // SECONDS[unit]} {unit} ago"
    return "just now"


def counted(count: int, noun: str) -> str:
    """Write a number with its noun.

    >>> counted(1, "price"), counted(2_000, "price")
    ('1 price', '2,000 prices')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"


def why_unknown(reason: str | None) -> str:
    """Return the reason why a price is not known; a dataset of somebody else may have none.

    >>> why_unknown("no_rate"), why_unknown(None)
    ('no_rate', 'no reason given')
    """
    return reason or "no reason given"


def placeholders_left_out(count: int) -> str:
    """Describe how many prices are left out because they are not offers.

    >>> placeholders_left_out(1)
    'Left out: 1 placeholder, too far below other prices for a real offer.'
    """
    return (
        f"Left out: {counted(count, 'placeholder')}, too far below other prices for a real offer."
    )


def plain(amount: object) -> str:
    """Write a number exactly, without the zeros at its end; "" where it is not known.

    >>> from decimal import Decimal
    >>> plain(Decimal("0.0960000000")), plain(730), plain(None)
    ('0.096', '730', '')
    """
    text = f"{amount:f}" if amount is not None else ""
    return text.rstrip("0").rstrip(".") if "." in text else text
