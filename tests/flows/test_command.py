"""The command ``hwprices refresh``, as far as it goes without Prefect."""

import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
from tests.helpers.flows_environment import clean_environment
from typer.testing import CliRunner

from hwprices import providers
from hwprices.flows import command
from hwprices.flows.command import Outcome
from hwprices.publish.release import Published

RELEASE = cast(Published, "a release")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--provider", "ibm"], f"no provider 'ibm'. There are: {', '.join(providers.names())}"),
        (
            ["--root", "ftp://host/x"],
            "HWPRICES_ROOT: ftp://host/x is neither a folder nor one of s3://, gs://, az://",
        ),
        (["--root", "/dev/null/x"], "cannot write"),
        (["--source", "guess"], "HWPRICES_SOURCE"),
    ],
)
def test_what_cannot_be_done_is_one_line_before_prefect_starts(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(command.app, arguments)
    assert done.exit_code == 2
    [line] = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert message in line
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Outcome(RELEASE), 0),
        (Outcome(RELEASE, ["azure: no answer"]), 1),
        (Outcome(None, ["azure: no answer"]), 2),
    ],
)
def test_the_exit_status_says_how_much_was_done(outcome: Outcome, status: int) -> None:
    assert outcome.exit_status == status


@pytest.mark.parametrize(
    "form",
    [
        ["flows/refresh.py"],
        ["-m", "hwprices.flows.refresh"],
        ["-m", "hwprices", "refresh"],
    ],
)
def test_every_form_of_the_command_has_the_same_help(project: Path, form: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, *form, "--help"],
        cwd=project,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    flags = ("--source", "--provider", "--region", "--kind", "--root", "--accept")
    for word in (*flags, "HWPRICES_ROOT", "HWPRICES_GCP_API_KEY", "sample", "live"):
        assert word in done.stdout, word


def test_prefect_is_not_imported_for_the_help(project: Path) -> None:
    code = "import sys, hwprices.flows.command; sys.exit('prefect' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=project, check=False)
    assert done.returncode == 0
