"""The flow ``publish``: check the staged tables, join them with the spec sheets, release them."""

import logging
from typing import Any

from prefect import flow, get_run_logger, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run
from prefect.states import Completed

from hwprices.errors import HwpricesError
from hwprices.flows import endings, progress, reports
from hwprices.flows.endings import failed, in_one_line
from hwprices.publish import release
from hwprices.publish.locks import BusyError
from hwprices.publish.prune import Policy, prune
from hwprices.publish.release import Published
from hwprices.read.dataset import Dataset
from hwprices.read.report import report
from hwprices.release.wording import counted
from hwprices.settings import load
from hwprices.storage.store import Store

HELD_BACK = "HeldBack"
"""State of type Failed: the gate held a provider back."""

PARTIAL = "Partial"
"""State of type Completed: a provider is partial."""

NEW_WORDS = "NewWords"
"""State of type Completed: a new release has new words of vendors."""

NOTHING_COLLECTED = "NothingCollected"
"""State of type Completed: there is nothing to publish yet."""


class HeldBackError(HwpricesError):
    """The gate held a provider back; everything else is published.

    ``published`` is the current release afterwards.
    """

    def __init__(self, published: Published) -> None:
        super().__init__(
            reports.held_back(published), "docs/gates.md says what each check means and what to do."
        )
        self.published = published


WAITS = (30, 60, 120, 240)
"""Seconds before each retry while another publisher is at work, 7.5 minutes in total: the hourly
publish and that of the daily refresh may overlap. Publishing the sample takes seconds."""


def _is_busy(_task: Any, _run: Any, state: State[Any]) -> bool:
    """Check whether another publisher was at work: other failures are not worth a retry."""
    return isinstance(state.data, BusyError)


@task(
    task_run_name="gate, join and release",
    cache_policy=NO_CACHE,
    retries=len(WAITS),
    retry_delay_seconds=list(WAITS),
    retry_condition_fn=_is_busy,
)
@in_one_line
def gate_join_release(root: str | None, accept: list[str]) -> Published | None:
    """Return the new release, or the current one if nothing has changed.

    None if nothing has been collected yet.
    """
    try:
        return release.publish(
            Store(load(root=root).root),
            accepted=accept,
            progress=lambda activity: progress.report("publish", activity),
        )
    except release.NothingStagedError:
        return None


@task(task_run_name="report of {published.version}", cache_policy=NO_CACHE)
def write_report(published: Published, root: str | None) -> None:
    """Write the HTML report of a new release, which is already current.

    A failure is only logged: the report has nothing that the tables lack.
    """
    try:
        dataset = Dataset(Store(load(root=root).root), published.version)
        report.write_into_release(dataset)
    except Exception as error:  # noqa: BLE001 - the release is complete without a report
        get_run_logger().warning(
            "release %s has no report: %s. hwprices export report makes one",
            published.version,
            error,
        )


@task(task_run_name="delete old releases", cache_policy=NO_CACHE)
def delete_old(root: str | None) -> None:
    """Delete old releases and collections by HWPRICES_KEEP_RELEASES; 0 deletes none.

    A failure is only logged: the release is complete.
    """
    settings = load(root=root)
    if not settings.keep_releases:
        return
    try:
        policy = Policy(settings.keep_releases, runs=settings.keep_runs)
        pruned = prune(Store(settings.root), policy)
    except HwpricesError as error:
        get_run_logger().warning("nothing was pruned: %s", error)
        return
    deleted = [f"release {version}" for version in pruned.releases]
    if pruned.runs:
        deleted.append(f"the pages of {counted(len(pruned.runs), 'old collection')}")
    if deleted:
        get_run_logger().info("deleted: %s", ", ".join(deleted))


def nothing_collected() -> State[None]:
    """Return the state of a run before the first successful collection."""
    return Completed(name=NOTHING_COLLECTED, message="nothing collected yet", data=None)


def ended(published: Published) -> Published | State[Any]:
    """Return the release, or a state that automations see: HeldBack, Partial or NewWords."""
    if published.held_back:
        return failed(HeldBackError(published), HELD_BACK)
    if any(entry.outcome == "partial" for entry in published.status.providers.values()):
        return Completed(name=PARTIAL, message=reports.headline(published), data=published)
    if published.new_words:
        return Completed(name=NEW_WORDS, message=reports.headline(published), data=published)
    return published


def _run_name() -> str:
    return f"publish {load(root=flow_run.parameters.get('root')).root}"


@flow(
    name="publish",
    flow_run_name=_run_name,
    timeout_seconds=endings.PUBLISH_SECONDS,
    validate_parameters=False,
)
@in_one_line
def publish(root: str | None = None, accept: list[str] | None = None) -> Published | State[Any]:
    """Publish the staged tables as a new release if they changed, then delete old releases.

    The run may end in these states:

    - NothingCollected, of type Completed: nothing has been collected yet;
    - Partial, of type Completed: units of a provider failed or were carried over;
    - NewWords, of type Completed: vendors have new words that the previous release did not have;
    - HeldBack, of type Failed: the gate held a provider back. Everything else is published; called
      from Python the flow raises HeldBackError.

    ``hwprices admin prune --help`` says which releases and collections are deleted.

    Raises:
        HwpricesError: another publisher is running, the root is not writable, or a name in
            ``accept`` is unknown.
    """
    progress.report("publish", "gate")
    ending: Any = gate_join_release(root, accept or [], return_state=True)
    published: Published | None = ending.result()
    if published is None:
        progress.finish("publish", "nothing collected yet")
        return nothing_collected()
    if published.new:
        progress.report("publish", "report")
        write_report(published, root)
    delete_old(root)
    headline = reports.headline(published)
    create_markdown_artifact(
        key="publish", markdown=reports.published(published), description=headline
    )
    _log(published, headline)
    progress.finish("publish", headline)
    return ended(published)


def _log(published: Published, headline: str) -> None:
    """Log the checks that did not pass, the rows of a new release, and the headline.

    Without a new release only stops are warnings: others would fill a worker's terminal hourly.
    """
    logger = get_run_logger()
    for result in published.results:
        if result.outcome != "pass":
            is_news = published.new or result.outcome == "stop"
            level = logging.WARNING if is_news else logging.INFO
            text = "%s, %s (%s): %s"
            owner = reports.title(result.provider)
            logger.log(level, text, owner, result.check, result.outcome, result.detail)
    if published.new:
        rows = published.release.tables["prices"].rows
        priced = [p for p in published.release.providers.values() if p.rows.get("prices")]
        logger.info("%s prices of %d providers", f"{rows:,}", len(priced))
    logger.info("%s", headline)
