"""Collect one provider: plan its units, fetch them or replay the bundled sample, record the run.

Replaying the bundled sample copies its pages into the landing root. Every later step is the same
for sample and live data.
"""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from importlib.metadata import version as installed_version
from types import TracebackType
from typing import Self

from hwprices import providers
from hwprices.errors import HwpricesError
from hwprices.landing.download import Http
from hwprices.landing.pages import Landing, Run, Unit, UnitResult, carry_over, check_name
from hwprices.providers import Context, SkippedError, check_regions, regions_alike
from hwprices.release.wording import counted
from hwprices.settings import Settings
from hwprices.specs import sheets
from hwprices.storage import layout
from hwprices.storage.manifests import Origin


class Sample:
    """One provider's part of the sample. Its manifest is read on first use."""

    def __init__(self, root: str, provider: str) -> None:
        self.root = root
        self.provider = provider
        self._landing = Landing(root)

    @cached_property
    def _results(self) -> dict[str, UnitResult]:
        run = self._landing.latest_run(self.provider)
        if run is None:
            raise HwpricesError(
                f"no sample of {self.provider} in {self.root}",
                "Set HWPRICES_SAMPLE to the project's data/sample, or use --source live.",
            )
        return {result.unit.name: result for result in run.results}

    @property
    def regions(self) -> set[str]:
        """The regions of the sample's units; empty if they are all global."""
        return {result.unit.region for result in self._results.values()} - {"global"}

    def plan(self, regions: Sequence[str] | None) -> list[Unit]:
        """List the sample's units, of all regions or only of ``regions``.

        Raises:
            HwpricesError: the sample lacks this provider or one of the regions.
        """
        units = [result.unit for result in self._results.values()]
        if regions is not None and self.regions:
            check_regions(f"the sample of {self.provider}", regions, self.regions)
        return [unit for unit in units if regions is None or unit.region in (*regions, "global")]

    def replay(self, unit: Unit, landing: Landing) -> UnitResult:
        """Copy a unit's pages into a landing root, verify their checksums, and return its result.

        Raises:
            HwpricesError: a page of the sample is missing or altered, or cannot be written.
        """
        result = self._results[unit.name]
        for page in result.pages:
            if not landing.store.renew(page.key):
                with self._landing.file(page) as path:
                    landing.store.put(page.key, path)
        return result


FOOTPRINT = "region_footprint.csv"
"""The sheet of all regions known when it was made; vendors open several a year."""


def check_requested(
    settings: Settings, providers: Sequence[str], regions: Iterable[str]
) -> list[str]:
    """Refuse a region that the sample lacks; for a live run return a warning for each unknown one.

    In a live run the vendor decides: a region may be newer than this program. If only some of the
    providers have a region, the others report it themselves.

    Raises:
        HwpricesError: the sample has no such region; suggests regions with a similar name.
    """
    # A provider with one price everywhere has no regions, and ignores those that are requested.
    sampled = {region for name in providers for region in _sample_regions(settings.sample, name)}
    owner = providers[0] if len(providers) == 1 else ""
    if settings.source == "sample":
        if sampled:
            check_regions(f"the sample of {owner}" if owner else "the sample", regions, sampled)
        return []
    sheet = sheets.read_csv(FOOTPRINT, None)
    listed = zip(sheet["provider"], sheet["region"], strict=True)
    known = sampled | {region for provider, region in listed if provider in providers} - {"global"}
    return [
        _warning(region, known, owner)
        for region in regions
        if known and region.strip().lower() not in known  # Azure ignores case
    ]


def _sample_regions(root: str, provider: str) -> set[str]:
    with suppress(HwpricesError):  # the run reports a missing sample
        return Sample(root, provider).regions
    return set()


def _warning(region: str, known: Iterable[str], owner: str) -> str:
    place = f"a region of {owner}" if owner else "a region of any requested provider"
    hint = regions_alike([region], known)
    return f"{region} is not known as {place}; it may be new, and is requested. {hint}".rstrip()


