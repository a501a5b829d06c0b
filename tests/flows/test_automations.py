"""The automations of deploy/, and what ``admin deploy`` makes, on a real Prefect server."""

import json
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from hwprices.errors import HwpricesError
from hwprices.flows import deployments
from tests.helpers.prefect_server import NIGHTLY_ON_A_SERVER, PREFECT, Server
from tests.helpers.processes import family, wait_until
from tests.helpers.stub_server import Reply

pytestmark = NIGHTLY_ON_A_SERVER

NO_REFRESH = "hwprices: no refresh in 26 hours"
FAILED = "hwprices: a refresh failed, or the gate held a provider back"
OWN_FAILED = "hwprices: a collection or publication of its own failed"
PARTIAL = "hwprices: a refresh could not fetch everything"
NEW_WORDS = "hwprices: a vendor has something new"
KILLED = "hwprices: a run was killed"
NOT_STARTED = "hwprices: a run was not started"

DOOMED = "doomed"
"""The work pool and the deployment of a worker that is killed."""


@pytest.fixture(scope="module")
def automations(prefect_server: Server, project: Path) -> dict[str, dict[str, Any]]:
    """Take what ``hwprices admin serve`` has made; return the automations by name."""
    made = {each["name"]: each for each in prefect_server.filter("automations")}
    file = project / "deploy/prefect/automations.yaml"
    assert set(made) == {each["name"] for each in yaml.safe_load(file.read_text())["automations"]}
    return made


def firings(server: Server, automation_id: object) -> int:
    """Count how often an automation has fired."""
    name = {"event": {"name": ["prefect.automation.action.executed"]}}
    events = server.filter("events", filter=name)["events"]
    resource = f"prefect.automation.{automation_id}"
    return sum(each["resource"]["prefect.resource.id"] == resource for each in events)


def fires(server: Server, automation_id: object, before: int = 0) -> bool:
    """Say whether an automation fires once more than before, waiting for it a while."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if firings(server, automation_id) > before:
            return True
        time.sleep(1)
    return False


@contextmanager
def short(server: Server, automation: dict[str, Any]) -> Iterator[str]:
    """Make the same automation with a window of ten seconds, the shortest that Prefect takes."""
    trigger = {**automation["trigger"], "within": 10}
    del trigger["id"]
    body = {"name": "short", "trigger": trigger, "actions": automation["actions"]}
    made = server.post("automations/", body)
    try:
        yield made["id"]
    finally:
        httpx.delete(f"{server.api}/automations/{made['id']}", timeout=30)


def test_a_day_without_a_refresh_is_noticed(prefect_server, automations) -> None:
    assert automations[NO_REFRESH]["trigger"]["within"] == 26 * 3600
    with short(prefect_server, automations[NO_REFRESH]) as automation_id:
        assert fires(prefect_server, automation_id)


@pytest.mark.parametrize(
    ("state", "kind", "automation"),
    [
        ("Failed", "FAILED", FAILED),
        ("HeldBack", "FAILED", FAILED),
        ("Crashed", "CRASHED", FAILED),
        ("Partial", "COMPLETED", PARTIAL),
        ("NewWords", "COMPLETED", NEW_WORDS),
    ],
)
def test_a_run_that_did_not_end_well_is_noticed(
    state, kind, automation, prefect_server, automations
) -> None:
    """A run of the flow refresh that ends so, as the server sees it."""
    automation_id = automations[automation]["id"]
    before = firings(prefect_server, automation_id)
    flow = prefect_server.post("flows/", {"name": "refresh"})
    run = prefect_server.post("flow_runs/", {"flow_id": flow["id"]})
    for name, type_ in (("Running", "RUNNING"), (state, kind)):
        body = {"state": {"type": type_, "name": name}, "force": True}
        prefect_server.post(f"flow_runs/{run['id']}/set_state", body)
    assert fires(prefect_server, automation_id, before)


def test_a_collection_that_failed_by_itself_is_told_of_once_a_day(
    prefect_server: Server, automations: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    """A region that is misspelt fails a run of a deployment, and a collection within a refresh."""
    options = ("source=sample", f"root={tmp_path}", 'regions=["nowhere"]')
    parameters = [word for option in options for word in ("--param", option)]
    within_refresh = [*parameters, "--param", 'providers=["azure", "runpod"]']
    own, refreshes = automations[OWN_FAILED]["id"], automations[FAILED]["id"]

    def run(deployment: str, parameters: list[str], automation_id: object) -> None:
        """Run until the automation fires: an event is lost where SQLite's file is locked."""
        before = firings(prefect_server, automation_id)
        for _ in range(3):
            done = prefect_server.prefect("deployment", "run", deployment, *parameters, "--watch")
            assert done.returncode == 1, done.stdout + done.stderr
            if fires(prefect_server, automation_id, before):
                return
        raise AssertionError(f"no automation tells of {deployment}")

    run("refresh/refresh", within_refresh, refreshes)
    assert firings(prefect_server, own) == 0
    run("collect/collect-azure", parameters, own)
    done = prefect_server.prefect(
        "deployment", "run", "collect/collect-azure", *parameters, "--watch"
    )
    assert done.returncode == 1
    run("refresh/refresh", within_refresh, refreshes)  # so that what was before has been seen
    assert firings(prefect_server, own) == 1


