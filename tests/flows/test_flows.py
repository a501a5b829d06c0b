"""The main job as people start it: the script, and a deployment run through a Prefect server and a process worker."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from tests.helpers.flows_environment import clean_environment

import hwprices

pytestmark = pytest.mark.flow


def run_script(
    project: Path, home: Path, *arguments: str, **env: str
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(project / "flows/refresh.py"), *arguments]
    return subprocess.run(
        command,
        env={**clean_environment(home), **env},
        cwd=home,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.fixture(scope="session")
def released(tmp_path_factory, project):
    """The whole main job on the bundled sample, once."""
    root, home = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("home")
    done = run_script(project, home, "--root", str(root))
    assert done.returncode == 0, done.stdout + done.stderr
    return root, home, done


def test_the_main_job_publishes_three_clouds(released):
    root, _, done = released
    data = hwprices.open(root)
    providers = set(data.prices.select("provider").unique().collect().to_series())
    assert providers == {"aws", "azure", "gcp"}
    assert data.verify() == []
    assert data.version in done.stdout
    assert "One H100 for an hour" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def price(root: Path, **where: str) -> float:
    base = {
        "os": "linux",
        "software": "none",
        "license_model": "included",
        "tenancy": "shared",
        "purchase_option": "on_demand",
        "currency": "USD",
    }
    conditions = " and ".join(f"{k} = '{v}'" for k, v in {**base, **where}.items())
    rows = (
        hwprices.open(root)
        .duckdb.sql(f"select effective_hourly from prices where {conditions}")
        .fetchall()
    )
    assert len(rows) == 1, rows
    return float(rows[0][0])


def test_duckdb_answers_the_worked_numbers(released):
    root = released[0]
    assert price(
        root, provider="gcp", region="us-central1", instance_type="a3-highgpu-8g"
    ) == pytest.approx(88.49, abs=1e-5)  # case G1
    assert price(
        root, provider="aws", region="us-east-1", instance_type="p5.48xlarge"
    ) == pytest.approx(55.04)  # research figures 2026-07
    assert price(
        root, provider="azure", region="westeurope", instance_type="Standard_E32as_v5"
    ) == pytest.approx(2.192)  # case Z2


def test_every_price_leads_to_a_landed_page(released):
    root = released[0]
    landed = {p.name.split(".")[0] for p in (root / "raw").rglob("*.gz")}
    cited = set(hwprices.open(root).prices.select("raw_sha256").unique().collect().to_series())
    assert cited
    assert cited <= landed


def test_a_second_run_finds_nothing_new(released, project):
    root, home, _ = released
    before = (root / "latest.json").read_bytes()
    done = run_script(project, home, "--root", str(root))
    assert done.returncode == 0, done.stderr
    assert "Nothing new" in done.stdout
    assert (root / "latest.json").read_bytes() == before


def test_a_corrupted_page_fails_its_provider_and_the_others_publish(tmp_path, project, released):
    sample = tmp_path / "sample"
    shutil.copytree(project / "data/sample", sample)
    victim = next(iter(sorted((sample / "azure").rglob("*.gz"), key=lambda p: -p.stat().st_size)))
    for page in (sample / "azure").rglob("*.gz"):
        page.write_bytes(page.read_bytes()[:-3] + b"xxx")
    done = run_script(
        project, released[1], "--root", str(tmp_path / "root"), HWPRICES_SAMPLE=str(sample)
    )
    assert done.returncode == 1
    assert "azure:" in done.stderr
    assert "checksum" in done.stderr
    assert victim.suffix == ".gz"
    assert "Traceback" not in done.stderr
    providers = set(
        hwprices.open(tmp_path / "root").prices.select("provider").unique().collect().to_series()
    )
    assert providers == {"aws", "gcp"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--provider", "ibm"], "no provider 'ibm'. There are: aws, azure, gcp"),
        (
            ["--root", "ftp://host/x"],
            "HWPRICES_ROOT: ftp://host/x is neither a folder nor one of s3://, gs://, az://",
        ),
        (["--root", "/dev/null/x"], "cannot write"),
    ],
)
def test_what_cannot_be_done_is_one_line(tmp_path, project, arguments, says):
    done = run_script(project, tmp_path, *arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_help_teaches(tmp_path, project):
    done = run_script(project, tmp_path, "--help")
    for word in ("--source", "--provider", "--region", "--root", "HWPRICES_ROOT", "sample", "live"):
        assert word in done.stdout


def test_a_deployment_run_publishes_the_same_release(prefect_server, released, tmp_path):
    done = prefect_server.prefect(
        "deployment",
        "run",
        "refresh/refresh",
        "--param",
        'source="sample"',
        "--param",
        f'root="{tmp_path}"',
        "--watch",
        timeout=280,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    by_script = json.loads((released[0] / "latest.json").read_text())
    ours, theirs = hwprices.open(tmp_path), hwprices.open(released[0], by_script["version"])
    assert ours.manifest["content_sha256"] == theirs.manifest["content_sha256"]
    assert (
        ours.prices.select(pl.len()).collect().item()
        == theirs.prices.select(pl.len()).collect().item()
    )


def test_every_deployment_is_there(prefect_server):
    listed = prefect_server.prefect("deployment", "ls").stdout
    for name in (
        "refresh/refresh",
        "collect/collect-aws",
        "collect/collect-gcp",
        "collect/collect-azure",
        "publish/publish",
    ):
        assert name in listed


def test_every_schedule_makes_runs(prefect_server):
    """A server that cannot insert them (as with a newer SQLAlchemy) looks well and never runs anything."""
    assert set(prefect_server.scheduled) == {
        "refresh",
        "collect-aws",
        "collect-gcp",
        "collect-azure",
        "publish",
    }
    assert all(prefect_server.scheduled.values()), prefect_server.scheduled
