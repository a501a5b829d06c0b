"""How flows and tasks end when something stops them: a state with one line, and no traceback."""

import functools
import logging
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from prefect import get_run_logger
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from hwprices.errors import HwpricesError
from hwprices.providers import SkippedError

SKIPPED = "Skipped"
"""The state of a run that had nothing to do, for want of an account; of type Completed."""

P = ParamSpec("P")
R = TypeVar("R")


def in_one_line(function: Callable[P, R]) -> Callable[P, R | State[Any]]:
    """Let a flow or task that raises HwpricesError end in a Failed state that says why.

    Prefect writes a traceback of forty lines for what is raised. A HwpricesError says in its line
    what a person can mend; it is logged, and is the state's message. Called from Python the flow
    raises the error all the same; of a task, use ``return_state=True`` and the state's ``result``.
    What is no HwpricesError is a mistake of the program, and keeps its traceback.

    A SkippedError is no failure: it is logged, the state is Skipped, of type Completed, and its
    result is the error, which is returned and not raised.
    """

    @functools.wraps(function)
    def ending(*arguments: P.args, **named: P.kwargs) -> R | State[Any]:
        try:
            return function(*arguments, **named)
        except SkippedError as skipped:
            get_run_logger().warning("%s", skipped)
            return Completed(name=SKIPPED, message=str(skipped), data=skipped)
        except HwpricesError as error:
            get_run_logger().error("%s", error)
            return failed(error)

    return ending


class _NoTraceback(logging.Filter):
    """Leave out the traceback of a HwpricesError: its line has been logged."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and isinstance(record.exc_info[1], HwpricesError):
            record.exc_info = None
        return True


# A process that runs a deployment logs once more what its flow ended with.
logging.getLogger("prefect.flow_runs").addFilter(_NoTraceback())


def failed(error: HwpricesError, name: str = "Failed") -> State[Any]:
    """Make a state of type Failed with the error's line; it raises the error as its result."""
    return Failed(name=name, message=str(error), data=error)
