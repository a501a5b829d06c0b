"""Words for numbers, ages, purchase options and stale prices.

A price on a price sheet, which a person read from a web page, ages until the page is read again.
Other prices are as old as the last collection, or older if it failed. After STALE_AFTER any price
is shown as stale.

The age of a price sheet is measured by the clock. The age of a single price is measured by its
release (``judged_at``), so that a release always gives the same answer.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import polars as pl

from hwprices.schemas.vocabulary import PRICE_REASONS

if TYPE_CHECKING:
    from hwprices.release.manifest import ProviderEntry
    from hwprices.release.release import Release


AGES = ((timedelta(days=2), "d"), (timedelta(hours=2), "h"), (timedelta(minutes=1), "min"))
"""Minimum age: unit in which it is written."""

SECONDS = {"d": 86_400, "h": 3_600, "min": 60}
USUAL_PLANS = ("standard", "resource")  # Plans that the purchase option implies


def purchase(row: Mapping[str, Any]) -> str:
    """Describe a purchase option: ``reserved convertible 3y, all upfront``."""
    words = [row["purchase_option"].replace("_", " ")]
    if row["commitment_plan"] and row["commitment_plan"] not in USUAL_PLANS:
        words.append(row["commitment_plan"].replace("_", " "))
    if row["term_months"]:
        words.append(f"{row['term_months'] // 12}y")
    upfront = row["payment_option"] in ("partial_upfront", "all_upfront")
    return " ".join(words) + (f", {row['payment_option'].replace('_', ' ')}" if upfront else "")


def system(row: Mapping[str, Any]) -> str:
    """Describe operating system, software, license and tenancy, without the usual values."""
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
    """Describe an age: ``5 h ago``."""
    if age is None:
        return "never"
    for min_age, unit in AGES:
        if age >= min_age:
            return f"{int(age.total_seconds()) // SECONDS[unit]} {unit} ago"
    return "just now"


def counted(count: int, noun: str) -> str:
    """Write a number with its noun.

    >>> counted(1, "price"), counted(2_000, "price")
    ('1 price', '2,000 prices')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"


def unit_counts(units: Mapping[str, int]) -> str:
    """Count units by status: ``12 fetched, 1 failed``."""
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in units.items() if count)


def why_unknown(reason: str | None) -> str:
    """Say why a price is not known: the sentences of its codes; a code of another program as it is.

    >>> why_unknown("core_sku_missing,ram_sku_missing"), why_unknown("no_rate"), why_unknown(None)
    ('the vendor has no SKU for core and ram in the region', 'no_rate', 'no reason given')
    """
    parts_of: dict[str, list[str]] = {}
    for code in (reason or "").split(","):
        patterns = (s for p, s in PRICE_REASONS.patterns.items() if re.fullmatch(p, code))
        sentence = PRICE_REASONS.get(code) or next(patterns, None)
        if sentence is None:
            return reason or "no reason given"
        parts_of.setdefault(sentence, []).append(code.partition("_sku_")[0].replace("_", " "))
    texts = [s.replace("this part", " and ".join(of)).rstrip(".") for s, of in parts_of.items()]
    return "; ".join(s if s[1:2].isupper() else s[:1].lower() + s[1:] for s in texts)


def placeholders_left_out(count: int) -> str:
    """Describe how many prices are left out because they are not offers.

    >>> placeholders_left_out(1)
    'Left out: 1 placeholder, too far below other prices for a real offer.'
    """
    return (
        f"Left out: {counted(count, 'placeholder')}, too far below other prices for a real offer."
    )


def plain(amount: object) -> str:
    """Write a number exactly, without trailing zeros; "" for None.

    >>> from decimal import Decimal
    >>> plain(Decimal("0.0960000000")), plain(730), plain(None)
    ('0.096', '730', '')
    """
    text = f"{amount:f}" if amount is not None else ""
    return text.rstrip("0").rstrip(".") if "." in text else text


STALE_AFTER = timedelta(days=90)
"""A quarter, chosen by this project: a sheet must be read four times a year."""


def is_stale(seen: datetime, now: datetime) -> bool:
    """Check whether a price seen at that time is too old to rely on."""
    return now - _in_utc(seen) > STALE_AFTER