RUN_ID = "%Y%m%dT%H%M%S.%fZ"


def run_id(started_at: datetime) -> str:
    """Name a run by its start in UTC, so that names sort by time."""
    return started_at.astimezone(UTC).strftime(RUN_ID)


def started_at(run_id: str) -> datetime | None:
    """Parse the start from the name of a run; None if the name is not a time."""
    try:
        return datetime.strptime(run_id, RUN_ID).replace(tzinfo=UTC)
    except ValueError:
        return None


def record(
    landing: Landing,
    provider: str,
    origin: Origin,
    started_at: datetime,
    results: Sequence[UnitResult],
    *,
    narrowed: bool = False,
    kinds: Sequence[str] | None = None,
) -> Run:
    """Write the run's manifest. A unit that failed keeps the pages of the previous run.

    The run is named by ``started_at``, but its name always sorts after those of earlier runs, even
    if the clock was set back: the next run builds on the run that sorts last.

    Args:
        landing: holds the manifests of this and earlier runs.
        provider: the provider's name.
        origin: whether the pages are the vendor's or the sample's.
        started_at: when the run began.
        results: the result of each unit.
        narrowed: only some regions or kinds were requested; all others are taken from the previous
            run. A full run drops units that are no longer planned, and the gate reports what is
            missing.
        kinds: the kinds requested, None for all. Some kinds alone (spot prices) are not a price
            list, so they are added to an earlier run.

    Raises:
        HwpricesError: no unit could be fetched, or the kinds have no run to be added to. Nothing is
            recorded.
    """
    if not any(result.status == "ok" for result in results):
        raise _nothing_fetched(provider, results)
    previous = _last_run(landing, provider, origin)
    if kinds and previous is None:
        raise HwpricesError(
            f"{provider}: there is no {origin} run to add {', '.join(kinds)} to",
            "Collect all kinds once first: the refresh flow does.",
        )
    not_requested = _not_requested(results, previous) if previous and narrowed else []
    started_at = _after_all_runs(landing, provider, started_at)
    all_results = (*carry_over(results, previous), *not_requested)
    run = Run(
        run_id(started_at),
        provider,
        origin,
        started_at,
        installed_version("hwprices"),
        tuple(sorted(all_results, key=lambda result: result.unit.name)),
    )
    landing.write_run(run)
    return run


def _nothing_fetched(provider: str, results: Sequence[UnitResult]) -> HwpricesError:
    first = next((result for result in results if result.reason), None)
    example = f"; {first.unit.name}: {first.reason}" if first else ""
    units = counted(len(results), "unit")
    return HwpricesError(f"{provider}: none of {units} could be fetched{example}")


def _not_requested(results: Sequence[UnitResult], previous: Run) -> list[UnitResult]:
    requested = {result.unit.name for result in results}
    return [
        replace(result, carried_from=result.carried_from or previous.run_id, requested=False)
        for result in previous.results
        if result.unit.name not in requested
    ]


def _after_all_runs(landing: Landing, provider: str, began: datetime) -> datetime:
    """Return when the run began, or one microsecond after the last run if that is later."""
    times = (started_at(name) for name in landing.runs(provider))
    last = max((time for time in times if time is not None), default=None)
    return began if last is None else max(began, last + timedelta(microseconds=1))


def _last_run(landing: Landing, provider: str, origin: Origin) -> Run | None:
    """Find the last run of this origin: sample pages never replace live ones, or vice versa."""
    for name in reversed(landing.runs(provider)):
        run = landing.run(provider, name)
        if run.origin == origin:
            return run
    return None


StopAfter = Callable[[float, str], AbstractContextManager[None]]


