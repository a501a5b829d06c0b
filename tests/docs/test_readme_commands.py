"""Run what the README prints under "Read the data", on a release made from the sample."""

import os
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hwprices.collect.collector import Collector
from hwprices.publish import release
from hwprices.settings import load
from hwprices.stage.stage import stage_run
from hwprices.storage.store import Store

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[2]
PROVIDERS = ("aws", "gcp")
"""Those whose machines the README asks for."""

ENTRY_POINT = "from hwprices.cli import main; main()"


def section() -> str:
    """Return the text under "Read the data"."""
    text = (PROJECT / "README.md").read_text()
    return text.partition("\n## Read the data\n")[2].partition("\n### ")[0]


def block(language: str) -> str:
    """Return the section's first block of code in a language."""
    code = re.search(rf"```{language}\n(.*?)```", section(), re.S)
    assert code
    return code[1]


def commands() -> list[list[str]]:
    """Split the shell block into the arguments of each hwprices command."""
    words = shlex.split(block("sh"), comments=True)
    starts = [i for i, word in enumerate(words) if word == ".venv/bin/hwprices"]
    return [words[a + 1 : b] for a, b in zip(starts, [*starts[1:], None], strict=True)]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Make a release from the sample of the providers that are asked about."""
    root = str(tmp_path_factory.mktemp("root"))
    settings = load(root=root, source="sample")
    for name in PROVIDERS:
        with Collector(name, settings) as collector:
            results = [collector.fetch(unit) for unit in collector.plan()]
            stage_run(settings, collector.record(datetime.now(UTC), results))
    release.publish(Store(root))
    return root


def run(root: str, code: str, *arguments: str) -> str:
    """Run Python with the release as the default dataset; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=os.environ | {"HWPRICES_ROOT": root},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("arguments", commands(), ids=lambda arguments: arguments[0])
def test_the_commands_of_the_readme_run(arguments: list[str], root: str) -> None:
    assert run(root, ENTRY_POINT, *arguments).strip()


def test_the_first_query_has_one_price_for_a_machine_and_region(root: str) -> None:
    query = next(arguments for arguments in commands() if arguments[0] == "query")
    answer = run(root, ENTRY_POINT, *query)
    assert answer.count("us-central1") == 1
    assert re.search(r"88\.4(8999|9)", answer)  # known wrong number G1


def test_the_python_example_runs(root: str) -> None:
    run(root, block("python").replace('"data"', repr(root)))


def test_a_run_of_a_deployment_names_the_server_and_the_source() -> None:
    """Without the address Prefect asks a new, empty server; without the source it goes live."""
    text = (PROJECT / "README.md").read_text()
    address, command = "export PREFECT_API_URL=http://127.0.0.1:4200/api\n", "deployment run"
    assert address in text
    line = next(line for line in text.splitlines() if command in line)
    assert "--param source=sample" in line
    assert text.index(address) < text.index(command)
