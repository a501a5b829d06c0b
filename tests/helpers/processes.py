"""List the processes of this machine that are at work, and wait for what they do."""

import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass

SECONDS = 120
"""More than a busy machine needs to start Prefect's server, or to end a process."""


@dataclass(frozen=True)
class Process:
    """A process: its number, that of the process that started it, its group, its command line."""

    pid: int
    parent: int
    group: int
    command: str


def running() -> list[Process]:
    """List the processes that are at work, not those that have ended and are yet to be reaped."""
    listing = ["ps", "-A", "-ww", "-o", "pid=,ppid=,pgid=,stat=,args="]
    listed = subprocess.run(listing, capture_output=True, text=True, check=True).stdout
    rows = (line.split(maxsplit=4) for line in listed.splitlines())
    return [
        Process(int(pid), int(parent), int(group), "".join(command))
        for pid, parent, group, state, *command in rows
        if not state.startswith("Z")
    ]


def family(pid: int) -> set[int]:
    """Return the numbers of a process and of its descendants that are at work."""
    listed, found, size = running(), {pid}, 0
    while len(found) > size:
        size = len(found)
        found |= {each.pid for each in listed if each.parent in found}
    return found


def wait_until(is_so: Callable[[], bool]) -> bool:
    """Wait until something is so; say whether it came to be."""
    deadline = time.monotonic() + SECONDS
    while not (done := is_so()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return done
