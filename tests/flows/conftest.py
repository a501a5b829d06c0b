"""Prefect for tests: its state in a temporary folder, a server and a worker as processes of their own."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from tests.helpers.flows_environment import clean_environment

PREFECT = Path(sys.executable).with_name("prefect")
READY_SECONDS = 120


@dataclass(frozen=True)
class Server:
    """A running Prefect server with the project's deployments and a worker."""

    env: dict[str, str]
    project: Path
    scheduled: dict[str, int]  # deployment: runs that its schedule had made

    def prefect(self, *arguments: str, timeout: float = 180) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [PREFECT, "--no-prompt", *arguments],
            env=self.env,
            cwd=self.project,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )


def start(command: list[str], env: dict[str, str], cwd: Path, log: Path) -> subprocess.Popen[bytes]:
    # a group of its own: SIGKILL to the parent alone would leave a uvicorn behind
    with log.open("wb") as out:
        return subprocess.Popen(
            command, env=env, cwd=cwd, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )


def stop(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(timeout=15)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory, project: Path) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("prefect")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {**clean_environment(home), "PREFECT_API_URL": f"http://127.0.0.1:{port}/api"}
    processes = [
        start(
            [str(PREFECT), "server", "start", "--host", "127.0.0.1", "--port", str(port)],
            env,
            project,
            home / "server.log",
        )
    ]
    try:
        wait_until_ready(f"http://127.0.0.1:{port}/api/health", home / "server.log")
        server = Server(env, project, {})
        for arguments in (
            ["work-pool", "create", "--type", "process", "hwprices"],
            ["deploy", "--all"],
        ):
            done = server.prefect(*arguments)
            assert done.returncode == 0, done.stdout + done.stderr
        server.scheduled.update(scheduled_then_paused(env["PREFECT_API_URL"]))
        processes.append(
            start(
                [str(PREFECT), "worker", "start", "--pool", "hwprices"],
                env,
                project,
                home / "worker.log",
            )
        )
        yield server
    finally:
        for process in reversed(processes):
            stop(process)


def wait_until_ready(url: str, log: Path) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        try:
            if httpx.get(url, timeout=2).is_success:
                return
        except httpx.HTTPError:
            time.sleep(0.3)
    raise AssertionError(f"the Prefect server did not come up:\n{log.read_text()[-2000:]}")


def scheduled_then_paused(api: str) -> dict[str, int]:
    """How many runs each deployment's schedule makes; then the schedules are paused, so that no test asks a vendor."""
    with httpx.Client(base_url=api, timeout=10) as client:
        deployments = {
            d["id"]: d["name"]
            for d in client.post("/deployments/filter", json={}).raise_for_status().json()
        }
        deadline, counts = time.monotonic() + READY_SECONDS, dict.fromkeys(deployments.values(), 0)
        while not all(counts.values()) and time.monotonic() < deadline:
            time.sleep(0.5)
            runs = client.post("/flow_runs/filter", json={"limit": 200}).raise_for_status().json()
            counts = {
                name: sum(run["deployment_id"] == key for run in runs)
                for key, name in deployments.items()
            }
        for key in deployments:
            client.post(f"/deployments/{key}/pause_deployment").raise_for_status()
    return counts
