"""Delete what killed processes left in the folder for temporary files."""

import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hwprices.storage import scratch

DAY = timedelta(days=1)


@pytest.fixture
def left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Directories of two processes that were killed."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    die = (
        "import os, signal; from hwprices.storage.scratch import scratch_directory\n"
        "folder = scratch_directory(); print(folder.name, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    environment = {"TMPDIR": str(tmp_path), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-c", die]
    ended = [
        subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
        for _ in range(2)
    ]
    return [Path(process.stdout.strip()) for process in ended]


def test_directories_of_killed_processes_are_listed_and_deleted(left_behind: list[Path]) -> None:
    later = datetime.now(UTC) + 2 * DAY
    assert scratch.leftovers(datetime.now(UTC), DAY) == []
    assert sorted(scratch.leftovers(later, DAY)) == sorted(left_behind)
    assert scratch.delete_leftovers(later, DAY) == 2
    assert scratch.leftovers(later, DAY) == []


def test_a_directory_that_cannot_be_deleted_is_not_counted(left_behind, monkeypatch) -> None:
    delete = shutil.rmtree

    def refuse_one(path: Path) -> None:
        if path == left_behind[0]:
            raise PermissionError(f"not yours: {path}")
        delete(path)

    monkeypatch.setattr(shutil, "rmtree", refuse_one)
    assert scratch.delete_leftovers(datetime.now(UTC) + 2 * DAY, DAY) == 1
    assert left_behind[0].is_dir()
