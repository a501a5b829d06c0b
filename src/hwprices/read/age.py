"""Say how old a figure is, and from when on it is stale.

Prices that a person read from a web page grow old until the page is read again; the others are as
old as the last collection. The rule is the same for all: after STALE_AFTER a price is shown, with
the word stale.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hwprices.storage.release_manifest import ProviderEntry

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


def sheet_seen(entry: "ProviderEntry") -> datetime | None:
    """Return the oldest day of a provider's price sheet; None where it has none."""
    seen = entry.observed_from if entry.price_sheet else None
    return _in_utc(datetime.fromisoformat(seen)) if seen else None


def sheet_notes(
    entries: "Mapping[str, ProviderEntry]", providers: Iterable[str | None], now: datetime
) -> tuple[str, ...]:
    """Say of which day the price sheets behind an answer are, one line for all of a day.

    Args:
        entries: of the providers in the release's manifest.
        providers: those of the answer's prices; None and those without a sheet are passed over.
        now: the clock.
    """
    days: dict[datetime, list[str]] = {}
    for provider in sorted({name for name in providers if name}):
        seen = sheet_seen(entries[provider]) if provider in entries else None
        if seen is not None:
            days.setdefault(seen, []).append(provider)
    return tuple(
        f"{', '.join(names)}: prices as their web pages had them on {seen:%Y-%m-%d}"
        + (f", stale: more than {STALE_AFTER.days} days ago." if is_stale(seen, now) else ".")
        for seen, names in sorted(days.items())
    )


def _in_utc(time: datetime) -> datetime:
    return time if time.tzinfo else time.replace(tzinfo=UTC)
