"""List the processes of this machine that are at work."""

import subprocess
from dataclasses import dataclass


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
