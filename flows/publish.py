"""publish: gate what is staged, join it with the spec sheets, release it."""

from prefect import flow, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE

from hwprices.flows import console, reports
from hwprices.publish import release
from hwprices.publish.release import Published
from hwprices.settings import load
from hwprices.storage.store import Store


@task(cache_policy=NO_CACHE)
def gate_join_release(root: str | None, accept: list[str]) -> Published:
    """The new release, or the one in force if there is nothing new."""
    store = Store(load(root=root).root)
    return release.publish(
        store, accepted=accept, progress=lambda what: console.step("publish", what)
    )


@flow(name="publish", validate_parameters=False)
def publish(root: str | None = None, accept: list[str] | None = None) -> Published:
    """Publish what is staged as a new release, if it says anything new.

    Args:
        root: where the data lives; default HWPRICES_ROOT, else the checkout's data/.
        accept: gate results that somebody has looked at and lets through, such as aws:type_gone.
    """
    console.step("publish", "gate")
    published = gate_join_release(root, accept or [])
    create_markdown_artifact(
        key="publish", markdown=reports.published(published), description="What was published"
    )
    console.end(
        "publish", f"release {published.version}" if published.new else "nothing new to say"
    )
    return published
