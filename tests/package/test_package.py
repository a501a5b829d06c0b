"""What ``pip install hwprices`` gives: the reader alone, with the schemas and sheets inside the wheel built from the sdist."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def built(tmp_path_factory, project) -> tuple[Path, Path]:
    out = tmp_path_factory.mktemp("dist")
    # sdist first, wheel from the sdist: as an index's users get it
    done = subprocess.run(
        [sys.executable, "-m", "build", "--installer", "uv", "--outdir", out, project],
        capture_output=True,
        text=True,
        check=False,
        env=with_uv(),
    )
    if done.returncode:
        done = subprocess.run(
            [sys.executable, "-m", "build", "--outdir", out, project],
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    return next(out.glob("*.tar.gz")), next(out.glob("*.whl"))


def with_uv() -> dict[str, str]:
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def test_the_wheel_carries_the_schemas_once_and_the_sheets(built):
    names = zipfile.ZipFile(built[1]).namelist()
    for wanted in (
        "hwprices/schemas/price.py",
        "hwprices/data/specs/accelerators.csv",
        "hwprices/data/corrections.yaml",
        "hwprices/py.typed",
    ):
        assert names.count(wanted) == 1, wanted
    assert not [n for n in names if n.startswith(("data/", "tests/", "flows/"))]


def test_the_sdist_holds_the_folder_and_not_the_link(built):
    with tarfile.open(built[0]) as sdist:
        names = sdist.getnames()
    assert sum(n.endswith("schemas/price.py") for n in names) == 1


CODE = """
import sys, pathlib
import hwprices
from hwprices.schemas import tables
assert "site-packages" in tables.__file__, tables.__file__
assert "prices" in tables.TABLES
heavy = [m for m in ("prefect", "boto3", "google.cloud", "azure", "httpx") if m in sys.modules]
assert not heavy, heavy
print("ok")
"""

READER = """
import sys
import hwprices, hwprices.cli, hwprices.read.summary, hwprices.read.device.device, hwprices.read.recommend.recommend, hwprices.read.ownership, hwprices.read.terminal
heavy = sorted(m for m in ("prefect", "boto3", "google.cloud", "azure.mgmt", "httpx", "pandera", "pydantic_settings", "polars_hash", "pyarrow") if m in sys.modules)
assert not heavy, heavy
print("ok")
"""


def test_installed_elsewhere_it_imports(built, tmp_path):
    target = tmp_path / "site-packages"
    with zipfile.ZipFile(built[1]) as wheel:
        wheel.extractall(target)
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(target)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "ok", done.stderr


def test_the_reader_pays_for_no_part_of_the_pipeline(tmp_path):
    """Nothing but the reader's own dependencies may be imported by it."""
    done = subprocess.run(
        [sys.executable, "-c", READER], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "ok", done.stderr


def test_the_lock_names_public_places_only(project):
    import re

    hosts = set(re.findall(r"https?://([^/\"]+)", (project / "uv.lock").read_text()))
    assert hosts <= {"pypi.org", "files.pythonhosted.org"}
