"""A signal that ends ``hwprices admin refresh`` leaves no process behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hwprices import flows
from hwprices.flows import prefect_server
from tests.helpers import processes
from tests.helpers.flows_environment import clean_environment

pytestmark = pytest.mark.flow


@pytest.fixture
def heeded(own_signals: None) -> None:
    """Let child processes heed the signals; where these tests run in the background they do not."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)


@pytest.mark.usefixtures("heeded")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
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
    servers: set[int] = set()
    try:
        assert processes.wait_until(lambda: bool(servers_of(process)))
        servers = servers_of(process)
        process.send_signal(number)
        assert shell_status(process.wait(processes.SECONDS)) == 128 + number
        assert processes.wait_until(lambda: not running(process.pid, servers))
    finally:
        for left in running(process.pid, servers):
            os.kill(left.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.usefixtures("heeded")
def test_a_hangup_ends_as_sigterm_does_unless_nohup_ignores_it() -> None:
    def handler(number: int, _frame: object) -> None:
        raise SystemExit(number)

    flows.handle_ending(handler)
    assert signal.getsignal(signal.SIGHUP) is signal.getsignal(signal.SIGTERM) is handler
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    flows.handle_ending(handler)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    with pytest.raises(SystemExit, match=str(int(signal.SIGTERM))):
        signal.raise_signal(signal.SIGTERM)


@pytest.mark.usefixtures("heeded")
def test_a_signal_during_the_imports_ends_the_program_after_them() -> None:
    imported: list[str] = []

    def start() -> None:
        with flows.held_signals():
            signal.raise_signal(signal.SIGINT)
            imported.append("prefect")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert imported
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def shell_status(status: int) -> int:
    """Give the exit status that a shell reports: 130 for SIGINT, whether handled or not.

    A command that Ctrl-C ends exits with 130. But if the KeyboardInterrupt has passed through an
    ``exec`` of a text, as dataclasses and SQLAlchemy run them when they are imported, Python lets
    the signal itself end the process.
    """
    return status if status >= 0 else 128 - status


def servers_of(process: "subprocess.Popen[bytes]") -> set[int]:
    """The numbers of the Prefect servers that a process has started."""
    started = [of for of in processes.running() if of.parent == process.pid]
    return {of.pid for of in started if prefect_server.__name__ in of.command}


def running(group: int, numbers: set[int]) -> list[processes.Process]:
    """List the processes at work that are of a group or have one of the numbers."""
    return [of for of in processes.running() if of.group == group or of.pid in numbers]
