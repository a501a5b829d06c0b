"""What ``pip install hwprices`` gives: the reader, and schemas, flows and data in the wheel."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from pathspec import GitIgnoreSpec
from tests.helpers.cases import cases
from tests.helpers.wheel import Built, build


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, project: Path) -> Built:
    return build(project, tmp_path_factory.mktemp("dist"))


@pytest.mark.slow
@cases("package/wheel_files")
def test_the_wheel_holds_each_file_once(built: Built, name: str) -> None:
    assert zipfile.ZipFile(built.wheel).namelist().count(name) == 1


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_package(built: Built, project: Path) -> None:
    """Also the tables and texts that modules read when they are imported."""
    source = project / "src"
    files = {file for file in source.glob("hwprices/**/*") if file.is_file()}
    names = {file.relative_to(source).as_posix() for file in files if file.suffix != ".pyc"}
    assert {"hwprices/read/agents/tools.toml", "hwprices/read/device/columns.csv"} <= names
    assert names <= set(zipfile.ZipFile(built.wheel).namelist())


@pytest.mark.slow
def test_the_wheel_holds_every_provider_of_the_sample(built: Built, project: Path) -> None:
    names = zipfile.ZipFile(built.wheel).namelist()
    pages = [page for page in (project / "data/sample").rglob("*") if page.is_file()]
    assert pages
    for page in pages:
        assert f"hwprices/{page.relative_to(project).as_posix()}" in names


@pytest.mark.slow
def test_the_wheel_holds_one_package_and_no_developer_tools(built: Built) -> None:
    folders = {name.split("/")[0] for name in zipfile.ZipFile(built.wheel).namelist()}
    assert {folder for folder in folders if not folder.endswith(".dist-info")} == {"hwprices"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["schemas/columns.csv", "flows/refresh.py"])
def test_the_sdist_holds_linked_folders_once(built: Built, name: str) -> None:
    with tarfile.open(built.sdist) as sdist:
        assert sum(member.endswith(name) for member in sdist.getnames()) == 1


def test_the_passwords_of_an_operator_are_not_packaged(project: Path, tmp_path: Path) -> None:
    """With each of the lists alone: a package may be built where git's is missing."""
    for name in ("pyproject.toml", "deploy/example.env", "deploy/compose.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(project / name, tmp_path / name)
    for name in (".env", "deploy/.env"):
        (tmp_path / name).write_text("STORE_PASSWORD=canary")
    files = {file.relative_path for file in SdistBuilder(str(tmp_path)).recurse_included_files()}
    assert files >= {"pyproject.toml", "deploy/example.env", "deploy/compose.yaml"}
    assert files & {".env", "deploy/.env"} == set()
    in_git = GitIgnoreSpec.from_lines((project / ".gitignore").read_text().splitlines())
    assert in_git.match_file(".env")
    assert in_git.match_file("deploy/.env")
    assert not in_git.match_file("deploy/example.env")
    in_image = (project / "deploy/Dockerfile.dockerignore").read_text().splitlines()
    assert "**/.env" in in_image


INSTALLED = """
import sys
import hwprices
from hwprices.schemas import tables
assert sys.argv[1] in tables.__file__, tables.__file__
assert "prices" in tables.TABLES
"""


@pytest.mark.slow
def test_the_wheel_imports_outside_the_checkout(built: Built, tmp_path: Path) -> None:
    target = tmp_path / "site-packages"
    with zipfile.ZipFile(built.wheel) as wheel:
        wheel.extractall(target)
    environment = {**os.environ, "PYTHONPATH": str(target)}
    done = run_code(INSTALLED, str(target), cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr


READER = """
import sys
import hwprices, hwprices.cli, hwprices.cli.find, hwprices.cli.show, hwprices.read.status
pipeline = (
    "prefect", "boto3", "google.cloud", "azure.mgmt", "httpx", "pandera", "pydantic_settings",
    "polars_hash", "pyarrow",
)
imported = sorted(name for name in pipeline if name in sys.modules)
assert not imported, imported
"""


def test_the_reader_imports_no_part_of_the_pipeline(tmp_path: Path) -> None:
    done = run_code(READER, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


WITHOUT_THE_EXTRA = """
import sys
sys.modules["pydantic_settings"] = None
from hwprices.cli import app
app(["refresh", "--help"])
"""


def test_refresh_says_what_to_install_without_the_extra(tmp_path: Path, project: Path) -> None:
    """From the checkout that this one was installed from, and from no index."""
    done = run_code(WITHOUT_THE_EXTRA, cwd=tmp_path)
    assert done.returncode == 2
    assert f"pip install 'hwprices[pipeline] @ {project.as_uri()}'" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_the_lock_names_public_hosts_only(project: Path) -> None:
    hosts = set(re.findall(r"https?://([^/\"]+)", (project / "uv.lock").read_text()))
    assert hosts == {"pypi.org", "files.pythonhosted.org"}


def run_code(
    code: str, *arguments: str, cwd: Path, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)


def test_importing_the_pipeline_starts_no_threads_of_polars() -> None:
    """A process forked after the import waited for them forever, as those of test_kills are."""
    code = """
import importlib, pkgutil
import pandera.polars, polars
import hwprices.publish.release, hwprices.stage, hwprices.providers as providers
polars.read_csv = polars.LazyFrame.collect = polars.DataFrame.filter = None
for module in pkgutil.walk_packages(providers.__path__, "hwprices.providers."):
    importlib.import_module(module.name)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
