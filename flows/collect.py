"""The flow ``collect``: one provider, from the vendor (or the sample) to staged tables."""

import os
from asyncio import CancelledError
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

from prefect import flow, get_run_logger, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.futures import PrefectFuture, as_completed
from prefect.runtime import flow_run
from prefect.task_runners import ThreadPoolTaskRunner

from hwprices import providers
from hwprices.collect import Collector
from hwprices.errors import HwpricesError, install_command
from hwprices.flows import endings, progress, reports
from hwprices.flows.endings import in_one_line
from hwprices.landing.download import redact
from hwprices.landing.pages import Unit, UnitResult
from hwprices.providers import SkippedError
from hwprices.publish import locks, status
from hwprices.release.wording import counted
from hwprices.settings import load
from hwprices.stage import Staged, stage_run
from hwprices.storage.store import Store

Source = Literal["sample", "live"]
DASK_SCHEDULER = "HWPRICES_DASK_SCHEDULER"
THREADS = 16  # Parallel tasks on this machine. Each provider has a lower limit for its fetches.


def _runner() -> Any:
    """Return the task runner: threads on this machine, or the workers of a Dask cluster.

    A cluster is used if HWPRICES_DASK_SCHEDULER names it (tcp://host:8786; needs the extra
    hwprices[dask]). Then the root must be an object store or a folder that all workers share, each
    worker needs the settings in its environment, and PREFECT_API_URL must name a server.
    """
    scheduler = os.environ.get(DASK_SCHEDULER)
    if not scheduler:
        return ThreadPoolTaskRunner(max_workers=THREADS)
    try:
        from prefect_dask.task_runners import DaskTaskRunner
    except ImportError:
        raise HwpricesError(
            "HWPRICES_DASK_SCHEDULER is set, but prefect-dask is not installed",
            f"{install_command('dask')}.",
        ) from None
    return DaskTaskRunner(address=scheduler)


@task(task_run_name="fetch {unit.name}", cache_policy=NO_CACHE)
def fetch(collector: Collector, unit: Unit, limit: str | None = None) -> UnitResult:
    """Fetch and land one unit's pages, within a concurrency limit of the server if there is one."""
    with endings.place(limit):
        return collector.fetch(unit, endings.stop_after)


def _fetch_all(collector: Collector, units: list[Unit]) -> list[UnitResult]:
    """Fetch units in parallel and report progress; return the results sorted by unit name."""
    name = collector.provider.name
    logger = get_run_logger()
    logger.info("%s to fetch", counted(len(units), "unit"))
    progress.report(name, "fetch", done=0, total=len(units))
    results: list[UnitResult] = []
    for result in _fetched(collector, units):
        if result.status != "ok":
            logger.warning("%s %s: %s", result.unit.name, result.status, result.reason)
        results.append(result)
        progress.report(name, "fetch", done=len(results), total=len(units))
    ok = sum(result.status == "ok" for result in results)
    logger.info("%d of %s fetched", ok, counted(len(units), "unit"))
    return sorted(results, key=lambda result: result.unit.name)


def _fetched(collector: Collector, units: list[Unit]) -> Iterator[UnitResult]:
    """Fetch each unit in a separate task; units of the sample are copied one by one."""
    if collector.settings.source == "sample":
        yield from map(collector.fetch, units)
        return
    limit = _shared_limit(collector)
    futures = {fetch.submit(collector, unit, limit): unit for unit in units}
    for future in as_completed(list(futures)):
        yield _result(future, futures[future])


def _shared_limit(collector: Collector) -> str | None:
    """Limit the provider's units over all workers of a cluster; return the limit's name.

    Threads of one process need no such limit: they share the collector, which has its own.
    """
    if not os.environ.get(DASK_SCHEDULER):
        return None
    places = collector.provider.units_at_once(collector.settings)
    return endings.make_limit(f"hwprices units {collector.provider.name}", places)


def _result(future: PrefectFuture[UnitResult], unit: Unit) -> UnitResult:
    """Return a task's result. A task lost with its worker fails its unit, not the run."""
    future.wait()
    result: Any = future.result(raise_on_failure=False)
    if isinstance(result, UnitResult):
        return result
    reason = f"the task was lost: {type(result).__name__}: {result}"
    return UnitResult(unit, "failed", reason=redact(reason))


