"""One whole live run, from the first fetch to the pointer, in a process that may be killed.

The processes are forked from one that has imported everything and done nothing, so that each
starts in milliseconds.
"""

import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from hwprices.collect import Collector
from hwprices.errors import HwpricesError
from hwprices.publish import release
from hwprices.settings import load
from hwprices.stage import stage_run
from hwprices.storage.store import Store

PHASES = ("start", "fetch", "record", "stage", "gate", "join", "history", "write", "point", "done")

FAILED = 3
"""Exit code of a run that ended with one line; the line is in the file ``said`` of its folder."""

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["tests.helpers.whole_run", "tests.helpers.vendors"])


def start(root: Path, environment: Mapping[str, str], scratch: Path, provider: str = "aws") -> Any:
    """Start a run; ``process.kill()`` sends SIGKILL, ``phase(process)`` says how far it is."""
    phase = _processes.Value("i", 0)
    arguments = (str(root), dict(environment), str(scratch), provider, phase)
    process: ForkServerProcess = _processes.Process(target=run, args=arguments)
    process.phase = phase  # type: ignore[attr-defined]
    process.start()
    return process


def phase(process: Any) -> str:
    """Name the phase that a process has come to."""
    return PHASES[process.phase.value]


def run(root: str, environment: Mapping[str, str], scratch: str, provider: str, phase: Any) -> None:
    """Collect and publish; the exit code is FAILED where that ends with an error for people."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    os.environ.update(environment)
    tempfile.tempdir = scratch

    def at(name: str) -> None:
        phase.value = PHASES.index(name)

    try:
        at("fetch")
        settings = load(source="live", root=root)
        with Collector(provider, settings, sleep=lambda _: None) as collector:
            started_at = datetime.now(UTC)
            results = [collector.fetch(unit) for unit in collector.plan()]
            at("record")
            recorded = collector.record(started_at, results)
        at("stage")
        stage_run(settings, recorded)
        release.publish(Store(root), progress=at)
        at("done")
    except HwpricesError as error:
        Path(scratch, f"said.{os.getpid()}").write_text(str(error))
        sys.exit(FAILED)
