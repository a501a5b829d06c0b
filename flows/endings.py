"""How flows and tasks end, and the limits of their time and concurrency.

deploy/kubernetes/job-template.json ends a job after the sum of the limits of a refresh's flows. The
limits of a unit (seconds, bytes, tries) are settings: see landing/limits.
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
"""State of a run that had nothing to do for lack of an account; of type Completed."""

P = ParamSpec("P")
R = TypeVar("R")


def in_one_line(function: Callable[P, R]) -> Callable[P, R | State[Any]]:
    """End a flow or task that raises HwpricesError in a Failed state with the error's line.

    Prefect would log a traceback of forty lines. Here only the error's line is logged, and it is
    the state's message. Called from Python a flow still raises the error; for a task use
    ``return_state=True`` and the state's ``result``. Other errors are mistakes of the program and
    keep their traceback.

    A SkippedError is not a failure: it is logged, and the flow returns it in the state Skipped, of
    type Completed.
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
"""Prefixes of the lines that Prefect logs when a flow raises or a task returns a failure."""


class _WithoutRepetition(logging.Filter):
    """Leaves out the traceback and the lines REPEATED that Prefect logs for a HwpricesError.

    The error's line has already been logged. Tasks return a failed state only for a HwpricesError
    and raise all other errors, so none of those is left out.
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

    Prefect logs the message at the end of a run; by default it is the error's line.
    """
    return Failed(name=name, message=message or str(error), data=error)


COLLECT_SECONDS = 6 * 3600
"""A longer collection fails, because the next one of its deployment would begin. prefect.yaml
schedules them every six hours, AWS's spot prices every hour."""

PUBLISH_SECONDS = 3600
"""prefect.yaml publishes every hour. The sample takes seconds, 20.7 million prices 110 s
(docs/performance.md, "Refresh")."""


LEASE_SECONDS = 60
"""Prefect's minimum for the lease of a place, which a worker renews."""


class _TooLongError(TimeoutError):
    """The block of ``stop_after`` has not ended in time."""


@contextmanager
def stop_after(seconds: float, name: str) -> Iterator[None]:
    """Interrupt this thread after ``seconds`` if the block is still running; ``name`` is its unit.

    landing.limits checks the time with each piece of a body. It cannot stop a response with endless
    headers, in which each byte restarts the read timeout of httpx and the SDKs.

    Raises:
        FetchError: the block was interrupted, between two steps of Python.
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
    """Make or update a concurrency limit on the Prefect server; return its name."""
    with get_client(sync_client=True) as client, suppress(ObjectAlreadyExists):
        client.upsert_global_concurrency_limit_by_name(name, places)
    return name


@contextmanager
def place(limit: str | None) -> Iterator[None]:
    """Wait for a place within a limit of the server, and hold it; do nothing for None.

    The place of a killed process is free after LEASE_SECONDS.
    """
    if limit is None:
        yield
        return
    with concurrency(
        limit, strict=True, lease_duration=LEASE_SECONDS, raise_on_lease_renewal_failure=False
    ):
        yield
