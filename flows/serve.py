"""``make serve``: a Prefect server, a process work pool, the deployments and a worker on this machine, until Ctrl-C."""

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

import httpx

CHECKOUT = Path(__file__).resolve().parents[1]
PREFECT = Path(sys.executable).with_name("prefect")
URL = "http://127.0.0.1:4200"
READY_SECONDS = 120  # a fresh database takes 12 s on two cores; slower disks are given time


def main() -> None:
    """Start everything; the schedules of prefect.yaml are then in force."""
    os.environ.setdefault("PREFECT_HOME", str(CHECKOUT / "data" / ".prefect"))
    os.environ["PREFECT_API_URL"] = f"{URL}/api"
    server = subprocess.Popen(
        [PREFECT, "server", "start", "--host", "127.0.0.1", "--port", "4200"], cwd=CHECKOUT
    )
    try:
        _wait()
        subprocess.run(
            [
                PREFECT,
                "--no-prompt",
                "work-pool",
                "create",
                "--type",
                "process",
                "--overwrite",
                "hwprices",
            ],
            cwd=CHECKOUT,
            check=True,
        )
        subprocess.run([PREFECT, "--no-prompt", "deploy", "--all"], cwd=CHECKOUT, check=True)
        print(
            f"\nOpen {URL}. A run now: {PREFECT} deployment run refresh/refresh --param source=sample --watch\n"
        )
        with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C is how it ends
            subprocess.run(
                [PREFECT, "worker", "start", "--pool", "hwprices"], cwd=CHECKOUT, check=False
            )
    finally:
        server.terminate()
        server.wait(timeout=30)


def _wait() -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        try:
            if httpx.get(f"{URL}/api/health", timeout=2).is_success:
                return
        except httpx.HTTPError:
            time.sleep(0.5)
    raise SystemExit("error: the Prefect server did not come up; see its output above")


if __name__ == "__main__":
    main()
