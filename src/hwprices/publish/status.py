"""Keep ``status.json`` at the root: the status of each provider, for users and monitors.

A publication updates the entries of all providers, a failed collection updates its provider's.
Several processes may do so at the same time: an update replaces the file only if it has not
changed, and is otherwise repeated.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from hwprices import collect, providers
from hwprices.errors import HwpricesError
from hwprices.landing.pages import UnitResult
from hwprices.publish import gate, locks
from hwprices.publish.choose import Choice
from hwprices.publish.write import provider_title
from hwprices.release.manifest import (
    CheckResult,
    ProviderEntry,
    ProviderOutcome,
    ProviderStatus,
    ReleaseManifest,
    Status,
    Trouble,
    UnitCounts,
)
from hwprices.release.wording import counted
from hwprices.stage import Staged, troubles
from hwprices.storage import layout, manifests
from hwprices.storage.manifests import Origin
from hwprices.storage.store import Store

TRIES = 20  # Updates that may fail in a row because of four or five other writers
REASONS = 2  # Checks that are described in the reason for holding rows back; others are counted
Entries = Mapping[str, ProviderStatus]


@dataclass(frozen=True)
class Publication:
    """A publication: the gate's choice, and the current release before and after it."""

    choice: Choice
    before: ReleaseManifest | None
    after: ReleaseManifest | None
    at: datetime


def record_publication(store: Store, publication: Publication) -> Status:
    """Update the entry of every provider that is staged, published or has an entry."""
    return _update(store, publication.at, lambda entries: _updated_entries(entries, publication))


def record_failure(
    store: Store,
    provider: str,
    reason: str,
    *,
    started_at: datetime,
    origin: Origin | None = None,
    results: Collection[UnitResult] = (),
    outcome: Literal["failed", "skipped"] = "failed",
) -> Status:
    """Record that a collection failed, or was skipped because credentials are missing."""
    began = _text(started_at)

    def fail(entries: Entries) -> Entries:
        entry = entries.get(provider, ProviderStatus(outcome=outcome))
        failed = replace(
            entry,
            title=provider_title(provider),
            outcome=outcome,
            reason=" ".join(reason.split()),
            checks=(),
            last_try=began,
            origin=origin,
            units=_counts(Counter(result.status for result in results)),
            troubles=troubles(providers.get(provider), results),
        )
        return {**entries, provider: failed}

    return _update(store, datetime.now(UTC), fail)


def _update(store: Store, at: datetime, change: Callable[[Entries], Entries]) -> Status:
    with locks.lock(store, layout.STATUS_LOCK):
        for _ in range(TRIES):
            tagged = store.get_tagged(layout.STATUS)
            entries = _decode(store, tagged.data) if tagged else {}
            changed = dict(sorted(change(entries).items()))
            status = Status(updated_at=_text(at), providers=changed)
            if store.swap(layout.STATUS, manifests.encode(status), tagged.tag if tagged else None):
                return status
    raise HwpricesError(
        f"other processes keep changing {store.uri(layout.STATUS)}",
        "Run publish again; the release is complete.",
    )


def _decode(store: Store, data: bytes) -> Entries:
    """Return the entries of the file; empty if it is damaged, because publishing must go on."""
    with suppress(HwpricesError):
        return manifests.decode(data, Status, file=store.uri(layout.STATUS), remedy="").providers
    return {}


def _updated_entries(entries: Entries, publication: Publication) -> Entries:
    published = publication.after.providers if publication.after else {}
    staged = {tables.provider: tables for tables in publication.choice.staged}
    changed: dict[str, ProviderStatus] = {}
    for name in {*entries, *published, *staged}:
        entry = entries.get(name)
        if name in staged:
            entry = _judged(entry, staged[name], publication)
        elif entry is None:
            entry = ProviderStatus(outcome="unchanged", origin=published[name].origin)
        version = publication.after.version if publication.after and name in published else None
        release_entry = published.get(name)
        is_sheet = release_entry and release_entry.price_sheet
        changed[name] = replace(
            entry,
            title=provider_title(name),
            release=version,
            sheet_seen_on=release_entry.observed_from if release_entry and is_sheet else None,
            new_words=_rows(release_entry, "new_words"),
            held=_rows(release_entry, "held"),
        )
    return changed


def _rows(entry: ProviderEntry | None, table: str) -> int:
    return entry.rows.get(table, 0) if entry else 0


def _judged(
    entry: ProviderStatus | None, staged: Staged, publication: Publication
) -> ProviderStatus:
    began = _start_time(entry, staged, publication.at)
    results = [r for r in publication.choice.results if r.provider == staged.provider]
    stops = gate.stopped(results)
    held = [r for r in results if r.outcome == "held"]
    missing = shortfall_line(staged)
    entry = entry or ProviderStatus(outcome="unchanged")
    if not stops:
        complete = collect.started_at(staged.oldest_run)
        entry = replace(entry, complete_since=_text(complete) if complete else began)
    if not stops and not missing:
        entry = replace(entry, last_success=began)
    if _failed_since(entry, staged, began):
        return replace(entry, run_id=staged.run_id)
    return replace(
        entry,
        outcome=(
            "held_back" if stops else "partial" if missing else _outcome(entry, staged, publication)
        ),
        reason="; ".join(filter(None, [reason_of(stops or held), missing])),
        checks=tuple(result.check for result in stops),
        last_try=began,
        origin=staged.origin,
        run_id=staged.run_id,
        units=_counts(staged.units),
        troubles=staged.troubles,
        prices_fetched=not has_no_prices(staged),
    )