class Collector:
    """Fetches the units of one provider. Owns the HTTP client, so close it, or use ``with``.

    ``settings`` are the common ones or the provider's own; missing ones are read from the
    environment. Tests replace ``sleep``, which waits between two tries.

    Raises:
        HwpricesError: there is no such provider, or one of its settings is invalid.
    """

    def __init__(
        self, provider: str, settings: Settings, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.provider = providers.get(provider)
        self.settings = self.provider.settings(settings)
        self.landing = Landing(layout.landing_root(self.settings.root))
        self._sample = Sample(self.settings.sample, provider)
        self._http = Http(self.settings, sleep=sleep)
        self._context = Context(self.settings, self.landing, self._http, self._http.now)
        self._slots = threading.BoundedSemaphore(self.provider.units_at_once(self.settings))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[type["Collector"], tuple[str, Settings]]:
        """Pickle as the name and the common settings, for a task on another machine.

        The provider's own settings, with keys in them, are read again from the environment there.
        """
        fields = Settings.model_fields
        common = Settings(**{name: getattr(self.settings, name) for name in fields})
        return Collector, (self.provider.name, common)

    def close(self) -> None:
        """Close the HTTP client's connections."""
        self._http.close()

    def plan(
        self, regions: Sequence[str] | None = None, kinds: Sequence[str] | None = None
    ) -> list[Unit]:
        """List the units to fetch, or with source=sample the units of the sample.

        Raises:
            SkippedError: all requested kinds need an account, and there is none.
            HwpricesError: an index is unavailable, or no unit has the requested regions and kinds.
        """
        name = self.provider.name
        if self.settings.source == "sample":
            units = self._sample.plan(regions)
        else:
            units = self.provider.plan(self.context_of(f"the plan of {name}"), regions)
        chosen = [unit for unit in units if kinds is None or unit.kind in kinds]
        if not chosen and kinds and self._needs_account(units, kinds):
            raise SkippedError(
                f"{name}: nothing to collect, no credentials for {', '.join(kinds)}",
                f"hwprices admin preflight --provider {name} says what is missing.",
            )
        if not chosen:
            raise HwpricesError(
                f"{name}: nothing to collect for regions {list(regions or ['all'])} and kinds"
                f" {list(kinds or ['all'])}",
                "Check the spelling.",
            )
        return chosen

    def _needs_account(self, units: Sequence[Unit], kinds: Sequence[str]) -> bool:
        """Check whether these kinds are missing from the plan for lack of an account."""
        account_kinds = set(self.provider.account_kinds)
        has_account = any(unit.kind in account_kinds for unit in units)
        return self.settings.source == "live" and not has_account and set(kinds) <= account_kinds

    def stuck_after(self) -> float:
        """Return the seconds after which a fetch is stuck: it should have seen its deadline."""
        return self.settings.unit_deadline + self.settings.read_timeout

    def fetch(self, unit: Unit, stop_after: StopAfter = lambda *_: nullcontext()) -> UnitResult:
        """Fetch and land one unit. A failure is a result: it fails the unit, not the run.

        Args:
            unit: what to fetch.
            stop_after: given seconds and the unit's name, makes a context that interrupts a stuck
                fetch with a FetchError. The default interrupts nothing.
        """
        try:
            check_name(unit)
            if self.settings.source == "sample":
                return self._sample.replay(unit, self.landing)
            with self._slots, stop_after(self.stuck_after(), unit.name):
                context = self.context_of(unit.name)
                return UnitResult(unit, "ok", tuple(self.provider.fetch(context, unit)))
        except SkippedError as skipped:
            return UnitResult(unit, "skipped", reason=str(skipped), cause=skipped.cause)
        except HwpricesError as error:
            return UnitResult(unit, "failed", reason=str(error))

    def context_of(self, name: str) -> Context:
        """Make the context of one unit, with limits (deadline, bytes, stalls) that begin now."""
        return replace(self._context, http=self._http.for_unit(name))

    def record(
        self,
        started_at: datetime,
        results: Sequence[UnitResult],
        *,
        narrowed: bool = False,
        kinds: Sequence[str] | None = None,
    ) -> Run:
        """Write the run's manifest; see the function ``record``."""
        return record(
            self.landing,
            self.provider.name,
            self.settings.source,
            started_at,
            results,
            narrowed=narrowed,
            kinds=kinds,
        )
