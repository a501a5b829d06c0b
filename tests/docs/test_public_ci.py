"""Check that the tests pass where only the project itself is: on a public CI."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.helpers import processes

EXTRA_CHECK = """
import pytest

@pytest.mark.shared
def test_extra(shared):
    assert shared.is_dir()
"""


@pytest.fixture
def clone(tmp_path: Path, project: Path) -> Path:
    """Make a checkout with this conftest, one test marked ``shared``, and no ../shared."""
    clone = tmp_path / "project"
    (clone / "tests").mkdir(parents=True)
    for name in ("conftest.py", "__init__.py"):
        shutil.copy(project / "tests" / name, clone / "tests")
    shutil.copytree(project / "tests/helpers", clone / "tests/helpers")
    shutil.copy(project / "pyproject.toml", clone)
    (clone / "tests/test_extra.py").write_text(EXTRA_CHECK)
    return clone


def run_tests(clone: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the clone's tests; of CI and HWPRICES_REQUIRE_SHARED only ``variables`` are set."""
    inherited = {k: v for k, v in os.environ.items() if k not in ("CI", "HWPRICES_REQUIRE_SHARED")}
    arguments = ("-m", "pytest", "-p", "no:xdist", "-q")
    return processes.python(*arguments, status=None, cwd=clone, env=inherited | variables)


def test_extra_checks_are_skipped_on_a_public_ci(clone: Path) -> None:
    done = run_tests(clone, CI="true")
    assert (done.returncode, "1 skipped" in done.stdout) == (0, True), done.stdout + done.stderr


def test_extra_checks_fail_where_the_recordings_are_required_and_absent(clone: Path) -> None:
    done = run_tests(clone, HWPRICES_REQUIRE_SHARED="1")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "HWPRICES_REQUIRE_SHARED is 1" in done.stdout


def test_extra_checks_run_where_the_recordings_are(clone: Path) -> None:
    (clone.parent / "shared").mkdir()
    assert "1 passed" in run_tests(clone).stdout