def test_a_run_whose_worker_was_killed_is_marked_as_crashed(prefect_server, automations, tmp_path):
    """The same automation with ten seconds, and a worker that is killed before its run begins.

    Another run waits for its place in the concurrency limit of the deployment, and stays so.
    """
    assert automations[NOT_STARTED]["trigger"]["within"] == 1800
    with short(prefect_server, automations[NOT_STARTED]):
        runs = [deployed_run(prefect_server) for _ in "ab"]
        with worker(prefect_server, tmp_path):
            queued = "AwaitingConcurrencySlot"
            assert wait_until(lambda: queued in state_names(prefect_server, runs))
        assert wait_until(lambda: state_types(prefect_server, runs) == ["CRASHED", "SCHEDULED"])


def deployed_run(server: Server) -> dict[str, Any]:
    """Make a run that never begins: its process sleeps in place of running the flow."""
    made = server.prefect("work-pool", "create", "--type", "process", "--overwrite", DOOMED)
    assert made.returncode == 0, made.stderr
    flow = server.post("flows/", {"name": "collect"})
    deployment = {
        "name": DOOMED,
        "flow_id": flow["id"],
        "work_pool_name": DOOMED,
        "job_variables": {"command": "sleep 600"},
        "concurrency_limit": 1,
        "concurrency_options": {"collision_strategy": "ENQUEUE"},
    }
    deployed = server.post("deployments/", deployment)
    run: dict[str, Any] = server.post(f"deployments/{deployed['id']}/create_flow_run", {})
    return run


