"""The main job as people start it: a command, a script, an installed wheel, a deployment."""

import json
import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.helpers import make
from tests.helpers.flows_environment import clean_environment
from tests.helpers.landed import landed_pages
from tests.helpers.prefect_server import Server

import hwprices
from hwprices import providers
from hwprices.publish.release import publish
from hwprices.storage.store import Store

# A test may first have to start Prefect's server and make the release: 2 to 10 minutes, by load.
pytestmark = [pytest.mark.flow, pytest.mark.slow, pytest.mark.timeout(900)]


CANARY = "c4n4ry4711k4n4r13nv0g3l"

CREDENTIALS = {
    name: f"{CANARY}-{name}"
    for name in (
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AZURE_CLIENT_SECRET",
        "AZURE_SUBSCRIPTION_ID",
        "HWPRICES_GCP_API_KEY",
    )
}


@dataclass(frozen=True)
class Release:
    """A release of the bundled sample, and what the command printed."""

    root: Path
    prefect_home: Path
    output: str


def run(
    *command: str | Path, cwd: Path, prefect_home: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env={**clean_environment(prefect_home), **variables},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


def run_script(
    project: Path, home: Path, *arguments: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run the flow's file as a script. ``home`` is the working directory and Prefect's home."""
    script = project / "flows/refresh.py"
    return run(sys.executable, script, *arguments, cwd=home, prefect_home=home, **variables)


def published_providers(root: Path) -> list[str]:
    column = hwprices.open(root).prices.select("provider").unique().collect()
    return sorted(column.to_series())


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory, project: Path) -> Release:
    """Run the whole main job on the bundled sample, once, from the checkout."""
    root, home = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("home")
    done = run_script(project, home, "--root", str(root), **CREDENTIALS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    return Release(root, home, done.stdout + done.stderr)


def test_no_credential_gets_to_the_screen_or_into_prefects_database(release: Release) -> None:
    """Prefect's home has its database, with parameters, states and artifacts, and its results."""
    files = [path for path in release.prefect_home.rglob("*") if path.is_file()]
    files += [path for path in release.root.rglob("*.json") if path.is_file()]
    assert [path for path in files if path.suffix == ".db"]
    assert [path for path in files if CANARY.encode() in path.read_bytes()] == []
    assert CANARY not in release.output


def test_every_provider_is_published(release: Release) -> None:
    data = hwprices.open(release.root)
    assert published_providers(release.root) == providers.names()
    assert data.verify() == []


def test_the_release_has_its_report(release: Release) -> None:
    report = release.root / "releases" / hwprices.open(release.root).version / "report"
    assert (report / "index.html").is_file()
    assert (report / "machines" / "aws" / "p5.48xlarge.html").is_file()


def test_the_screen_shows_progress_and_the_summary(release: Release) -> None:
    first, *_ = release.output.splitlines()
    assert first == "Starting Prefect, about 15 s …"
    for name in providers.names():
        assert f"{name}: plan" in release.output
    assert hwprices.open(release.root).version in release.output
    assert "One H100 for an hour" in release.output


@pytest.mark.parametrize(
    ("provider", "region", "instance_type", "usd"),
    [
        # Known wrong number G1 (docs/known-wrong-numbers.md): parts of the machine left out.
        ("gcp", "us-central1", "a3-highgpu-8g", 88.49),
        # AWS's price list of 2026-07.
        ("aws", "us-east-1", "p5.48xlarge", 55.04),
        # Known wrong number Z2.
        ("azure", "westeurope", "Standard_E32as_v5", 2.192),
    ],
)
def test_duckdb_answers_the_worked_numbers(
    release: Release, provider: str, region: str, instance_type: str, usd: float
) -> None:
    rows = (
        hwprices.open(release.root)
        .duckdb.sql(
            f"""
            select effective_hourly from prices
            where provider = '{provider}' and region = '{region}'
              and instance_type = '{instance_type}' and purchase_option = 'on_demand'
              and os = 'linux' and software = 'none' and license_model = 'included'
              and tenancy = 'shared' and currency = 'USD'
            """
        )
        .fetchall()
    )
    assert len(rows) == 1, rows
    assert float(rows[0][0]) == pytest.approx(usd, abs=1e-5)


def test_every_price_leads_to_a_landed_page(release: Release) -> None:
    landed = {page.name.split(".")[0] for page in landed_pages(release.root / "raw")}
    prices = hwprices.open(release.root).prices
    cited = set(prices.select("raw_sha256").unique().collect().to_series())
    assert cited
    assert cited <= landed


def test_a_second_run_publishes_nothing_new(release: Release, project: Path) -> None:
    before = (release.root / "latest.json").read_bytes()
    again = ("--provider", "oracle", "--provider", "scaleway")
    done = run_script(project, release.prefect_home, "--root", str(release.root), *again)
    assert done.returncode == 0, done.stderr
    assert "Nothing new" in done.stdout
    assert (release.root / "latest.json").read_bytes() == before


@pytest.mark.skipif(
    os.environ.get("HWPRICES_NIGHTLY") != "1",
    reason="tests/collect and tests/publish try the same in parts: set HWPRICES_NIGHTLY=1",
)
def test_altered_pages_fail_their_provider_and_the_others_publish(
    tmp_path: Path, project: Path, release: Release
) -> None:
    sample, root = tmp_path / "sample", tmp_path / "root"
    shutil.copytree(project / "data/sample", sample)
    pages = landed_pages(sample / "azure")
    assert pages
    for page in pages:
        page.write_bytes(page.read_bytes()[:-3] + b"xxx")
    done = run_script(
        project,
        release.prefect_home,
        *("--root", str(root), "--provider", "azure", "--provider", "scaleway"),
        HWPRICES_SAMPLE=str(sample),
    )
    assert done.returncode == 1
    [line] = done.stderr.strip().splitlines()
    assert "azure:" in line
    assert "checksum" in line
    assert published_providers(root) == ["scaleway"]
    status = json.loads((root / "status.json").read_text())["providers"]
    assert (status["azure"]["outcome"], status["scaleway"]["outcome"]) == ("failed", "published")
    assert "checksum" in status["azure"]["reason"]
    artifacts = first_lines(release.prefect_home)
    assert artifacts["refresh"].startswith("# failed: azure; new release ")
    version = json.loads((root / "latest.json").read_text())["version"]
    assert artifacts["release-notes"] == f"# Release {version}"


def test_a_provider_held_back_is_seen(tmp_path: Path, project: Path, release: Release) -> None:
    """Such a run was green, with the headline "Nothing new": a provider could stand still."""
    root = Store(tmp_path)
    make.stage_frames(root, "20260801T040000.000000Z", make.world())
    publish(root)
    done = run_script(project, release.prefect_home, "--root", str(tmp_path), "--provider", "aws")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "\nheld back: aws (sample_over_live: " in done.stdout
    assert "nothing new" not in done.stdout.lower()
    [remedy] = done.stderr.strip().splitlines()
    assert "--accept aws:sample_over_live" in remedy
    asked = run(sys.executable, "-m", "hwprices", "status", "--root", str(tmp_path), cwd=tmp_path)
    assert asked.returncode == 1
    assert "held back" in asked.stdout
    assert states(release.prefect_home)["refresh"] == ("FAILED", "HeldBack")
    assert states(release.prefect_home)["publish"] == ("FAILED", "HeldBack")
    assert first_lines(release.prefect_home)["refresh"].startswith("# held back: aws (")


def states(prefect_home: Path) -> dict[str, tuple[str, str]]:
    """The type and the name of the state of each flow's newest run, from Prefect's database."""
    query = (
        "select flow.name, state_type, state_name from flow_run join flow on flow.id = flow_id"
        " order by start_time"
    )
    with closing(sqlite3.connect(prefect_home / "prefect.db")) as database:
        return {name: (kind, state) for name, kind, state in database.execute(query)}


def first_lines(prefect_home: Path) -> dict[str, str]:
    """The first line of each artifact's newest version."""
    with closing(sqlite3.connect(prefect_home / "prefect.db")) as database:
        rows = database.execute("select key, data from artifact order by created").fetchall()
    texts = {key: json.loads(data) for key, data in rows}
    # artifacts of other types, such as results, hold a dictionary
    return {key: text.splitlines()[0] for key, text in texts.items() if isinstance(text, str)}


def readme_command(project: Path) -> list[str]:
    """Return the words behind ``prefect`` of the README's command that starts a deployment."""
    text = (project / "README.md").read_text()
    command = text.partition(".venv/bin/prefect ")[2].partition("```")[0]
    return shlex.split(command.replace("\\\n", " "))


def test_the_readmes_deployment_run_makes_the_same_release(
    prefect_server: Server, release: Release, tmp_path: Path, project: Path
) -> None:
    words = readme_command(project)
    assert words[:3] == ["deployment", "run", "refresh/refresh"]
    assert words[-2:] == ["root=data", "--watch"]
    done = prefect_server.prefect(*words[:-2], f"root={tmp_path}", "--watch")
    assert done.returncode == 0, done.stdout + done.stderr
    by_worker, by_script = hwprices.open(tmp_path), hwprices.open(release.root)
    assert by_worker.manifest["content_sha256"] == by_script.manifest["content_sha256"]


def test_every_schedule_makes_runs(prefect_server: Server) -> None:
    """A server that cannot insert runs (as with SQLAlchemy 2.1) reports nothing, runs nothing."""
    names = set(prefect_server.scheduled)
    assert names >= {"refresh", "publish"}
    assert names - {"refresh", "publish"} <= {f"collect-{name}" for name in providers.names()}
    assert all(prefect_server.scheduled.values()), prefect_server.scheduled


def test_a_server_takes_the_automations_and_the_work_pool(
    prefect_server: Server, project: Path
) -> None:
    automations = prefect_server.prefect(
        "automation", "create", "--from-file", str(project / "deploy/prefect/automations.yaml")
    )
    assert automations.returncode == 0, automations.stdout + automations.stderr
    template = str(project / "deploy/kubernetes/job-template.json")
    pool = prefect_server.prefect(
        "work-pool", "create", "--type", "kubernetes", "--base-job-template", template, "cluster"
    )
    assert pool.returncode == 0, pool.stdout + pool.stderr
    inspected = prefect_server.prefect("automation", "inspect", "hwprices: no refresh in 26 hours")
    assert "93600" in inspected.stdout or "26" in inspected.stdout, inspected.stdout
