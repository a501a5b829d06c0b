"""One Prefect server, and one refresh of the sample on it, for the tests of this folder.

It ends with them, and not with the session: a server without work keeps a processor busy too.
"""

import json
import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import httpx
import pytest

from hwprices.flows import prefect_server as own_server
from tests.helpers.flows_environment import clean_environment, migrated_home
from tests.helpers.prefect_server import NO_SERVER, Server, running_server

PROVIDERS = ["gcp", "scaleway", "vast"]
"""A large provider, one whose sample is a page, and one without prices."""

CANARY = "c4n4ry4711k4n4r13nv0g3l"

CREDENTIALS = {
    name: f"{CANARY}-{name}"
    for name in (
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AZURE_CLIENT_SECRET",
        "AZURE_SUBSCRIPTION_ID",
        "HWPRICES_GCP_API_KEY",
    )
}
"""Credentials in the environment of the worker and the flows."""


@dataclass(frozen=True)
class Release:
    """A release of some providers' sample, and what the screen showed while it was made."""

    root: Path
    output: str
    intruders: list[str]
    """Ids of runs of the same deployment that were started meanwhile."""


@pytest.fixture(scope="package")
def prefect_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return migrated_home(tmp_path_factory, tmp_path_factory.mktemp("prefect"))


@pytest.fixture(scope="package")
def prefect_server(prefect_home: Path, project: Path) -> Iterator[Server]:
    with running_server(project, prefect_home, **CREDENTIALS) as server:
        yield server


@pytest.fixture(scope="module")
def server_alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of commands that use a Prefect server: one without worker or deployments.

    It is up in a fifth of the time of ``prefect_server``, and no vendor can be reached either.
    """
    environment = clean_environment(
        migrated_home(tmp_path_factory, tmp_path_factory.mktemp("home"))
    )
    with mock.patch.dict(os.environ, environment, clear=True):
        server = own_server.Server()
    proxies = {"HTTPS_PROXY": NO_SERVER, "NO_PROXY": "127.0.0.1"}
    try:
        server.wait()
        yield {**environment, **proxies, "PREFECT_API_URL": server.api}
    finally:
        server.stop()


@pytest.fixture(scope="package")
def release(
    prefect_server: Server, tmp_path_factory: pytest.TempPathFactory, project: Path
) -> Release:
    """Run the main job once with the README's command for a deployment.

    The whole sample is in ``sample_root``: here it takes a minute. While this one runs, a second
    run of the deployment is started.
    """
    root = tmp_path_factory.mktemp("root")
    intruders: list[str] = []
    intruding = threading.Thread(target=start_another, args=(prefect_server, intruders))
    intruding.start()
    done = run_deployment(prefect_server, project, root)
    intruding.join()
    assert done.returncode == 0, done.stdout + done.stderr
    return Release(root, done.stdout + done.stderr, intruders)


def start_another(server: Server, intruders: list[str]) -> None:
    """Wait until a run of the deployment refresh is at work, start another, and note its id."""
    [deployment] = [each for each in server.filter("deployments") if each["name"] == "refresh"]
    of_deployment = {"deployment_id": {"any_": [deployment["id"]]}}
    at_work = {"state": {"type": {"any_": ["RUNNING"]}}, **of_deployment}
    deadline = time.monotonic() + 300
    while not server.filter("flow_runs", flow_runs=at_work) and time.monotonic() < deadline:
        time.sleep(0.5)
    url = f"{server.api}/deployments/{deployment['id']}/create_flow_run"
    options = {"json": {"parameters": {"source": "sample"}}, "timeout": 30}
    started = httpx.post(url, **options)
    while started.status_code == 503 and time.monotonic() < deadline:  # its SQLite file was locked
        time.sleep(1)
        started = httpx.post(url, **options)
    intruders.append(started.raise_for_status().json()["id"])


def run_deployment(server: Server, project: Path, root: Path) -> subprocess.CompletedProcess[str]:
    """Run the README's command that starts a deployment, with this root and PROVIDERS."""
    text = (project / "README.md").read_text()
    command = text.partition(".venv/bin/prefect ")[2].partition("```")[0]
    words = shlex.split(command.replace("\\\n", " "))
    assert words[:3] == ["deployment", "run", "refresh/refresh"]
    assert words[-2:] == ["root=data", "--watch"]
    chosen = ["--param", f"providers={json.dumps(PROVIDERS)}"]
    return server.prefect(*words[:-2], f"root={root}", *chosen, "--watch")


@pytest.fixture
def own_signals() -> Iterator[None]:
    """Give this process its signal handlers back after the test."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    handlers = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, handlers, strict=True):
        signal.signal(number, handler)
