"""A signal that ends ``hwprices refresh`` leaves no process behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.helpers.flows_environment import clean_environment

from hwprices.flows import command

pytestmark = pytest.mark.flow

SECONDS = 120
"""More than a busy machine needs to start Prefect's server, or to end it."""


@pytest.fixture
def heeded() -> Iterator[None]:
    """Let child processes heed the signals; where these tests run in the background they do not."""
    numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    handlers = [signal.signal(number, signal.default_int_handler) for number in numbers]
    yield
    for number, handler in zip(numbers, handlers, strict=True):
        signal.signal(number, handler)


@pytest.mark.usefixtures("heeded")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_the_server_of_a_command_ends_with_it(number: signal.Signals, tmp_path: Path) -> None:
    refresh = [sys.executable, "-m", "hwprices", "refresh", "--root", str(tmp_path / "data")]
    with (tmp_path / "output").open("wb") as output:
        process = subprocess.Popen(
            refresh,
            cwd=tmp_path,
            env=clean_environment(),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + SECONDS
        while len(running(process.pid)) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert len(running(process.pid)) == 2, "Prefect's server has not been started"
        process.send_signal(number)
        assert process.wait(SECONDS) == 128 + number
        while running(process.pid) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not running(process.pid)
    finally:
        for left in running(process.pid):
            os.kill(left, signal.SIGKILL)
        process.wait()


@pytest.mark.usefixtures("heeded")
def test_what_nohup_ignores_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    command.end_on_signals()
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    with pytest.raises(SystemExit, match="143"):
        signal.raise_signal(signal.SIGTERM)


def running(group: int) -> list[int]:
    """List the processes of a group that are at work, not those that are yet to be reaped."""
    listing = ["ps", "-A", "-o", "pid=,pgid=,stat="]
    listed = subprocess.run(listing, capture_output=True, text=True, check=True)
    rows = (line.split() for line in listed.stdout.splitlines())
    return [int(pid) for pid, of, state in rows if int(of) == group and not state.startswith("Z")]
