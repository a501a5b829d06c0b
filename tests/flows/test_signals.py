"""A signal that ends ``hwprices refresh`` leaves no process behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.helpers import processes
from tests.helpers.flows_environment import clean_environment

from hwprices.flows import signals

pytestmark = pytest.mark.flow

SECONDS = 120
"""More than a busy machine needs to start Prefect's server, or to end it."""

SERVER = "prefect.server"
"""A part of the command line of Prefect's server."""


@pytest.fixture
def heeded(own_signals: None) -> None:
    """Let child processes heed the signals; where these tests run in the background they do not."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)


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
    group = process.pid
    try:
        assert wait_until(lambda: any(SERVER in of.command for of in running(group)))
        process.send_signal(number)
        assert process.wait(SECONDS) == 128 + number
        assert wait_until(lambda: not running(group))
    finally:
        for left in running(group):
            os.kill(left.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.usefixtures("heeded")
def test_a_signal_that_nohup_ignores_stays_ignored() -> None:
    def handler(number: int, _frame: object) -> None:
        raise SystemExit(number)

    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signals.handle_ending(handler)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    with pytest.raises(SystemExit, match=str(int(signal.SIGTERM))):
        signal.raise_signal(signal.SIGTERM)


def running(group: int) -> list[processes.Process]:
    """List the processes of a group that are at work."""
    return [process for process in processes.running() if process.group == group]


def wait_until(is_so: Callable[[], bool]) -> bool:
    """Wait until something is so; say whether it came to be."""
    deadline = time.monotonic() + SECONDS
    while not (done := is_so()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return done
