"""The command ``hwprices serve``: run the schedules of prefect.yaml on this machine, until Ctrl-C.

Starts a Prefect server, makes a process work pool and the deployments, and starts a worker.
The flows run in the working directory.
"""

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

import httpx

from hwprices.errors import HwpricesError
from hwprices.flows import environment
from hwprices.settings import load

PREFECT = [sys.executable, "-m", "prefect"]
URL = "http://127.0.0.1:4200"
READY_SECONDS = 300
"""A fresh database takes 12 s on two quiet cores, and took minutes on two that were overloaded."""

POOL = "hwprices"
"""The work pool's name, as in prefect.yaml."""


def main() -> None:
    """Start everything and wait for Ctrl-C. The schedules of prefect.yaml are then in force.

    Raises:
        HwpricesError: Prefect's folder cannot be made, or the server does not answer.
        subprocess.CalledProcessError: Prefect could not make the work pool or the deployments; its
            own message is on the screen.
    """
    environment.set_home(load().root)
    os.environ["PREFECT_API_URL"] = f"{URL}/api"
    listen = ["server", "start", "--host", "127.0.0.1", "--port", "4200"]
    server = subprocess.Popen([*PREFECT, *listen])
    try:
        _wait_for_server()
        _prefect("work-pool", "create", "--type", "process", "--overwrite", POOL)
        _prefect("deploy", "--all", "--prefect-file", str(prefect_file()))
        print(_invitation())
        with contextlib.suppress(KeyboardInterrupt):
            subprocess.run([*PREFECT, "worker", "start", "--pool", POOL], check=False)
    finally:
        server.terminate()
        server.wait(timeout=30)


def prefect_file() -> Path:
    """Find prefect.yaml: beside this file in an installation, one folder up in a checkout.

    Raises:
        HwpricesError: it is in neither place.
    """
    here = Path(__file__).resolve().parent
    for folder in (here, here.parent):
        if (folder / "prefect.yaml").is_file():
            return folder / "prefect.yaml"
    raise HwpricesError(
        f"prefect.yaml is missing beside {here}", "Reinstall hwprices, or run it from a checkout."
    )


def _invitation() -> str:
    command = " ".join([f"PREFECT_API_URL={URL}/api", *PREFECT, "deployment run refresh/refresh"])
    return (
        f"\nOpen {URL}. A run now, in another terminal:\n"
        f"  {command} --param source=sample --param root=data --watch\n"
    )


def _prefect(*arguments: str) -> None:
    subprocess.run([*PREFECT, "--no-prompt", *arguments], check=True)


def _wait_for_server() -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(httpx.HTTPError):
            if httpx.get(f"{URL}/api/health", timeout=2).is_success:
                return
        time.sleep(0.5)
    raise HwpricesError("the Prefect server did not come up", "Its own output above says why.")


if __name__ == "__main__":
    main()
