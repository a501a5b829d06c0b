"""A Prefect server with a worker and the project's deployments, for tests."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.helpers import processes
from tests.helpers.flows_environment import clean_environment
from tests.helpers.nightly import only_at_night

LOG = "serve.log"
"""What ``hwprices admin serve`` and its processes print, in the home of ``running_server``."""

STOP_SECONDS = 120
"""More than ``hwprices admin serve`` takes to end its worker, and its server, or to kill them."""

PREFECT = [sys.executable, "-m", "prefect"]
READY_SECONDS = 600
"""`admin serve` is up in half a minute on two quiet cores, and took five on two busy ones."""

NIGHTLY_ON_A_SERVER = [
    pytest.mark.flow,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    only_at_night("may first have to start Prefect's server: up to minutes, by load"),
]
"""The marks of tests that need a real server."""

HTTP = httpx.Client(timeout=30, trust_env=False)
"""One client: each reads the trusted certificates, 30 ms of CPU."""

NO_SERVER = "http://127.0.0.1:9"
"""The port for discarding, where nothing listens."""


@dataclass(frozen=True)
class Server:
    """A running ``hwprices admin serve``. ``prefect`` runs Prefect's command against its server."""

    environment: dict[str, str]
    project: Path
    scheduled: dict[str, int] = field(default_factory=dict)
    """How many runs the schedule of each deployment has made. All are paused since."""

    @property
    def api(self) -> str:
        return self.environment["PREFECT_API_URL"]

    def filter(self, records: str, **body: Any) -> Any:
        """Ask the server for its flow_runs, artifacts, logs …, as ``body`` narrows it."""
        answer = HTTP.post(f"{self.api}/{records}/filter", json=body)
        return answer.raise_for_status().json()

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """Make something on the server, once more where its SQLite file was locked (503)."""
        deadline = time.monotonic() + READY_SECONDS
        while True:
            answer = HTTP.post(f"{self.api}/{path}", json=body)
            if answer.status_code != 503 or time.monotonic() > deadline:
                break
            time.sleep(1)
        assert answer.is_success, answer.text
        return answer.json()

    def prefect(self, *arguments: str, timeout: float = 500) -> subprocess.CompletedProcess[str]:
        options = {"env": self.environment, "cwd": self.project, "timeout": timeout}
        return processes.run(*PREFECT, "--no-prompt", *arguments, status=None, **options)


@contextmanager
def running_server(project: Path, home: Path, **variables: str) -> Iterator[Server]:
    """Run ``admin serve`` on a free port; ``home`` gets Prefect's state, the log and the flows.

    ``variables`` are added to the environment of the server, the worker and the flows. No vendor
    can be reached: https goes to a proxy that is not there.
    """
    port = free_port()
    api = f"http://127.0.0.1:{port}/api"
    environment = {
        **clean_environment(home),
        "HTTPS_PROXY": NO_SERVER,
        "NO_PROXY": "127.0.0.1",
        **variables,
        "PREFECT_API_URL": api,
        "PREFECT_SERVER_API_PORT": str(port),
    }
    server = Server(environment, project)
    with serving(server, home) as process:
        wait_until_ready(process, home / LOG)
        scheduled = scheduled_runs(api)
        pause_schedules(api)
        yield replace(server, scheduled=scheduled)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(server: Server, home: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run ``hwprices admin serve`` until the block ends, and end it with SIGTERM.

    A proxy that is not there stands between it and all others, this machine included.

    Raises:
        AssertionError: a process of it is left then.
    """
    with (home / LOG).open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "hwprices", "serve"],
            env=server.environment | {"HTTP_PROXY": NO_SERVER, "NO_PROXY": "", "no_proxy": ""},
            cwd=home,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(timeout=STOP_SECONDS)
        left = processes_of(server)
        for number in left:
            os.kill(number, signal.SIGKILL)
    assert left == {}


def processes_of(server: Server) -> dict[int, str]:
    """List the processes that have the server's address in their environment, by number."""
    variable = f"PREFECT_API_URL={server.api}".encode()
    processes = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile, or is another user's
            if variable in (folder / "environ").read_bytes().split(b"\0"):
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                processes[int(folder.name)] = command
    return processes


def wait_until_ready(process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait for the line that ``hwprices admin serve`` prints when all is up."""
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if "A run now" in log.read_text():
            return
        time.sleep(0.3)
    raise AssertionError(f"hwprices admin serve did not come up:\n{log.read_text()[-2000:]}")


def scheduled_runs(api: str) -> dict[str, int]:
    """Count the runs that each deployment's schedule has made, waiting until each has one."""
    with httpx.Client(base_url=api, timeout=10) as client:
        names = deployment_names(client)
        deadline, counts = time.monotonic() + READY_SECONDS, dict.fromkeys(names.values(), 0)
        while not all(counts.values()) and time.monotonic() < deadline:
            time.sleep(0.5)
            runs = client.post("/flow_runs/filter", json={"limit": 200}).raise_for_status().json()
            counts = {
                name: sum(run["deployment_id"] == key for run in runs)
                for key, name in names.items()
            }
        return counts


def pause_schedules(api: str) -> None:
    """Pause every deployment, so that no scheduled run asks a vendor during the tests."""
    with httpx.Client(base_url=api, timeout=10) as client:
        for key in deployment_names(client):
            client.post(f"/deployments/{key}/pause_deployment").raise_for_status()


def deployment_names(client: httpx.Client) -> dict[str, str]:
    """Return the name of each deployment by its id."""
    answer = client.post("/deployments/filter", json={}).raise_for_status().json()
    return {deployment["id"]: deployment["name"] for deployment in answer}
