"""From a provider's name to a recorded run: plan units, fetch or replay them, keep the manifest.

The functions are what the flows' tasks wrap. The bundled sample is replayed by copying its pages into the landing root, so that
everything after this is one path.
"""

import functools
import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version as installed_version

from hwprices import providers
from hwprices.errors import HwpricesError
from hwprices.landing.download import Http
from hwprices.landing.pages import Landing, Run, Unit, UnitResult, carry_over
from hwprices.providers import Context, SkippedError
from hwprices.settings import Settings
from hwprices.storage.store import Store


@functools.lru_cache(maxsize=8)
def _context(settings: Settings) -> Context:
    """One HTTP client and landing for a process: opening them for each unit would cost a TLS context each time."""
    http = Http(settings)
    return Context(settings, Landing(_raw(settings)), http, http.now)


@functools.lru_cache(maxsize=64)
def _slots(provider: str, places: int) -> threading.BoundedSemaphore:
    return threading.BoundedSemaphore(places)


def _raw(settings: Settings) -> Store:
    return Store(f"{settings.root.rstrip('/')}/raw")


def run_id(started_at: datetime) -> str:
    """Id of a run: its start in UTC, so that ids sort by time."""
    return started_at.astimezone(UTC).strftime("%Y%m%dT%H%M%S.%fZ")


def plan(
    settings: Settings,
    provider: str,
    regions: Sequence[str] | None = None,
    kinds: Sequence[str] | None = None,
) -> list[Unit]:
    """Units to fetch, or with source=sample those that the sample holds.

    Raises:
        HwpricesError: no such provider, an index cannot be had, nothing fits the regions and kinds asked for.
    """
    known = providers.get(provider)
    if settings.source == "sample":
        units = [
            result.unit
            for result in _sample_run(settings, provider).results
            if regions is None or result.unit.region in (*regions, "global")
        ]
    else:
        units = known.plan(_context(settings), regions)
    chosen = [unit for unit in units if kinds is None or unit.kind in kinds]
    if not chosen:
        raise HwpricesError(
            f"{provider}: nothing to collect for regions {list(regions or ['all'])} and kinds {list(kinds or ['all'])}",
            "Check the spelling.",
        )
    return chosen


def fetch(settings: Settings, provider: str, unit: Unit) -> UnitResult:
    """Fetch and land one unit. A failure comes back as a result, so that it fails the unit and not the run."""
    known = providers.get(provider)
    try:
        if settings.source == "sample":
            return _replay(settings, unit)
        with _slots(provider, known.concurrency(settings)):
            return UnitResult(unit, "ok", tuple(known.fetch(_context(settings), unit)))
    except SkippedError as skipped:
        return UnitResult(unit, "skipped", reason=str(skipped))
    except HwpricesError as error:
        return UnitResult(unit, "failed", reason=str(error))


def record(
    settings: Settings,
    provider: str,
    started_at: datetime,
    results: Sequence[UnitResult],
    *,
    narrowed: bool = False,
    kinds: Sequence[str] | None = None,
) -> Run:
    """Write the run's manifest: what failed stands on its last good pages.

    ``narrowed`` says that only some regions or kinds were asked for: the others stay as they were. In a whole run a unit that is
    no longer planned is gone, and the gate will say so.

    ``kinds`` are those asked for, if not all: some kinds alone (spot) are no price list, they are added to a whole run.

    Raises:
        HwpricesError: not one unit could be had, or there is no whole run to add some kinds to; nothing is recorded.
    """
    if not any(result.status == "ok" for result in results):
        first = next((r for r in results if r.reason), None)
        raise HwpricesError(
            f"{provider}: none of {len(results)} units could be fetched"
            + (f"; {first.unit.name}: {first.reason}" if first else "")
        )
    landing = Landing(_raw(settings))
    previous = _comparable(landing, provider, settings.source)
    if kinds and previous is None:
        raise HwpricesError(
            f"{provider}: there is no {settings.source} run to add {', '.join(kinds)} to",
            "Collect all kinds once first: the refresh flow does.",
        )
    asked = {result.unit.name for result in results}
    others = (
        [
            replace(r, carried_from=r.carried_from or previous.run_id)
            for r in previous.results
            if r.unit.name not in asked
        ]
        if previous and narrowed
        else []
    )
    run = Run(
        run_id(started_at),
        provider,
        settings.source,
        started_at,
        installed_version("hwprices"),
        (*carry_over(results, previous), *others),
    )
    landing.write_run(run)
    return run


def _comparable(landing: Landing, provider: str, origin: str) -> Run | None:
    """The last run of the same origin: a live run must not stand on the sample's pages, nor the other way round."""
    for run in reversed(landing.runs(provider)):
        found = landing.run(provider, run)
        if found.origin == origin:
            return found
    return None


def _sample_run(settings: Settings, provider: str) -> Run:
    run = Landing(settings.sample).latest_run(provider)
    if run is None:
        raise HwpricesError(
            f"no sample of {provider} in {settings.sample}",
            "Set HWPRICES_SAMPLE to the project's data/sample, or use --source live.",
        )
    return run


def _replay(settings: Settings, unit: Unit) -> UnitResult:
    """Copy the unit's pages from the sample, checksums verified."""
    sample, landing = Landing(settings.sample), Landing(_raw(settings))
    result = next(
        r for r in _sample_run(settings, unit.provider).results if r.unit.name == unit.name
    )
    for page in result.pages:
        if not landing.store.exists(page.key):
            with sample.file(page) as path:
                landing.store.put(page.key, path)
    return result
