"""Run a command of Prefect until a block ends, and end it with all that it started."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hwprices.flows import environment
from hwprices.flows.deployments import PREFECT

STOP_SECONDS = 30
"""How long flows, and then a server, may take to end before they are killed. A flow takes seconds.
Docker waits 10 s by default, so that compose.yaml says more; systemd waits 90 s."""

WORKER_SECONDS = 3
"""How long a worker may take to end when no flow is left. Prefect 3.8's never ends if a flow ends
just then: what waits for the flow's cancellation takes the end of the worker for its own. One that
had been idle did not end either, within half a minute."""

PROC = Path("/proc")
"""Where Linux shows processes as files. A Mac has none, but always ps; a slim image has no ps."""


@dataclass(frozen=True)
class _Process:
    pid: int
    parent: int
    group: int


@contextlib.contextmanager
def running(
    *arguments: str, ends_within: float = STOP_SECONDS, program: Sequence[str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command of Prefect until the block ends, and end it with all that it started.

    ``ends_within`` is how long it may take to end after its flows; ``program`` is run in place of
    Prefect's.
    """
    # A group of its own: Ctrl-C comes to this process alone, which ends the others in their order.
    process = subprocess.Popen([*(program or PREFECT), *arguments], start_new_session=True)
    try:
        yield process
    finally:
        _end(process, ends_within)


def _end(process: subprocess.Popen[bytes], seconds: float) -> None:
    """End a process and all that it started: ask first, then kill.

    Prefect's worker starts each flow in a group of its own. The flows are ended first: a worker
    that is ended kills them, before they can say that they crashed, or lets them run on.
    """
    for number in (signal.SIGINT, *environment.ENDING):
        signal.signal(number, signal.SIG_IGN)  # whoever is impatient would leave the rest running
    flows = _groups(process) - {process.pid}
    _signal(flows, signal.SIGTERM)
    _wait_for(flows, STOP_SECONDS)
    groups = flows | _groups(process)  # a worker may have started another flow meanwhile
    _signal(groups, signal.SIGTERM)
    _wait_for(groups, seconds)
    _signal(groups, signal.SIGKILL)
    process.wait()


def _wait_for(groups: set[int], seconds: float) -> None:
    """Wait until nothing of the groups is at work, so many seconds at most."""
    deadline = time.monotonic() + seconds
    while groups & {each.group for each in _processes()} and time.monotonic() < deadline:
        time.sleep(0.1)


def _groups(process: subprocess.Popen[bytes]) -> set[int]:
    """Return the process groups of a process and of its descendants."""
    listed = _processes()
    family, size = {process.pid}, 0
    while len(family) > size:
        size = len(family)
        family |= {each.pid for each in listed if each.parent in family}
    return {process.pid, *(each.group for each in listed if each.pid in family)}


def _processes() -> list[_Process]:
    """List the processes of this machine, without zombies: those have ended.

    The first process of a container gets the children of others that end before them, and nobody
    asks for their status.
    """
    rows = _rows_of_proc() if (PROC / "self").exists() else _rows_of_ps()
    return [
        _Process(int(pid), int(parent), int(group))
        for pid, state, parent, group in rows
        if not state.startswith("Z")
    ]


def _rows_of_proc() -> Iterator[list[str]]:
    for file in PROC.glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            # the name before the last bracket may have blanks and brackets of its own: proc(5)
            yield [file.parent.name, *file.read_text().rpartition(")")[2].split()[:3]]


def _rows_of_ps() -> Iterator[list[str]]:
    command = ["ps", "-A", "-o", "pid=,stat=,ppid=,pgid="]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    yield from map(str.split, listed.splitlines())


def _signal(groups: set[int], number: int) -> None:
    for group in groups:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, number)
