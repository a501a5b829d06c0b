"""The command ``hwprices worker``: run Prefect's worker, and end its flows with it.

A container's first process gets SIGTERM alone, and all in it is killed some seconds later: Docker
waits 10 s, ECS and Kubernetes 30. Prefect's own command then kills its flows before they can say
so, or waits until they have ended, however long that takes; their runs are shown as running for ten
minutes more. Here the flows get SIGTERM first. They end within seconds, and their runs as Crashed.
"""

import contextlib

from hwprices.errors import HwpricesError
from hwprices.flows import signals
from hwprices.flows.deployments import POOL, wait_for_server
from hwprices.flows.prefect_commands import WORKER_SECONDS, running


def main(pool: str = POOL) -> None:
    """Run a worker that starts flows as processes, until Ctrl-C or SIGTERM.

    Raises:
        HwpricesError: no server answers at PREFECT_API_URL; or the worker ended by itself, and its
            own message is on the screen.
    """
    # First: the kernel keeps SIGTERM from the first process of a container that does not handle it.
    signals.handle_ending(signals.interrupt)
    with contextlib.suppress(KeyboardInterrupt):
        wait_for_server()
        command = ("worker", "start", "--pool", pool, "--type", "process")
        with running(*command, ends_within=WORKER_SECONDS) as worker:
            worker.wait()
        raise HwpricesError("Prefect's worker ended", "Its own output above says why.")