@flow(
    name="collect",
    task_runner=_runner(),
    flow_run_name="collect {provider}",
    timeout_seconds=endings.COLLECT_SECONDS,
    validate_parameters=False,
)
@in_one_line
def collect(
    provider: str,
    source: Source | None = None,
    root: str | None = None,
    regions: list[str] | None = None,
    kinds: list[str] | None = None,
) -> Staged | SkippedError:
    """Collect one provider: fetch its units, keep the raw pages, normalise, check and stage them.

    A unit that fails keeps its last good pages and is reported. Regions and kinds that were not
    requested are unchanged. A run waits while another one collects the same provider, and fails
    after ``endings.COLLECT_SECONDS``.

    If all requested kinds need an account and there is none, nothing changes and the run ends in
    the state Skipped, of type Completed, with the SkippedError as its result.

    Args:
        provider: a provider's name, such as aws.
        source: live fetches from the vendor, sample replays the bundled pages; default
            HWPRICES_SOURCE.
        root: where the data is kept; default HWPRICES_ROOT, otherwise ``data`` in the working
            directory.
        regions: the regions; default all.
        kinds: the kinds of page, such as spot; default all.

    Raises:
        HwpricesError: no unit, or none with prices, could be fetched, or the tables cannot be
            staged.
    """
    flags = {"source": source, "root": root}
    _check_chosen(provider)
    attempt = _Attempt(provider, datetime.now(UTC))
    progress.report(provider, "planning what to fetch")
    try:
        with _one_at_a_time(provider, flags):
            attempt.started_at = datetime.now(UTC)  # after waiting for other runs
            staged = _collect(attempt, flags, regions, kinds)
    except CancelledError:  # raised by Prefect at the time limit
        too_long = HwpricesError(f"took longer than {endings.COLLECT_SECONDS / 3600:g} hours")
        _record_failure(attempt, flags, too_long)
        raise
    except SkippedError as skipped:
        progress.finish(provider, f"skipped: {skipped.message.removeprefix(f'{provider}: ')}")
        if not kinds:  # otherwise its other kinds are unaffected
            _record_failure(attempt, flags, skipped)
        raise
    except Exception as error:
        _record_failure(attempt, flags, error)
        raise
    line = reports.outcome_line(staged)
    create_markdown_artifact(
        key=f"collect-{provider}", markdown=reports.collected(staged), description=line
    )
    get_run_logger().info("%s", line)
    if status.has_no_prices(staged):
        raise HwpricesError(f"{reports.title(provider)}: {status.shortfall_line(staged)}")
    missing = status.shortfall_line(staged)
    prices = f"{reports.found(staged)} staged"
    progress.finish(provider, f"{prices}; {missing}" if missing else prices)
    return staged


def _one_at_a_time(provider: str, flags: dict[str, Any]) -> AbstractContextManager[None]:
    """Wait until no other run collects this provider for this root, and report the wait.

    Otherwise the daily refresh and a provider's own deployment could together exceed the vendor's
    quota.
    """
    logger = get_run_logger()

    def say(line: str) -> None:
        logger.warning("%s: %s", provider, line)
        progress.note(provider, line)

    return locks.hold(Store(load(**flags).root), provider, str(flow_run.id), say)


def _check_chosen(provider: str) -> None:
    """Skip a provider that HWPRICES_PROVIDERS does not name, unless a refresh called this flow."""
    settings = load()
    if not settings.providers or flow_run.parent_flow_run_id is not None:
        return  # in this order: Prefect requests the parent from its server
    if provider not in providers.chosen(settings):
        raise SkippedError(
            f"{provider}: not collected, HWPRICES_PROVIDERS does not name it", "Add it there."
        )


@dataclass
class _Attempt:
    """One collection: its provider, when it began, and the results of its units."""

    provider: str
    started_at: datetime
    results: list[UnitResult] = field(default_factory=list)


def _collect(
    attempt: _Attempt, flags: dict[str, Any], regions: list[str] | None, kinds: list[str] | None
) -> Staged:
    settings = load(**flags)
    with Collector(attempt.provider, settings) as collector:
        with endings.stop_after(collector.stuck_after(), f"the plan of {attempt.provider}"):
            units = collector.plan(regions, kinds)
        attempt.results = _fetch_all(collector, units)
        narrowed = bool(regions or kinds)
        run = collector.record(attempt.started_at, attempt.results, narrowed=narrowed, kinds=kinds)
    progress.report(attempt.provider, "normalise")
    return stage_run(settings, run, progress=partial(progress.report, attempt.provider))


def _record_failure(attempt: _Attempt, flags: dict[str, Any], error: Exception) -> None:
    """Record a failed or skipped collection in status.json."""
    with suppress(HwpricesError):  # the caller raises the failure itself
        settings = load(**flags)
        status.record_failure(
            Store(settings.root),
            attempt.provider,
            reports.failure(attempt.provider, error),
            started_at=attempt.started_at,
            origin=settings.source,
            results=attempt.results,
            outcome="skipped" if isinstance(error, SkippedError) else "failed",
        )
