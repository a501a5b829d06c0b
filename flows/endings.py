"""How flows and tasks end when something stops them, what runs at once, and for how long.

deploy/kubernetes/job-template.json ends a job after the limits of all flows of a refresh together.
A unit's own limits (seconds, bytes, tries) are settings and hold in every process: landing/limits.
"""

import functools
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, ParamSpec, TypeVar

from prefect import get_client, get_run_logger
from prefect.client.schemas.objects import State
from prefect.concurrency.sync import concurrency
from prefect.exceptions import ObjectAlreadyExists
from prefect.states import Completed, Failed
from prefect.utilities.timeout import timeout

from hwprices.errors import FetchError, HwpricesError
from hwprices.providers import SkippedError

SKIPPED = "Skipped"
"""The state of a run that had nothing to do, for want of an account; of type Completed."""

P = ParamSpec("P")
R = TypeVar("R")


def in_one_line(function: Callable[P, R]) -> Callable[P, R | State[Any]]:
    """End a flow or task that raises HwpricesError in a Failed state that says why.

    Prefect writes a traceback of forty lines for what is raised. A HwpricesError says in its line
    what a person can fix; it is logged, and is the state's message. Called from Python the flow
    raises the error all the same; of a task, use ``return_state=True`` and the state's ``result``.
    What is no HwpricesError is a mistake of the program, and keeps its traceback.

    A SkippedError is not a failure: it is logged, the state is Skipped, of type Completed, and its
    result is the error, which is returned and not raised.
    """

    @functools.wraps(function)
    def ending(*arguments: P.args, **named: P.kwargs) -> R | State[Any]:
        try:
            return function(*arguments, **named)
        except SkippedError as skipped:
            get_run_logger().info("%s", skipped)
            return Completed(name=SKIPPED, message=str(skipped), data=skipped)
        except HwpricesError as error:
            get_run_logger().error("%s", error)
            return failed(error)

    return ending


REPEATED = ("Engine execution exited with unexpected exception", "Task run failed with state: ")
"""How the lines begin that Prefect writes of what a flow raised and of what a task returned."""


class _WithoutRepetition(logging.Filter):
    """Leave out what Prefect logs of a HwpricesError, whose line has been logged already.

    That is the traceback, and the lines REPEATED. Tasks return a failed state where a HwpricesError
    stopped them and raise everything else, so that no other error is left out.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info is None:
            return True
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if not isinstance(error, HwpricesError | None):
            return True
        record.exc_info = None
        return not record.getMessage().startswith(REPEATED)


for _name in ("prefect.flow_runs", "prefect.task_runs"):
    logging.getLogger(_name).addFilter(_WithoutRepetition())


def failed(error: HwpricesError, name: str = "Failed", *, message: str | None = None) -> State[Any]:
    """Make a state of type Failed that raises the error as its result.

    Its message, which Prefect logs at the end of a run, is the error's line by default.
    """
    return Failed(name=name, message=message or str(error), data=error)


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
