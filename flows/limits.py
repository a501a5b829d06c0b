"""What a server lets run at once, and for how long a flow may run.

deploy/kubernetes/job-template.json ends a job after the limits of all flows of a refresh together.
A unit's own limits (seconds, bytes, tries) are settings and hold in every process: landing/limits.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from prefect import get_client
from prefect.concurrency.sync import concurrency
from prefect.exceptions import ObjectAlreadyExists
from prefect.utilities.timeout import timeout

from hwprices.errors import FetchError

COLLECT_SECONDS = 6 * 3600
"""A collection that takes longer fails: the next one of its own deployment would begin meanwhile.
prefect.yaml has them every six hours, that of AWS's spot prices every hour."""

PUBLISH_SECONDS = 3600
"""prefect.yaml publishes every hour. The sample takes seconds, 20.7 million prices 110 s
(docs/performance.md, "Refresh")."""


LEASE_SECONDS = 60
"""The shortest that Prefect takes for the lease of a place, which a worker renews."""


class _TooLongError(TimeoutError):
    """What runs within ``stop_after`` has not ended in time."""


@contextmanager
def stop_after(seconds: float, name: str) -> Iterator[None]:
    """Interrupt what takes longer than ``seconds`` in this thread; ``name`` is what it fetches.

    landing.limits checks the time with each piece of a body. An answer whose headers have no end
    has no body, and every byte of it begins the read timeout anew, in httpx as in the SDKs.

    Raises:
        FetchError: it has been interrupted, between two steps of Python.
    """
    try:
        with timeout(seconds=seconds, timeout_exc_type=_TooLongError):
            yield
    except _TooLongError:
        raise FetchError(
            f"{name} takes longer than {seconds:g} s",
            "Try again later, or raise HWPRICES_UNIT_DEADLINE.",
        ) from None


def make_limit(name: str, places: int) -> str:
    """Make a limit of so many places on the Prefect server, or renew it; return its name."""
    with get_client(sync_client=True) as client, suppress(ObjectAlreadyExists):
        client.upsert_global_concurrency_limit_by_name(name, places)
    return name


@contextmanager
def place(limit: str | None) -> Iterator[None]:
    """Wait for a place within a limit of the server, and hold it; do nothing for None.

    A process that was killed gives its place up after LEASE_SECONDS.
    """
    if limit is None:
        yield
        return
    with concurrency(
        limit, strict=True, lease_duration=LEASE_SECONDS, raise_on_lease_renewal_failure=False
    ):
        yield
