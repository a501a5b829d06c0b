"""A Prefect server with a worker and the project's deployments, for tests."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx

from tests.helpers.flows_environment import clean_environment

PREFECT = [sys.executable, "-m", "prefect"]
READY_SECONDS = 300
"""Prefect's server starts in 15 s on a quiet machine with two cores, in minutes on a busy one."""


@dataclass(frozen=True)
class Server:
    """A running server. ``prefect`` runs Prefect's command against it, in the checkout."""

    environment: dict[str, str]
    project: Path
    scheduled: dict[str, int] = field(default_factory=dict)
    """How many runs the schedule of each deployment has made. All are paused since."""

    @property
    def api(self) -> str:
        return self.environment["PREFECT_API_URL"]

    def filter(self, records: str, **body: Any) -> Any:
        """Ask the server for its flow_runs, artifacts, logs …, as ``body`` narrows it."""
        answer = httpx.post(f"{self.api}/{records}/filter", json=body, timeout=30)
        return answer.raise_for_status().json()

    def prefect(self, *arguments: str, timeout: float = 500) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*PREFECT, "--no-prompt", *arguments],
            env=self.environment,
            cwd=self.project,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )


@contextmanager
def running_server(project: Path, home: Path, **variables: str) -> Iterator[Server]:
    """Start a server, deployments and a worker on a free port; ``home`` gets state and logs.

    ``variables`` are added to the environment of all three.
    """
    port = free_port()
    api = f"http://127.0.0.1:{port}/api"
    server = Server({**clean_environment(home), **variables, "PREFECT_API_URL": api}, project)
    with ExitStack() as processes:
        listen = ["server", "start", "--host", "127.0.0.1", "--port", str(port)]
        processes.enter_context(background(server, listen, home / "server.log"))
        wait_until_ready(api, home / "server.log")
        for arguments in (
            ["work-pool", "create", "--type", "process", "hwprices"],
            ["deploy", "--all"],
        ):
            done = server.prefect(*arguments)
            assert done.returncode == 0, done.stdout + done.stderr
        scheduled = scheduled_runs(api)
        pause_schedules(api)
        worker = ["worker", "start", "--pool", "hwprices"]
        processes.enter_context(background(server, worker, home / "worker.log"))
        yield replace(server, scheduled=scheduled)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def background(server: Server, arguments: list[str], log: Path) -> Iterator[None]:
    """Run Prefect's command until the block ends."""
    with log.open("wb") as output:
        # A process group of its own: SIGKILL to the parent alone would leave uvicorn running.
        process = subprocess.Popen(
            [*PREFECT, *arguments],
            env=server.environment,
            cwd=server.project,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_until_ready(api: str, log: Path) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        try:
            if httpx.get(f"{api}/health", timeout=2).is_success:
                return
        except httpx.HTTPError:
            time.sleep(0.3)
    raise AssertionError(f"the Prefect server did not come up:\n{log.read_text()[-2000:]}")


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
