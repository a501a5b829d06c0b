"""Run programs, list the processes of this machine that are at work, and wait for what they do."""

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECONDS = 120
"""More than a busy machine needs to start Prefect's server, or to end a process."""


@dataclass(frozen=True)
class Process:
    """A process: its number, that of the process that started it, its group, its command line."""

    pid: int
    parent: int
    group: int
    command: str


def run(
    *command: str | Path, status: int | None = 0, timeout: float = 500, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end and keep what it prints. ``status``: what it has to end with."""
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=timeout, **options
    )
    assert status in (None, done.returncode), f"{done.returncode}: {done.stdout}{done.stderr}"
    return done


def python(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run this Python as ``run`` does."""
    return run(sys.executable, *arguments, **options)


def running() -> list[Process]:
    """List the processes that are at work, not those that have ended and are yet to be reaped."""
    listing = ["ps", "-A", "-ww", "-o", "pid=,ppid=,pgid=,stat=,args="]
    rows = (line.split(maxsplit=4) for line in run(*listing).stdout.splitlines())
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
