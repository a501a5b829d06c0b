"""The command ``hwprices admin deploy``: prepare a Prefect server for the workers of deploy/.

It makes a work pool, the deployments of prefect.yaml and the automations. Running it again updates
pool and deployments, but not existing automations. The flows read their settings, such as
HWPRICES_ROOT, from the worker's environment.
"""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import yaml

from hwprices import providers
from hwprices.errors import HwpricesError
from hwprices.flows import PREFECT
from hwprices.settings import is_loopback, load
from hwprices.storage.scratch import scratch_directory

POOL = "hwprices"  # The work pool's name, as in prefect.yaml
PLAN = "prefect.yaml"
AUTOMATIONS = "deploy/prefect/automations.yaml"
JOB_TEMPLATE = "deploy/kubernetes/job-template.json"
NOTIFY_URL = "HWPRICES_NOTIFY_URL"  # The variable with the URL that automations notify

WAIT_SECONDS = 120
"""How long to wait for a server. With a new database it starts in half a minute."""

IMAGE_FOLDER = "/srv/hwprices"  # Where the image of deploy/Dockerfile runs flows


@dataclass(frozen=True)
class Setup:
    """How a set-up runs flows: Prefect's type of the work pool, and the flows' folder."""

    pool_type: str
    folder: str


SETUPS = {
    "systemd": Setup("process", "/var/lib/hwprices"),
    "compose": Setup("process", IMAGE_FOLDER),
    "kubernetes": Setup("kubernetes", IMAGE_FOLDER),
    "ecs": Setup("process", IMAGE_FOLDER),
}
"""The set-ups in deploy/. Each sets HWPRICES_ROOT in the environment of its worker or its jobs."""


def deploy(
    setup_name: str, job_template: Path | None = None, notify_url: str | None = None
) -> None:
    """Make the work pool, the deployments and the automations of a set-up.

    Args:
        setup_name: one of SETUPS.
        job_template: the job template of a Kubernetes work pool; default JOB_TEMPLATE.
        notify_url: a webhook that is notified when an automation fires.

    Raises:
        HwpricesError: no server is named or it does not respond, a file is missing, or a command of
            Prefect fails and has printed its message.
    """
    setup = SETUPS[setup_name]
    wait_for_server()
    _check_pool_type(setup)
    print("Making the work pool, the deployments and the automations …", flush=True)
    template: list[str] = []
    if setup.pool_type == "kubernetes":
        template = ["--base-job-template", str(job_template or own_file(JOB_TEMPLATE))]
    make_work_pool(setup.pool_type, *template)
    make_deployments(plan(has_root=False, folder=setup.folder))
    make_automations(notify_url)
    print("Done. Scheduled runs write where HWPRICES_ROOT says in the worker's environment.")


def plan(*, has_root: bool, folder: str | None = None) -> dict[str, Any]:
    """Read prefect.yaml and adapt it to where the flows will run.

    The schedules of providers that HWPRICES_PROVIDERS does not name are switched off.

    Args:
        has_root: whether runs use the root in the file. Otherwise the parameter is left out, and
            runs use HWPRICES_ROOT.
        folder: the folder in which the flows run; default the working directory of this process.
    """
    file: dict[str, Any] = yaml.safe_load(own_file(PLAN).read_text())
    chosen = providers.chosen(load())
    for deployment in file["deployments"]:
        if not has_root:
            deployment["parameters"].pop("root", None)
        if deployment["parameters"].get("provider", chosen[0]) not in chosen:
            for schedule in deployment["schedules"]:
                schedule["active"] = False
    if folder is not None:
        step = "prefect.deployments.steps.set_working_directory"
        file["pull"] = [{step: {"directory": folder}}]
    return file


def make_work_pool(pool_type: str, *options: str) -> None:
    """Make the work pool, or update its options; the type of an existing pool does not change."""
    _prefect("work-pool", "create", "--type", pool_type, *options, "--overwrite", POOL)


def make_deployments(plan: dict[str, Any]) -> None:
    """Make or update the deployments of a plan."""
    with scratch_directory() as folder:
        file = Path(folder) / "prefect.yaml"
        file.write_text(yaml.safe_dump(plan))
        _prefect("deploy", "--all", "--prefect-file", str(file))


