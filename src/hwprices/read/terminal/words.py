"""Describe in words how a price is bought, for which system, and how old it is."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

AGES = ((timedelta(days=2), "d"), (timedelta(hours=2), "h"), (timedelta(minutes=1), "min"))
"""From which age on it is told in which unit."""

SECONDS = {"d": 86_400, "h": 3_600, "min": 60}

USUAL_PLANS = ("standard", "resource")
"""Plans that the purchase option alone says."""


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
