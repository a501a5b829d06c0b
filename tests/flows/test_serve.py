"""The deployments of prefect.yaml, and ``hwprices admin serve`` as far as it goes without Prefect.

The fixture ``prefect_server`` is ``hwprices admin serve`` itself, and ends it with SIGTERM.
"""

import ast
import re
import socket
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest
import yaml
from typer.testing import CliRunner

from hwprices import flows, providers
from hwprices.cli import app
from hwprices.cli.servers import SetupName
from hwprices.errors import HwpricesError
from hwprices.flows import deployments, prefect_server, serve
from tests.helpers import processes
from tests.helpers.stub_server import Reply, StubServer


def planned_deployments(project: Path) -> list[Any]:
    return list(yaml.safe_load((project / "prefect.yaml").read_text())["deployments"])


def test_a_checkout_has_the_file_at_its_top(project: Path) -> None:
    for file in (deployments.PLAN, deployments.AUTOMATIONS, deployments.JOB_TEMPLATE):
        assert deployments.own_file(file) == project / file


def test_the_command_offers_every_setup() -> None:
    assert get_args(SetupName) == tuple(deployments.SETUPS)


@pytest.mark.parametrize("name", deployments.SETUPS)
def test_a_set_up_writes_where_its_worker_says(project: Path, name: str) -> None:
    """Not where prefect.yaml says, and in a folder that is there: not that of who deploys."""
    setup = deployments.SETUPS[name]
    planned = deployments.plan(has_root=False, folder=setup.folder)
    before = planned_deployments(project)
    assert all("root" in deployment["parameters"] for deployment in before)
    assert [each["name"] for each in planned["deployments"]] == [each["name"] for each in before]
    assert all("root" not in deployment["parameters"] for deployment in planned["deployments"])
    assert planned["deployments"][0]["parameters"] == {"source": "live"}
    [step] = planned["pull"]
    assert step == {"prefect.deployments.steps.set_working_directory": {"directory": setup.folder}}
    place = {"systemd": "systemd/hwprices-worker.service", "compose": "Dockerfile"}
    file = project / "deploy" / place.get(name, "Dockerfile")
    assert re.search(rf"^(WorkingDirectory=|WORKDIR ){setup.folder}$", file.read_text(), re.M)
    worker = {"systemd": place["systemd"], "compose": "compose.yaml"}.get(
        name, f"{name}/worker.yaml"
    )
    assert "HWPRICES_ROOT" in (project / "deploy" / worker).read_text()


@pytest.mark.parametrize(("root", "has_root"), [("", True), ("s3://bucket/prices", False)])
def test_serve_leaves_the_root_to_the_variable_where_it_is_set(root, has_root, monkeypatch) -> None:
    """Else scheduled runs would write into data/live whatever the variable says."""
    made: list[Any] = []
    if root:
        monkeypatch.setenv("HWPRICES_ROOT", root)
    else:
        monkeypatch.delenv("HWPRICES_ROOT", raising=False)
    ended_worker = nullcontext(SimpleNamespace(wait=lambda: 0))
    monkeypatch.setattr(serve, "running_command", lambda *_, **__: ended_worker)
    monkeypatch.setattr(serve, "_wait_for_server", lambda *_: None)
    monkeypatch.setattr(deployments, "make_work_pool", lambda *_: None)
    monkeypatch.setattr(deployments, "make_deployments", made.append)
    monkeypatch.setattr(deployments, "make_automations", lambda *_: made.append("automations"))
    with pytest.raises(HwpricesError, match="worker ended"):
        serve._serve("http://127.0.0.1:4200", "4200")
    plan, automations = made
    assert automations == "automations"
    assert all(("root" in each["parameters"]) == has_root for each in plan["deployments"])
    assert "pull" not in plan


def test_schedules_of_providers_that_are_not_chosen_are_off(monkeypatch) -> None:
    monkeypatch.setenv("HWPRICES_PROVIDERS", "aws, Azure")
    plan = deployments.plan(has_root=True)
    off = [d["name"] for d in plan["deployments"] if d["schedules"][0].get("active") is False]
    assert {"collect-gcp", "collect-oracle"} < set(off)
    assert {"refresh", "publish", "collect-aws", "collect-azure"}.isdisjoint(off)


def test_a_provider_that_there_is_not_cannot_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HWPRICES_PROVIDERS", "aws,ibm")
    with pytest.raises(HwpricesError, match="no provider 'ibm'"):
        deployments.plan(has_root=True)


@pytest.mark.parametrize(
    "url", ["hooks.slack.com/s3cr3t", "http://hooks.slack.com/s3cr3t", "https:///s3cr3t", "s3cr3t"]
)
def test_what_is_no_address_of_a_webhook_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(HwpricesError, match="the URL for alerts is not https") as error:
        deployments.make_automations(url)
    assert "s3cr3t" not in str(error.value)


