"""collect: one provider, from the vendor (or the sample) to staged tables."""

import os
from datetime import UTC, datetime
from typing import Any, Literal

from prefect import flow, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.futures import PrefectFuture, as_completed
from prefect.task_runners import ThreadPoolTaskRunner

from hwprices.collect.collector import Collector
from hwprices.errors import HwpricesError
from hwprices.flows import console, reports
from hwprices.landing.pages import Run, Unit, UnitResult
from hwprices.settings import load
from hwprices.stage.stage import Staged, stage_run

Source = Literal["sample", "live"]

THREADS = 16
"""Waiting tasks cost a thread each; how many really fetch at once is each provider's own limit."""


def _runner() -> Any:
    """Threads on this machine, or the workers of a Dask cluster: HWPRICES_DASK_SCHEDULER=tcp://host:8786, extra hwprices[dask].

    On a cluster the root is an object store or a folder that all workers share, each worker has the environment of the settings,
    and Prefect needs a server of its own (PREFECT_API_URL).
    """
    scheduler = os.environ.get("HWPRICES_DASK_SCHEDULER")
    if not scheduler:
        return ThreadPoolTaskRunner(max_workers=THREADS)
    try:
        from prefect_dask import DaskTaskRunner
    except ImportError:
        raise HwpricesError(
            "HWPRICES_DASK_SCHEDULER is set, but prefect-dask is not installed",
            "pip install 'hwprices[dask]'.",
        ) from None
    return DaskTaskRunner(address=scheduler)


@task(task_run_name="plan {collector.provider.name}", cache_policy=NO_CACHE)
def plan(collector: Collector, regions: list[str] | None, kinds: list[str] | None) -> list[Unit]:
    """List the units to fetch."""
    return collector.plan(regions, kinds)


@task(task_run_name="fetch {unit.name}", cache_policy=NO_CACHE)
def fetch(collector: Collector, unit: Unit) -> UnitResult:
    """Fetch and land one unit's pages."""
    return collector.fetch(unit)


@task(task_run_name="stage {provider}", cache_policy=NO_CACHE)
def stage(provider: str, run: Run, flags: dict[str, Any]) -> Staged:
    """Turn landed pages into checked, staged tables."""
    return stage_run(
        load(**flags), run, progress=lambda what: console.step(provider, f"normalise {what}")
    )


def _fetch_all(collector: Collector, units: list[Unit]) -> list[UnitResult]:
    """Fetch units side by side and show the progress; results come back sorted by the unit's name."""
    name = collector.provider.name
    console.step(name, "fetch", done=0, total=len(units))
    futures: list[PrefectFuture[UnitResult]] = [fetch.submit(collector, unit) for unit in units]
    results: list[UnitResult] = []
    for future in as_completed(futures):
        results.append(future.result())
        console.step(name, "fetch", done=len(results), total=len(units))
    return sorted(results, key=lambda result: result.unit.name)


@flow(
    name="collect",
    task_runner=_runner(),
    flow_run_name="collect {provider}",
    validate_parameters=False,
)
def collect(
    provider: str,
    source: Source | None = None,
    root: str | None = None,
    regions: list[str] | None = None,
    kinds: list[str] | None = None,
) -> Staged:
    """Collect one provider: fetch every unit in parallel, keep the raw pages, normalise, validate and stage.

    A unit that fails keeps its last good pages and is reported; regions or kinds not asked for stay as they were.

    Args:
        provider: aws, azure or gcp.
        source: live asks the vendor, sample replays data/sample; default HWPRICES_SOURCE, else sample.
        root: where the data lives; default HWPRICES_ROOT, else the checkout's data/.
        regions: only these; default all.
        kinds: only these kinds of page (for instance spot); default all.
    """
    flags = {"source": source, "root": root}
    started_at = datetime.now(UTC)
    console.step(provider, "plan")
    with Collector(provider, load(**flags)) as collector:
        units = plan(collector, regions, kinds)
        results = _fetch_all(collector, units)
        narrowed = bool(regions or kinds)
        run = collector.record(started_at, results, narrowed=narrowed, kinds=kinds)
    console.step(provider, "normalise")
    staged = stage(provider, run, flags)
    create_markdown_artifact(
        key=f"collect-{provider}",
        markdown=reports.collected(staged),
        description=f"What was collected from {provider}",
    )
    console.end(provider, f"{staged.rows('prices'):,} prices staged")
    return staged
