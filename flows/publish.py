"""The flow ``publish``: check what is staged, join it with the spec sheets, release it."""

from prefect import flow, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE

from hwprices.flows import progress, reports
from hwprices.publish import release
from hwprices.publish.release import Published
from hwprices.settings import load
from hwprices.storage.store import Store


@task(cache_policy=NO_CACHE)
def gate_join_release(root: str | None, accept: list[str]) -> Published:
    """Return the new release, or the one in force if nothing has changed.

    Raises:
        HwpricesError: see ``release.publish``.
    """
    return release.publish(
        Store(load(root=root).root),
        accepted=accept,
        progress=lambda activity: progress.report("publish", activity),
    )


@flow(name="publish", validate_parameters=False)
def publish(root: str | None = None, accept: list[str] | None = None) -> Published:
    """Publish what is staged as a new release, if anything has changed.

    Args:
        root: where the data is kept; default HWPRICES_ROOT, else ``data`` in the working directory.
        accept: gate results that somebody has looked at and lets through, such as aws:type_gone.

    Raises:
        HwpricesError: nothing is staged, another publisher is running, or the root is not writable.
    """
    progress.report("publish", "gate")
    published = gate_join_release(root, accept or [])
    create_markdown_artifact(
        key="publish", markdown=reports.published(published), description="What was published"
    )
    outcome = f"release {published.version}" if published.new else "nothing new to say"
    progress.finish("publish", outcome)
    return published
