"""``hwprices admin worker``: SIGTERM to it alone, as a container gets it, ends its flows."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.helpers import processes
from tests.helpers.prefect_server import NIGHTLY_ON_A_SERVER, Server

pytestmark = NIGHTLY_ON_A_SERVER

POOL = "stopped"
"""A pool of its own: the worker of these tests would take runs of the usual one."""

FLOW = """
import time
from prefect import flow

@flow
def waits():
    time.sleep(600)
"""


def test_a_worker_that_is_ended_ends_its_flow(prefect_server: Server, tmp_path: Path) -> None:
    """Prefect's own worker goes on until the flow has ended, here for ten minutes."""
    run = run_that_waits(prefect_server, tmp_path)
    command = f"from hwprices.flows import serve; serve.work({POOL!r})"
    with (tmp_path / "worker.log").open("wb") as log:
        worker = subprocess.Popen(
            [sys.executable, "-c", command],
            env=prefect_server.environment,
            cwd=tmp_path,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        assert processes.wait_until(lambda: state_type(prefect_server, run) == "RUNNING")
    finally:
        family = processes.family(worker.pid)
        worker.terminate()
    assert worker.wait(timeout=processes.SECONDS) == 0
    assert len(family) > 2  # Prefect's worker and the flow
    assert processes.wait_until(lambda: family.isdisjoint(of.pid for of in processes.running()))
    assert processes.wait_until(lambda: state_type(prefect_server, run) == "CRASHED")


def run_that_waits(server: Server, folder: Path) -> str:
    """Make a run of a flow that waits for ten minutes; return its id."""
    (folder / "waiting.py").write_text(FLOW)
    made = server.prefect("work-pool", "create", "--type", "process", "--overwrite", POOL)
    assert made.returncode == 0, made.stderr
    place = {"prefect.deployments.steps.set_working_directory": {"directory": str(folder)}}
    deployment = {
        "name": POOL,
        "flow_id": server.post("flows/", {"name": "waits"})["id"],
        "entrypoint": "waiting.py:waits",
        "work_pool_name": POOL,
        "pull_steps": [place],
    }
    deployed = server.post("deployments/", deployment)
    return str(server.post(f"deployments/{deployed['id']}/create_flow_run", {})["id"])


def state_type(server: Server, run: str) -> Any:
    return server.filter("flow_runs", flow_runs={"id": {"any_": [run]}})[0]["state_type"]
