"""Read the status of each provider, and judge it: age of its tables, and whether all is well."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.release.age import STALE_AFTER
from hwprices.release.manifest import ProviderStatus, Status
from hwprices.release.root import SAMPLE, is_sample, resolve
from hwprices.storage import layout, manifests
from hwprices.storage.store import Store

WELL = ("published", "unchanged")  # Outcomes of a try in which nothing was missing


TOLERATED = (*WELL, "partial", "skipped")
"""Outcomes that a monitor may be silent about: the age of the kept tables is limited."""


UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


@dataclass(frozen=True)
class Verdict:
    """One provider's status, how old its last success and its tables are, and what is wrong.

    An age is None where there never was a success.
    """

    name: str
    status: ProviderStatus
    since_success: timedelta | None
    age: timedelta | None
    too_old: bool
    sheet_age: timedelta | None = None
    """How long ago a person read the vendor's page, of a price sheet."""

    @property
    def stale(self) -> bool:
        """Whether it is a price sheet that nobody compared with the vendor's page for long."""
        return self.sheet_age is not None and self.sheet_age > STALE_AFTER

    @property
    def well(self) -> bool:
        """Whether a monitor may be silent about this provider."""
        entry = self.status
        return entry.outcome in TOLERATED and entry.prices_fetched and not self.too_old


def read(root: str) -> Status:
    """Read ``status.json`` of a dataset.

    Raises:
        HwpricesError: there is none, or it is damaged. The release that comes with the program has
            none: nobody collects it.
    """
    store = Store(resolve(root))
    file = store.uri(layout.STATUS)
    data = store.get(layout.STATUS, manifests.MAX_BYTES)
    if data is None and is_sample(store.root):
        raise HwpricesError(
            "the release that comes with the program was never collected, and has no status",
            f"hwprices show --root {SAMPLE} says how old its figures are.",
        )
    if data is None:
        raise HwpricesError(
            f"there is no {file}",
            "hwprices admin refresh writes it; or give the dataset with --root.",
        )
    return manifests.decode(data, Status, file=file, remedy="The next refresh writes it anew.")


def parse_age(text: str) -> timedelta:
    """Read a duration such as 90m, 36h or 2d.

    Raises:
        HwpricesError: it is none.
    """
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)([mhd])", text.strip())
    if match is None:
        raise HwpricesError(f"--max-age {text}: this is not a duration", "Write 90m, 36h or 2d.")
    return float(match[1]) * UNITS[match[2]]


def judge(status: Status, now: datetime, max_age: timedelta | None) -> list[Verdict]:
    """Judge every provider. ``max_age``: tables older than this are too old; None for any age."""
    verdicts = []
    for name, entry in status.providers.items():
        age = _since(entry.complete_since, now)
        is_new = age is None and entry.outcome == "skipped"  # it has no tables that could be old
        too_old = max_age is not None and not is_new and (age is None or age > max_age)
        sheet_age = _since(entry.sheet_seen_on, now)
        since_success = _since(entry.last_success, now)
        verdicts.append(Verdict(name, entry, since_success, age, too_old, sheet_age))
    return verdicts


def _since(time: str | None, now: datetime) -> timedelta | None:
    if time is None:
        return None
    then = datetime.fromisoformat(time)
    return now - (then if then.tzinfo else then.replace(tzinfo=UTC))


def frame(status: Status, now: datetime, max_age: timedelta | None = None) -> "pl.DataFrame":
    """Return the status as a table: one row for each provider, ages in seconds."""
    import polars as pl

    rows = [
        {
            "provider": verdict.name,
            "title": verdict.status.title or verdict.name,
            "outcome": verdict.status.outcome,
            "reason": verdict.status.reason,
            "checks": list(verdict.status.checks),
            "origin": verdict.status.origin,
            "last_try": verdict.status.last_try,
            "last_success": verdict.status.last_success,
            "complete_since": verdict.status.complete_since,
            "seconds_since_success": _seconds(verdict.since_success),
            "age_seconds": _seconds(verdict.age),
            "release": verdict.status.release,
            "units_fetched": verdict.status.units.fetched,
            "units_failed": verdict.status.units.failed,
            "new_words": verdict.status.new_words,
            "well": verdict.well,
        }
        for verdict in judge(status, now, max_age)
    ]
    texts = dict.fromkeys(TEXT_COLUMNS, pl.String)
    lists = {"checks": pl.List(pl.String)}
    return pl.DataFrame(rows, schema_overrides={**texts, **lists})


TEXT_COLUMNS = ("origin", "last_try", "last_success", "complete_since", "release")


def to_json(status: Status, verdicts: list[Verdict]) -> dict[str, Any]:
    """Return ``status.json`` with the ages in seconds and the verdicts added."""
    return {
        "updated_at": status.updated_at,
        "well": all(verdict.well for verdict in verdicts),
        "providers": {verdict.name: _entry_json(verdict) for verdict in verdicts},
    }


def _entry_json(verdict: Verdict) -> dict[str, Any]:
    return {
        **manifests.to_mapping(verdict.status),
        "seconds_since_success": _seconds(verdict.since_success),
        "age_seconds": _seconds(verdict.age),
        "too_old": verdict.too_old,
        "sheet_age_seconds": _seconds(verdict.sheet_age),
        "stale": verdict.stale,
        "well": verdict.well,
    }


def _seconds(age: timedelta | None) -> int | None:
    return None if age is None else int(age.total_seconds())