@pytest.mark.parametrize("command", [["deploy", "ecs"], ["worker"]])
def test_deploy_and_worker_need_a_server(command, monkeypatch) -> None:
    monkeypatch.setattr(flows, "handle_ending", lambda _handler: None)  # these are pytest's own
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 2
    assert "PREFECT_API_URL is not set" in done.stderr
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    monkeypatch.setattr(deployments, "WAIT_SECONDS", 0)
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 2
    assert "does not answer: ConnectError" in done.stderr


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (404, r"is not the API of a Prefect server \(status 404\)\. .* usually ends in /api"),
        (502, "does not answer: status 502"),
        (401, "work-pool create .* failed"),  # the login is for Prefect's own commands to make
    ],
)
def test_deploy_says_what_answers_in_place_of_a_server(status, message, monkeypatch) -> None:
    server = StubServer().start()
    server.on("/*", Reply(b"", status=status))
    monkeypatch.setenv("PREFECT_API_URL", server.url)
    monkeypatch.setattr(deployments, "WAIT_SECONDS", 0)
    monkeypatch.setattr(deployments, "PREFECT", [sys.executable, "-c", "raise SystemExit(1)"])
    with pytest.raises(HwpricesError, match=message):
        deployments.deploy("systemd")
    server.stop()


def test_every_deployment_names_a_flow_and_its_parameters(project: Path) -> None:
    """Prefect would notice a wrong name only when the schedule starts a run.

    None writes where the sample is, and none runs twice at once.
    """
    for deployment in planned_deployments(project):
        package, module, function = deployment["entrypoint"].rsplit(".", 2)
        assert package == "hwprices.flows"
        parameters = parameters_of(project / "flows" / f"{module}.py", function)
        assert set(deployment["parameters"]) <= parameters, deployment["name"]
        assert deployment["parameters"]["root"] == "data/live", deployment["name"]
        alone = {"limit": 1, "collision_strategy": "CANCEL_NEW"}
        assert deployment["concurrency_limit"] == alone, deployment["name"]


def test_every_provider_that_is_asked_has_a_schedule_of_its_own(project: Path) -> None:
    """Price sheets change with the package, and the daily refresh reads them."""
    registered = {name: providers.get(name).about.is_price_sheet for name in providers.names()}
    expected = {f"collect-{name}" for name, is_sheet in registered.items() if not is_sheet}
    planned = {each["name"]: each["parameters"] for each in planned_deployments(project)}
    assert set(planned) == {"refresh", "publish", *expected}, (
        "prefect.yaml and the providers differ"
    )
    assert all(planned[name]["provider"] == name.removeprefix("collect-") for name in expected)


STUBBORN_FAMILY = """
import subprocess, sys, time
deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(300)"
for code in ("import time; time.sleep(300)", deaf):
    child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    print(child.pid, flush=True)
time.sleep(300)
"""
"""A process with two children in groups of their own, as Prefect's worker has; one is deaf."""


@pytest.mark.usefixtures("own_signals")  # serve ignores signals while it ends
def test_what_a_worker_started_ends_with_it(monkeypatch, capfd) -> None:
    monkeypatch.setattr(prefect_server, "PREFECT", [sys.executable, "-c", STUBBORN_FAMILY])
    monkeypatch.setattr(prefect_server, "COMMAND_STOP_SECONDS", 2)
    children: list[str] = []
    with prefect_server.running_command(ends_within=2) as process:
        deadline = time.monotonic() + 60
        while len(children) < 2 and time.monotonic() < deadline:
            children += capfd.readouterr().out.split()
            time.sleep(0.05)
        time.sleep(0.5)  # until the deaf one is deaf
    assert len(children) == 2
    # A process that is killed is at work until the machine has time to end it.
    family = {process.pid, *map(int, children)}
    assert processes.wait_until(lambda: family.isdisjoint(of.pid for of in processes.running()))


WORKER_THAT_STAYS = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, lambda *_: None)  # SIG_IGN would be the child's too
code = "import time; time.sleep(300)"
child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
print(child.pid, flush=True)
child.wait()
time.sleep(300)
"""
"""A worker that stays after its flow has ended, as Prefect's does."""


@pytest.mark.usefixtures("own_signals")
def test_a_worker_that_stays_after_its_flows_is_not_waited_for(monkeypatch, capfd) -> None:
    """It took half a minute to end, and ``docker stop`` waits ten seconds."""
    monkeypatch.setattr(prefect_server, "PREFECT", [sys.executable, "-c", WORKER_THAT_STAYS])
    monkeypatch.setattr(prefect_server, "COMMAND_STOP_SECONDS", 120)
    with prefect_server.running_command(ends_within=prefect_server.WORKER_SECONDS) as process:
        assert processes.wait_until(lambda: bool(capfd.readouterr().out))
        began = time.monotonic()
    assert time.monotonic() - began < 60
    assert process.poll() is not None


def test_a_port_that_is_taken_is_said_at_once(monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        monkeypatch.setenv("PREFECT_SERVER_API_PORT", str(other.getsockname()[1]))
        with pytest.raises(HwpricesError, match=r"port \d+ of this machine is taken.*another"):
            serve.main()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("port", ["abc", "0", "65536", "-1"])
def test_a_port_that_is_none_is_one_line(monkeypatch: pytest.MonkeyPatch, port: str) -> None:
    monkeypatch.setenv("PREFECT_SERVER_API_PORT", port)
    with pytest.raises(HwpricesError, match=f"PREFECT_SERVER_API_PORT: {port} is not a port"):
        serve.main()


@pytest.mark.parametrize("flow", ["refresh", "publish"])
def test_lists_are_named_in_the_plural(project: Path, flow: str) -> None:
    """One spelling: a flow takes providers, regions, kinds; a flag that is repeated names one."""
    parameters = parameters_of(project / "flows" / f"{flow}.py", flow)
    assert parameters <= {"source", "root", "providers", "regions", "kinds", "accept"}


def parameters_of(file: Path, function: str) -> set[str]:
    [definition] = [
        node
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name == function
    ]
    return {argument.arg for argument in definition.args.args}