def own_file(path: str) -> Path:
    """Find a file of the project: beside this module in an installation, at its path in a checkout.

    Raises:
        HwpricesError: it is in neither place.
    """
    here = Path(__file__).resolve().parent
    for file in (here / Path(path).name, here.parent / path):
        if file.is_file():
            return file
    raise HwpricesError(
        f"{Path(path).name} is missing beside {here}",
        "Reinstall hwprices, or run it from a checkout.",
    )


def make_automations(notify_url: str | None = None) -> None:
    """Make the automations whose names the server does not have yet.

    With ``notify_url`` all are made again, and send it a message when they fire.
    """
    if notify_url:
        _check_notify_url(notify_url)
    command = [sys.executable, "-m", "hwprices.flows.automations", str(own_file(AUTOMATIONS))]
    _run(command, **{NOTIFY_URL: notify_url or ""})


def _check_notify_url(url: str) -> None:
    """Refuse a URL that is invalid, or would send messages unencrypted over a network."""
    try:
        parts = urlsplit(url)
        is_url = bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_url = False
    if not is_url or not (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(url))):
        raise HwpricesError(
            "the URL for alerts is not https", "Give the address of a webhook, as Slack shows it."
        )


def _check_pool_type(setup: Setup) -> None:
    """Refuse a work pool of another set-up: Prefect would update the options but not the type."""
    inspect = [*PREFECT, "--no-prompt", "work-pool", "inspect", "--output", "json", POOL]
    done = subprocess.run(inspect, capture_output=True, text=True, check=False)
    if done.returncode:
        return  # there is none yet, or Prefect will report the problem when it makes one
    present_type = json.loads(done.stdout)["type"]
    if present_type != setup.pool_type:
        raise HwpricesError(
            f"the work pool {POOL} of the server is of the type {present_type}, and this set-up"
            f" needs {setup.pool_type}",
            f"Stop its workers, delete it (prefect work-pool delete {POOL}), and try again.",
        )


def _prefect(*arguments: str) -> None:
    """Run a command of Prefect and wait for it; print its output only if it fails."""
    _run([*PREFECT, "--no-prompt", *arguments])


def _run(command: list[str], **variables: str) -> None:
    """Run a ``python -m`` command with additional variables; print its output if it fails."""
    environment = {**os.environ, **variables}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        output = f"{done.stdout}\n{done.stderr}"
        for secret in filter(None, variables.values()):
            output = output.replace(secret, "(secret)")
        print(output, file=sys.stderr)
        raise HwpricesError(f"{' '.join(command[2:])} failed", "Its own output above says why.")


def wait_for_server() -> None:
    """Wait until the server of PREFECT_API_URL responds.

    Raises:
        HwpricesError: the variable is not set, nothing responds, or it is not a Prefect server.
    """
    url = os.environ.get("PREFECT_API_URL")
    if not url:
        raise HwpricesError(
            "PREFECT_API_URL is not set",
            "Set it to the API of your Prefect server, such as http://127.0.0.1:4200/api.",
        )
    print(f"Waiting for Prefect's server at {url} …", flush=True)
    deadline = time.monotonic() + WAIT_SECONDS
    while (problem := _problem_of(url)) and time.monotonic() < deadline:
        time.sleep(1)
    if problem:
        raise HwpricesError(
            f"Prefect's server at {url} does not answer: {problem}",
            "Start it, or correct PREFECT_API_URL.",
        )


def _problem_of(url: str) -> str:
    """Explain why a Prefect server cannot be used yet; empty if it can, perhaps with a login."""
    try:
        answer = httpx.get(f"{url.rstrip('/')}/health", timeout=10)
    except httpx.HTTPError as error:
        return type(error).__name__
    if answer.is_server_error:  # a proxy, before the server has started
        return f"status {answer.status_code}"
    if answer.is_success or answer.status_code in (401, 403):
        return ""
    raise HwpricesError(
        f"what answers at {url} is not the API of a Prefect server (status {answer.status_code})",
        "Correct PREFECT_API_URL; it usually ends in /api.",
    )
