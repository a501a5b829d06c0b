"""Say how old a figure is, and from when on it is stale.

Prices that a person read from a web page grow old until the page is read again; the others are as
old as the last collection. The rule is the same for all: after STALE_AFTER a price is shown, with
the word stale.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

STALE_AFTER = timedelta(days=90)
"""A quarter: a choice of this project, with which a sheet has to be read four times a year."""


def is_stale(seen: datetime, now: datetime) -> bool:
    """Tell whether a price seen at that time is too old to rely on."""
    return now - _in_utc(seen) > STALE_AFTER


def seen_words(seen: datetime, now: datetime) -> str:
    """Write when a figure was seen, and that it is stale: ``2026-08-22, 91 days ago: stale``."""
    seen = _in_utc(seen)
    if not is_stale(seen, now):
        return f"{seen:%Y-%m-%d}"
    return f"{seen:%Y-%m-%d}, {(now - seen).days} days ago: stale"


def sheet_seen(entry: Mapping[str, Any]) -> datetime | None:
    """Return the oldest day of a provider's price sheet; None where it has none.

    ``entry`` is the provider's entry in a release's manifest.
    """
    seen = entry.get("observed_from") if entry.get("price_sheet") else None
    return _in_utc(datetime.fromisoformat(seen)) if seen else None


def _in_utc(time: datetime) -> datetime:
    return time if time.tzinfo else time.replace(tzinfo=UTC)
