"""The main job from an installed wheel, outside the checkout."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

import hwprices
from hwprices.collect import Collector
from hwprices.publish.release import publish
from hwprices.settings import load
from hwprices.stage import stage_run
from hwprices.storage.store import Store
from tests.helpers import processes, wheel
from tests.helpers.flows_environment import clean_environment
from tests.helpers.nightly import only_at_night

pytestmark = [
    pytest.mark.flow,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    only_at_night("tests/package installs the wheel too"),
]

PROVIDERS = ("aws", "scaleway")
"""Few, to be quick: tests/flows/test_refresh.py runs all from the checkout."""


def publish_from_checkout(root: Path) -> str:
    """Publish the sample of the providers without Prefect; return the digest of the release."""
    settings = load(root=str(root), source="sample")
    for name in PROVIDERS:
        with Collector(name, settings) as collector:
            results = [collector.fetch(unit) for unit in collector.plan()]
            stage_run(settings, collector.record(datetime.now(UTC), results))
    return publish(Store(root)).release.content_sha256


def test_an_installed_wheel_makes_the_same_release(tmp_path: Path, project: Path) -> None:
    """Install the wheel outside the checkout and run it in an empty folder, with no settings."""
    working_directory = tmp_path / "anywhere"
    working_directory.mkdir()
    commands = wheel.install(wheel.build(project, tmp_path / "dist").wheel, tmp_path / "venv")
    code = "import hwprices.flows; print(hwprices.flows.__file__)"
    where = {"cwd": working_directory, "env": clean_environment()}
    module = processes.run(commands / "python", "-c", code, **where).stdout
    assert module.startswith(str(tmp_path / "venv")), module

    choice = [word for name in PROVIDERS for word in ("--provider", name)]
    command = [commands / "hwprices", "refresh", "--source", "sample", *choice]
    processes.run(*command, **where)
    assert [path.name for path in working_directory.iterdir()] == ["data"]
    assert (working_directory / "data/.prefect").is_dir()
    installed = hwprices.open(working_directory / "data").manifest["content_sha256"]
    assert installed == publish_from_checkout(tmp_path / "checkout")
