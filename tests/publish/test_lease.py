"""The lease that lets one run collect a provider at a time: real processes, folder and S3."""

import os
import socket
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.helpers.object_store import s3

from hwprices.publish import locks
from hwprices.storage import layout
from hwprices.storage.store import Store

HOLDER = """
import sys, time
from hwprices.publish import locks
from hwprices.storage.store import Store
with locks.hold(Store(sys.argv[1]), "aws", "run-1", print):
    print("held", flush=True)
    time.sleep(300)
"""

CONTENDER = """
import sys, time
from pathlib import Path
from hwprices.publish import locks
from hwprices.storage.store import Store
locks.POLL_SECONDS = 0.05
for _ in range(3):
    with locks.hold(Store(sys.argv[1]), "aws", "run", lambda _: None):
        inside = Path(sys.argv[2])
        inside.touch(exist_ok=False)
        time.sleep(0.05)
        inside.unlink()
"""


@pytest.fixture(params=["folder", "s3"])
def root(request, tmp_path, monkeypatch) -> Iterator[str]:
    if request.param == "folder":
        yield str(tmp_path / "root")
        return
    bucket = f"lease-{zlib.crc32(request.node.name.encode())}"
    with s3(monkeypatch, bucket):
        yield f"s3://{bucket}/prices"


@pytest.mark.timeout(120)
def test_the_lease_of_a_run_that_was_killed_is_free_within_half_a_minute(root, monkeypatch) -> None:
    """It took 4 min 40 s of silence. The test waits a fifth of the seconds that a run waits."""
    assert locks.BEAT_SECONDS + locks.FREE_SECONDS + locks.POLL_SECONDS < 30
    for name in ("FREE_SECONDS", "POLL_SECONDS"):
        monkeypatch.setattr(locks, name, getattr(locks, name) / 5)
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, root], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    holder.kill()
    holder.wait()
    killed, said = time.monotonic(), []
    with locks.hold(Store(root), "aws", "run-2", said.append):
        waited = time.monotonic() - killed
    assert locks.FREE_SECONDS <= waited < 2 * locks.FREE_SECONDS
    [line] = said
    assert line.startswith(
        f"waiting for process {holder.pid} on {socket.gethostname()} (run run-1), which has been"
        " collecting since 20"
    )


@pytest.mark.timeout(120)
def test_a_lease_that_was_given_back_is_free_at_once(root: str) -> None:
    said: list[str] = []
    for run in ("run-1", "run-2"):
        began = time.monotonic()
        with locks.hold(Store(root), "aws", run, said.append):
            assert time.monotonic() - began < locks.FREE_SECONDS / 2
    assert said == []


@pytest.mark.timeout(120)
def test_a_run_that_works_keeps_its_lease_and_others_say_whom_they_wait_for(root, monkeypatch):
    for name, seconds in {"BEAT": 0.2, "FREE": 2, "POLL": 0.1, "SAY": 1}.items():
        monkeypatch.setattr(locks, f"{name}_SECONDS", seconds)
    entered, said = threading.Event(), []

    def enter() -> None:
        with locks.hold(Store(root), "aws", "run-2", said.append):
            entered.set()

    with locks.hold(Store(root), "aws", "run-1", said.append):
        thread = threading.Thread(target=enter)
        thread.start()
        assert not entered.wait(5)
        deadline = time.monotonic() + 60
        while len(said) < 4 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not entered.is_set()
        with locks.hold(Store(root), "gcp", "run-3", said.append):  # another provider's is free
            pass
    assert entered.wait(60)
    thread.join()
    assert len(said) >= 4
    assert all(f"process {os.getpid()} on " in line and "run-1" in line for line in said)


@pytest.mark.timeout(120)
def test_a_lease_that_another_took_over_is_said_and_not_taken_back(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(locks, "BEAT_SECONDS", 0.1)
    store, said = Store(tmp_path), []
    key = layout.lease("aws")
    with locks.hold(store, "aws", "run-1", said.append):
        first = store.get(key)
        assert first is not None
        other = first.replace(b"run-1", b"run-2").replace(b'"token": "', b'"token": "0')
        with locks.lock(store, f"{key}.lock"):
            store.put(key, other)
        deadline = time.monotonic() + 60
        while not said and time.monotonic() < deadline:
            time.sleep(0.05)
    assert said == ["another run took over this one as crashed, and collects at the same time"]
    assert store.get(key) == other


@pytest.mark.timeout(120)
def test_one_of_several_processes_holds_it_at_a_time(root: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", CONTENDER, root, str(tmp_path / "inside")]
    processes = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]


@pytest.mark.timeout(120)
def test_a_damaged_lease_keeps_nobody_from_collecting(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put(layout.lease("aws"), b"{")
    with locks.hold(store, "aws", "run-1", pytest.fail):
        assert b"run-1" in (store.get(layout.lease("aws")) or b"")
