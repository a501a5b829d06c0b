"""Collect on a Dask cluster: a scheduler, two workers, an object store, a Prefect server.

Every process is one of its own, as on several machines: tools.fullsize as the vendors, moto as S3.
Runs with HWPRICES_NIGHTLY=1, where the extra hwprices[dask] is installed.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
from bench.refresh import served

from hwprices.publish import release
from hwprices.storage.store import Store
from tests.helpers import vendors
from tests.helpers.aws_pages import moto_server
from tests.helpers.flows_environment import clean_environment
from tests.helpers.nightly import only_at_night
from tests.helpers.prefect_server import free_port

pytestmark = [
    pytest.mark.flow,
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    only_at_night("takes minutes"),
]

SCALE, REGIONS = 0.004, 2

PROVIDERS = ("aws", "azure")

S3 = {"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}

READY_SECONDS = 300

RUN_SECONDS = 1500


@dataclass
class Processes:
    """Processes of one test. Each has a log in ``home``, and a process group of its own."""

    home: Path
    environment: dict[str, str]
    started: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)

    def start(self, name: str, *arguments: str) -> "subprocess.Popen[bytes]":
        """Start a module of Python under a name; one that ran under it before has ended."""
        with (self.home / f"{name}.log").open("ab") as log:
            self.started[name] = subprocess.Popen(
                [sys.executable, "-m", *arguments],
                env=self.environment,
                cwd=self.home,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self.started[name]

    def log(self, name: str) -> str:
        return (self.home / f"{name}.log").read_text(errors="replace")

    def stop_all(self) -> None:
        for process in reversed(list(self.started.values())):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGCONT)
                os.killpg(process.pid, signal.SIGTERM)
                try:
                    process.wait(timeout=30)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()


@dataclass
class Cluster:
    """A scheduler and two workers."""

    processes: Processes
    port: int

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start what has ended, and wait until the scheduler has both workers."""
        where = ["--host", "127.0.0.1", "--port", str(self.port)]
        self._start("scheduler", "distributed.cli.dask_scheduler", *where, "--no-dashboard")
        options = ["--nthreads", "2", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"]
        for name in ("worker-1", "worker-2"):
            self._start(name, "distributed.cli.dask_worker", self.address, "--name", name, *options)
        with self._client() as client:
            client.wait_for_workers(2, timeout=READY_SECONDS)

    def _start(self, name: str, *arguments: str) -> None:
        process = self.processes.started.get(name)
        if process is not None and process.poll() is None:
            return
        self.processes.start(name, *arguments)

    def wait_for_task(self, name: str) -> None:
        """Wait until a worker is at work on a unit."""
        with self._client() as client:

            def is_at_work() -> bool:
                worker = _workers(client).get(name)  # none while a busy one is late to report
                return bool(worker and worker["metrics"]["task_counts"].get("executing"))

            wait(is_at_work, f"task at {name}", RUN_SECONDS)

    def _client(self) -> Any:
        from distributed import Client

        return Client(self.address, timeout=READY_SECONDS, set_as_default=False)


def _workers(client: Any) -> dict[str, Any]:
    """Return what the scheduler knows of each worker, by its name."""
    workers = client.scheduler_info(-1)["workers"]
    return {worker["name"]: {**worker, "address": at} for at, worker in workers.items()}


@dataclass
class Site:
    """Everything that runs: vendors, object store, Prefect server, cluster."""

    home: Path
    environment: dict[str, str]
    processes: Processes
    cluster: Cluster

    def command(self, root: str) -> "subprocess.Popen[str]":
        """Start ``hwprices admin refresh`` on the cluster."""
        variables = {"HWPRICES_DASK_SCHEDULER": self.cluster.address}
        arguments = ["refresh", "--source", "live", "--root", root, "--strict"]
        for provider in PROVIDERS:
            arguments += ["--provider", provider]
        return subprocess.Popen(
            [sys.executable, "-m", "hwprices", *arguments],
            env={**self.environment, **variables},
            cwd=self.home,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def refresh(self, root: str) -> str:
        """Run the command to its end; return the digest of the release that it made."""
        process = self.command(root)
        output, _ = process.communicate(timeout=RUN_SECONDS)
        assert process.returncode == 0, output
        return digest(root)


def digest(root: str) -> str:
    """Return the digest of the release in force; empty where there is none."""
    store = Store(root)
    latest = store.get("latest.json")
    if latest is None:
        return ""
    manifest = store.get(f"releases/{json.loads(latest)['version']}/manifest.json")
    assert manifest is not None
    return str(json.loads(manifest)["content_sha256"])


def wait(condition: Callable[[], bool], what: str, seconds: float = READY_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.2)
    raise AssertionError(f"no {what} after {seconds:g} s")


def is_up(url: str) -> bool:
    try:
        return httpx.get(url, timeout=2).is_success
    except httpx.HTTPError:
        return False


@contextmanager
def running_site(home: Path, endpoints: dict[str, str], s3: str, project: Path) -> Iterator[Site]:
    api = f"http://127.0.0.1:{free_port()}/api"
    environment = {
        **clean_environment(home / "prefect"),
        **endpoints,
        **S3,
        "AWS_ENDPOINT_URL_S3": s3,
        "AWS_ENDPOINT_URL": s3,
        "PREFECT_API_URL": api,
        "PYTHONPATH": str(project),
    }
    processes = Processes(home, environment)
    try:
        address = ["--host", "127.0.0.1", "--port", api.split(":")[2].removesuffix("/api")]
        processes.start("prefect", "prefect", "server", "start", *address)
        wait(lambda: is_up(f"{api}/health"), "Prefect server")
        cluster = Cluster(processes, free_port())
        cluster.start()
        yield Site(home, environment, processes, cluster)
    finally:
        processes.stop_all()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, project: Path) -> Iterator[Site]:
    pytest.importorskip("prefect_dask")
    home = tmp_path_factory.mktemp("site")
    (home / "prefect").mkdir()
    with (
        served(SCALE, REGIONS) as (endpoints, _),
        moto_server() as s3,
        pytest.MonkeyPatch.context() as variables,
    ):
        for name, value in {**endpoints, **S3, "AWS_ENDPOINT_URL": s3}.items():
            variables.setenv(name, value)
        client = boto3.client("s3", endpoint_url=s3, region_name="us-east-1")
        client.create_bucket(Bucket="hwprices")
        with running_site(home, endpoints, s3, project) as running:
            yield running


@pytest.fixture(scope="module")
def expected(site: Site) -> str:
    """Return the digest of a run in this process, one unit after the other, below a folder."""
    root = str(site.home / "plain")
    for provider in PROVIDERS:
        vendors.collect(provider, root=root)
    assert not release.publish(Store(root)).held_back
    return digest(root)


def test_a_cluster_gives_the_same_release(site: Site, expected: str) -> None:
    with site.cluster._client() as client:
        client.get_task_stream()  # from now on the scheduler notes who does what
        assert site.refresh("s3://hwprices/cluster") == expected
        names = {worker["address"]: name for name, worker in _workers(client).items()}
        tasks = Counter(names[task["worker"]] for task in client.get_task_stream())
    assert min(tasks["worker-1"], tasks["worker-2"]) > 0, "both workers fetched units"


def test_a_worker_killed_in_the_middle_of_a_unit_costs_nothing(site: Site, expected: str) -> None:
    """The scheduler gives its units to the other worker; what it landed half is not referred to."""
    process = site.command("s3://hwprices/worker")
    site.cluster.wait_for_task("worker-2")
    worker = site.processes.started["worker-2"]
    os.killpg(worker.pid, signal.SIGSTOP)
    os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()
    output, _ = process.communicate(timeout=RUN_SECONDS)
    assert process.returncode == 0, output
    assert digest("s3://hwprices/worker") == expected
    assert re.search("Remove worker", site.processes.log("scheduler"))
    site.cluster.start()


def test_a_scheduler_that_restarts_fails_the_run_and_not_the_next(site, expected) -> None:
    """What was in force stays; the run ends by itself and says so; the next one is whole."""
    root = "s3://hwprices/scheduler"
    process = site.command(root)
    site.cluster.wait_for_task("worker-1")
    os.killpg(site.processes.started["scheduler"].pid, signal.SIGKILL)
    site.processes.started["scheduler"].wait()
    output, _ = process.communicate(timeout=RUN_SECONDS)
    assert process.returncode in (1, 2, 4), output
    for name in ("worker-1", "worker-2"):
        wait(lambda name=name: site.processes.started[name].poll() is not None, f"end of {name}")
    site.cluster.start()
    assert site.refresh(root) == expected
