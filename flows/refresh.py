"""The flow ``refresh``, the main job: collect every provider, then publish.

As a script (``python flows/refresh.py``) this file is the command ``hwprices admin refresh``.
"""

if __name__ == "__main__":
    # The command sets Prefect's environment and imports this module again, so it must start before
    # prefect is imported below.
    import runpy
    import sys

    sys.argv[1:1] = ["refresh"]
    runpy.run_module("hwprices", run_name="__main__")
    sys.exit()

from typing import Any, cast

from prefect import flow, get_run_logger
from prefect.artifacts import create_markdown_artifact
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run

from hwprices import providers as provider_registry
from hwprices.collect.preflight import unknown_variables
from hwprices.errors import HwpricesError
from hwprices.flows import progress, reports
from hwprices.flows.collect import Source, collect
from hwprices.flows.endings import failed as failed_state
from hwprices.flows.endings import in_one_line
from hwprices.flows.publish import HeldBackError, ended, nothing_collected, publish
from hwprices.providers import SkippedError
from hwprices.publish.release import Published
from hwprices.settings import load
from hwprices.stage import Staged
from hwprices.storage.store import Store


class ProvidersFailedError(HwpricesError):
    """Some providers failed; the others are published.

    ``failed`` has one line for each failed provider (and for ``publish``, if that failed too).
    ``published`` is the current release afterwards, or None if there is none.
    """

    def __init__(self, failed: dict[str, str], published: Published | None) -> None:
        super().__init__("; ".join(line.rstrip(".") for line in failed.values()))
        self.failed = failed
        self.published = published


def _run_name() -> str:
    """Name a run by its source, and by its providers if only some are requested."""
    parameters = flow_run.parameters
    names = parameters.get("providers") or []
    chosen = f": {', '.join(names)}" if names else ""
    return f"refresh {load(source=parameters.get('source')).source}{chosen}"


@flow(name="refresh", flow_run_name=_run_name, validate_parameters=False)
@in_one_line
def refresh(
    source: Source | None = None,
    root: str | None = None,
    providers: list[str] | None = None,
    regions: list[str] | None = None,
    kinds: list[str] | None = None,
    accept: list[str] | None = None,
) -> Published | State[Any]:
    """Collect all providers, then publish.

    A provider whose credentials are not configured is skipped. If that leaves nothing to publish,
    the run ends in the state NothingCollected, of type Completed.

    If the gate held a provider back, everything else is published and the run ends in the state
    HeldBack, of type Failed; called from Python it raises HeldBackError. If a provider failed, the
    message of the state is the headline; the reasons are in the log.

    Args:
        source: live fetches from the vendors, sample replays the bundled pages; default
            HWPRICES_SOURCE.
        root: where the data is kept; default HWPRICES_ROOT, otherwise ``data`` in the working
            directory.
        providers: the providers; default HWPRICES_PROVIDERS, otherwise all.
        regions: the regions; default all.
        kinds: the kinds of page, such as spot; default all.
        accept: parts held by the gate that somebody has reviewed, such as aws:p5.48xlarge.

    Raises:
        ProvidersFailedError: at the end, if a provider failed. The others are published; the failed
            one keeps its rows of the last release.
        HwpricesError: nothing could be published although no provider failed.
    """
    for name, remedy in unknown_variables():
        get_run_logger().warning("the variable %s is not known. %s", name, remedy)
    names = providers or provider_registry.chosen(load())
    failed = _collect(names, source, root, regions, kinds)
    published = _publish(root, accept, failed)
    headline = _report(published, failed, names, load(root=root).root)
    if published is None and not failed:
        return nothing_collected()
    if failed or published is None:
        return failed_state(ProvidersFailedError(failed, published), message=headline)
    get_run_logger().info("%s", headline)
    return ended(published)


def _collect(
    names: list[str],
    source: Source | None,
    root: str | None,
    regions: list[str] | None,
    kinds: list[str] | None,
) -> dict[str, str]:
    """Collect one provider after the other; return a line for each that failed.

    Each outcome is logged here too, so that this run's log shows progress.
    """
    failed: dict[str, str] = {}
    logger = get_run_logger()
    for name in names:
        try:
            collected = cast(Staged | SkippedError, collect(name, source, root, regions, kinds))
        except Exception as error:  # noqa: BLE001 - the other providers are collected anyway
            failed[name] = reports.failure(name, error)
            logger.error("%s", failed[name])
            progress.finish(name, "failed")
        else:
            logger.info("%s", reports.outcome_line(collected))
    return failed


def _report(
    published: Published | None, failed: dict[str, str], names: list[str], root: str
) -> str:
    """Write the run's artifact, and that of a new release's notes; return the headline."""
    headline = reports.headline(published, failed)
    markdown = reports.refreshed(published, failed, names, root)
    create_markdown_artifact(key="refresh", markdown=markdown, description=headline)
    if published is not None and published.new:
        create_markdown_artifact(
            key=reports.RELEASE_NOTES,
            markdown=reports.release_notes(published, Store(root)),
            description=f"What is new in release {published.version}",
        )
    return headline


def _publish(
    root: str | None, accept: list[str] | None, failed: dict[str, str]
) -> Published | None:
    """Return the current release; if publishing fails after a provider did, add it to ``failed``.

    None if nothing was ever collected.
    """
    try:
        return cast(Published | None, publish(root, accept))
    except HeldBackError as error:
        return error.published
    except HwpricesError as error:
        if not failed:
            raise
        failed["publish"] = f"publish: {error}"
        return None