def _start_time(entry: ProviderStatus | None, staged: Staged, now: datetime) -> str:
    """Return when the staged run began, by its name, or when it was first seen here."""
    if named := collect.started_at(staged.run_id):
        return _text(named)
    if entry and entry.last_try and entry.run_id == staged.run_id:
        return entry.last_try
    return _text(now)


def _failed_since(entry: ProviderStatus, staged: Staged, began: str) -> bool:
    """Check whether a later collection failed or was skipped, so that the tables are older."""
    if entry.outcome not in ("failed", "skipped") or entry.last_try is None:
        return False
    later = datetime.fromisoformat(entry.last_try) > datetime.fromisoformat(began)
    return later or entry.run_id == staged.run_id


def _outcome(entry: ProviderStatus, staged: Staged, publication: Publication) -> ProviderOutcome:
    if _digest(publication.after, staged.provider) != _digest(publication.before, staged.provider):
        return "published"
    repeated = entry.run_id == staged.run_id and entry.outcome == "published"
    return "published" if repeated else "unchanged"


def _digest(release: ReleaseManifest | None, provider: str) -> str | None:
    entry = release.providers.get(provider) if release else None
    return entry.content_sha256 if entry else None


def reason_of(stops: Collection[CheckResult]) -> str:
    """Describe the first results that stopped a provider or held rows, in one line."""
    lines = [f"{'held, ' if r.outcome == 'held' else ''}{r.check}: {r.detail}" for r in stops]
    others = len(lines[REASONS:])
    return "; ".join(lines[:REASONS]) + (f"; and {others} more" if others else "")


def _counts(units: Mapping[str, int]) -> UnitCounts:
    return UnitCounts(
        fetched=units.get("ok", 0),
        failed=units.get("failed", 0),
        carried=units.get("carried", 0),
        skipped=units.get("skipped", 0),
        not_requested=units.get("not_requested", 0),
    )


def _text(time: datetime) -> str:
    return time.astimezone(UTC).isoformat()


NOT_FETCHED = ("failed", "carried")
"""Statuses of units that should have been fetched. Skipped units have nothing to fetch."""

SHOWN = 4  # Reasons in a line; ``hwprices admin status`` lists all units

STATUS_CODE = re.compile(r"HTTP (\d{3})\b|\b(\d{3}) (?:GET|POST)\b|\((\d{3})\)")
"""The HTTP status in errors of our client, Google's client and boto3."""

MAX_REASON = 120  # characters


def has_no_prices(staged: Staged) -> bool:
    """Return whether the collection requested prices, and not one unit of them was fetched."""
    counts = staged.price_units
    return not counts.get("ok") and any(counts.get(status) for status in NOT_FETCHED)


def shortfall_line(staged: Staged) -> str:
    """Describe the units that were not fetched; empty if all were.

    ``3 of 5 price units failed (HTTP 500); prices of 2026-11-24 kept``
    """
    missing = [trouble for trouble in staged.troubles if trouble.status in NOT_FETCHED]
    prices = [trouble for trouble in missing if trouble.holds_prices]
    others = [trouble for trouble in missing if not trouble.holds_prices]
    other_units = Counter(staged.units)
    other_units.subtract(staged.price_units)
    parts = [*_parts("price", prices, staged.price_units), *_parts("other", others, other_units)]
    return "; ".join(parts)


def _parts(name: str, missing: Collection[Trouble], units: Mapping[str, int]) -> Iterator[str]:
    requested = [trouble for trouble in missing if trouble.requested]
    total = sum(count for status, count in units.items() if status not in UNCOUNTED)
    if requested:
        of_all = f"{len(requested)} of {counted(total, f'{name} unit')}"
        yield f"{of_all} failed ({_reasons(requested)})"
    if earlier := len(missing) - len(requested):
        yield f"{counted(earlier, f'{name} unit')} failed in an earlier run"
    days = sorted({_day(trouble.carried_from) for trouble in missing if trouble.carried_from})
    if days:
        kept = "prices" if name == "price" else "pages"
        yield f"{kept} of {' to '.join(dict.fromkeys((days[0], days[-1])))} kept"


UNCOUNTED = ("skipped", "not_requested")
"""Statuses of units that a run did not try to fetch, or that have nothing to fetch."""


def _reasons(missing: Collection[Trouble]) -> str:
    """List the reasons, most frequent first; those about a unit's content name the unit."""
    reasons = [reason for reason, _ in Counter(map(_reason, missing)).most_common()]
    more = f", and {len(reasons) - SHOWN} more: hwprices admin status" if reasons[SHOWN:] else ""
    return ", ".join(reasons[:SHOWN]) + more


def _reason(trouble: Trouble) -> str:
    provider = trouble.unit.partition("/")[0]
    if trouble.reason.startswith(trouble.unit):  # about the content of this unit
        return _first_sentence(trouble.reason.removeprefix(f"{provider}/"))
    if code := STATUS_CODE.search(trouble.reason):
        return f"HTTP {next(filter(None, code.groups()))}"
    return _first_sentence(trouble.reason)


def _first_sentence(text: str) -> str:
    sentence = text.partition(". ")[0].rstrip(".")
    return sentence if len(sentence) <= MAX_REASON else f"{sentence[: MAX_REASON - 2]} …"


def _day(run_id: str) -> str:
    began = collect.started_at(run_id)
    return f"{began:%Y-%m-%d}" if began else run_id
