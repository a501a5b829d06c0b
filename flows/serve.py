"""The command ``hwprices admin serve``: run the schedules of prefect.yaml on this machine.

Starts a Prefect server, makes a process work pool, the deployments and the automations, and starts
a worker. The flows run in the working directory and write to HWPRICES_ROOT, by default data/live.
Ctrl-C and SIGTERM (``kill``, ``docker stop``, systemd) end everything, including running flows.
``work`` is the command ``hwprices admin worker``, which only runs the worker.
"""

import contextlib
import os
import socket
import subprocess
import sys
import time

from hwprices import flows
from hwprices.errors import HwpricesError
from hwprices.flows import PREFECT, deployments
from hwprices.flows.deployments import POOL, wait_for_server
from hwprices.flows.prefect_server import WORKER_SECONDS, responds, running_command
from hwprices.settings import load

HOST = "127.0.0.1"
PORT = "4200"  # Prefect's default; its variable PREFECT_SERVER_API_PORT sets another

SERVER = [sys.executable, "-m", "hwprices.flows.prefect_server"]
"""Prefect's command, with a database that allows concurrent writes."""

READY_SECONDS = 600
"""How long to wait for a new database: 30 s on two idle cores, five minutes on overloaded ones."""

ROOT = "HWPRICES_ROOT"
"""If it is set, scheduled runs write there instead of the root in prefect.yaml."""


def main() -> None:
    """Start everything and wait for Ctrl-C or SIGTERM. The schedules are active meanwhile.

    Raises:
        HwpricesError: the port is taken or invalid, Prefect's folder cannot be made, or a part does
            not start and has printed its message.
    """
    port = os.environ.get("PREFECT_SERVER_API_PORT", PORT)
    _check_port(port)
    flows.set_home(load().root)
    url = f"http://{HOST}:{port}"
    os.environ["PREFECT_API_URL"] = f"{url}/api"
    flows.reach_directly(HOST)
    flows.handle_ending(flows.interrupt)
    seconds = flows.startup_seconds()
    print(f"Starting Prefect's server at {url}, about {seconds} s …", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        _serve(url, port)


def _serve(url: str, port: str) -> None:
    with running_command(
        "server", "start", "--host", HOST, "--port", port, program=SERVER
    ) as server:
        _wait_for_server(url, server)
        print("Making the work pool, the deployments and the automations …", flush=True)
        deployments.make_work_pool("process")
        deployments.make_deployments(deployments.plan(has_root=not os.environ.get(ROOT)))
        deployments.make_automations(os.environ.get(deployments.NOTIFY_URL))
        with running_command(
            "worker", "start", "--pool", POOL, ends_within=WORKER_SECONDS
        ) as worker:
            print(_run_instructions(url), flush=True)
            worker.wait()
    raise HwpricesError("Prefect's worker ended", "Its own output above says why.")


def _check_port(port: str) -> None:
    """Refuse a port that is in use: Prefect would use the server that listens there."""
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise HwpricesError(
            f"PREFECT_SERVER_API_PORT: {port} is not a port",
            "Set a number from 1 to 65535, or unset it.",
        )
    with socket.socket() as probe:
        probe.settimeout(2)
        taken = probe.connect_ex((HOST, int(port))) == 0
    if taken:
        raise HwpricesError(
            f"port {port} of this machine is taken",
            "End what listens there, perhaps another hwprices admin serve, or set"
            " PREFECT_SERVER_API_PORT.",
        )


def _run_instructions(url: str) -> str:
    command = " ".join([f"PREFECT_API_URL={url}/api", *PREFECT, "deployment run refresh/refresh"])
    return (
        f"\nOpen {url}. A run now, in another terminal:\n"
        f"  {command} --param source=sample --param root=data --watch\n"
    )


def _wait_for_server(url: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        if responds(f"{url}/api", 2):
            return
        time.sleep(0.5)
    raise HwpricesError("the Prefect server did not come up", "Its own output above says why.")


if __name__ == "__main__":
    main()


def work(pool: str = POOL) -> None:
    """Run a worker that starts flows as processes, until Ctrl-C or SIGTERM; end its flows with it.

    A container's first process gets SIGTERM, and is killed after 10 to 30 s. Prefect's command
    kills its flows before they can report it, or waits for them; their runs are shown as running
    for ten more minutes. Here the flows get SIGTERM first, and their runs end as Crashed.

    Raises:
        HwpricesError: no server responds at PREFECT_API_URL, or the worker ended by itself and has
            printed its message.
    """
    # First, because the kernel ignores SIGTERM for a container's first process without a handler.
    flows.handle_ending(flows.interrupt)
    with contextlib.suppress(KeyboardInterrupt):
        wait_for_server()
        command = ("worker", "start", "--pool", pool, "--type", "process")
        with running_command(*command, ends_within=WORKER_SECONDS) as worker:
            worker.wait()
        raise HwpricesError("Prefect's worker ended", "Its own output above says why.")
