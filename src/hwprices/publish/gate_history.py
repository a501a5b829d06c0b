"""Keep what the gate saw in past releases, and find the release of a month ago.

``gate-history.json`` at the root holds, for each provider and check, the figures of its last
releases. The gate's limits follow them (``gate.thresholds``). Losing the file loses only that: the
default limits hold until there is history again.
"""

from collections.abc import Collection
from datetime import datetime, timedelta

from hwprices.publish.gate.thresholds import HISTORY_LENGTH
from hwprices.release.manifest import CheckResult, ReleaseManifest
from hwprices.release.versions import read_manifest, versions
from hwprices.storage import layout, manifests
from hwprices.storage.store import Store

MONTH = timedelta(days=31)

Figures = dict[str, dict[str, list[float]]]
"""Provider, then check, to the figures of its last releases, oldest first."""


def read(store: Store) -> Figures:
    """Read the figures of past releases; none where nothing was published yet.

    Raises:
        HwpricesError: the file is damaged; the line names it.
    """
    data = store.get(layout.GATE_HISTORY)
    if data is None:
        return {}
    file = store.uri(layout.GATE_HISTORY)
    remedy = "Delete it: the default limits hold until there is history again."
    return manifests.decode(data, Figures, file=file, remedy=remedy)


def append(store: Store, figures: Figures, results: Collection[CheckResult]) -> None:
    """Add the figures of a release that was published.

    Only those of checks that passed: what somebody let through says nothing about the usual.
    """
    for result in results:
        if result.value is not None and result.outcome in ("pass", "warn"):
            values = figures.setdefault(result.provider, {}).setdefault(result.check, [])
            values.append(round(result.value, 6))
            del values[:-HISTORY_LENGTH]
    store.put(layout.GATE_HISTORY, manifests.encode(figures))


def of_last_month(store: Store, now: datetime) -> list[ReleaseManifest]:
    """Read the manifests of the last month's releases, oldest first."""
    first = (now - MONTH).strftime("%Y%m%dT%H%M%SZ")
    return [read_manifest(store, version) for version in versions(store) if version >= first]


def baseline(releases: Collection[ReleaseManifest], provider: str) -> ReleaseManifest | None:
    """Choose the oldest of these releases that a provider can be compared with, or None.

    Not older than the last release in which somebody let one of the provider's results through:
    what was accepted then must not stop the provider for a month.
    """
    usable: list[ReleaseManifest] = []
    for release in releases:
        entry = release.providers.get(provider)
        if entry is None:
            continue
        if any(result.outcome == "accepted" for result in entry.gate):
            usable.clear()
        usable.append(release)
    return usable[0] if usable else None