@contextmanager
def worker(server: Server, home: Path) -> Iterator[None]:
    """Run a worker, and kill it with all that it started at the end of the block."""
    with (home / "worker.log").open("wb") as log:
        process = subprocess.Popen(
            [*PREFECT, "worker", "start", "--pool", DOOMED],
            env=server.environment,
            cwd=home,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        yield
    finally:
        for pid in family(process.pid):
            os.kill(pid, signal.SIGKILL)
        process.wait()


def state_types(server: Server, runs: list[dict[str, Any]]) -> list[Any]:
    """Return the types of the states of runs, sorted."""
    return sorted(state_type(server, run) for run in runs)


def state_names(server: Server, runs: list[dict[str, Any]]) -> list[Any]:
    ids = {"id": {"any_": [run["id"] for run in runs]}}
    return [run["state_name"] for run in server.filter("flow_runs", flow_runs=ids)]


def test_a_run_that_was_killed_is_marked_as_crashed(prefect_server, automations) -> None:
    """The same automation with ten seconds, and runs that gave one sign of life each.

    One of them ends, and stays as it ended; the other would be shown as running for good.
    """
    assert automations[KILLED]["trigger"]["within"] == 600
    flow = prefect_server.post("flows/", {"name": "collect"})
    with short(prefect_server, automations[KILLED]):
        killed, ended = (prefect_server.post("flow_runs/", {"flow_id": flow["id"]}) for _ in "ab")
        for run in (killed, ended):
            set_state(prefect_server, run, "RUNNING")
            sign_of_life(prefect_server, run, flow)
        set_state(prefect_server, ended, "COMPLETED")
        assert wait_until(lambda: state_type(prefect_server, killed) == "CRASHED")
        assert state_type(prefect_server, ended) == "COMPLETED"


def set_state(server: Server, run: dict[str, Any], type_: str) -> None:
    body = {"state": {"type": type_, "name": type_.capitalize()}, "force": True}
    server.post(f"flow_runs/{run['id']}/set_state", body)


def state_type(server: Server, run: dict[str, Any]) -> Any:
    of_run = {"id": {"any_": [run["id"]]}}
    return server.filter("flow_runs", flow_runs=of_run)[0]["state_type"]


def sign_of_life(server: Server, run: dict[str, Any], flow: dict[str, Any]) -> None:
    """Send the event that the process of a run sends every three minutes."""
    related = {
        "prefect.resource.id": f"prefect.flow.{flow['id']}",
        "prefect.resource.role": "flow",
        "prefect.resource.name": flow["name"],
    }
    event = {
        "id": str(uuid.uuid4()),
        "occurred": datetime.now(UTC).isoformat(),
        "event": "prefect.flow-run.heartbeat",
        "resource": {"prefect.resource.id": f"prefect.flow-run.{run['id']}"},
        "related": [related],
    }
    answer = httpx.post(f"{server.api}/events", json=[event], timeout=30)
    assert answer.is_success, answer.text


@pytest.mark.usefixtures("automations")
def test_deploy_makes_what_the_jobs_of_a_cluster_need(
    prefect_server: Server, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One deployment and pool with other names: the worker of these tests goes on with its own."""
    plan = yaml.safe_load((project / "prefect.yaml").read_text())
    refresh = {**plan["deployments"][0], "name": "in-a-pod", "schedules": []}
    refresh["work_pool"] = {"name": "cluster"}
    file = tmp_path / "prefect.yaml"
    file.write_text(yaml.safe_dump({**plan, "deployments": [refresh]}))
    own_file = deployments.own_file
    found = {deployments.PLAN: file}
    monkeypatch.setattr(deployments, "own_file", lambda path: found.get(path) or own_file(path))
    monkeypatch.setattr(deployments, "POOL", "cluster")
    for name, value in prefect_server.environment.items():
        monkeypatch.setenv(name, value)
    deployments.deploy("kubernetes")
    deployments.deploy("kubernetes")  # once more, as after an update
    with pytest.raises(HwpricesError, match="cluster of the server is of the type kubernetes"):
        deployments.deploy("systemd")
    [made] = [each for each in prefect_server.filter("deployments") if each["name"] == "in-a-pod"]
    assert made["parameters"] == {"source": "live"}
    folder = {"directory": "/srv/hwprices"}
    assert made["pull_steps"] == [{"prefect.deployments.steps.set_working_directory": folder}]
    [pool] = [each for each in prefect_server.filter("work_pools") if each["name"] == "cluster"]
    assert (pool["type"], made["work_pool_name"]) == ("kubernetes", "cluster")
    template = json.loads((project / "deploy/kubernetes/job-template.json").read_text())
    assert pool["base_job_template"]["job_configuration"] == template["job_configuration"]
    names = [each["name"] for each in prefect_server.filter("automations")]
    expected = [FAILED, KILLED, NEW_WORDS, NO_REFRESH, NOT_STARTED, OWN_FAILED, PARTIAL]
    assert sorted(names) == sorted(expected)


@pytest.mark.usefixtures("automations")
def test_alerts_reach_a_webhook_and_its_address_stays_a_secret(
    prefect_server, prefect_home, stub, monkeypatch
) -> None:
    """The last test of this file: it changes the actions of the automations."""
    secret = "T0A1ertsS3cr3t"
    receiver = stub().on(f"/services/{secret}", Reply(b"ok"))
    for name, value in prefect_server.environment.items():
        monkeypatch.setenv(name, value)
    deployments.make_automations(f"{receiver.url}/services/{secret}")
    made = prefect_server.filter("automations")
    assert all(each["actions"][-1]["type"] == "send-notification" for each in made)
    assert len(made) == len({each["name"] for each in made}) == 6
    flow = prefect_server.post("flows/", {"name": "refresh"})
    run = prefect_server.post("flow_runs/", {"flow_id": flow["id"], "name": "refresh live"})
    failed = {"type": "FAILED", "name": "Failed", "message": "failed: Azure; nothing published"}
    for state in ({"type": "RUNNING"}, failed):
        body = {"state": state, "force": True}
        prefect_server.post(f"flow_runs/{run['id']}/set_state", body)
    assert wait_until(lambda: bool(receiver.requests))
    text = json.loads(receiver.requests[0].body)["text"]
    assert text.startswith(f"*{FAILED}*\nA run ended in Failed, HeldBack or Crashed.")
    assert "refresh live: failed: Azure; nothing published" in text
    files = [path for path in prefect_home.rglob("*") if path.is_file()]
    assert [path for path in files if secret.encode() in path.read_bytes()] == []
    deployments.make_automations()  # after an update, without the address: alerts stay
    assert prefect_server.filter("automations") == made
