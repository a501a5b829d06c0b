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