def seen_words(seen: datetime, now: datetime) -> str:
    """Write when a sheet was read, and whether it is stale: ``2026-08-22, 91 days ago: stale``."""
    seen = _in_utc(seen)
    if not is_stale(seen, now):
        return f"{seen:%Y-%m-%d}"
    return f"{seen:%Y-%m-%d}, {(now - seen).days} days ago: stale"


def stale(dataset: "Release") -> pl.Expr:
    """Check which rows with ``provider`` and ``observed_at`` are stale in their release.

    A price is stale if it was seen more than STALE_AFTER before the release was made. The sample's
    recordings are from many days, all older than its release: they are compared with the newest
    price of their provider. Null if the provider is not in the release's manifest.
    """
    times = judged_at(dataset)
    oldest = pl.Series(list(times.values()), dtype=pl.Datetime("us", "UTC")) - STALE_AFTER
    limit = pl.col("provider").replace_strict(list(times), oldest, default=None)
    return pl.col("observed_at") < limit


def judged_at(dataset: "Release") -> dict[str, datetime]:
    """Return for each provider the time at which ``stale`` measures the age of its prices."""
    entries = dataset.release.providers
    created_at = _in_utc(datetime.fromisoformat(dataset.release.created_at))
    times = dict.fromkeys(entries, created_at)
    read_by_hand = sheets(dataset)
    recorded = [n for n, e in entries.items() if e.origin == "sample" and n not in read_by_hand]
    if recorded:
        newest = ((name, entries[name].newest_price) for name in recorded)
        times |= {name: _in_utc(datetime.fromisoformat(text)) for name, text in newest if text}
    return times


def may_be_stale(dataset: "Release") -> list[str]:
    """List the providers whose first row was seen so long ago that it is stale; without sheets."""
    entries, times = dataset.release.providers, judged_at(dataset)
    seen = {
        name: datetime.fromisoformat(entry.observed_from)
        for name, entry in entries.items()
        if entry.observed_from and not entry.price_sheet
    }
    return [name for name, first in seen.items() if is_stale(first, times[name])]


def stale_notes(rows: pl.DataFrame, sheets: Iterable[str]) -> tuple[str, ...]:
    """Count the stale prices of an answer, one line for each provider.

    Args:
        rows: with ``provider``, ``observed_at`` and ``stale``.
        sheets: providers with a price sheet, whose age is in ``sheet_notes``.
    """
    old = rows.filter(pl.col("stale"), ~pl.col("provider").is_in(list(sheets)))
    day = pl.col("observed_at").dt.strftime("%Y-%m-%d")
    counts = old.group_by("provider").agg(pl.len(), first=day.min(), last=day.max())
    return tuple(
        f"{provider}: {counted(count, 'price')} stale, seen "
        + (f"on {first}." if first == last else f"from {first} to {last}.")
        for provider, count, first, last in counts.sort("provider").iter_rows()
    )


def sheets(dataset: "Release") -> list[str]:
    """List the providers with a price sheet."""
    return [name for name, entry in dataset.release.providers.items() if entry.price_sheet]


def sheet_seen(entry: "ProviderEntry") -> datetime | None:
    """Return the oldest day of a provider's price sheet; None if it has none."""
    seen = entry.observed_from if entry.price_sheet else None
    return _in_utc(datetime.fromisoformat(seen)) if seen else None


def sheet_notes(
    entries: "Mapping[str, ProviderEntry]", providers: Iterable[str | None], now: datetime
) -> tuple[str, ...]:
    """State the days of the price sheets behind an answer, one line for each day."""
    days: dict[datetime, list[str]] = {}
    for provider in sorted({name for name in providers if name}):
        seen = sheet_seen(entries[provider]) if provider in entries else None
        if seen is not None:
            days.setdefault(seen, []).append(provider)
    return tuple(
        f"{', '.join(names)}: prices read from their web pages on {seen_words(seen, now)}."
        for seen, names in sorted(days.items())
    )


def _in_utc(time: datetime) -> datetime:
    return time if time.tzinfo else time.replace(tzinfo=UTC)
