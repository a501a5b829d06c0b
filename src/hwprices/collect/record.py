"""Record a run: write its manifest, and let failed units keep their last good pages."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import version as installed_version

from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing, Run, UnitResult, carry_over
from hwprices.release.wording import counted
from hwprices.storage.manifests import Origin

RUN_ID = "%Y%m%dT%H%M%S.%fZ"


def run_id(started_at: datetime) -> str:
    """Name a run by its start in UTC, so that names sort by time."""
    return started_at.astimezone(UTC).strftime(RUN_ID)


def started_at(run_id: str) -> datetime | None:
    """Parse when a run of this name began; None if the name is no time."""
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
    """Write the run's manifest. A unit that failed keeps the pages of the run before.

    Raises:
        HwpricesError: not one unit could be fetched, or there is no run to add some kinds to;
            nothing is recorded.
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
    run = Run(
        run_id(started_at),
        provider,
        origin,
        started_at,
        installed_version("hwprices"),
        (*carry_over(results, previous), *not_requested),
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
    """Return the time at which the run began, or the first one after the provider's last run."""
    times = (started_at(name) for name in landing.runs(provider))
    last = max((time for time in times if time is not None), default=None)
    return began if last is None else max(began, last + timedelta(microseconds=1))


def _last_run(landing: Landing, provider: str, origin: Origin) -> Run | None:
    """Find the last run of the same origin: sample pages never replace live ones, or vice versa."""
    for name in reversed(landing.runs(provider)):
        run = landing.run(provider, name)
        if run.origin == origin:
            return run
    return None
